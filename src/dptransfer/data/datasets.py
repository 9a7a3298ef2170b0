"""The data sets of the experiments: MNIST, USPS, Office+Caltech256, heart disease, digits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.data.heart import HEART, HEART_COLUMNS, HOSPITALS, heart_bounds, load_heart
from dptransfer.data.office_caltech import DOMAINS, OfficeCaltech, load_office_caltech
from dptransfer.data.published import Arrays, Published, load, numbers

__all__ = [
    "DOMAINS",
    "HEART",
    "HEART_COLUMNS",
    "HOSPITALS",
    "MNIST",
    "USPS",
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

CLASSES = 10


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


def _decode(files: Sequence[bytes], learned_from: int, grid: int) -> Arrays:
    """Arrays from a table of pixels and digits; rows to learn from come first.

    The digits are the first column or the last, whichever has ten values. Pixels of -1 to 1 become
    those of 0 to 1, and all are rounded to multiples of 1 / grid.
    """
    table = numbers(files[0])
    last = len(np.unique(table[:, -1])) == CLASSES
    y = table[:, -1 if last else 0]
    X = table[:, :-1] if last else table[:, 1:]
    if X.min() < 0:
        X = (X + 1) / 2
    X = np.rint(X * grid) / grid
    X, y = X.astype(np.uint8 if grid == 1 else np.float32), (y - y.min()).astype(np.uint8)
    n = learned_from
    return dict(zip(Split._fields, (X[:n], y[:n], X[n:], y[n:]), strict=True))


def _published(
    what: str, file: str, address: str, rows: tuple[int, int], pixels: int, grid: int, sha256: str
) -> Published:
    n, m = rows
    shapes = dict(zip(Split._fields, ((n, pixels), (n,), (m, pixels), (m,)), strict=True))
    decode = partial(_decode, learned_from=n, grid=grid)
    return Published(what, file, (address,), shapes, grid, sha256, decode)


MNIST = _published(
    "MNIST",
    "mnist.npz",
    "https://api.openml.org/data/v1/download/52667/mnist_784.arff",
    rows=(60_000, 10_000),
    pixels=784,
    grid=1,
    sha256="af01f849d0c6a524dad029e6ac5eef6a033583eba90bfe9486011e912545c263",
)
USPS = _published(
    "USPS",
    "usps.npz",
    "https://api.openml.org/data/v1/download/18805612/USPS.arff",
    rows=(7_291, 2_007),
    pixels=256,
    grid=2000,
    sha256="60b796258359cb1d562d311c5ddc34affaa256d49818c2d3e4c033777a2cbfdc",
)


def load_mnist() -> Images:
    """MNIST's 60,000 training images."""
    mnist = load_mnist_split()
    return Images(mnist.x_train, mnist.y_train, (28, 28), "MNIST")


def load_mnist_split() -> Split:
    """MNIST: 60,000 images of 28 × 28 pixels to learn from and 10,000 to be tested on."""
    return _split(MNIST, 255.0)


def load_usps_split() -> Split:
    """USPS: 7,291 images of 16 × 16 pixels to learn from and 2,007 to be tested on."""
    return _split(USPS, 1.0)


def _split(data: Published, white: float) -> Split:
    arrays = load(data)
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
