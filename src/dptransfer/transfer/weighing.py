"""Whether to listen to a source at all: "auto" lets the labelled rows decide.

A source whose classes cannot be told apart through its noise has been left out before. Of the
others, each must label rows whose labels it is not told about as well as the target does without
it: labelled rows are hidden in turn, and labelled with the source and without, up to the
autoencoders. A source that does clearly worse is refused, and what is learned is what the target
would have learned alone from its rows in the owner's units.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dptransfer.transfer.alignment import Alignment
from dptransfer.transfer.decision import Domain
from dptransfer.transfer.first_guess import first_guess
from dptransfer.transfer.gain import folds
from dptransfer.transfer.labelling import label_all
from dptransfer.transfer.learning import Known
from dptransfer.transfer.lesson import Lesson
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.noise_aware import View, evidence_of, learn_from_views, views_of
from dptransfer.transfer.progress import report
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings

__all__ = ["learn_weighed"]

Array = npt.NDArray[np.floating]

FOLDS = 5
ERRORS = 1.64
"""Standard errors by which a source must be worse before it is refused: there is one chance in
twenty for it, if the source is as good."""


def learn_weighed(
    X: Array,
    known: Known,
    releases: Sequence[Release],
    settings: Settings,
    seed: int,
    ready: Sequence[Domain] = (),
) -> Lesson:
    """As strategy "noise-aware", from those sources that stand the test of the labelled rows."""
    alignment, views, notes = views_of(X, known, releases)
    kept = []
    for view in views:
        worse = how_much_worse(X, known, alignment, view, seed)
        if worse > ERRORS:
            notes.append(
                f"{view.name!r} was refused: labelled rows, hidden in turn, are labelled worse "
                "with it than without"
            )
        else:
            kept.append(view)
    return learn_from_views(X, known, alignment, kept, notes, settings, seed, ready)


def how_much_worse(X: Array, known: Known, alignment: Alignment, view: View, seed: int) -> float:
    """Hidden labels that the target finds and the source misses, in standard errors."""
    held_out = folds(known.numbers, FOLDS, np.random.default_rng(seed))
    if not held_out:
        return 0.0
    n_classes = len(known.classes)
    alike = view.alignment.same_as(alignment)
    graph = view.graph if alike else Neighbourhood(alignment(X))
    arms = ((graph, evidence_of([])), (view.graph, evidence_of([view])))
    # decided once, by all labels, as it will be when all are learned from
    ask = [
        first_guess(g, known.numbers, n_classes, np.random.default_rng(seed), told.means).neighbours
        for g, told in arms
    ]
    differences: list[int] = []
    for number, fold in enumerate(held_out):
        report("weighing", number, len(held_out))
        numbers = known.numbers.copy()
        numbers[fold] = -1
        right = [
            label_all(X, numbers, n_classes, g, told, (), seed, rounds=0, neighbours=near)
            .scores[fold]
            .argmax(axis=1)
            == known.numbers[fold]
            for (g, told), near in zip(arms, ask, strict=True)
        ]
        differences += (right[0].astype(int) - right[1]).tolist()
    worse = sum(differences)
    return worse / max(1.0, float(np.sqrt(np.sum(np.square(differences)))))
