"""What may be perturbed: a table of finite numbers within declared bounds.

Bounds are declared by the owner and never read off the data, because the smallest and the largest
value of a column are themselves private values. A table that breaks what was declared is refused
before anything is written; the messages say what kind of thing was wrong and how to mend it, never
which value, where, or how many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError, DeclarationError, OutsideBoundsError, ParameterError

__all__ = [
    "Bounds",
    "as_numbers",
    "as_table",
    "check_bounds",
    "check_out",
    "check_values",
    "row_blocks",
]

BLOCK_VALUES = 2**16
"""Values worked on at a time: what a processor's cache holds."""

Bounds = npt.NDArray[np.float64]


def as_numbers(X: Any) -> npt.NDArray[Any]:
    """`X` as an array of finite precision numbers, if it is one."""
    if isinstance(X, np.ma.MaskedArray):
        raise DataError("X is a masked array; fill or drop the masked cells first")
    if hasattr(X, "toarray") and not isinstance(X, np.ndarray):
        raise DataError(
            "X is a sparse matrix; which cells are zero is private too, so every cell gets noise: "
            "pass a dense array"
        )
    try:
        table = np.asarray(X)
    except (TypeError, ValueError):
        table = np.empty(0, dtype=object)  # refused below, in words that hold no value
    if table.dtype.kind not in "biuf" or table.dtype.itemsize > 8:
        raise DataError(
            "X must hold booleans, whole numbers or floats of at most 64 bits, all rows of one "
            "length; encode other columns as numbers first"
        )
    return table


def as_table(X: Any) -> npt.NDArray[Any]:
    """View `X` as rows of numbers; one dimension is taken as one column."""
    table = as_numbers(X)
    if table.ndim not in (1, 2):
        raise DataError(f"X must be a table of rows and columns, not {table.ndim}-dimensional")
    return table[:, None] if table.ndim == 1 else table


def check_bounds(bounds: Any, n_columns: int, largest: npt.NDArray[np.float64]) -> Bounds:
    """The declared bounds as an array of shape (2, n_columns) or (2, 1)."""
    if bounds is None:
        raise DeclarationError(
            "bounds are not declared: say between which values each column can lie, "
            "bounds=(low, high) or one pair a column. They are not read off the data, because a "
            "column's extremes are private values and would leak"
        )
    try:
        declared = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        declared = np.empty(0)
    if declared.shape == (2,):
        declared = declared.reshape(1, 2)
    elif declared.shape != (n_columns, 2):
        raise DeclarationError(
            f"bounds must be one pair (low, high), or one pair a column: {n_columns} here"
        )
    low, high = declared.T
    if not np.all(np.isfinite(declared)) or np.any(low > high):
        raise DeclarationError("bounds must be finite, and no lower bound above its upper bound")
    if np.any(np.abs(declared) > largest.reshape(-1, 1)):
        raise DeclarationError(
            "the bounds are too wide for the grid that the distance and epsilon give: "
            "declare narrower bounds or a larger distance"
        )
    return declared.T.copy()


def check_values(table: npt.NDArray[Any], bounds: Bounds, *, clip: bool) -> None:
    """Refuse a table with values that are not finite or, without `clip`, outside the bounds."""
    low, high = bounds
    if all(
        np.all(block.min(axis=0) >= low) and np.all(block.max(axis=0) <= high)
        for block in _blocks(table)
    ):
        return
    # Slowly now, for what is wrong decides what is said.
    if not all(np.all(np.isfinite(block)) for block in _blocks(table)):
        raise DataError("X holds values that are not finite (NaN or infinite); mend or drop them")
    if not clip:
        count = sum(int(np.sum((block < low) | (block > high))) for block in _blocks(table))
        raise OutsideBoundsError(
            "X holds values outside the declared bounds (how many is private: it is this error's "
            "attribute `count`); declare bounds that hold for every possible value, or ask for "
            "clip=True",
            count,
        )


def check_out(out: Any, table: npt.NDArray[Any], X: Any) -> npt.NDArray[np.float64]:
    """The array to write to: `out` if it can take the result, else a new one."""
    if out is None:
        return np.empty(table.shape)
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == np.shape(X)):
        raise ParameterError(f"out must be a float64 array of X's shape, {np.shape(X)}")
    if not out.flags.writeable:
        raise ParameterError("out is read-only")
    as_rows: npt.NDArray[np.float64] = out[:, None] if out.ndim == 1 else out
    same = (
        table.dtype == out.dtype
        and table.__array_interface__["data"] == as_rows.__array_interface__["data"]
        and table.strides == as_rows.strides
    )
    if not same and np.may_share_memory(table, as_rows):
        raise ParameterError("out overlaps X in memory; pass X itself, or an array of its own")
    return as_rows


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows, each of about as many values as the cache holds."""
    step = max(1, BLOCK_VALUES // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _blocks(table: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    if table.size:
        for rows in row_blocks(*table.shape):
            yield table[rows]
