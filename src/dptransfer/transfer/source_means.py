"""Class means that a source tells, as the target's rows would have them, and how sure they are.

An average beats the noise: the mean of n perturbed rows is known up to the noise of one, over √n.
Whether that says anything of the classes at all can be told from the release alone: the means of
classes that do not differ would lie about each other as far as their noise, and no farther.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.release import Release

__all__ = ["WITHIN", "ClassMeans", "SourceMeans", "source_means"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

CLEARLY = 2.0
"""Standard deviations by which means must differ more than their noise alone would make them."""

WITHIN = 0.6
"""Of the variance of all rows, so much is within a class."""

ELSEWHERE = 4.0
"""Times the squared distance among classes by which the target's mean may lie off the source's."""


class ClassMeans(NamedTuple):
    """Means of the target's classes, seen in the target's directions."""

    coordinates: Array
    """(C, d)."""
    variances: Array
    """Of the noise on each class's, (C,); infinite where nothing is told."""


class SourceMeans(NamedTuple):
    """What a source says of the first moments of its classes."""

    means: Array
    """Of every class's rows less the mean of the target's, (C, p)."""
    variances: Array
    """Of the noise on a number of each class's mean, (C,)."""
    shares: Array
    """Of every class in the source's rows, (C,)."""

    def seen(self, directions: Array, classes: Numbers, n_classes: int) -> ClassMeans:
        """The same, by the target's class numbers."""
        coordinates = np.zeros((n_classes, len(directions)))
        coordinates[classes] = self.means @ directions.T
        variances = np.full(n_classes, np.inf)
        variances[classes] = self.variances
        return ClassMeans(coordinates, variances)

    def tell_apart(self, directions: Array) -> bool:
        """Whether the classes' means differ by more than noise does, along some directions."""
        means = self.means @ directions.T
        weights = 1 / self.variances
        middle = weights @ means / weights.sum()
        apart = float(np.sum((means - middle) ** 2 * weights[:, None]))
        freedom = (len(means) - 1) * len(directions)
        return bool(apart > freedom + CLEARLY * np.sqrt(2 * freedom))

    def lie_elsewhere(self, directions: Array) -> bool:
        """Whether the target's mean is far from the source's, as classes are apart."""
        means = self.means @ directions.T
        d = len(directions)
        middle = self.shares @ means
        far = float(middle @ middle) - d * float(self.shares**2 @ self.variances)
        apart = float(self.shares @ np.sum((means - middle) ** 2, axis=1))
        apart -= d * float(self.shares * (1 - self.shares) @ self.variances)
        return bool(far > ELSEWHERE * max(apart, 0.0))


def source_means(release: Release, graph: Neighbourhood) -> SourceMeans:
    """Of a release whose columns are the target's."""
    told = release.summary
    if isinstance(release, MomentRelease):
        means = told.means + np.asarray(release.centre)
        sizes = told.sizes
    else:
        means, sizes = told.means, np.maximum(told.counts, 1)
    return SourceMeans(
        np.asarray(means, dtype=np.float64) - graph.mean,
        np.mean(np.asarray(told.mean_errors, dtype=np.float64) ** 2, axis=1),
        np.asarray(sizes / sizes.sum(), dtype=np.float64),
    )
