"""What a few labels say of all rows, before anything is learned.

Two judges know little enough to be asked: the labels spread over the neighbourhood graph, each
class given equal mass, and the distance to the mean of each class. That mean follows from the
labelled rows and from what sources tell of it, each as far as it is sure. Where classes are
clusters the first judge is far better, and where they are the two ends of one cloud, as with
measurements of patients, the second. Every labelled row is judged by both without its own label
(which takes no more than the spread of each label by itself). The neighbours are asked at all only
where they find these labels better than chance would; then the judge that finds more of them, or
the product of both, is heard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.source_means import WITHIN, ClassMeans

__all__ = ["Guess", "first_guess", "no_better_than_chance"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

FAR = 0.99
"""How far labels spread from few rows."""

MOST_HIDDEN = 500
LEAST = 1e-2
TIE = 0.01
CLEARLY = 2.0
"""Standard deviations by which a judge must do better than chance."""

ELSEWHERE = 0.1
"""Of the variance of all rows, so much may a source's class mean lie off the target's."""


class Guess(NamedTuple):
    """What labels and class means say."""

    P: Array
    """Probabilities of every row and class, (N, C); 0 for a class that nobody knows."""
    neighbours: bool = True
    """Whether the graph knows anything of the classes, as far as labels can tell."""


def no_better_than_chance(right: npt.NDArray[np.bool_], n_classes: int) -> bool:
    """Whether so few labels are found that it may be luck; False where even all could be luck.

    >>> six = np.arange(6)
    >>> [no_better_than_chance(right, 2) for right in (six > 0, six >= 0, six[:3] > 0)]
    [True, False, False]
    """
    n, chance = len(right), 1 / n_classes
    by_luck = CLEARLY * np.sqrt(n * chance * (1 - chance))
    return bool(np.sum(right) - n * chance < by_luck <= n * (1 - chance))


def first_guess(
    graph: Neighbourhood,
    numbers: Numbers,
    n_classes: int,
    rng: np.random.Generator,
    told: Sequence[ClassMeans] = (),
) -> Guess:
    """Judge every row; some of them have a label."""
    known = np.flatnonzero(numbers >= 0)
    labels = numbers[known]
    Z, N = graph.coordinates, len(numbers)
    members = np.eye(n_classes)[labels]
    counts = members.sum(axis=0)
    mass = graph.spread(_indicators(N, known, members), FAR)
    totals = mass.sum(axis=0)
    sums = members.T @ Z[known]
    unit = 2 * max(float(graph.variances.mean()), 1e-100)
    # what is known of each class's mean beside labels: that it lies among all rows, and the sources
    spread = np.maximum(graph.variances, max(1e-12 * float(graph.variances.max()), 1e-100))
    precision = np.tile(1 / ((1 - WITHIN) * spread), (n_classes, 1))
    pull = np.zeros((n_classes, Z.shape[1]))
    heard = counts > 0
    for means in told:
        sure = 1 / (means.variances[:, None] + ELSEWHERE * spread)
        precision += sure
        pull += sure * means.coordinates
        heard = heard | np.isfinite(means.variances)

    def by_neighbours(mass: Array, totals: Array) -> Array:
        each = mass / np.where(totals > 0, totals, np.inf)
        share = each.sum(axis=1, keepdims=True)
        present = np.broadcast_to((counts > 0) / np.count_nonzero(counts), each.shape)
        return np.where(share > 0, each / np.where(share > 0, share, 1), present)

    def by_means(Z: Array, sums: Array, counts: Array) -> Array:
        own = 1 / (WITHIN * spread)
        means = (sums * own + pull) / (counts[:, None] * own + precision)
        away = np.full((len(Z), n_classes), np.inf)
        for c in np.flatnonzero(heard):
            away[:, c] = np.sum((Z - means[c]) ** 2, axis=1)
        return np.asarray(softmax(-away / unit, axis=1))

    alike = by_means(Z, sums, counts)
    # leave one out, where the class has another
    hidden = np.flatnonzero(counts[labels] > 1)
    if np.any(heard & (counts == 0)):
        return Guess(alike)
    if not len(hidden):
        return Guess(alike if told else by_neighbours(mass, totals))
    if len(hidden) > MOST_HIDDEN:
        hidden = rng.choice(hidden, MOST_HIDDEN, replace=False)
    rows, own = known[hidden], members[hidden]
    alone = graph.spread(_indicators(N, rows, np.eye(len(rows))), FAR)
    near = np.concatenate(
        [
            by_neighbours(mass[[row]] - left * alone[row, k], totals - left * alone[:, k].sum())
            for k, (row, left) in enumerate(zip(rows, own, strict=True))
        ]
    )
    truth = labels[hidden]
    if no_better_than_chance(near.argmax(axis=1) == truth, int(np.count_nonzero(counts))):
        return Guess(alike, neighbours=False)
    mean = np.concatenate(
        [
            by_means(Z[[row]], sums - np.outer(left, Z[row]), counts - left)
            for row, left in zip(rows, own, strict=True)
        ]
    )
    found = [
        np.mean(said.argmax(axis=1) == truth) + TIE * said[np.arange(len(rows)), truth].mean()
        for said in (near, mean, _product(near, mean))
    ]
    spread_out = by_neighbours(mass, totals)
    return Guess((spread_out, alike, _product(spread_out, alike))[int(np.argmax(found))])


def _indicators(N: int, rows: Numbers, values: Array) -> Array:
    marked = np.zeros((N, values.shape[1]))
    marked[rows] = values
    return marked


def _product(P: Array, Q: Array) -> Array:
    product = (P + LEAST * (P > 0)) * (Q + LEAST * (Q > 0))
    share: Array = product / np.maximum(product.sum(axis=1, keepdims=True), 1e-300)
    return share
