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

__all__ = ["Clustering", "Seeds", "centroids", "lloyd"]

Array = npt.NDArray[np.floating]
Labels = npt.NDArray[np.intp]

ROUND_GROWTH = 0.1  # a round adds a tenth of the seeds that are there already
BLOCK = 2**20  # distances at a time
TRIALS = 4


class Seeds:
    """A sequence of distinct rows of x, of which the first M seed M clusters.

    Drawn lazily, in rounds of fixed size, so that the first M are the same however many are asked
    for. A row equal to an earlier seed is never drawn: ``order`` ends at the number of distinct
    rows.
    """

    def __init__(self, x: Array, rng: np.random.Generator) -> None:
        self._points = x
        self._x = x = x - x.mean(axis=0)
        self._x2 = np.einsum("ij,ij->i", x, x)
        self._rng = rng
        first = int(rng.integers(len(x)))
        self._order = [first]
        self._distance = self._squared_distances(np.array([first]))[:, 0]
        self._distance[first] = 0.0

    def first(self, M: int) -> Array:
        """The points that seed M clusters; fewer where fewer are distinct."""
        while len(self._order) < M and self._draw():
            pass
        points: Array = self._points[self._order[:M]]
        return points

    def _squared_distances(self, rows: Labels) -> Array:
        """Squared distance of every row of x from each of the given ones."""
        squared = self._x @ (-2.0 * self._x[rows].T)
        squared += self._x2[:, None]
        squared += self._x2[rows]
        return np.maximum(squared, 0.0, out=squared)

    def _draw(self) -> bool:
        """One round: draw candidates by squared distance, keep those that lower its sum most."""
        candidates = np.flatnonzero(self._distance > 0)
        if not len(candidates):
            return False
        wanted = max(1, math.floor(ROUND_GROWTH * len(self._order)))
        drawn = min(TRIALS * wanted, len(candidates))
        # the smallest of exponential clocks with rate d² draws without replacement
        clocks = self._rng.standard_exponential(len(candidates)) / self._distance[candidates]
        rows = candidates[np.argpartition(clocks, drawn - 1)[:drawn]]
        squared = self._squared_distances(rows)
        nearer = np.minimum(squared, self._distance[:, None])
        best = np.argsort(nearer.sum(axis=0), kind="stable")[:wanted]
        np.minimum(self._distance, nearer[:, best].min(axis=1), out=self._distance)
        self._distance[rows[best]] = 0.0
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
    mean = x.mean(axis=0)
    threshold = tol * float(np.mean(np.var(x, axis=0)))
    clusters = _Clusters(x - mean, centres - mean)
    for _ in range(max_iter):
        if not clusters.assign() or clusters.update() <= threshold:
            break
    return Clustering(clusters.centres + mean, clusters.labels)


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
    Sums are kept up to date from the rows that changed.
    """

    def __init__(self, x: Array, centres: Array) -> None:
        self.centres = centres
        self.labels = np.full(len(x), -1, dtype=np.intp)
        self._x = x
        self._x2 = np.einsum("ij,ij->i", x, x)
        self._margin = np.zeros(len(x))
        self._sums = np.zeros(centres.shape)
        self._counts = np.zeros(len(centres))

    def assign(self) -> int:
        """Give every row its nearest centre; returns how many rows changed theirs."""
        stale = np.flatnonzero(self._margin <= 0)
        block = max(1, BLOCK // len(self.centres))
        changed = 0
        for start in range(0, len(stale), block):
            rows = stale[start : start + block]
            squared = self._x[rows] @ (-2.0 * self.centres.T)
            squared += np.einsum("ij,ij->i", self.centres, self.centres)
            squared += self._x2[rows, None]
            nearest = squared.argmin(axis=1)
            each = np.arange(len(rows))
            least = np.sqrt(np.maximum(squared[each, nearest], 0.0))
            squared[each, nearest] = np.inf
            self._margin[rows] = np.sqrt(np.maximum(squared.min(axis=1), 0.0)) - least
            moved = nearest != self.labels[rows]
            changed += int(np.count_nonzero(moved))
            self._move(rows[moved], nearest[moved])
        return changed

    def update(self) -> float:
        """Move the centres to their rows' means; returns the sum of squared movements.

        An empty cluster takes the row that is farthest from its own centre.
        """
        for cluster in np.flatnonzero(self._counts == 0):
            distance = np.sum((self._x - self.centres[self.labels]) ** 2, axis=1)
            distance[self._counts[self.labels] == 1] = -1
            farthest = np.array([distance.argmax()])
            if distance[farthest] > 0:
                self._move(farthest, np.array([cluster]))
                self._margin[farthest] = 0
        filled = self._counts > 0
        centres = self.centres.copy()
        centres[filled] = self._sums[filled] / self._counts[filled, None]
        shift2 = np.sum((centres - self.centres) ** 2, axis=1)
        self.centres = centres
        shift = np.sqrt(shift2)
        self._margin -= shift[self.labels] + shift.max()
        return float(shift2.sum())

    def _move(self, rows: Labels, to: Labels) -> None:
        change = np.zeros((len(rows), len(self.centres)), dtype=self._x.dtype)
        each = np.arange(len(rows))
        change[each, to] = 1
        before = self.labels[rows]
        change[each[before >= 0], before[before >= 0]] = -1
        self._sums += change.T @ self._x[rows]
        self._counts += change.sum(axis=0)
        self.labels[rows] = to
