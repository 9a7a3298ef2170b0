"""Learning from few labels and many rows without: label, learn from the labels, label again.

Section 4.2, "Building of target domain classifier". The first classifier knows the labelled rows
alone. Each round then labels all other rows and learns from everything, with subspaces that grow
from round to round: first the features that are shared by many, then the finer ones
(eqs. iterative_target_classification and iterative_target_samples_class_c).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.models import MembershipClassifier
from dptransfer.transfer.progress import report

__all__ = ["Settings", "Trained", "initial_components", "self_train"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

INITIAL_COMPONENTS = 20


class Settings(NamedTuple):
    """How to learn; the defaults are those of the paper's Section 5."""

    schedule: Sequence[int] = (5, 10, 15, 20)
    n_layers: int = 5
    max_inducing: float = 0.5
    n_jobs: int | None = None


class Trained(NamedTuple):
    """What self-training comes to."""

    classifier: MembershipClassifier
    """Its classes are class numbers, of those classes only that have a labelled row."""
    numbers: Numbers
    """The class number of every row: the known one, or the last round's."""


def initial_components(numbers: Numbers) -> int:
    """The first classifier's n = min(20, min_c N_c − 1), and at least 1."""
    sizes = np.bincount(numbers)
    return max(1, min(INITIAL_COMPONENTS, int(sizes[sizes > 0].min()) - 1))


def self_train(X: Array, numbers: Numbers, settings: Settings, seed: int) -> Trained:
    """The iteration of Section 4.2.

    Parameters
    ----------
    X : array of shape (N, p)
    numbers : array of int, shape (N,)
        The class number of every row, −1 where it is not known.
    settings : Settings
    seed : int
        The same at every round, so that rounds differ in their labels alone.
    """
    known = numbers >= 0
    unknown = np.flatnonzero(~known)
    labels = numbers.copy()
    # with nothing to label, the last round alone decides
    schedule = list(settings.schedule) if len(unknown) else list(settings.schedule)[-1:]
    if len(unknown):
        n = initial_components(numbers[known])
        model = MembershipClassifier(n, 1, 1.0, n_jobs=settings.n_jobs, random_state=seed)
        _learn(model, X, numbers)
    for number, n in enumerate(schedule):
        report("self-training", number, len(schedule))
        if len(unknown):
            labels[unknown] = model.predict(X[unknown])
        model = MembershipClassifier(
            n,
            settings.n_layers,
            settings.max_inducing,
            n_jobs=settings.n_jobs,
            random_state=seed,
        )
        _learn(model, X, labels)
    if len(unknown):
        labels[unknown] = model.predict(X[unknown])
    return Trained(model, labels)


def _learn(model: MembershipClassifier, X: Array, labels: Numbers) -> None:
    """Algorithm 4 on the rows that have a label; n is at most the number of columns."""
    model.n_components = min(model.n_components, X.shape[1])
    present = np.unique(labels[labels >= 0])
    model.learn(X, [np.flatnonzero(labels == c) for c in present], present)
