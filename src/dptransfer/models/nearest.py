"""Which of many autoencoders comes nearest, without finishing most of them.

A reconstruction error is a sum of squares, so its part within any subspace bounds it from below. In
the leading principal directions of the rows themselves that part is most of what tells one class
from another, and it costs one narrow matrix product a layer: with W an orthonormal basis of them,

    ‖y − ŷ‖² ≥ ‖W y − W ŷ‖²,   W ŷ = G (α Wᵀ),   P ŷ = G (α Pᵀ),

where P ŷ is what the next layer needs anyway. Every part is bounded so; then each row finishes the
part with the least bound, and after it only those whose bound lies below the best error so far.
The answer is that of finishing all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from dptransfer.models.autoencoder import DeepMembershipAutoencoder
from dptransfer.numerics.subspace import principal_subspace

__all__ = ["Nearest", "nearest_parts"]

Array = npt.NDArray[np.floating]
Labels = npt.NDArray[np.intp]

SHARE = 4096  # at most so many rows to a piece of work
BLOCK = 512  # rows at a time: their kernels stay in the cache
BASIS_ROWS = 2000  # so many rows give the directions W
DIRECTIONS = 64
WORTHWHILE = 128  # fewer rows than this are finished everywhere
SLACK = 1e-5  # a bound must pass the best error by this share: rounding prunes nothing


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
    bounds = None
    rivals = np.unique(groups).size < len(parts) or (contest and len(parts) > 1)
    if rivals and len(X) >= WORTHWHILE:
        some = X[:: -(-len(X) // BASIS_ROWS)]
        W = principal_subspace(some, min(DIRECTIONS, -(-X.shape[1] // 4), len(some) - 1))
        bounds = [Bound(part, W.astype(X.dtype)) for part in parts]
    # an even number of equal shares, so that two workers end together
    n_shares = 2 * -(-len(X) // (2 * SHARE))
    work = delayed(_nearest_parts)
    found = Parallel(n_jobs=n_jobs, prefer="threads")(
        work(parts, groups, bounds, share, contest) for share in np.array_split(X, n_shares)
    )
    return Nearest(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


class Bound:
    """A lower bound on the error of one part: its error within the directions W."""

    def __init__(self, part: DeepMembershipAutoencoder, W: Array) -> None:
        self.W = W
        self.P = part.components_
        self.layers = []
        for mapping, step in zip(part.layers_, part.steps_, strict=True):
            self.layers.append((mapping, np.hstack([step, mapping.coef_ @ W.T]), step.shape[1]))

    def __call__(self, X: Array, XW: Array) -> Array:
        """min_l ‖W y − W ŷ^l‖² for every row; XW is X Wᵀ."""
        least = np.full(len(X), np.inf, dtype=X.dtype)
        latents = X @ self.P.T
        for start in range(0, len(X), BLOCK):
            block = slice(start, start + BLOCK)
            latent = latents[block]
            for mapping, coef, n_next in self.layers:
                outputs = mapping.features(latent) @ coef
                latent = outputs[:, :n_next]
                missed = outputs[:, n_next:]
                missed -= XW[block]
                error = np.einsum("ij,ij->i", missed, missed)
                np.minimum(least[block], error, out=least[block])
        return least


def _nearest_parts(
    parts: Sequence[DeepMembershipAutoencoder],
    groups: Labels,
    bounds: Sequence[Bound] | None,
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

    if bounds is None:
        for part in range(len(parts)):
            finish(part, np.arange(len(X)))
        return Nearest(errors, winner)

    XW = X @ bounds[0].W.T
    least = np.stack([bound(X, XW) for bound in bounds], axis=1)
    leagues = [np.arange(len(parts))] if contest else [
        np.flatnonzero(groups == group) for group in range(n_groups)
    ]
    for league in leagues:
        first = league[np.argmin(least[:, league], axis=1)]
        for part in league:
            finish(part, np.flatnonzero(first == part))
        for part in league[np.argsort(least[:, league].mean(axis=0))]:
            best = errors.min(axis=1) if contest else errors[:, groups[part]]
            open_ = (least[:, part] * (1 - SLACK) <= best) & (first != part)
            finish(part, np.flatnonzero(open_))
    return Nearest(errors, winner)
