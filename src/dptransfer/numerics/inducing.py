"""How many inducing points, and which: the loop of Algorithm 1 without walking every step of it.

The paper lowers M by a tenth until τ(M, 1) ≥ κ, clustering anew each time. τ falls as M grows, so
the first step of the ladder that passes can be found by bisection, and with good guesses two
clusterings are enough: one that passes, and the one a step above it that does not. The first guess
comes from the k-means seeds: one Cholesky factorisation of their kernel gives τ for every leading
part of the sequence at once. Later ones take τ to be a power of M.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dtrsm

from dptransfer.numerics.kernel import kernel
from dptransfer.numerics.kmeans import Seeds, lloyd
from dptransfer.numerics.smoothing import Projection, factorise, project

__all__ = ["choose_inducing_points", "first_passing", "ladder"]

Array = npt.NDArray[np.floating]

CENTROIDS_TO_SEEDS = 0.8  # τ of the centroids over τ of their seeds, roughly
STEEPNESS = 2.5  # τ falls about like M to this power; a better figure comes from two probes
CURVE_ROWS = 250  # so many rows tell the shape of the curve


def ladder(M_max: int) -> list[int]:
    """The values of M that Algorithm 1 visits: ⌈0.9 M⌉, but falling by at least one, down to 1.

    >>> ladder(12)
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> ladder(500)[:5]
    [500, 450, 405, 365, 329]
    """
    steps = [M_max]
    while steps[-1] > 1:
        steps.append(min(math.ceil(0.9 * steps[-1]), steps[-1] - 1))
    return steps


def first_passing(
    n_steps: int, passes: Callable[[int], bool], guess: Callable[[int, int], int]
) -> int:
    """The first step that passes, where those that pass come after those that fail.

    ``guess(low, high)`` proposes a step between the last one known to fail and the first one known
    to pass. The last step passes without being asked.
    """
    low, high = -1, n_steps - 1
    while high - low > 1:
        step = min(max(guess(low, high), low + 1), high - 1)
        if passes(step):
            high = step
        else:
            low = step
    return high


def choose_inducing_points(
    x: Array,
    w: Array,
    M_max: int,
    seeds: Seeds,
    *,
    dof: float,
    min_smoothing: float,
    near_limit: bool = False,
) -> Projection:
    """Steps 3 to 8 and 14 of Algorithm 1: the centroids for the first M with τ(M, 1) ≥ κ.

    Parameters
    ----------
    x : array of shape (N, n), float64
    w : array of shape (n,)
    M_max : int, at most N
    seeds : Seeds
        Rows of x that start the clusters.
    dof, min_smoothing : float
        ν and κ.
    near_limit : bool
        Whether M is likely to be close to M_max, as it is from one layer to the next: then M_max
        is tried first. It changes the work, not the answer.

    Returns
    -------
    Projection of x on the chosen points.
    """
    mean = x.mean(axis=0)
    centred = x - mean
    steps = ladder(M_max)
    probes: dict[int, Projection] = {}

    def probe(step: int) -> bool:
        rows = seeds.first(steps[step])
        if len(rows) < steps[step] and len(rows) > 1:
            return False  # every distinct point is an inducing point: τ = 0
        probes[step] = project(x, lloyd(centred, centred[rows]) + mean, w, dof)
        return probes[step].tau >= min_smoothing

    def guess(low: int, high: int) -> int:
        """Where a power law through the nearest probes crosses κ."""
        known = [step for step in (low, high) if step in probes and probes[step].tau > 0]
        if not known:
            if near_limit or low >= 0:
                return low + 1
            M = _crossing(centred * np.sqrt(w), seeds, M_max, dof, min_smoothing)
        else:
            M1, tau1 = steps[known[0]], probes[known[0]].tau
            power = STEEPNESS
            if len(known) == 2:
                M2, tau2 = steps[known[1]], probes[known[1]].tau
                power = max(math.log(tau2 / tau1) / math.log(M1 / M2), 1.0)
            M = math.floor(M1 * (tau1 / min_smoothing) ** (1 / power))
        return next((step for step in range(low + 1, high) if steps[step] <= M), high)

    step = first_passing(len(steps), probe, guess)
    if step not in probes:
        probe(step)
    return probes[step]


def _crossing(scaled: Array, seeds: Seeds, M_max: int, dof: float, min_smoothing: float) -> int:
    """The largest M whose seeds, as inducing points, leave τ(M, 1) near κ.

    The Cholesky factor of the kernel of a sequence of points holds those of its leading parts, so
    that the squares in R⁻ᵀ K_ax, summed row after row, are the traces for M = 1, 2, 3 … at once.
    """
    some = scaled[:: max(1, len(scaled) // CURVE_ROWS)]
    ones = np.ones(scaled.shape[1])
    M = 16
    while True:
        points = scaled[seeds.first(min(M, M_max))]
        R = factorise(kernel(points, points, ones))
        projected = dtrsm(1.0, R, kernel(some, points, ones).T, trans_a=1, overwrite_b=1)
        kept = np.cumsum(np.einsum("ij,ij->i", projected, projected)) / len(some)
        count = np.arange(1, len(points) + 1)
        tau = CENTROIDS_TO_SEEDS * len(scaled) * (1 - kept) / (dof + count - 2)
        if tau[-1] < min_smoothing or len(points) < M:
            return int(np.count_nonzero(tau >= min_smoothing)) or 1
        M *= 2
