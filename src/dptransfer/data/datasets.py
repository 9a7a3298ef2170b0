"""Images: MNIST from the folder that ``DPTRANSFER_DATA`` names, digits from scikit-learn."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError

__all__ = ["Images", "load_digits", "load_mnist"]


class Images(NamedTuple):
    """Flattened images with pixels in [0, 1], what they show, and their height and width."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]
    shape: tuple[int, int]
    name: str


def load_mnist() -> Images:
    """MNIST's 60,000 training images, from ``mnist.npz`` in the folder ``DPTRANSFER_DATA``."""
    folder = os.environ.get("DPTRANSFER_DATA")
    if not folder:
        raise DataError(
            "MNIST is not at hand: set DPTRANSFER_DATA to a folder that holds mnist.npz with the "
            "arrays x_train (60000, 784) and y_train (60000,)"
        )
    path = Path(folder) / "mnist.npz"
    try:
        with np.load(path) as file:
            X, y = file["x_train"], file["y_train"]
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: put MNIST there") from None
    except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} cannot be read as MNIST, which needs arrays x_train and y_train: {error}"
        ) from error
    return Images(X.reshape(len(X), -1) / 255.0, y.astype(np.int64), (28, 28), "MNIST")


def load_digits() -> Images:
    """The 1,797 digits of 8 × 8 pixels that come with scikit-learn."""
    from sklearn import datasets  # noqa: PLC0415 - slow to import

    X, y = datasets.load_digits(return_X_y=True)
    return Images(X / 16.0, y.astype(np.int64), (8, 8), "scikit-learn's digits")
