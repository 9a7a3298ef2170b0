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
from dptransfer.transfer.decision import Domain
from dptransfer.transfer.learning import Known, learn_domains
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings

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
    ) -> tuple[list[Domain], list[str]]:
        """See :func:`~dptransfer.transfer.learning.learn_domains`."""


class Strategy(NamedTuple):
    """How to learn, and what from."""

    learn: Learner
    uses_source: bool = True
    own_target: bool = True
    """Whether the target's classifier is learned without a look at the source, so that one and the
    same serves with the source and without."""


STRATEGIES: Mapping[str, Strategy] = {
    "paper": Strategy(learn_domains),
    "target-only": Strategy(learn_domains, uses_source=False),
}


def choose(name: str, releases: Sequence[Release]) -> str:
    """The strategy's own name; "auto" is the paper's where there is a source."""
    if name == AUTO:
        name = "paper" if releases else "target-only"
    if name not in STRATEGIES:
        raise ParameterError(
            f"strategy must be one of {', '.join([AUTO, *STRATEGIES])}, not {name!r}"
        )
    if name == "paper" and any(release.guarantee.unit == "record" for release in releases):
        raise ParameterError(
            'strategy="paper" learns from perturbed rows, and a record-level release has none; '
            "take another strategy, or a release made by Release.from_samples"
        )
    return name
