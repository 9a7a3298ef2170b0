"""Releases of tables with columns of all kinds, for tests."""

from dptransfer.transfer.cell_noise import CellNoise
from dptransfer.transfer.making import ReleaseMaker


def release_of_cells(columns, cells, labels, classes, name="mixed", epsilon=50.0, distance=None):
    noise = CellNoise(columns, epsilon, 1e-3, distance, insecure_seed=1)
    maker = ReleaseMaker(columns, classes, noise, name=name, random_state=0)
    maker.add(cells, labels)
    return maker.finish()
