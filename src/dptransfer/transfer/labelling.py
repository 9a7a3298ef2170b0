"""Labels for all rows of a table: from its own labels, its neighbourhoods, and what sources tell.

It starts where most is known. Without a source that says anything, that is the labelled rows
(:mod:`~dptransfer.transfer.first_guess`). With one, the labels are those that are smooth on the
graph and have the source's class means (:mod:`~dptransfer.transfer.field`), from a first guess by
the source's laws where it has some (:mod:`~dptransfer.transfer.source_laws`). Then, round by round,
the paper's autoencoders learn from the labels and label the rows that they did not learn from
(:mod:`~dptransfer.transfer.cross_labelling`); what they say is spread and corrected as before, and
all opinions are multiplied. The subspace dimension n of the autoencoders is the one in whose labels
the surest rows are found again most often: too many dimensions for the rows of a class describe any
row, and too few none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from dptransfer.models import MembershipClassifier
from dptransfer.transfer.cross_labelling import cross_residuals
from dptransfer.transfer.field import Field
from dptransfer.transfer.first_guess import first_guess
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.progress import report
from dptransfer.transfer.proportions import balance

__all__ = ["Evidence", "label_all"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

NEAR = 0.9
"""How far opinions spread, once all rows have one."""

FIRST_SHARPNESS, SHARPNESS = 8.0, 15.0
STARTS, CORRECTIONS, ROUNDS = 6, 3, 3
TAUGHT = (0.8, 0.9, 1.0)
"""The part of each class's rows, the surest first, that each round learns from."""

LEAST = 1e-2
CERTAIN = 1e3
LAW_DOUBT = 10.0
"""By what the logarithms of the source's laws are divided: real rows are not normal, and their
numbers not independent."""

LAW_LEAST = 1e-3


class Evidence(NamedTuple):
    """What sources tell of a table's rows."""

    fields: Sequence[Field] = ()
    laws: Sequence[Array] = ()
    """log Pr{x, c} by each source that has laws, (N, C)."""
    shares: Array | None = None
    """Of the classes; None where nobody knows."""


def label_all(
    X: Array,
    numbers: Numbers,
    n_classes: int,
    graph: Neighbourhood,
    evidence: Evidence,
    model: MembershipClassifier,
    schedule: Sequence[int],
    seed: int,
    rounds: int = ROUNDS,
) -> Array:
    """Scores of every row and class, the highest of which is its label, (N, C).

    ``model`` has the parameters of the autoencoders; its ``n_components`` becomes the one of the
    schedule that was found best.
    """
    known = np.flatnonzero(numbers >= 0)
    rng = np.random.default_rng(seed)

    def clamped(P: Array) -> Array:
        P = P.copy()
        P[known] = 0
        P[known, numbers[known]] = 1
        return P

    def settled(F: Array, sharpness: float = SHARPNESS) -> Array:
        if not evidence.fields:
            F = np.log(np.maximum(F, 0) + LEAST / n_classes) * 2 / sharpness
        return clamped(softmax(sharpness * balance(F, evidence.shares), axis=1))

    def corrected(P: Array) -> Array:
        F = graph.spread(P, NEAR)
        for field in evidence.fields:
            F = field.correct(F)
        return F

    first: Array | None = None
    if evidence.laws:
        first = softmax(np.mean(evidence.laws, axis=0) / LAW_DOUBT, axis=1)
    if evidence.fields:
        P = np.full((len(X), n_classes), 1 / n_classes) if first is None else clamped(first)
        for field in evidence.fields:
            P = field.correct(P)
        P = settled(P, FIRST_SHARPNESS)
        for number in range(STARTS):
            report("asking the neighbours", number, STARTS)
            P = settled(corrected(P))
    else:
        P = clamped(first_guess(graph, numbers, n_classes, rng))
    start = np.log(P + LEAST)
    scores = balance(start, evidence.shares)
    for number in range(rounds):
        report("self-training", number, rounds)
        taught = surest(scores, TAUGHT[min(number, len(TAUGHT) - 1)])
        taught[known] = True
        labels = scores.argmax(axis=1)
        labels[known] = numbers[known]
        if number == 0:
            errors = _best(model, schedule, X, labels, taught, n_classes, rng)
        else:
            errors = cross_residuals(model, X, labels, taught, n_classes, rng)
        A = clamped(_probabilities(errors, evidence.shares))
        Q = A
        for _ in range(CORRECTIONS):
            Q = settled(corrected(Q))
        scores = np.log(A + LEAST) + np.log(Q + LEAST)
        if first is not None:
            scores += np.log(first + LAW_LEAST)
        elif not evidence.fields:
            scores += start / 2
        scores = balance(scores, evidence.shares)
    scores[known] = -CERTAIN
    scores[known, numbers[known]] = 0
    return scores


def _best(
    model: MembershipClassifier,
    schedule: Sequence[int],
    X: Array,
    labels: Numbers,
    taught: npt.NDArray[np.bool_],
    n_classes: int,
    rng: np.random.Generator,
) -> Array:
    """The errors for the n under which fewest of the rows that are taught change their label."""
    found: list[tuple[float, int, Array]] = []
    for n in sorted({min(n, X.shape[1]) for n in schedule}):
        model.n_components = n
        errors = cross_residuals(model, X, labels, taught, n_classes, rng)
        changed = float(np.mean(errors[taught].argmin(axis=1) != labels[taught]))
        found.append((changed, n, errors))
    _, model.n_components, errors = min(found, key=lambda each: (each[0], -each[1]))
    return errors


def surest(scores: Array, part: float) -> npt.NDArray[np.bool_]:
    """The rows of each class whose best score is farthest above the second, so many of them."""
    if scores.shape[1] == 1:
        return np.ones(len(scores), dtype=bool)
    two = np.partition(scores, -2, axis=1)[:, -2:]
    margins = two[:, 1] - two[:, 0]
    labels = scores.argmax(axis=1)
    sure = np.zeros(len(scores), dtype=bool)
    for c in np.unique(labels):
        rows = labels == c
        sure[rows] = margins[rows] >= np.quantile(margins[rows], 1 - part)
    return sure


def _probabilities(errors: Array, shares: Array | None) -> Array:
    """From squared errors, in units of the median distance from the best to the second."""
    two = np.partition(errors, 1, axis=1)[:, :2] if errors.shape[1] > 1 else errors
    gaps = two[:, -1] - two[:, 0]
    unit = float(np.median(gaps[np.isfinite(gaps)])) / 3 if np.isfinite(gaps).any() else 1.0
    finite = np.where(np.isfinite(errors), errors, errors[np.isfinite(errors)].max() * 10)
    scores = -finite / max(unit, 1e-300)
    return np.asarray(softmax(balance(scores, shares), axis=1))
