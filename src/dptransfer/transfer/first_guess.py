"""What a few labels say of all rows, before anything is learned.

Two judges know little enough to be asked: the labels spread over the neighbourhood graph, each
class given equal mass, and the distance to the mean of each class's labelled rows. Where classes
are clusters the first is far better, and where they are the two ends of one cloud, as with
measurements of patients, the second. Every labelled row is judged by both without its own label
(which takes no more than the spread of each label by itself), and the judge that finds more of
them, or the product of both, is heard. Where no class has two labels, the first is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from dptransfer.transfer.neighbours import Neighbourhood

__all__ = ["first_guess"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

FAR = 0.99
"""How far labels spread from few rows."""

MOST_HIDDEN = 500
LEAST = 1e-2
TIE = 0.01


def first_guess(
    graph: Neighbourhood, numbers: Numbers, n_classes: int, rng: np.random.Generator
) -> Array:
    """Probabilities of every row and class, (N, C); 0 for classes that no row is labelled with."""
    known = np.flatnonzero(numbers >= 0)
    labels = numbers[known]
    Z, N = graph.coordinates, len(numbers)
    members = np.eye(n_classes)[labels]
    counts = members.sum(axis=0)
    mass = graph.spread(_indicators(N, known, members), FAR)
    totals = mass.sum(axis=0)
    sums = members.T @ Z[known]
    unit = 2 * max(float(graph.variances.mean()), 1e-300)

    def by_neighbours(mass: Array, totals: Array) -> Array:
        each = mass / np.where(totals > 0, totals, np.inf)
        share = each.sum(axis=1, keepdims=True)
        present = np.broadcast_to((counts > 0) / np.count_nonzero(counts), each.shape)
        return np.where(share > 0, each / np.where(share > 0, share, 1), present)

    def by_means(Z: Array, sums: Array, counts: Array) -> Array:
        away = np.full((len(Z), n_classes), np.inf)
        for c in np.flatnonzero(counts > 0):
            away[:, c] = np.sum((Z - sums[c] / counts[c]) ** 2, axis=1)
        return np.asarray(softmax(-away / unit, axis=1))

    judged = [by_neighbours(mass, totals), by_means(Z, sums, counts)]
    judged.append(_product(*judged))
    # leave one out, where the class has another
    hidden = np.flatnonzero(counts[labels] > 1)
    if len(hidden) > MOST_HIDDEN:
        hidden = rng.choice(hidden, MOST_HIDDEN, replace=False)
    if not len(hidden):
        return judged[0]
    rows, own = known[hidden], members[hidden]
    alone = graph.spread(_indicators(N, rows, np.eye(len(rows))), FAR)
    near = np.concatenate(
        [
            by_neighbours(mass[[row]] - left * alone[row, k], totals - left * alone[:, k].sum())
            for k, (row, left) in enumerate(zip(rows, own, strict=True))
        ]
    )
    mean = np.concatenate(
        [
            by_means(Z[[row]], sums - np.outer(left, Z[row]), counts - left)
            for row, left in zip(rows, own, strict=True)
        ]
    )
    found = []
    for said in (near, mean, _product(near, mean)):
        truth = said[np.arange(len(rows)), labels[hidden]]
        found.append(np.mean(said.argmax(axis=1) == labels[hidden]) + TIE * truth.mean())
    return judged[int(np.argmax(found))]


def _indicators(N: int, rows: Numbers, values: Array) -> Array:
    marked = np.zeros((N, values.shape[1]))
    marked[rows] = values
    return marked


def _product(P: Array, Q: Array) -> Array:
    product = (P + LEAST * (P > 0)) * (Q + LEAST * (Q > 0))
    share: Array = product / np.maximum(product.sum(axis=1, keepdims=True), 1e-300)
    return share
