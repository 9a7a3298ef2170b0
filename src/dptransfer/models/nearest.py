"""Which of many autoencoders comes nearest, without finishing most of them.

A reconstruction error is a sum of squares, so its part within any subspace bounds it from below. In
the leading principal directions of the rows themselves that part is most of what tells one class
from another, and it costs one narrow matrix product a layer: with W an orthonormal basis of them,

    ‖y − ŷ‖² ≥ ‖W y − W ŷ‖²,   W ŷ = G (α Wᵀ),   P ŷ = G (α Pᵀ),

where P ŷ is what the next layer needs anyway. Every part is bounded so; then each row finishes the
part with the least bound, and after it only those whose bound lies below the best error so far.
The answer is that of finishing all, but for errors that only rounding tells apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from dptransfer.models.autoencoder import DeepMembershipAutoencoder
from dptransfer.models.threads import one_blas_thread
from dptransfer.numerics.subspace import principal_subspace

__all__ = ["Nearest", "nearest_parts"]

Array = npt.NDArray[np.floating]
Labels = npt.NDArray[np.intp]

SHARE = 4096  # at most so many rows to a piece of work
KERNEL_SIZE = 2**17  # entries of a kernel matrix that stays in the cache
MIN_BLOCK = 256  # and never fewer rows at a time
BASIS_ROWS = 2000  # so many rows give the directions W
DIRECTIONS = 64  # at most so many
SHARE_OF_COLUMNS = 8  # and at most one for so many columns
WORTHWHILE = 128  # fewer rows than this are finished everywhere
SAMPLE_ROWS = 64  # rows on which single precision is tried
MARGIN = 10.0  # times what it did there
TINY = float(np.finfo(np.float32).tiny)


class Nearest(NamedTuple):
    """For every row and group: the least squared error, and the part that has it."""

    errors: Array
    part: Labels


def nearest_parts(
    parts: Sequence[DeepMembershipAutoencoder],
    groups: Labels,
    X: Array,
    *,
    contest: bool = False,
    n_jobs: int | None = None,
) -> Nearest:
    """The part of every group that reconstructs each row best.

    Parameters
    ----------
    parts : sequence of DeepMembershipAutoencoder
    groups : array of int, shape (len(parts),)
        The group of every part, from 0 on.
    X : array of shape (N, p)
    contest : bool
        Whether the groups compete: then only the least error of a row is exact, and the others
        may come out too large.
    n_jobs : int or None
        So many workers share the rows, a block at a time.

    Returns
    -------
    Nearest, with arrays of shape (N, n_groups)
    """
    rivals = np.unique(groups).size < len(parts) or (contest and len(parts) > 1)
    # an even number of equal shares, so that two workers end together
    shares = np.array_split(X, 2 * -(-len(X) // (2 * SHARE)))
    work = delayed(_nearest_parts)
    with one_blas_thread():
        screen = None
        if rivals and len(X) >= WORTHWHILE:
            screen = Screen(parts, X[:: -(-len(X) // BASIS_ROWS)])
        found = Parallel(n_jobs=n_jobs, prefer="threads")(
            work(parts, groups, screen, share, contest) for share in shares
        )
    return Nearest(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


class Screen:
    """Lower bounds on the errors of all parts, from the principal directions of some rows."""

    def __init__(self, parts: Sequence[DeepMembershipAutoencoder], some: Array) -> None:
        n = min(DIRECTIONS, -(-some.shape[1] // SHARE_OF_COLUMNS), len(some) - 1)
        self._W = principal_subspace(some, n)
        sample = some[:: -(-len(some) // SAMPLE_ROWS)]
        self._bounds = [Bound(part, self._W, sample) for part in parts]

    def __call__(self, X: Array) -> Array:
        """At most the error of every row and part, shape (N, len(parts))."""
        with np.errstate(over="ignore", invalid="ignore"):
            X = X.astype(np.float32, copy=False)
            XW = X @ self._W.astype(np.float32).T
            bounds = np.stack([bound(X, XW) for bound in self._bounds], axis=1)
        # what single precision cannot hold bounds nothing
        return np.where(np.isfinite(bounds), bounds, np.float32(0))


class Bound:
    """A lower bound on the error of one part: its error within the directions W.

    Evaluated in single precision, and lowered by ten times the most that this was seen to matter
    over a sample of rows, in proportion to the length of a row.
    """

    def __init__(self, part: DeepMembershipAutoencoder, W: Array, sample: Array) -> None:
        self._P = part.components_
        self._layers = [
            (mapping, np.hstack([step, mapping.coef_ @ W.T]), step.shape[1])
            for mapping, step in zip(part.layers_, part.steps_, strict=True)
        ]
        sample = sample.astype(np.float64)
        exact = self._errors(sample @ self._P.T, sample @ W.T)
        with np.errstate(over="ignore", invalid="ignore"):
            self._P = self._P.astype(np.float32)
            self._layers = [
                (mapping, both.astype(np.float32), n) for mapping, both, n in self._layers
            ]
            sample = sample.astype(np.float32)
            single = self._errors(sample @ self._P.T, sample @ W.astype(np.float32).T)
            apart = np.abs(np.sqrt(exact) - np.sqrt(single)) / np.maximum(_lengths(sample), TINY)
            self._margin = MARGIN * float(np.max(apart))

    def __call__(self, X: Array, XW: Array) -> Array:
        """At most min_l ‖W y − W ŷ^l‖² for every row; XW is X Wᵀ."""
        latent = X @ self._P.T
        size = max(MIN_BLOCK, KERNEL_SIZE // max(both.shape[0] for _, both, _ in self._layers))
        blocks = [slice(start, start + size) for start in range(0, len(X), size)]
        errors = np.concatenate([self._errors(latent[block], XW[block]) for block in blocks])
        least: Array = np.maximum(np.sqrt(errors) - self._margin * _lengths(X), 0.0) ** 2
        return least

    def _errors(self, latent: Array, XW: Array) -> Array:
        least = np.full(len(latent), np.inf, dtype=latent.dtype)
        for mapping, both, n in self._layers:
            outputs = mapping.features(latent) @ both
            latent = outputs[:, :n]
            missed = outputs[:, n:]
            missed -= XW
            np.minimum(least, np.einsum("ij,ij->i", missed, missed), out=least)
        return least


def _lengths(X: Array) -> Array:
    lengths: Array = np.sqrt(np.einsum("ij,ij->i", X, X))
    return lengths


def _nearest_parts(
    parts: Sequence[DeepMembershipAutoencoder],
    groups: Labels,
    screen: Screen | None,
    X: Array,
    contest: bool,
) -> Nearest:
    with one_blas_thread():  # here too: a worker may be a process of its own
        return _finish_nearest(parts, groups, screen, X, contest)


def _finish_nearest(
    parts: Sequence[DeepMembershipAutoencoder],
    groups: Labels,
    screen: Screen | None,
    X: Array,
    contest: bool,
) -> Nearest:
    n_groups = int(groups.max()) + 1
    errors = np.full((len(X), n_groups), np.inf, dtype=X.dtype)
    winner = np.zeros((len(X), n_groups), dtype=np.intp)

    def finish(part: int, rows: Labels) -> None:
        if len(rows):
            new, group = parts[part].least_error(X[rows]), groups[part]
            better = new < errors[rows, group]
            errors[rows[better], group] = new[better]
            winner[rows[better], group] = part

    if screen is None:
        for part in range(len(parts)):
            finish(part, np.arange(len(X)))
        return Nearest(errors, winner)

    least = screen(X)
    leagues = (
        [np.arange(len(parts))]
        if contest
        else [np.flatnonzero(groups == group) for group in range(n_groups)]
    )
    for league in leagues:
        first = league[np.argmin(least[:, league], axis=1)]
        for part in league.tolist():
            finish(part, np.flatnonzero(first == part))
        for part in league[np.argsort(least[:, league].mean(axis=0))].tolist():
            best = errors.min(axis=1) if contest else errors[:, groups[part]]
            open_ = (least[:, part] <= best) & (first != part)
            finish(part, np.flatnonzero(open_))
    return Nearest(errors, winner)
