"""Which of many autoencoders comes nearest, without finishing most of them.

A reconstruction error is a sum of squares, so its part within any subspace bounds it from below. In
the leading principal directions of the rows themselves that part is most of what tells one class
from another, and it costs one narrow matrix product a layer: with W an orthonormal basis of them,

    ‖y − ŷ‖² ≥ ‖W y − W ŷ‖²,   W ŷ = G (α Wᵀ),   P ŷ = G (α Pᵀ),

where P ŷ is what the next layer needs anyway. Every part is bounded so; then each row finishes the
part with the least bound, and after it only those whose bound lies below the best error so far.
Where only the winner is asked for, a row is left at the first layer whose error lies below the
bounds of all rivals.
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
        Whether the groups compete: then only the group of a row's least error is exact, and the
        errors may come out too large.
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
        W = principal_subspace(some, n)
        sample = some[:: -(-len(some) // SAMPLE_ROWS)].astype(np.float64)
        self._bounds = [Bound(part, W, sample) for part in parts]
        # the first latent points of all parts, and W x, come from one product
        self._directions = np.vstack([W, *(bound.directions for bound in self._bounds)])
        self._ends = np.cumsum([n, *(len(bound.directions) for bound in self._bounds)])

    def __call__(self, X: Array) -> Array:
        """At most the error of every row and part, shape (N, len(parts))."""
        with np.errstate(over="ignore", invalid="ignore"):
            X = X.astype(np.float32, copy=False)
            products = X @ self._directions.astype(np.float32).T
            XW, *latents = np.split(products, self._ends[:-1], axis=1)
            lengths = _lengths(X)
            bounds = np.empty((len(X), len(self._bounds)), dtype=np.float32)
            for part, (bound, latent) in enumerate(zip(self._bounds, latents, strict=True)):
                bounds[:, part] = bound(latent, XW, lengths)
        # what single precision cannot hold bounds nothing
        bounds[~np.isfinite(bounds)] = 0
        return bounds


class _Layer(NamedTuple):
    """A layer with all that can be multiplied beforehand, from latent points to the next ones.

    Latent points are kept as the kernel wants them, centred and scaled by √w, with room for two
    more columns; see :func:`~dptransfer.numerics.kernel.kernel`.
    """

    points: Array
    """The inducing points so, with their own two columns; transposed."""
    both: Array
    """σ² α times what gives the next latent points, and times Wᵀ."""
    shift: Array
    """What centres the next latent points."""

    def astype(self, dtype: type) -> _Layer:
        return _Layer(*(array.astype(dtype) for array in self))


class Bound:
    """A lower bound on the error of one part: its error within the directions W.

    Evaluated in single precision, and lowered by ten times the most that this was seen to matter
    over a sample of rows, in proportion to the length of a row.
    """

    def __init__(self, part: DeepMembershipAutoencoder, W: Array, sample: Array) -> None:
        scales = [np.sqrt(mapping.weights_.astype(np.float64)) for mapping in part.layers_]
        centres = [
            mapping.inducing_points_.mean(axis=0) * s
            for mapping, s in zip(part.layers_, scales, strict=True)
        ]
        self.directions = part.components_ * scales[0][:, None]
        self._shift = centres[0]
        self._layers = []
        following = zip([*scales[1:], np.zeros(0)], [*centres[1:], np.zeros(0)], strict=True)
        for mapping, step, scale, centre, (next_scale, next_centre) in zip(
            part.layers_, part.steps_, scales, centres, following, strict=True
        ):
            points = np.ones((len(mapping.coef_), len(scale) + 2))
            points[:, :-2] = mapping.inducing_points_ * scale - centre
            points[:, -1] = -0.5 * np.einsum("ij,ij->i", points[:, :-2], points[:, :-2])
            room = np.zeros((len(points), 2))
            both = np.hstack([step[:, : len(next_scale)] * next_scale, room, mapping.coef_ @ W.T])
            self._layers.append(_Layer(points.T, mapping.variance_ * both, next_centre))
        lengths = _lengths(sample)
        exact = self._errors(sample @ self.directions.T, sample @ W.T)
        with np.errstate(over="ignore", invalid="ignore"):
            self._shift = self._shift.astype(np.float32)
            self._layers = [layer.astype(np.float32) for layer in self._layers]
            sample = sample.astype(np.float32)
            single = self._errors(
                sample @ self.directions.astype(np.float32).T, sample @ W.astype(np.float32).T
            )
            apart = np.abs(np.sqrt(exact) - np.sqrt(single)) / np.maximum(lengths, TINY)
            self._margin = MARGIN * float(np.max(apart))

    def __call__(self, latent: Array, XW: Array, lengths: Array) -> Array:
        """At most min_l ‖W y − W ŷ^l‖² for every row.

        Parameters
        ----------
        latent, XW : arrays of shape (N, n) and (N, len(W))
            The rows' products with ``directions`` and with W.
        lengths : array of shape (N,)
        """
        size = max(MIN_BLOCK, KERNEL_SIZE // max(len(layer.both) for layer in self._layers))
        blocks = [slice(start, start + size) for start in range(0, len(latent), size)]
        errors = np.concatenate([self._errors(latent[block], XW[block]) for block in blocks])
        least: Array = np.maximum(np.sqrt(errors) - self._margin * lengths, 0.0) ** 2
        return least

    def _errors(self, latent: Array, XW: Array) -> Array:
        least = np.full(len(latent), np.inf, dtype=latent.dtype)
        x = np.empty((len(latent), latent.shape[1] + 2), dtype=latent.dtype)
        np.subtract(latent, self._shift, out=x[:, :-2])
        for points, both, shift in self._layers:
            np.einsum("ij,ij->i", x[:, :-2], x[:, :-2], out=x[:, -2])
            x[:, -2] *= -0.5
            x[:, -1] = 1.0
            K = x @ points
            np.exp(K, out=K)
            outputs = K @ both
            x, missed = np.split(outputs, [len(shift) + 2], axis=1)
            x[:, :-2] -= shift
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

    def finish(part: int, rows: Labels, enough: Array | None = None) -> None:
        if len(rows):
            new, group = parts[part].least_error(X[rows], enough), groups[part]
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
        # an error below the bounds of all other groups decides a contest
        enough = _least_of_rivals(least, groups, groups[first]) if contest else None
        for part in league.tolist():
            rows = np.flatnonzero(first == part)
            finish(part, rows, None if enough is None else enough[rows])
        undecided = True if enough is None else errors.min(axis=1) >= enough
        for part in league[np.argsort(least[:, league].mean(axis=0))].tolist():
            best = errors.min(axis=1) if contest else errors[:, groups[part]]
            open_ = (least[:, part] <= best) & (first != part) & undecided
            finish(part, np.flatnonzero(open_))
    return Nearest(errors, winner)


def _least_of_rivals(least: Array, groups: Labels, own: Labels) -> Array:
    """For every row the least bound among the parts of all groups but its own."""
    of_rivals = np.full(len(least), np.inf, dtype=least.dtype)
    for group in np.unique(groups):
        of_group = least[:, groups == group].min(axis=1)
        np.minimum(of_rivals, of_group, out=of_rivals, where=own != group)
    return of_rivals
