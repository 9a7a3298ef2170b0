"""The paper's release: every cell perturbed, and what was learned from the perturbed rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.models import MembershipClassifier
from dptransfer.transfer.release import Release
from dptransfer.transfer.summary import Summary

__all__ = ["SampleRelease"]

Array = npt.NDArray[np.floating]


class SampleRelease(Release):
    """What an owner publishes under a promise for one cell of one row.

    Made by :meth:`~dptransfer.transfer.release.Release.from_samples`, or read by :meth:`load`.

    Attributes
    ----------
    model : MembershipClassifier
        The source classifier, learned from perturbed features in the order of `columns.features`.
    summary : Summary
        Class sizes, sums of the perturbed rows, their principal subspace V⁺, second moments.
    samples : tuple of arrays or None
        The perturbed rows and the class number of each, where the owner gave them out too.
    """

    KIND: ClassVar[str] = "release"

    def __init__(
        self,
        manifest: dict[str, Any],
        model: MembershipClassifier,
        summary: Summary,
        samples: tuple[Array, npt.NDArray[np.intp]] | None = None,
    ) -> None:
        super().__init__(manifest)
        self.model = model
        self.summary = summary
        self.samples = samples
