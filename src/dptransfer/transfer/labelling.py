"""Labels for all rows of a table: from its own labels, its neighbourhoods, and what sources tell.

It starts where most is known. Without a source that says anything, that is the labelled rows
(:mod:`~dptransfer.transfer.first_guess`). With one, the labels are those that are smooth on the
graph and have the source's class means (:mod:`~dptransfer.transfer.field`), from a first guess by
the source's laws where it has some (:mod:`~dptransfer.transfer.source_laws`). Then, round by round,
the paper's autoencoders learn from the labels and label the rows that they did not learn from
(:mod:`~dptransfer.transfer.cross_labelling`); what they say is spread and corrected as before, and
all opinions are multiplied. Autoencoders of every subspace dimension n of the schedule are tried
once, and two go on together: those in whose labels the surest rows are found again most often. Too
many dimensions for the rows of a class describe any row, and too few none; and what one n gets
wrong by chance, another need not.
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
from dptransfer.transfer.first_guess import first_guess, no_better_than_chance
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.progress import report
from dptransfer.transfer.proportions import balance
from dptransfer.transfer.source_means import ClassMeans

__all__ = ["Evidence", "Labelled", "label_all", "surest"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

NEAR = 0.9
"""How far opinions spread, once all rows have one."""

FIRST_SHARPNESS, SHARPNESS = 8.0, 15.0
STARTS, CORRECTIONS, ROUNDS = 6, 3, 4
TOGETHER = 2
"""Dimensions whose errors are averaged."""

HEARSAY = 0.3
"""The weight of what neighbours and sources make of the autoencoders' labels, beside these: it is
made of them, and knows little that they do not."""

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
    means: Sequence[ClassMeans] = ()
    """Of the classes, seen in the graph's directions."""


class Labelled(NamedTuple):
    """What labelling comes to."""

    scores: Array
    """Of every row and class, (N, C); the highest of a row is its label."""
    models: Sequence[MembershipClassifier]
    """Those that were found best, with the parameters that they had."""


def label_all(
    X: Array,
    numbers: Numbers,
    n_classes: int,
    graph: Neighbourhood,
    evidence: Evidence,
    models: Sequence[MembershipClassifier],
    seed: int,
    rounds: int = ROUNDS,
) -> Labelled:
    """A label for every row; ``models`` have the parameters of the autoencoders to try."""
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

    guess = first_guess(graph, numbers, n_classes, rng, evidence.means) if len(known) else None
    if guess is not None and not guess.neighbours:
        # shares of a class that rows do not tell apart would move rows for nothing
        evidence = evidence._replace(fields=(), shares=None)
    first = _by_laws(evidence.laws)
    P = _together([first, guess and guess.P], (len(X), n_classes))
    if evidence.fields:
        P = clamped(P)
        for field in evidence.fields:
            P = field.correct(P)
        P = settled(P, FIRST_SHARPNESS)
        for number in range(STARTS):
            report("asking the neighbours", number, STARTS)
            P = settled(corrected(P))
    start = np.log(clamped(P) + LEAST)
    scores = balance(start, evidence.shares)
    for number in range(rounds):
        report("self-training", number, rounds)
        taught = surest(scores, TAUGHT[min(number, len(TAUGHT) - 1)])
        taught[known] = True
        labels = scores.argmax(axis=1)
        labels[known] = numbers[known]
        each = [cross_residuals(model, X, labels, taught, n_classes, rng) for model in models]
        if number == 0:
            models, each = _best(models, each, labels, taught)
        errors = np.mean(each, axis=0)
        if len(known) and no_better_than_chance(
            errors[known].argmin(axis=1) == numbers[known], n_classes
        ):
            break
        A = clamped(_probabilities(errors, evidence.shares))
        Q = A
        for _ in range(CORRECTIONS):
            Q = settled(corrected(Q))
        scores = np.log(A + LEAST) + HEARSAY * np.log(Q + LEAST)
        if first is not None:
            scores += np.log(first + LAW_LEAST)
        elif not evidence.fields:
            scores += start / 2
        scores = balance(scores, evidence.shares)
    scores[known] = -CERTAIN
    scores[known, numbers[known]] = 0
    return Labelled(scores, models)


def _by_laws(laws: Sequence[Array]) -> Array | None:
    """What the sources' laws say of every row, together."""
    return softmax(np.mean(laws, axis=0) / LAW_DOUBT, axis=1) if laws else None


def _together(opinions: Sequence[Array | None], shape: tuple[int, int]) -> Array:
    """Independent opinions, multiplied; without any, all classes are alike."""
    heard = [opinion for opinion in opinions if opinion is not None]
    if len(heard) == 1:
        return heard[0]
    P = np.prod([opinion + LEAST for opinion in [np.ones(shape), *heard]], axis=0)
    share: Array = P / P.sum(axis=1, keepdims=True)
    return share


def _best(
    models: Sequence[MembershipClassifier],
    errors: Sequence[Array],
    labels: Numbers,
    taught: npt.NDArray[np.bool_],
) -> tuple[list[MembershipClassifier], list[Array]]:
    """The models under which fewest of the rows that are taught change their label."""
    changed = [np.mean(each[taught].argmin(axis=1) != labels[taught]) for each in errors]
    # of two that are alike, the one of the larger n
    order = sorted(range(len(models)), key=lambda k: (changed[k], -models[k].n_components))
    best = sorted(order[:TOGETHER])
    return [models[k] for k in best], [errors[k] for k in best]


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
