"""An experiment that takes a second: scikit-learn's digits, every part of the real ones."""

import numpy as np
from sklearn.datasets import load_digits

from dptransfer.experiments.ablation import Target
from dptransfer.experiments.experiment import Row, Table
from dptransfer.experiments.images import COLUMNS, ImageExperiment
from dptransfer.experiments.sources import Sources
from dptransfer.experiments.summary import Measured


class Tiny(ImageExperiment):
    """Half of the digits' columns learn from all of them."""

    name = "tiny"
    title = "Tiny, 50 labels"
    runs = 2
    columns = 40
    grid_runs = 0
    self_training_runs = 1

    @property
    def tasks(self):
        return ("50 labels",)

    def sources(self, n_jobs, draw):
        X, y = self._digits()
        return Sources(X[:150], y[:150], 10, n_jobs, draw)

    def load(self):
        X, y = self._digits()
        mine = X[:, : self.columns]
        return Target(mine[500:700], mine[700:800], y[700:800], 10), y[500:700]

    def _digits(self):
        X, y = load_digits(return_X_y=True)
        return (X / 16).astype(np.float32), y.astype(np.intp)

    def tables(self):
        rows = [Row(task, task, "0.1", Measured(90.0, 1.0, 10)) for task in self.tasks]
        return [Table("tiny", "Tiny: digits", rows, COLUMNS)]


class TinyAcross(Tiny):
    name = "tiny-across"
    across = True
