"""How a row of the adopter's becomes one that the owner's model can read.

Where both have the same columns, the row is brought to the owner's units. Where they have others,
the paper's subspace alignment is all that can be done without a shared row: the k-th principal
direction of the one is taken for the k-th of the other (Section 4.2, "Subspace alignment"),

    y_{tg→sr} = (V^{+sr})ᵀ V^{tg} y_tg,   n_st = min(⌈p_sr/2⌉, p_tg).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError
from dptransfer.numerics.subspace import principal_subspace
from dptransfer.transfer.columns import Columns

if TYPE_CHECKING:
    from dptransfer.transfer.release import Release

__all__ = ["KINDS", "Alignment", "align", "as_given", "covers"]

Array = npt.NDArray[np.floating]

KINDS = ("as given", "same columns", "subspace")
FAR_OUTSIDE = 10.0


class Alignment(NamedTuple):
    """The map y ↦ (y − offset)·scale of the columns that are picked, or y ↦ matrix y."""

    kind: str
    """One of ``KINDS``."""
    offset: Array | None = None
    scale: Array | None = None
    matrix: Array | None = None
    picked: npt.NDArray[np.int64] | None = None
    """The numbers of the columns that are used, in the source's order; None for all."""

    def __call__(self, X: Array) -> Array:
        """Rows of the target, shape (N, p_tg), as rows of the source, shape (N, p_sr)."""
        if self.matrix is not None:
            return np.asarray(X @ self.matrix.T.astype(X.dtype, copy=False))
        if self.picked is not None:
            X = X[:, self.picked]
        if self.offset is not None and self.scale is not None:
            return np.asarray((X - self.offset.astype(X.dtype)) * self.scale.astype(X.dtype))
        return X

    def same_as(self, other: Alignment) -> bool:
        """Whether both map alike."""
        return all(
            (mine is None and its is None)
            or (mine is not None and its is not None and np.array_equal(mine, its))
            for mine, its in zip(self[1:], other[1:], strict=True)
        )


def as_given() -> Alignment:
    """The map that leaves every row as it is."""
    return Alignment("as given")


def align(release: Release, X: Array, columns: Columns | None = None) -> Alignment:
    """The map from the target's rows to the source's.

    Parameters
    ----------
    release : Release
    X : array of shape (N, p_tg)
        All of the target's rows, labelled or not.
    columns : Columns or None
        What the target's columns are, where that is known; X then holds their features. Columns
        are matched by name, and if that cannot be, the principal directions are. Without it, as
        many columns are taken for the same columns in the same order.
    """
    if columns is not None:
        return _by_name(release.columns, columns) or _subspace(release, X)
    if X.shape[1] != release.n_features:
        return _subspace(release, X)
    if not release.columns.numbers_only:  # features already, as `release.encode` makes them
        return _checked(as_given(), release, X)
    low = np.array([column.low for column in release.columns], dtype=np.float64)
    width = np.array([column.distance for column in release.columns])
    if not low.any() and (width == 1).all():
        return _checked(Alignment("same columns"), release, X)
    return _checked(Alignment("same columns", low, 1 / width), release, X)


def covers(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the wanted columns are among those named, so that names can be trusted.

    Names that only count (x0, x1, …) say nothing of what a column is: x5 of eight pixels a row is
    not x5 of sixteen. Such columns are the same only if all of them are there.

    >>> covers(["age", "sex", "note"], ["sex", "age"]), covers(["x0", "x1", "x2"], ["x0", "x1"])
    (True, False)
    """
    counted = len({name.rstrip("0123456789") for name in wanted}) == 1 < len(wanted)
    return set(wanted) <= set(names) and (not counted or len(wanted) == len(names))


def _by_name(theirs: Columns, ours: Columns) -> Alignment | None:
    """From features in our units to features in theirs: both say what 0 and 1 stand for."""
    if not covers(ours.features, theirs.features):
        return None
    place = {name: k for k, name in enumerate(ours.features)}
    picked = np.array([place[name] for name in theirs.features], dtype=np.int64)
    our_low, our_width = (each[picked] for each in _units(ours))
    their_low, their_width = _units(theirs)
    same_units = np.array_equal(our_low, their_low) and np.array_equal(our_width, their_width)
    every = len(picked) == ours.width and bool(np.all(np.diff(picked) == 1))
    return Alignment(
        "same columns",
        None if same_units else (their_low - our_low) / our_width,
        None if same_units else our_width / their_width,
        picked=None if every else picked,
    )


def _units(columns: Columns) -> tuple[Array, Array]:
    """The value for which each feature is 0, and how far from it the feature is 1."""
    low = [0.0 if column.low is None else column.low for column in columns for _ in column.features]
    width = [column.distance for column in columns for _ in column.features]
    return np.array(low), np.array(width)


def _subspace(release: Release, X: Array) -> Alignment:
    p_sr, p_tg = release.n_features, X.shape[1]
    V_sr = release.summary.subspace
    n_st = min(-(-p_sr // 2), p_tg, len(V_sr), len(X) - 1)
    if n_st < 1 or bool(np.all(X[0] == X)):
        raise DataError(
            f"X has {p_tg} columns and the release {p_sr}: to align them, X must have at least two "
            "rows that differ"
        )
    V_tg = principal_subspace(X, n_st)
    return Alignment("subspace", matrix=V_sr[: len(V_tg)].T.astype(np.float64) @ V_tg)


def _checked(alignment: Alignment, release: Release, X: Array) -> Alignment:
    farthest = np.abs(alignment(X)).max(axis=0)
    worst = int(farthest.argmax())
    if farthest[worst] > FAR_OUTSIDE:
        raise DataError(
            f"column {worst} of X lies far outside what the release {release.name!r} declares for "
            f"{release.columns.features[worst]!r}: give X in the owner's units, with its columns "
            "in the owner's order (release.columns lists them with their bounds)"
        )
    return alignment
