"""Arrays in: checked as scikit-learn checks them, float32 kept, everything else float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dptransfer.errors import DataError

__all__ = ["check_squares", "fit_rows", "fresh_generator", "new_rows"]

Array = npt.NDArray[np.floating]


def fit_rows(estimator: Any, X: npt.ArrayLike) -> Array:
    """The rows to fit on."""
    rows: Array = validate_data(estimator, X, dtype=[np.float64, np.float32])
    check_squares(rows)
    return rows


def new_rows(estimator: Any, X: npt.ArrayLike, dtype: Any = None) -> Array:
    """The rows to apply a fitted estimator to, in the given type (their own if None)."""
    check_is_fitted(estimator)
    rows: Array = validate_data(estimator, X, dtype=[np.float64, np.float32], reset=False)
    if dtype is not None and dtype != rows.dtype:
        with np.errstate(over="ignore"):  # what overflows is refused
            rows = rows.astype(dtype)
    check_squares(rows)
    return rows


def check_squares(X: Array) -> None:
    """Refuse values whose squares, summed, would overflow their type."""
    if not max(X.max(), -X.min()) < np.sqrt(np.finfo(X.dtype).max / X.size):
        raise DataError(
            f"values are too large: their squares overflow {X.dtype}; rescale the columns"
        )


def fresh_generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn takes as ``random_state``."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
