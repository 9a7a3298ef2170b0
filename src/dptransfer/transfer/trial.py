"""The trial of the source: cross-validation with it, without it, and with pure noise.

The same rows held out also calibrate the probabilities. At most 2,000 of the unlabelled rows take
part, so that a trial takes a few fits' time whatever the table's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.transfer.alignment import as_given
from dptransfer.transfer.calibration import temperature, uncalibrated
from dptransfer.transfer.decision import Domain, opinions
from dptransfer.transfer.gain import TransferGain, folds, measure_gain
from dptransfer.transfer.learning import Known
from dptransfer.transfer.noise_twin import noise_twin
from dptransfer.transfer.progress import report, reporting_to
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings
from dptransfer.transfer.strategies import Strategy

__all__ = ["HeldOut", "Trial", "run_trial"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

FOLDS = 5
REPEATS = 2
UNLABELLED = 2000


class HeldOut(NamedTuple):
    """What was said of labelled rows by models that had not seen their labels."""

    rows: Numbers
    """Which rows, by their place in the table."""
    numbers: Numbers
    """The class number that each of them truly has."""
    errors: Array
    """The least error of every class, shape (repeats, rows, classes)."""
    deciders: npt.NDArray[np.str_]
    """Which adviser decided, shape (repeats, rows)."""


class Trial(NamedTuple):
    """What the rows held out say."""

    gain: TransferGain | None
    temperature: float
    calibration: str
    held_out: HeldOut | None = None
    """None where nothing could be held out."""


def run_trial(
    X: Array,
    known: Known,
    releases: Sequence[Release],
    domains: Sequence[Domain],
    settings: Settings,
    seed: int,
    strategy: Strategy,
) -> Trial:
    """Hold labelled rows out, learn from the others, and see who labels them rightly.

    Parameters
    ----------
    X, known, releases, settings, seed
        As for :func:`~dptransfer.transfer.learning.learn_domains`.
    domains : sequence of Domain
        What was learned from all labelled rows; asked where nothing can be held out.
    strategy : Strategy
        How it was learned.
    """
    rng = np.random.default_rng(seed)
    labelled = np.flatnonzero(known.numbers >= 0)
    unknown = np.flatnonzero(known.numbers < 0)
    if len(unknown) > UNLABELLED:
        unknown = np.sort(rng.choice(unknown, UNLABELLED, replace=False))
    n_classes = len(known.classes)
    held_out = [folds(known.numbers, FOLDS, rng) for _ in range(REPEATS)]
    if not len(labelled):
        errors = opinions(domains, X[unknown], n_classes, settings.n_jobs).least
        return Trial(
            TransferGain(0, 0, 0, len(unknown)),
            uncalibrated(errors),
            "not at all: no row has a label",
        )
    if not held_out[0]:
        errors = opinions(domains, X[labelled], n_classes, settings.n_jobs).least
        gain = TransferGain(0, 0, 0, len(unknown)) if releases else None
        return Trial(
            gain,
            temperature(errors, known.numbers[labelled]),
            "on the labelled rows themselves, which the model has seen: no class has two of them, "
            "so probabilities are likely too sure",
        )
    twins = [noise_twin(release, settings.n_jobs, rng) for release in releases]
    rows = np.sort(np.concatenate(held_out[0]))
    place = np.zeros(len(X), dtype=np.intp)
    place[rows] = np.arange(len(rows))
    right = np.zeros((REPEATS, len(rows), 3), dtype=bool)
    errors = np.empty((REPEATS, len(rows), n_classes))
    deciders = np.empty((REPEATS, len(rows)), dtype=object)
    done, work = 0, REPEATS * len(held_out[0])
    for repeat, each in enumerate(held_out):
        for fold in each:
            report("weighing the source" if releases else "calibrating", done, work)
            done += 1
            taught = np.setdiff1d(np.concatenate([labelled, unknown]), fold)
            part = known._replace(numbers=known.numbers[taught])
            with reporting_to(None):  # each fold counts as one step
                for arm, learned in enumerate(
                    _arms(X[taught], part, releases, twins, settings, seed, strategy)
                ):
                    said = opinions(learned, X[fold], n_classes, settings.n_jobs)
                    least = said.least
                    right[repeat, place[fold], arm] = least.argmin(axis=1) == known.numbers[fold]
                    if arm == 0:
                        errors[repeat, place[fold]] = least
                        deciders[repeat, place[fold]] = said.deciders()
    return Trial(
        measure_gain(right, len(held_out[0]), len(unknown)) if releases else None,
        temperature(np.concatenate(errors), np.tile(known.numbers[rows], REPEATS)),
        f"on {len(rows)} labelled rows, each with errors of a model that did not see its label",
        HeldOut(rows, known.numbers[rows], errors, deciders.astype(np.str_)),
    )


def _arms(
    X: Array,
    known: Known,
    releases: Sequence[Release],
    twins: Sequence[Release],
    settings: Settings,
    seed: int,
    strategy: Strategy,
) -> Iterator[list[Domain]]:
    """What is learned with the source, without it, and with pure noise in its place.

    Without it the rows are in the owner's units all the same, if the columns are.
    """
    with_source = strategy.learn(X, known, releases, settings, seed).domains
    yield with_source
    if not releases:
        return
    ready = with_source if strategy.own_target else []
    alignments = [domain.alignment for domain in with_source]
    alike = [alignment for alignment in alignments if alignment.kind == "same columns"]
    alone = strategy.alone(X, known, alike[0] if alike else as_given(), settings, seed, ready)
    yield [alone]
    yield strategy.learn(X, known, twins, settings, seed, [*ready, alone]).domains
