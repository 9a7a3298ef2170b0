"""Autoencoders that label rows which they did not learn from.

An autoencoder reconstructs best what it has learned from, so one that learned a row under a wrong
label will defend that label. Here the rows are halved: each half is labelled by autoencoders that
learned from the other (Algorithm 4), and rows whose label is too doubtful to be taught are labelled
by both.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dptransfer.models import MembershipClassifier

__all__ = ["cross_residuals", "learn_classes"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

PARTS = 2
FEWEST = 4
"""Rows of a class below which they are not divided."""


def cross_residuals(
    model: MembershipClassifier,
    X: Array,
    numbers: Numbers,
    taught: npt.NDArray[np.bool_],
    n_classes: int,
    rng: np.random.Generator,
) -> Array:
    """The squared error of every row and class; infinite for classes that no row is taught of.

    Parameters
    ----------
    model : MembershipClassifier
        Its parameters are used.
    X : array of shape (N, p)
    numbers : array of int, shape (N,)
        The class number of every row that is taught.
    taught : array of bool, shape (N,)
        The rows to learn from.
    """
    part = np.full(len(X), -1)
    for c in range(n_classes):
        rows = np.flatnonzero(taught & (numbers == c))
        if len(rows) >= FEWEST:
            part[rows] = rng.permutation(len(rows)) % PARTS
    errors = np.zeros((len(X), n_classes))
    asked = np.zeros(len(X))
    for k in range(PARTS):
        learn_classes(model, X, numbers, taught & (part != k))
        rows = np.flatnonzero((part == k) | (part < 0))
        found = np.full((len(rows), n_classes), np.inf)
        found[:, model.classes_.astype(np.intp)] = model.residuals(X[rows])
        errors[rows] += found
        asked[rows] += 1
    return errors / asked[:, None]


def learn_classes(
    model: MembershipClassifier, X: Array, numbers: Numbers, taught: npt.NDArray[np.bool_]
) -> None:
    """Algorithm 4 on the rows that are taught; n is at most the number of columns."""
    n = model.n_components
    model.n_components = min(n, X.shape[1])
    present = np.unique(numbers[taught])
    model.learn(X, [np.flatnonzero(taught & (numbers == c)) for c in present], present)
    model.n_components = n
