"""The data sets of the experiments: MNIST, USPS, Office+Caltech256, heart disease, digits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.data.at_hand import file_at_hand, folders, read_arrays
from dptransfer.data.heart import HEART_COLUMNS, HOSPITALS, heart_bounds, load_heart
from dptransfer.data.office_caltech import DOMAINS, OfficeCaltech, load_office_caltech
from dptransfer.errors import DataError

__all__ = [
    "DOMAINS",
    "HEART_COLUMNS",
    "HOSPITALS",
    "Images",
    "OfficeCaltech",
    "Split",
    "heart_bounds",
    "load_digits",
    "load_heart",
    "load_mnist",
    "load_mnist_split",
    "load_office_caltech",
    "load_usps_split",
]

Pixels = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


class Images(NamedTuple):
    """Flattened images with pixels in [0, 1], what they show, and their height and width."""

    X: Pixels
    y: Labels
    shape: tuple[int, int]
    name: str


class Split(NamedTuple):
    """Flattened images with pixels in [0, 1] and what they show, to learn from and to be tested."""

    x_train: Pixels
    y_train: Labels
    x_test: Pixels
    y_test: Labels


def load_mnist() -> Images:
    """MNIST's 60,000 training images."""
    mnist = load_mnist_split()
    return Images(mnist.x_train, mnist.y_train, (28, 28), "MNIST")


def load_mnist_split() -> Split:
    """MNIST: 60,000 images of 28 × 28 pixels to learn from and 10,000 to be tested on."""
    return _load("MNIST", "mnist.npz", 255.0)


def load_usps_split() -> Split:
    """USPS: 7,291 images of 16 × 16 pixels to learn from and 2,007 to be tested on."""
    return _load("USPS", "usps.npz", 1.0)


def _load(what: str, name: str, white: float) -> Split:
    path = file_at_hand(name)
    if path is None:
        raise DataError(
            f"{what} is not at hand: set DPTRANSFER_DATA to a folder that holds {name} with the "
            f"arrays x_train, y_train, x_test and y_test (looked in "
            f"{', '.join(map(str, folders()))})"
        )
    arrays = read_arrays(path, Split._fields, what)
    x_train, y_train, x_test, y_test = (arrays[field] for field in Split._fields)
    return Split(
        x_train.reshape(len(x_train), -1).astype(np.float64) / white,
        y_train.astype(np.int64),
        x_test.reshape(len(x_test), -1).astype(np.float64) / white,
        y_test.astype(np.int64),
    )


def load_digits() -> Images:
    """The 1,797 digits of 8 × 8 pixels that come with scikit-learn."""
    from sklearn import datasets  # noqa: PLC0415 - slow to import

    X, y = datasets.load_digits(return_X_y=True)
    return Images(X / 16.0, y.astype(np.int64), (8, 8), "scikit-learn's digits")
