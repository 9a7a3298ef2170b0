"""Records brought into a declared ball, and by how far one of them can then move a total.

Gaussian noise protects a record if what is released moves by a bounded length when the record, its
label included, is added or removed. A count moves by 1. A sum of rows, and a sum of their products,
moves by as much as the row is long, so every row is first brought within a declared radius of a
declared centre. Rows lie on a grid of the radius, and totals are sums of whole numbers: a total in
floating point depends on the order of its rows, and could move by more than the length of one.
``PROOF.md``, section 9, has the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError, DeclarationError, ParameterError
from dptransfer.privacy.gaussian import check_finite, check_length
from dptransfer.privacy.perturbation import Floats
from dptransfer.privacy.table import as_table, row_blocks

__all__ = [
    "class_counts",
    "class_sums",
    "clip",
    "distance_of_record",
    "pack_symmetric",
    "second_moment",
    "squared_lengths",
    "step_of",
    "unpack_symmetric",
]

FINENESS = 16
"""A radius is between 2¹⁵ and 2¹⁶ steps."""

MOST_ROWS = 2**26
EXACT_ROWS = 2**20
"""So many products of two rows add up exactly in float64, in any order."""

MARGIN = 2.0**-20
"""For what floating point does to totals after they were summed exactly."""

LARGEST = 1e150
"""Cells are held within this, so that their squares are numbers."""

INSIDE = 1 - 2.0**-20


def clip(X: Any, centre: float | npt.ArrayLike, radius: float) -> Floats:
    """Each row less the centre, and no longer than the radius.

    A row that is too long is shortened, not turned. Every cell is then brought to the nearest
    multiple of a power of two, some hundred-thousandth of the radius.

    Parameters
    ----------
    X : table of finite numbers
    centre : float or one a column
        Declared, not read off the data; so is `radius`.
    radius : float

    Returns
    -------
    array of float64, of the shape of `X`
        Its rows z have ‖z‖ ≤ `radius` exactly, whatever `X` holds. Each depends on its own row.

    Examples
    --------
    >>> clip([[3.0, 4.0], [30.0, 40.0]], centre=0.0, radius=10.0).round(3).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    table = as_table(X)
    check_finite(table)
    length = _check_radius(radius)
    middle = _check_centre(centre, table.shape[1])
    step, longest = _grid(length)
    rows = np.empty(table.shape)
    for block in row_blocks(*table.shape):
        z = np.clip(table[block].astype(np.float64), -LARGEST, LARGEST)
        z -= middle
        norms = np.sqrt(np.einsum("ij,ij->i", z, z))
        z *= np.where(norms > length, length / np.maximum(norms, length), 1.0)[:, None]
        z /= step
        whole = np.rint(z)
        long = np.einsum("ij,ij->i", whole, whole) > longest  # rounding went outwards
        whole[long] = np.trunc(z[long] * INSIDE)
        if np.any(np.einsum("ij,ij->i", whole, whole) > longest):
            raise AssertionError("a clipped row is longer than the radius")
        np.multiply(whole, step, out=rows[block])
    return rows


def class_counts(labels: npt.ArrayLike, n_classes: int) -> Floats:
    """n_c, the number of rows of each class; moved by 1, in one class.

    Parameters
    ----------
    labels : array of int
        The class of each row, 0 to `n_classes` − 1; the classes are declared.

    Examples
    --------
    >>> class_counts([0, 2, 2], 3)
    array([1., 0., 2.])
    """
    classes = _check_labels(labels, n_classes)
    return np.bincount(classes, minlength=n_classes).astype(np.float64)


def class_sums(rows: Floats, labels: npt.ArrayLike, n_classes: int, radius: float) -> Floats:
    """S_c = Σ z over the rows of each class; moved by ‖z‖ ≤ R, in one row of the result.

    Parameters
    ----------
    rows : array
        As :func:`clip` gives them for this `radius`; others are refused.
    """
    classes = _check_labels(labels, n_classes)
    if len(classes) != len(rows):
        raise DataError("rows and labels differ in number")
    step, _ = _grid(_check_radius(radius))
    sums = np.zeros((n_classes, rows.shape[1]))
    for block, whole in _whole(rows, radius):
        order = np.argsort(classes[block], kind="stable")
        kinds, first = np.unique(classes[block][order], return_index=True)
        sums[kinds] += np.add.reduceat(whole[order], first, axis=0)
    return sums * step


def second_moment(rows: Floats, radius: float) -> Floats:
    """M = Σ z zᵀ; moved by ‖z zᵀ‖ = ‖z‖² ≤ R², in the Frobenius norm.

    Parameters
    ----------
    rows : array
        As :func:`clip` gives them for this `radius`; others are refused. Projected rows are
        clipped once more, which changes none of them but for rounding if the projection is one.
    """
    step, _ = _grid(_check_radius(radius))
    total = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
    partial, pending = np.zeros(total.shape), 0
    for _, whole in _whole(rows, radius):
        if pending + len(whole) > EXACT_ROWS:
            total += partial.astype(np.int64)
            partial[:], pending = 0, 0
        partial += whole.T @ whole
        pending += len(whole)
    total += partial.astype(np.int64)
    return total.astype(np.float64) * (step * step)


def squared_lengths(rows: Floats, radius: float) -> float:
    """Σ ‖z‖², the trace of the second moment alone; moved by ‖z‖² ≤ R².

    Parameters
    ----------
    rows : array
        As :func:`clip` gives them for this `radius`; others are refused.
    """
    step, _ = _grid(_check_radius(radius))
    total = 0
    for _, whole in _whole(rows, radius):
        total += int(np.einsum("ij,ij->i", whole, whole).astype(np.int64).sum())
    return float(total) * (step * step)


def step_of(radius: float) -> float:
    """The step of the grid on which rows within this radius lie.

    >>> step_of(1.0)
    3.0517578125e-05
    """
    return _grid(_check_radius(radius))[0]


def pack_symmetric(matrix: npt.ArrayLike) -> Floats:
    """The upper triangle, row by row, off the diagonal times √2; of each matrix in a stack.

    The length of the result is the Frobenius norm of the matrix.

    Examples
    --------
    >>> pack_symmetric([[1.0, 2.0], [2.0, 5.0]]).round(3)
    array([1.   , 2.828, 5.   ])
    """
    square = np.asarray(matrix, dtype=np.float64)
    if square.ndim < 2 or square.shape[-1] != square.shape[-2]:
        raise ParameterError("only square matrices can be packed")
    i, j = np.triu_indices(square.shape[-1])
    packed: Floats = square[..., i, j] * np.where(i == j, 1.0, math.sqrt(2))
    return packed


def unpack_symmetric(packed: npt.ArrayLike) -> Floats:
    """The symmetric matrix, or stack of matrices, that :func:`pack_symmetric` packed.

    Noise of one size on what was packed is, on the matrix, noise of that size on the diagonal, and
    smaller by √2 off it.

    Examples
    --------
    >>> unpack_symmetric([1.0, 8**0.5, 5.0]).round(3).tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """
    values = np.asarray(packed, dtype=np.float64)
    size = (math.isqrt(8 * values.shape[-1] + 1) - 1) // 2 if values.ndim else 0
    if not values.ndim or size * (size + 1) // 2 != values.shape[-1]:
        raise ParameterError("no symmetric matrix packs into so many values")
    i, j = np.triu_indices(size)
    matrix = np.empty((*values.shape[:-1], size, size))
    matrix[..., i, j] = values / np.where(i == j, 1.0, math.sqrt(2))
    matrix[..., j, i] = matrix[..., i, j]
    return matrix


def distance_of_record(
    radius: float, *, counts: float = 0.0, sums: float = 0.0, moments: float = 0.0
) -> float:
    """By how far one record, added or removed, moves what is released of the totals.

    D = √(a² + b²R² + c²R⁴) for the vector of a·n (all classes), b·S (all classes) and c·M, packed,
    of all rows together or one of each class. No record moves them further, and one at the edge of
    the ball moves them so far. A weight of 0 leaves a part out.

    Parameters
    ----------
    radius : float
        R, as given to :func:`clip`.
    counts, sums, moments : float
        The weights a, b, c.

    Returns
    -------
    float
        D, and a millionth for what floating point does to the totals.

    Formal guarantees
    -----------------
    - Add-or-remove adjacency; the label is part of the record; the classes are declared.
    - For totals of this module, of at most 2²⁶ rows, scaled and put together with at most eight
      roundings a value.

    Examples
    --------
    >>> print(f"{distance_of_record(3.0, counts=1.0):.4f} {distance_of_record(3.0, sums=1.0):.4f}")
    1.0000 3.0000
    >>> print(f"{distance_of_record(3.0, counts=9.0, sums=3.0, moments=1.0):.4f}")
    15.5885
    """
    length = _check_radius(radius)
    weights = (counts, sums, moments)
    if any(not (math.isfinite(weight) and weight >= 0) for weight in weights) or not any(weights):
        raise ParameterError("the weights of the parts must be finite, none below 0, not all 0")
    reach = math.hypot(counts, sums * length, moments * length * length)
    return check_length(reach * (1 + MARGIN))


def _check_radius(radius: float) -> float:
    length = check_length(radius)
    if not 2.0**-240 <= length <= 2.0**240:
        raise DeclarationError("radius must lie within 2**±240; declare it in another unit")
    return length


def _check_centre(centre: float | npt.ArrayLike, n_columns: int) -> Floats:
    try:
        middle = np.asarray(centre, dtype=np.float64)
    except (TypeError, ValueError):
        middle = np.full(1, np.nan)
    if middle.shape not in ((), (n_columns,)) or not np.all(np.abs(middle) <= LARGEST):
        raise DeclarationError(
            f"centre must be declared: one finite number, or one a column, {n_columns} here"
        )
    return middle


def _check_labels(labels: npt.ArrayLike, n_classes: int) -> npt.NDArray[np.int64]:
    classes = np.asarray(labels)
    if classes.ndim != 1 or classes.dtype.kind not in "iu":
        raise DataError("labels must be whole numbers, one a row")
    if classes.size and not (classes.min() >= 0 and classes.max() < n_classes):
        raise DataError(f"labels must be 0 to {n_classes - 1}, the places of the declared classes")
    return classes.astype(np.int64)


def _grid(radius: float) -> tuple[float, int]:
    """The step of the rows, and the largest ‖z‖² in squared steps."""
    step = math.ldexp(1.0, math.frexp(radius)[1] - FINENESS)
    return step, math.floor((Fraction(radius) / Fraction(step)) ** 2)


def _whole(rows: Floats, radius: float) -> Iterator[tuple[slice, Floats]]:
    """Blocks of rows in whole steps, each row no longer than the radius."""
    if len(rows) > MOST_ROWS:
        raise DataError("a release is made of at most 2**26 rows")
    step, longest = _grid(radius)
    for block in row_blocks(*rows.shape):
        whole = rows[block] / step
        norms = np.einsum("ij,ij->i", whole, whole)
        if not (np.all(whole == np.rint(whole)) and np.all(norms <= longest)):
            raise ParameterError("rows must be as clip(X, centre, radius) gives them")
        yield block, whole
