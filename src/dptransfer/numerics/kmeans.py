"""K-means for many centres: seeds that are nested, and Lloyd's iteration as matrix products.

Algorithm 1 asks for the centroids of M clusters for one M after another, with M close to half the
number of points. Two things make that cheap. The seeds of M clusters are the first M of one fixed
sequence (drawn in growing rounds, each point with a chance proportional to its squared distance
from the seeds so far), so a smaller M costs no new seeding, and the sequence itself tells roughly
which M is wanted. And one Lloyd step is one matrix product, since of ‖x − c‖² only ‖c‖² − 2x·c
tells the clusters apart.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Clustering", "Seeds", "assign", "centroids", "lloyd"]

Array = npt.NDArray[np.floating]
Labels = npt.NDArray[np.intp]

ROUND_GROWTH = 0.1  # a round adds a tenth of the seeds that are there already
BLOCK = 2**20  # distances at a time
LITTLE_WORK = 6_000_000  # multiply-adds a step, up to which all rows are looked at in each
EQUAL = 1e-14  # squared distances below this share of the largest squared norm are none
TRIALS = 4


class Seeds:
    """A sequence of distinct rows of x, of which the first M seed M clusters.

    Drawn lazily, in rounds of fixed size, so that the first M are the same however many are asked
    for. A row equal to an earlier seed is never drawn: ``order`` ends at the number of distinct
    rows.
    """

    def __init__(self, x: Array, rng: np.random.Generator) -> None:
        self._points = x
        standard = _standard(x)[0]
        squares = np.einsum("ij,ij->i", standard, standard)[:, None]
        ones = np.ones_like(squares)
        # ‖x − y‖² = −2x·y + ‖x‖² + ‖y‖² as one product: the norms ride along as two more columns
        self._left = np.hstack([-2.0 * standard, squares, ones])
        self._right = np.hstack([standard, ones, squares]).T
        self._equal = EQUAL * float(squares.max())  # what rounding leaves between equal rows
        self._rng = rng
        first = int(rng.integers(len(x)))
        self._order = [first]
        self._distance = self._squared_distances(np.array([first]))[0]

    def first(self, M: int) -> Array:
        """The points that seed M clusters; fewer where fewer are distinct."""
        while len(self._order) < M and self._draw():
            pass
        points: Array = self._points[self._order[:M]]
        return points

    def _squared_distances(self, rows: Labels) -> Array:
        """Squared distance of each of the given rows of x from every one."""
        squared: Array = self._left[rows] @ self._right
        return squared

    def _draw(self) -> bool:
        """One round: draw candidates by squared distance, keep those that lower its sum most."""
        candidates = np.flatnonzero(self._distance > self._equal)
        if not len(candidates):
            return False
        wanted = max(1, math.floor(ROUND_GROWTH * len(self._order)))
        drawn = min(TRIALS * wanted, len(candidates))
        # the smallest of exponential clocks with rate d² draws without replacement
        clocks = self._rng.standard_exponential(len(candidates)) / self._distance[candidates]
        rows = candidates[np.argpartition(clocks, drawn - 1)[:drawn]]
        squared = self._squared_distances(rows)
        nearer = np.minimum(squared, self._distance)
        best = np.argsort(nearer.sum(axis=1), kind="stable")[:wanted]
        if wanted > 1:
            equal = squared[best[:, None], rows[best]] <= self._equal
            best = best[~np.triu(equal, 1).any(axis=0)]
        self._distance = nearer[best].min(axis=0)
        self._order.extend(rows[best].tolist())
        return True


class Clustering(NamedTuple):
    """Cluster centroids, and the cluster of every row."""

    centres: Array
    labels: Labels


def lloyd(x: Array, centres: Array, *, max_iter: int = 300, tol: float = 1e-4) -> Clustering:
    """Lloyd's iteration from the given centres.

    Stops when no row changes its cluster, or when the centres' squared movement falls below
    ``tol`` times the mean variance of x.
    """
    points, mean, scale = _standard(x)
    points = points.astype(np.float32)  # nearest centres need no more digits, in half the time
    clusters = _Clusters(points, ((centres - mean) / scale).astype(np.float32))
    threshold = tol * clusters.mean_variance
    for _ in range(max_iter):
        if not clusters.assign() or clusters.update() <= threshold:
            break
    return Clustering(clusters.centres * scale + mean, clusters.labels)


def assign(x: Array, centres: Array) -> Labels:
    """The nearest centre of every row."""
    points, mean, scale = _standard(x)
    clusters = _Clusters(points.astype(np.float32), ((centres - mean) / scale).astype(np.float32))
    clusters.assign()
    return clusters.labels


def _standard(x: Array) -> tuple[Array, Array, float]:
    """X less its mean and in units of its largest entry; the mean; the unit."""
    mean = x.mean(axis=0, dtype=np.float64)
    shifted = x - mean
    scale = float(np.abs(shifted).max()) or 1.0
    return shifted / scale, mean, scale


def centroids(x: Array, labels: Labels) -> Array:
    """The mean of every cluster that has rows, in the order of their labels."""
    counts = np.bincount(labels)
    sums = np.stack([np.bincount(labels, weights=column) for column in x.T], axis=1)
    filled = counts > 0
    means: Array = sums[filled] / counts[filled, None]
    return means


class _Clusters:
    """The state of Lloyd's iteration.

    A row is looked at again only when it can have changed its cluster. Its margin is how much
    farther the second nearest centre is than the nearest; it shrinks by what its own centre moves
    and the most that any centre moves, and while it is positive the row stays (Hamerly's bound).
    Sums are kept up to date from the rows that changed. Where there is little work, looking at
    all rows takes less time than keeping margins.
    """

    def __init__(self, x: npt.NDArray[np.float32], centres: Array) -> None:
        N, M = len(x), len(centres)
        self.centres = centres
        self.labels = np.full(N, -1, dtype=np.intp)
        # a last column of ones brings ‖c‖² into the product with −2c
        self._x = np.concatenate([x, np.ones((N, 1), dtype=np.float32)], axis=1)
        self._x2 = np.einsum("ij,ij->i", x, x)[:, None]
        self.mean_variance = float(np.sum(self._x2, dtype=np.float64)) / x.size  # the mean is 0
        self._margin = np.zeros(N) if M * x.size > LITTLE_WORK else None
        self._sums = np.zeros((M, x.shape[1] + 1))  # the last column counts

    def assign(self) -> int:
        """Give every row its nearest centre; returns how many rows changed theirs."""
        squares = np.einsum("ij,ij->i", self.centres, self.centres)[:, None]
        factor = np.concatenate([-2.0 * self.centres, squares], axis=1).T.astype(np.float32)
        if self._margin is None:
            nearest = (self._x @ factor).argmin(axis=1)
            moved = np.flatnonzero(nearest != self.labels)
            self._move(moved, nearest[moved])
            return len(moved)
        stale = np.flatnonzero(self._margin <= 0)
        block = max(1, BLOCK // len(self.centres))
        changed = 0
        for start in range(0, len(stale), block):
            rows = stale[start : start + block]
            squared = self._x[rows] @ factor
            squared += self._x2[rows]
            nearest = squared.argmin(axis=1)
            each = np.arange(len(rows))
            least = squared[each, nearest]
            squared[each, nearest] = np.inf
            second = squared.min(axis=1)
            self._margin[rows] = np.sqrt(np.maximum(second, 0)) - np.sqrt(np.maximum(least, 0))
            moved = np.flatnonzero(nearest != self.labels[rows])
            changed += len(moved)
            self._move(rows[moved], nearest[moved])
        return changed

    def update(self) -> float:
        """Move the centres to their rows' means; returns the sum of squared movements.

        An empty cluster takes the row that is farthest from its own centre.
        """
        counts = self._sums[:, -1]
        for cluster in np.flatnonzero(counts == 0):
            distance = np.sum((self._x[:, :-1] - self.centres[self.labels]) ** 2, axis=1)
            distance[counts[self.labels] == 1] = 0
            farthest = np.array([distance.argmax()])
            if distance[farthest] > 0:
                self._move(farthest, np.array([cluster]))
                if self._margin is not None:
                    self._margin[farthest] = 0
        centres = self._sums[:, :-1] / np.maximum(counts, 1)[:, None]
        if not counts.all():
            centres = np.where(counts[:, None] > 0, centres, self.centres)
        moved = centres - self.centres
        self.centres = centres
        if self._margin is not None:
            shift = np.sqrt(np.einsum("ij,ij->i", moved, moved))
            self._margin -= (shift + shift.max())[self.labels]
        return float(np.vdot(moved, moved))

    def _move(self, rows: Labels, to: Labels) -> None:
        change = np.zeros((len(self._sums), len(rows)), dtype=np.float32)
        each = np.arange(len(rows))
        before = self.labels[rows]
        if before.size and before[0] >= 0:  # either all rows have a cluster already, or none
            change[before, each] = -1
        change[to, each] = 1
        self._sums += change @ self._x[rows]
        self.labels[rows] = to
