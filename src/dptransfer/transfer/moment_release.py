"""The record-level release: totals of every class with Gaussian noise, and the laws they tell."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.privacy.clipping import clip
from dptransfer.transfer.gaussian_classes import GaussianClasses
from dptransfer.transfer.moment_summary import MomentSummary
from dptransfer.transfer.release import Release

__all__ = ["MomentRelease"]

Array = npt.NDArray[np.floating]


class MomentRelease(Release):
    """What an owner publishes under a promise for a whole record, its label included.

    Made by :meth:`~dptransfer.transfer.release.Release.from_moments`, or read by :meth:`load`.

    Attributes
    ----------
    model : GaussianClasses
        The source classifier: a normal law for every class.
    summary : MomentSummary
        Noisy numbers of rows, sums, subspace and second moments, and how noisy they are.
    """

    KIND: ClassVar[str] = "moments"

    def __init__(self, manifest: dict[str, Any], summary: MomentSummary) -> None:
        super().__init__(manifest)
        self.summary = summary
        self.model = GaussianClasses(summary, self.classes, self.centre)

    @property
    def centre(self) -> Any:
        """About what rows were clipped, as declared: a number, or one a feature."""
        return self.manifest["noise"]["centre"]

    @property
    def radius(self) -> float:
        """Within what they were clipped, as declared."""
        return float(self.manifest["noise"]["radius"])

    def clip(self, features: npt.ArrayLike) -> Array:
        """Rows as :meth:`encode` gives them, less the centre and within the radius.

        They are the z of :class:`~dptransfer.transfer.moment_summary.MomentSummary`.
        """
        return clip(features, self.centre, self.radius)
