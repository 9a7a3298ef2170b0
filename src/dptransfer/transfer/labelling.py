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
from dptransfer.transfer.first_guess import clearly_more_than_luck, first_guess
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
    heard: bool = True
    """Whether they found the labelled rows clearly more often than luck would."""


def label_all(
    X: Array,
    numbers: Numbers,
    n_classes: int,
    graph: Neighbourhood,
    evidence: Evidence,
    models: Sequence[MembershipClassifier],
    seed: int,
    rounds: int = ROUNDS,
    neighbours: bool | None = None,
) -> Labelled:
    """A label for every row.

    ``models`` have the parameters of the autoencoders to try. ``neighbours`` says whether these are
    worth asking; by default the labels do.
    """
    known = np.flatnonzero(numbers >= 0)
    rng = np.random.default_rng(seed)
    guess = first_guess(graph, numbers, n_classes, rng, evidence.means) if len(known) else None
    if neighbours is None:
        neighbours = guess is None or guess.neighbours
    if not neighbours:
        # a field moves labels along the graph, and shares move rows that are not told apart
        evidence = evidence._replace(fields=(), shares=None)
    asked = _Asked(numbers, n_classes, graph, evidence)
    first = _by_laws(evidence.laws)
    P = _together([first, guess.P if guess is not None else None], (len(X), n_classes))
    start = np.log(asked.start(P) + LEAST)
    scores = balance(start, evidence.shares)
    heard = True
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
        found = errors[known].argmin(axis=1) == numbers[known]
        heard = not len(known) or clearly_more_than_luck(found, len(np.unique(numbers[known])))
        if not heard:
            scores = balance(start, evidence.shares)
            break
        A = asked.clamped(_probabilities(errors, evidence.shares))
        Q = A
        for _ in range(CORRECTIONS if neighbours else 0):
            Q = asked.neighbours(Q)
        scores = np.log(A + LEAST) + HEARSAY * np.log(Q + LEAST)
        if first is not None and neighbours:
            scores += np.log(first + LAW_LEAST)
        elif not evidence.fields:
            scores += start / 2
        scores = balance(scores, evidence.shares)
    scores[known] = -CERTAIN
    scores[known, numbers[known]] = 0
    return Labelled(scores, models, heard)


class _Asked:
    """The rows' neighbours and the sources, who are asked again and again."""

    def __init__(
        self, numbers: Numbers, n_classes: int, graph: Neighbourhood, evidence: Evidence
    ) -> None:
        self._known = np.flatnonzero(numbers >= 0)
        self._labels, self._n_classes = numbers[self._known], n_classes
        self._graph, self._evidence = graph, evidence

    def start(self, P: Array) -> Array:
        """What the fields make of a first guess P."""
        P = self.clamped(P)
        if not self._evidence.fields:
            return P
        for field in self._evidence.fields:
            P = field.correct(P)
        P = self._settled(P, FIRST_SHARPNESS)
        for number in range(STARTS):
            report("asking the neighbours", number, STARTS)
            P = self.neighbours(P)
        return P

    def neighbours(self, P: Array) -> Array:
        """P spread over the graph, corrected by the fields, and settled."""
        F = self._graph.spread(P, NEAR)
        for field in self._evidence.fields:
            F = field.correct(F)
        return self._settled(F, SHARPNESS)

    def clamped(self, P: Array) -> Array:
        """With the rows' own labels."""
        P = P.copy()
        P[self._known] = 0
        P[self._known, self._labels] = 1
        return P

    def _settled(self, F: Array, sharpness: float) -> Array:
        if not self._evidence.fields:
            F = np.log(np.maximum(F, 0) + LEAST / self._n_classes) * 2 / sharpness
        return self.clamped(softmax(sharpness * balance(F, self._evidence.shares), axis=1))


def _by_laws(laws: Sequence[Array]) -> Array | None:
    """What the sources' laws say of every row, together."""
    return softmax(np.mean(laws, axis=0) / LAW_DOUBT, axis=1) if laws else None


def _together(opinions: Sequence[Array | None], shape: tuple[int, int]) -> Array:
    """Opinions multiplied as if they were independent; without any, all classes are alike."""
    given = [opinion for opinion in opinions if opinion is not None]
    if len(given) == 1:
        return given[0]
    P = np.prod([opinion + LEAST for opinion in [np.ones(shape), *given]], axis=0)
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
