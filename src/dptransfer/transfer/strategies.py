"""The strategies: how rows and releases become the advisers that have a say in a label.

A new one is a function like :func:`~dptransfer.transfer.learning.learn_domains` and a line in
:data:`STRATEGIES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dptransfer.errors import ParameterError
from dptransfer.transfer.alignment import Alignment
from dptransfer.transfer.decision import Domain
from dptransfer.transfer.learning import Known, learn_domains, learn_target
from dptransfer.transfer.lesson import Lesson
from dptransfer.transfer.noise_aware import learn_from_views, learn_noise_aware
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings
from dptransfer.transfer.weighing import learn_weighed

__all__ = ["AUTO", "STRATEGIES", "Learner", "Strategy", "choose"]

Array = npt.NDArray[np.floating]

AUTO = "auto"


class Learner(Protocol):
    """Learns everybody who has a say, and tells what should be known."""

    def __call__(
        self,
        X: Array,
        known: Known,
        releases: Sequence[Release],
        settings: Settings,
        seed: int,
        ready: Sequence[Domain] = (),
    ) -> Lesson:
        """See :func:`~dptransfer.transfer.learning.learn_domains`."""


class Alone(Protocol):
    """Learns from the target's rows alone, in the space to which they are aligned."""

    def __call__(
        self,
        X: Array,
        known: Known,
        alignment: Alignment,
        settings: Settings,
        seed: int,
        ready: Sequence[Domain] = (),
    ) -> Domain:
        """See :func:`~dptransfer.transfer.learning.learn_target`."""


def _without_views(
    X: Array,
    known: Known,
    alignment: Alignment,
    settings: Settings,
    seed: int,
    ready: Sequence[Domain] = (),
) -> Domain:
    return learn_from_views(X, known, alignment, [], [], settings, seed).domains[0]


class Strategy(NamedTuple):
    """How to learn, and what from."""

    learn: Learner
    alone: Alone
    """The same without a source: what the source is measured against."""
    uses_source: bool = True
    own_target: bool = False
    """Whether the target's classifier is learned without a look at the source, so that one and the
    same serves with the source and without."""


STRATEGIES: Mapping[str, Strategy] = {
    AUTO: Strategy(learn_weighed, _without_views),
    "paper": Strategy(learn_domains, learn_target, own_target=True),
    "noise-aware": Strategy(learn_noise_aware, _without_views),
    "target-only": Strategy(learn_noise_aware, _without_views, uses_source=False),
}


def choose(name: str, releases: Sequence[Release]) -> str:
    """The strategy's own name; "auto" is "target-only" where there is no source."""
    if name not in STRATEGIES:
        raise ParameterError(f"strategy must be one of {', '.join(STRATEGIES)}, not {name!r}")
    if name == AUTO and not releases:
        return "target-only"
    if name == "paper" and any(release.guarantee.unit == "record" for release in releases):
        raise ParameterError(
            'strategy="paper" learns from perturbed rows, and a record-level release has none; '
            "take another strategy, or a release made by Release.from_samples"
        )
    return name
