"""What a few labels say of all rows, before anything is learned.

Two judges know little enough to be asked: the labels spread over the neighbourhood graph, each
class given equal mass, and the distance to the mean of each class. That mean follows from the
labelled rows and from what sources tell of it, each as far as it is sure. Where classes are
clusters the first judge is far better, and where they are the two ends of one cloud, as with
measurements of patients, the second. Every labelled row is judged by both without its own label
(which takes no more than the spread of each label by itself), and the judge that finds more of
them, or the product of both, is heard. Neighbours that find no more than the means do, and not
clearly more than luck would, are not asked again. Where no class has two labels nothing can be
compared: the neighbours are heard, or the means if a source tells of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.source_means import WITHIN, ClassMeans

__all__ = ["Guess", "clearly_more_than_luck", "first_guess"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

FAR = 0.99
"""How far labels spread from few rows."""

MOST_HIDDEN = 500
LEAST = 1e-2
TIE = 0.01
LUCK = 2.0
"""Standard deviations that luck may make."""

TABLES_DIFFER = 0.1
"""Of the variance of all rows, so much may a source's class mean lie off the target's."""


class Guess(NamedTuple):
    """What labels and class means say."""

    P: Array
    """Probabilities of every row and class, (N, C); 0 for a class that nobody knows."""
    neighbours: bool = True
    """Whether neighbours are worth asking about the classes, as far as labels can tell."""


def clearly_more_than_luck(right: npt.NDArray[np.bool_], n_classes: int) -> bool:
    """Whether so many labels are found that it is hardly luck, or so few asked that all might be.

    >>> six = np.arange(6)
    >>> [clearly_more_than_luck(right, 2) for right in (six > 0, six >= 0, six[:3] > 0)]
    [False, True, True]
    """
    n, chance = len(right), 1 / n_classes
    luck = LUCK * np.sqrt(n * chance * (1 - chance))
    return bool(np.sum(right) - n * chance >= luck or n * (1 - chance) < luck)


def first_guess(
    graph: Neighbourhood,
    numbers: Numbers,
    n_classes: int,
    rng: np.random.Generator,
    told: Sequence[ClassMeans] = (),
) -> Guess:
    """Judge every row; some of them have a label."""
    known = np.flatnonzero(numbers >= 0)
    near = _Neighbours(graph, known, numbers[known], n_classes)
    mean = _Means(graph, known, numbers[known], n_classes, told)
    labelled = near.counts > 0
    by_mean = mean.judge(graph.coordinates)
    # a class without a label is known by its mean alone
    unlabelled = mean.heard & ~labelled
    rest = 1 - by_mean[:, unlabelled].sum(axis=1, keepdims=True)

    def whole(P: Array) -> Array:
        return np.where(unlabelled, by_mean, P * rest) if unlabelled.any() else P

    # leave one out, where the class has another
    hidden = np.flatnonzero(near.counts[numbers[known]] > 1)
    if not len(hidden):
        return Guess(by_mean if told else near.judge())
    if len(hidden) > MOST_HIDDEN:
        hidden = rng.choice(hidden, MOST_HIDDEN, replace=False)
    truth = numbers[known[hidden]]
    said = near.without(hidden), mean.without(hidden)
    right = [each.argmax(axis=1) == truth for each in said]
    at_random = int(np.count_nonzero(labelled))
    if right[0].sum() <= right[1].sum() and not clearly_more_than_luck(right[0], at_random):
        return Guess(by_mean, neighbours=False)
    found = [
        np.mean(each.argmax(axis=1) == truth) + TIE * each[np.arange(len(truth)), truth].mean()
        for each in (*said, _product(*said))
    ]
    by_near = near.judge()
    judged = (by_near, by_mean, _product(by_near, by_mean))[int(np.argmax(found))]
    return Guess(judged if judged is by_mean else whole(judged))


class _Neighbours:
    """The labels spread over the graph, the mass of every class the same."""

    def __init__(
        self, graph: Neighbourhood, known: Numbers, labels: Numbers, n_classes: int
    ) -> None:
        self._graph, self._known = graph, known
        self._members = np.eye(n_classes)[labels]
        self.counts = self._members.sum(axis=0)
        self._mass = graph.spread(self._indicators(known, self._members), FAR)
        self._totals = self._mass.sum(axis=0)
        self._present = (self.counts > 0) / np.count_nonzero(self.counts)

    def judge(self) -> Array:
        """All rows."""
        return self._shares(self._mass, self._totals)

    def without(self, hidden: Numbers) -> Array:
        """Labelled rows, each without its own label."""
        rows, own = self._known[hidden], self._members[hidden]
        alone = self._graph.spread(self._indicators(rows, np.eye(len(rows))), FAR)
        return np.concatenate(
            [
                self._shares(
                    self._mass[[row]] - left * alone[row, k],
                    self._totals - left * alone[:, k].sum(),
                )
                for k, (row, left) in enumerate(zip(rows, own, strict=True))
            ]
        )

    def _shares(self, mass: Array, totals: Array) -> Array:
        each = mass / np.where(totals > 0, totals, np.inf)
        share = each.sum(axis=1, keepdims=True)
        known = np.where(share > 0, each / np.where(share > 0, share, 1), self._present)
        return np.asarray(known)

    def _indicators(self, rows: Numbers, values: Array) -> Array:
        marked = np.zeros((len(self._graph.coordinates), values.shape[1]))
        marked[rows] = values
        return marked


class _Means:
    """The nearest of the classes' means.

    Each is known from labelled rows, from sources, and from lying among all rows: precisions add
    up.
    """

    def __init__(
        self,
        graph: Neighbourhood,
        known: Numbers,
        labels: Numbers,
        n_classes: int,
        told: Sequence[ClassMeans],
    ) -> None:
        self._rows = graph.coordinates[known]
        self._members = np.eye(n_classes)[labels]
        self._counts, self._sums = self._members.sum(axis=0), self._members.T @ self._rows
        self._unit = 2 * max(float(graph.variances.mean()), 1e-100)
        spread = np.maximum(graph.variances, max(1e-12 * float(graph.variances.max()), 1e-100))
        self._of_row = 1 / (WITHIN * spread)
        self._precision = np.tile(1 / ((1 - WITHIN) * spread), (n_classes, 1))
        self._pull = np.zeros((n_classes, len(spread)))
        self.heard = self._counts > 0
        for means in told:
            sure = 1 / (means.variances[:, None] + TABLES_DIFFER * spread)
            self._precision += sure
            self._pull += sure * means.coordinates
            self.heard = self.heard | np.isfinite(means.variances)

    def judge(self, Z: Array) -> Array:
        """Rows by their coordinates."""
        return self._nearest(Z, self._sums, self._counts)

    def without(self, hidden: Numbers) -> Array:
        """Labelled rows, each without its own label."""
        return np.concatenate(
            [
                self._nearest(row[None], self._sums - np.outer(left, row), self._counts - left)
                for row, left in zip(self._rows[hidden], self._members[hidden], strict=True)
            ]
        )

    def _nearest(self, Z: Array, sums: Array, counts: Array) -> Array:
        precision = counts[:, None] * self._of_row + self._precision
        means = (sums * self._of_row + self._pull) / precision
        away = np.full((len(Z), len(means)), np.inf)
        for c in np.flatnonzero(self.heard):
            away[:, c] = np.sum((Z - means[c]) ** 2, axis=1)
        return np.asarray(softmax(-away / self._unit, axis=1))


def _product(P: Array, Q: Array) -> Array:
    product = (P + LEAST * (P > 0)) * (Q + LEAST * (Q > 0))
    share: Array = product / np.maximum(product.sum(axis=1, keepdims=True), 1e-300)
    return share
