"""What an adopter's classifier is made of, once it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.privacy import Guarantee
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.decision import Domain
from dptransfer.transfer.learning import Known
from dptransfer.transfer.release import Release

__all__ = ["Given", "Learned", "Told"]

Array = npt.NDArray[np.floating]


class Given(NamedTuple):
    """What was given to fit, kept for what is worked out later."""

    rows: Array
    known: Known
    releases: Sequence[Release]


class Told(NamedTuple):
    """What a release told of itself."""

    name: str
    guarantee: Guarantee
    per_record: Guarantee

    @classmethod
    def of(cls, release: Release) -> Told:
        """From the release."""
        return cls(release.name, release.guarantee, release.per_record)


class Learned(NamedTuple):
    """All that labels new rows, and what is told of it: a model file holds no more."""

    classes: npt.NDArray[Any]
    n_features: int
    feature_names: npt.NDArray[Any] | None
    columns: Columns | None
    strategy: str
    domains: Sequence[Domain]
    sources: list[Told]
    notes: list[str]
