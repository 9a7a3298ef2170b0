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

from dptransfer.numerics.kernel import kernel
from dptransfer.numerics.kmeans import lloyd
from dptransfer.numerics.smoothing import Projection, divide, factorise, project

__all__ = ["choose_inducing_points", "first_passing", "ladder", "power_law"]

Array = npt.NDArray[np.floating]
Labels = npt.NDArray[np.intp]

START_TO_CENTROID = 0.9  # τ of the centroids over τ of the points they started from, roughly
STEEPNESS = 2.5  # τ falls about like M to this power; a better figure comes from two probes
SHARE_OF_DIMENSION = 8  # the curve begins with so many points for every dimension
CURVE_ROWS = 150  # so many rows tell the shape of the curve


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
    starts: Callable[[int], Array],
    *,
    dof: float,
    min_smoothing: float,
    likely: int | None = None,
) -> tuple[Projection, Labels]:
    """Steps 3 to 8 and 14 of Algorithm 1: the centroids for the first M with τ(M, 1) ≥ κ.

    Parameters
    ----------
    x : array of shape (N, n), float64
    w : array of shape (n,)
    M_max : int, at most N
    starts : callable
        ``starts(M)`` are the points from which M clusters grow, the first M of one sequence; fewer
        where fewer are distinct.
    dof, min_smoothing : float
        ν and κ.
    likely : int or None
        About the M to come, where it is known: it makes the search shorter.

    Returns
    -------
    Projection of x on the chosen points, and the cluster of every row.
    """
    steps = ladder(M_max)
    probes: dict[int, tuple[Projection, Labels]] = {}
    traces: dict[int, float] = {}

    def passes(step: int) -> bool:
        # more points leave no larger trace: a trace that is too small with fewer is so with these
        needed = min_smoothing * (dof + steps[step] - 2)
        if any(trace < needed for other, trace in traces.items() if other > step):
            return False
        points = starts(steps[step])
        if len(points) < steps[step] and len(points) > 1:
            return False  # every distinct point is an inducing point: τ = 0
        clusters = lloyd(x, points)
        probes[step] = project(x, clusters.centres, w, dof), clusters.labels
        traces[step] = probes[step][0].tau * (dof + len(points) - 2)
        return traces[step] >= needed

    def guess(low: int, high: int) -> int:
        known = [
            (steps[step], probes[step][0].tau)
            for step in (low, high)
            if step in probes and probes[step][0].tau > 0
        ]
        if known:
            M = power_law(known, min_smoothing)
        elif likely is not None:
            M = likely
        else:
            M = _crossing(x, w, starts, M_max, dof, min_smoothing)
        return next((step for step in range(low + 1, high) if steps[step] <= M), high)

    step = first_passing(len(steps), passes, guess)
    if step not in probes:
        passes(step)
    return probes[step]


def power_law(known: list[tuple[int, float]], min_smoothing: float) -> int:
    """Where τ would cross κ if it were a power of M, through one or two known points."""
    M, tau = known[0]
    power = STEEPNESS
    if len(known) == 2:
        M2, tau2 = known[1]
        power = max(math.log(tau2 / tau) / math.log(M / M2), 1.0)
    crossing: float = M * (tau / min_smoothing) ** (1 / power)
    return math.floor(crossing)


def _crossing(
    x: Array,
    w: Array,
    starts: Callable[[int], Array],
    M_max: int,
    dof: float,
    min_smoothing: float,
) -> int:
    """The largest M for which the starting points, taken as inducing points, leave τ near κ.

    The Cholesky factor of the kernel of a sequence of points holds those of its leading parts, so
    that the squares in K_xa R⁻¹, summed column after column, are the traces for M = 1, 2, 3 … at
    once.
    """
    some = x[:: max(1, len(x) // CURVE_ROWS)]
    M: int = SHARE_OF_DIMENSION * x.shape[1]
    while True:
        points = starts(min(M, M_max))
        R = factorise(kernel(points, points, w))
        projected = divide(kernel(some, points, w), R)
        kept = np.cumsum(np.einsum("ij,ij->j", projected, projected)) / len(some)
        count = np.arange(1, len(points) + 1)
        tau = START_TO_CENTROID * len(x) * (1 - kept) / (dof + count - 2)
        if tau[-1] < min_smoothing or len(points) < M:
            return max(1, int(np.count_nonzero(tau >= min_smoothing)))
        M *= 2
