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
from dptransfer.transfer.release import Release

__all__ = ["Adopter", "alone", "told_by"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]
Labels = npt.NDArray[Any]

NO_LABEL = "no row has a label"


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

    def answer(self, release: Release | None, strategy: str) -> Labels:
        """What the rows of the test are taken for."""
        model = TransferClassifier(
            release, strategy=strategy, n_jobs=self.n_jobs, random_state=self.seed
        ).fit(self.X, self.labels)
        said: Labels = (
            model.transduction_[self.labels < 0] if self.test is None else model.predict(self.test)
        )
        return said

    def right(self, said: Labels) -> float:
        """How much of an answer is right, in per cent."""
        if self.balanced:
            return 100 * float(balanced_accuracy_score(self.truth, said))
        return 100 * float(np.mean(said == self.truth))


def alone(adopter: Adopter) -> Labels | None:
    """The target only; None where it has no label to learn from."""
    return adopter.answer(None, "target-only") if np.any(adopter.labels >= 0) else None


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
    for name, each in given.items():
        said = _answered(adopter, each, "auto")
        figures[f"{name} refused"] = 0.0 if said is not None else 100.0
        if said is not None:
            figures[name] = adopter.right(said)
            if name == "auto" and without is not None:
                figures["changed"] = 100 * float(np.mean(said != without))
    if without is not None:
        figures["target"] = adopter.right(without)
    if noise_aware and (said := _answered(adopter, release, "noise-aware")) is not None:
        figures["noise-aware"] = adopter.right(said)
    return figures


def _answered(adopter: Adopter, release: Release, strategy: str) -> Labels | None:
    """An answer, or None where the software says that there is nothing to learn from."""
    try:
        return adopter.answer(release, strategy)
    except DataError as error:
        if NO_LABEL not in str(error):
            raise
        return None
