"""Digits of scikit-learn's, an owner's and an adopter's, for tests of the whole way."""

import numpy as np
from sklearn.datasets import load_digits

from dptransfer import Release

X, y = load_digits(return_X_y=True)
X = X / 16.0
THEIRS, OWN, NEW = slice(0, 1000), slice(1000, 1300), slice(1300, 1797)
QUICK = {"schedule": (5,), "n_layers": 1, "random_state": 0}


def element(epsilon=3.0, rows=THEIRS, labels=None, classes=range(10), columns=slice(None), **more):
    """An owner's release for an element; labels other than the true ones may be given."""
    return Release.from_samples(
        X[rows, columns],
        y[rows] if labels is None else labels,
        epsilon=epsilon,
        delta=1e-5,
        bounds=(0, 1),
        classes=classes,
        n_layers=1,
        random_state=0,
        **{"insecure_seed": 1, "name": "owner"} | more,
    )


def record(epsilon=3.0, rows=THEIRS, labels=None, classes=range(10), columns=slice(None), **more):
    """An owner's release for a whole record."""
    return Release.from_moments(
        X[rows, columns],
        y[rows] if labels is None else labels,
        epsilon=epsilon,
        delta=1e-5,
        bounds=(0, 1),
        classes=classes,
        **{"insecure_seed": 1, "name": "owner"} | more,
    )


MAKERS = {"element": element, "record": record}


def few(labels, rows=OWN):
    """The adopter's labels: the first so many rows' own, and -1."""
    return np.where(np.arange(rows.stop - rows.start) < labels, y[rows], -1)
