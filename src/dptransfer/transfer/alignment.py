"""How a row of the adopter's becomes one that the owner's model can read.

Where both have the same columns, the row is brought to the owner's units. Where they have others,
the paper's subspace alignment is all that can be done without a shared row: the k-th principal
direction of the one is taken for the k-th of the other (Section 4.2, "Subspace alignment"),

    y_{tg→sr} = (V^{+sr})ᵀ V^{tg} y_tg,   n_st = min(⌈p_sr/2⌉, p_tg).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError
from dptransfer.numerics.subspace import principal_subspace

if TYPE_CHECKING:
    from dptransfer.transfer.release import Release

__all__ = ["Alignment", "align", "as_given"]

Array = npt.NDArray[np.floating]

FAR_OUTSIDE = 10.0


class Alignment(NamedTuple):
    """The map y ↦ (y − offset)·scale, or y ↦ matrix y."""

    kind: str
    """"as given", "same columns" or "subspace"."""
    offset: Array | None = None
    scale: Array | None = None
    matrix: Array | None = None

    def __call__(self, X: Array) -> Array:
        """Rows of the target, shape (N, p_tg), as rows of the source, shape (N, p_sr)."""
        if self.matrix is not None:
            return np.asarray(X @ self.matrix.T.astype(X.dtype, copy=False))
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


def align(release: Release, X: Array) -> Alignment:
    """The map from the target's rows to the source's.

    Parameters
    ----------
    release : Release
    X : array of shape (N, p_tg)
        All of the target's rows, labelled or not.
    """
    if X.shape[1] != release.n_features:
        return _subspace(release, X)
    if not release.columns.numbers_only:  # features already, as `release.encode` makes them
        return _checked(as_given(), release, X)
    low = np.array([column.low for column in release.columns], dtype=np.float64)
    width = np.array([column.distance for column in release.columns])
    if not low.any() and (width == 1).all():
        return _checked(Alignment("same columns"), release, X)
    return _checked(Alignment("same columns", low, 1 / width), release, X)


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
