"""A release of pure noise: the control that tells knowledge from mere machinery.

It has the columns, classes, class sizes and noise of a given release, and rows that all were the
middle of their bounds before the noise came.
"""

from __future__ import annotations

import numpy as np

from dptransfer.models import MembershipClassifier
from dptransfer.transfer.cell_noise import CellNoise
from dptransfer.transfer.release import Release
from dptransfer.transfer.scratch import PerturbedRows
from dptransfer.transfer.summary import summarise

__all__ = ["noise_twin"]

MIDDLE = 0.5
BLOCK_VALUES = 2**22


def noise_twin(release: Release, n_jobs: int | None, rng: np.random.Generator) -> Release:
    """Make the twin of a release that knows nothing."""
    told = release.manifest["noise"]
    noise = CellNoise(
        release.columns,
        told["epsilon"],
        told["delta"],
        told["distances"],
        mechanism=told["mechanism"],
    )
    sizes = release.manifest["class_sizes"]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = PerturbedRows(release.n_features)
    step = max(1, BLOCK_VALUES // release.n_features)
    for start in range(0, len(labels), step):
        block = labels[start : start + step]
        rows.append(noise.draw(len(block), rng) + MIDDLE, block)
    X = rows.array()
    parameters = release.manifest["parameters"]
    model = MembershipClassifier(**parameters, n_jobs=n_jobs, random_state=int(rng.integers(2**31)))
    groups = [np.flatnonzero(labels == c) for c in range(len(sizes))]
    model.learn(X, groups, np.array(release.classes))
    summary = summarise(X, labels, len(sizes), noise.variance)
    return Release(release.manifest, model, summary)
