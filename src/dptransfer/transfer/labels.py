"""Labels of which most are missing: −1 among whole numbers; None, NaN or "" among others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from dptransfer.errors import DataError
from dptransfer.transfer.columns import as_text

__all__ = ["Labels", "read_labels", "same_classes"]

UNLABELLED = -1


class Labels(NamedTuple):
    """The classes, and the number of every row's class, −1 where it is not known."""

    classes: npt.NDArray[Any]
    numbers: npt.NDArray[np.intp]


def read_labels(y: Any, n_rows: int, *, none_will_do: bool = False) -> Labels:
    """Sort labels into classes; that there are none at all is refused, unless it will do.

    >>> read_labels(["b", None, "a", ""], 4)
    Labels(classes=array(['a', 'b'], dtype='<U1'), numbers=array([ 1, -1,  0, -1]))
    >>> read_labels([7, -1, 3], 3).classes
    array([3, 7])
    """
    given = np.asarray(y, dtype=object if not isinstance(y, np.ndarray) else None)
    if given.ndim == 2 and given.shape[1] == 1:
        given = column_or_1d(given, warn=True)
    if given.shape != (n_rows,):
        raise DataError(f"y must hold one label for each of the {n_rows} rows, missing or not")
    if given.dtype.kind in "OUS":
        known = np.array([_is_known(value) for value in given.tolist()])
        values = given[known]
        if values.dtype == object and all(isinstance(value, str) for value in values):
            values = values.astype(str)
        elif values.dtype == object:
            values = np.array(values.tolist())
    else:
        known = ~np.isnan(given) if given.dtype.kind == "f" else np.ones(n_rows, dtype=bool)
        known &= given != UNLABELLED
        values = given[known]
        if given.dtype.kind == "f" and not known.all() and np.all(values == np.floor(values)):
            values = values.astype(np.int64)  # they became floats for the sake of NaN
    if not len(values) and none_will_do:
        return Labels(values, np.full(n_rows, UNLABELLED, dtype=np.intp))
    if not len(values):
        raise DataError(
            "no row has a label: y holds the label of every row, and -1 (whole numbers) or None "
            "(texts) where it is not known"
        )
    check_classification_targets(values)
    classes, inverse = np.unique(values, return_inverse=True)
    numbers = np.full(n_rows, UNLABELLED, dtype=np.intp)
    numbers[known] = inverse
    return Labels(classes, numbers)


def _is_known(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value):
        return False
    try:
        itself = bool(value == value)  # noqa: PLR0124 - NaN is not itself, and NaT neither
    except TypeError:  # pandas.NA, which does not even say
        return False
    number = isinstance(value, (int, float, np.integer, np.floating))
    return itself and not (number and value == UNLABELLED)


def same_classes(classes: npt.NDArray[Any], others: list[Any]) -> npt.NDArray[np.intp]:
    """The number in `others` of every class, −1 where it is not there; 3 and "3" are the same."""
    number = {as_text(c): k for k, c in enumerate(others)}
    return np.array([number.get(as_text(c), -1) for c in classes.tolist()], dtype=np.intp)
