"""One adopter, told in turn by a source, by nobody, and by pure noise in the source's place.

All arms learn from the same rows with the same labels and the same seed, so that they differ by the
source alone. Where no row has a label there is nothing to learn without a source, and with noise
the software has to say so instead of answering.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import balanced_accuracy_score

from dptransfer.errors import DataError
from dptransfer.experiments.store import Figures
from dptransfer.transfer.adapter import TransferClassifier
from dptransfer.transfer.alignment import as_given
from dptransfer.transfer.learning import Known
from dptransfer.transfer.noise_aware import views_of
from dptransfer.transfer.release import Release

__all__ = ["Adopter", "alone", "told_by"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]
Labels = npt.NDArray[Any]

NO_LABEL = "no row has a label"
REFUSED = "was refused"


class Answer(NamedTuple):
    """What an arm said."""

    labels: Labels
    refused: bool = False
    """Whether the labelled rows spoke against the source, and it was not heard."""


class Adopter(NamedTuple):
    """What an adopter has, and what it is tested on."""

    X: Array
    labels: Numbers
    """−1 where there is none."""
    truth: Numbers
    """Of the rows to be tested on."""
    test: Array | None = None
    """Rows never seen in training; without them, the test is on the rows without a label."""
    balanced: bool = False
    """Whether every class counts alike."""
    n_jobs: int = 1
    seed: int = 0

    def answer(self, release: Release | None, strategy: str) -> Answer:
        """What the rows of the test are taken for."""
        model = TransferClassifier(
            release, strategy=strategy, n_jobs=self.n_jobs, random_state=self.seed
        ).fit(self.X, self.labels)
        said: Labels = (
            model.transduction_[self.labels < 0] if self.test is None else model.predict(self.test)
        )
        return Answer(said, any(REFUSED in note for note in model.notes_))

    def understands(self, release: Release) -> bool:
        """Whether the source tells anything of these rows, or has them looked at in its units."""
        known = Known(np.array(release.classes), self.labels)
        alignment, views, _ = views_of(self.X, known, [release])
        return bool(views) or not alignment.same_as(as_given())

    def right(self, said: Labels) -> float:
        """How much of an answer is right, in per cent."""
        if self.balanced:
            return 100 * float(balanced_accuracy_score(self.truth, said))
        return 100 * float(np.mean(said == self.truth))


def alone(adopter: Adopter) -> Labels | None:
    """The target only; None where it has no label to learn from."""
    return adopter.answer(None, "target-only").labels if np.any(adopter.labels >= 0) else None


def told_by(
    adopter: Adopter,
    release: Release,
    noise: Release | None,
    without: Labels | None,
    *,
    noise_aware: bool = True,
) -> Figures:
    """Every arm's figure.

    Parameters
    ----------
    adopter : Adopter
    release : Release
    noise : Release or None
        Its twin that knows nothing; None leaves this control out.
    without : array or None
        What :func:`alone` answered.
    noise_aware : bool
        Whether strategy "noise-aware", which refuses no source for its labels, is tried too.
    """
    figures: Figures = {}
    given = {"auto": release} if noise is None else {"auto": release, "noise": noise}
    not_yet = noise_aware
    for name, each in given.items():
        said = _answered(adopter, each, "auto", without)
        figures[f"{name} refused"] = 0.0 if said is not None else 100.0
        if said is None:
            continue
        figures[name] = adopter.right(said.labels)
        if name == "auto":
            not_yet = noise_aware and said.refused
            if noise_aware and not said.refused:  # then these two strategies are one
                figures["noise-aware"] = figures["auto"]
            if without is not None:
                figures["changed"] = 100 * float(np.mean(said.labels != without))
    if without is not None:
        figures["target"] = adopter.right(without)
    if not_yet and (said := _answered(adopter, release, "noise-aware", without)) is not None:
        figures["noise-aware"] = adopter.right(said.labels)
    return figures


def _answered(
    adopter: Adopter, release: Release, strategy: str, without: Labels | None
) -> Answer | None:
    """An answer, or None where the software says that there is nothing to learn from.

    A source that is left out leaves what the target learns alone, to the last bit (this is
    tested), so that it is not learned again.
    """
    if without is not None and not adopter.understands(release):
        return Answer(without)
    try:
        return adopter.answer(release, strategy)
    except DataError as error:
        if NO_LABEL not in str(error):
            raise
        return None
