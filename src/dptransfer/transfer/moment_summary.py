"""Totals of a record-level release, each with noise, and what is known from them of every class.

z is a row less the declared centre, within the declared radius R; w = z − c_y, the row from the
released centre of its class, within R₂; v = V w, in the released subspace, within R₃. Released, in
this order, are the numbers of rows, Σ‖z‖² and Σ z of every class; Σ w wᵀ, of which only the
subspace is kept; Σ v and Σ v vᵀ of every class. The noise on each is known, so an estimate can be
drawn to what is surer just as far as it is noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.transfer.moment_steps import sizes_of
from dptransfer.transfer.moments_plan import PARTS

__all__ = ["Gaussians", "MomentSummary", "gaussians_of"]

Array = npt.NDArray[np.float64]

COUNTS, LENGTHS, SUMS, SUBSPACE, OFFSETS, MOMENTS = range(len(PARTS))

FLOOR = 3.0
"""An eigenvalue of the pooled covariance is at least so many times the noise on it, σ√k."""

KNOWN = 0.3
"""The part of a variance that noise on an entry may be, for laws to be made of second moments."""

RELUCTANCE = 0.5
"""By how much less than measured classes are taken to differ in their covariances."""

NARROWEST = 0.1
"""A class spreads in no direction by less than this part of what all classes do together."""


class MomentSummary(NamedTuple):
    """What a record-level release says of its rows, class by class; all of it noisy.

    Shapes are of C classes, p features and k directions.
    """

    counts: Array
    """Rows of every class, (C,); neither whole numbers nor surely above 0."""
    lengths: Array
    """Σ‖z‖² over all rows, (1,)."""
    sums: Array
    """Σ z over every class's rows, (C, p)."""
    centres: Array
    """c: the means that follow from the sums, shrunk by their noise, (C, p)."""
    subspace: Array
    """V: orthonormal rows, (k, p); all features where these are few."""
    offsets: Array
    """Σ v over every class's rows, (C, k)."""
    moments: Array
    """Σ v vᵀ over every class's rows, (C, k, k)."""
    deviations: Array
    """The standard deviation of the noise on a number of each of `PARTS`, (6,); off the diagonal of
    second moments it is smaller by √2. 0 for what was not released."""
    radii: Array
    """R, R₂, R₃."""

    @property
    def sizes(self) -> Array:
        """Rows of every class, to divide by: no fewer than the noise alone would count."""
        return sizes_of(self.counts, float(self.deviations[COUNTS]))

    @property
    def means(self) -> Array:
        """The mean of every class's rows z, (C, p), as noisy as the sums."""
        means: Array = self.sums / self.sizes[:, None]
        return means

    @property
    def mean_errors(self) -> Array:
        """The standard deviation of the noise in every number of `means`, (C, p)."""
        errors = self.deviations[SUMS] / self.sizes
        return np.repeat(errors[:, None], self.sums.shape[1], axis=1)

    @property
    def second_moments_known(self) -> bool:
        """Whether the noise on an entry of every class's is small beside a mean variance."""
        sigma, sizes = self.deviations[MOMENTS], self.sizes
        C, k = self.offsets.shape
        offsets = self.offsets / sizes[:, None]
        squares = np.trace(self.moments, axis1=1, axis2=2) - sizes * np.sum(offsets**2, axis=1)
        unsure = 2 * sigma * math.sqrt(C * k)
        variance = float(squares.sum() - unsure) / (float(sizes.sum()) * k)
        return bool(sigma / sizes.min() < KNOWN * variance)

    @property
    def covariances(self) -> Array:
        """The covariance of every class within the subspace; see :func:`gaussians_of`."""
        return gaussians_of(self).covariances


class Gaussians(NamedTuple):
    """A normal law for every class, in the subspace."""

    means: Array
    """(C, k)."""
    errors: Array
    """The standard deviation of the noise in a number of each class's mean, (C,)."""
    covariances: Array
    """(C, k, k), positive definite."""


def gaussians_of(summary: MomentSummary) -> Gaussians:
    """The laws that are likeliest, given how noisy everything is.

    Where few numbers must be told from much noise, what is common to all classes is surer than what
    is their own. Eigenvalues of the pooled covariance P are brought to a multiple of the noise on
    them at least. In units of P, the difference of a class's covariance from P has entries whose
    noise is of known variance τ²; if s² is the variance of what is behind the noise, measured over
    all entries, each entry is worth s²/(s² + τ²) of itself (Wiener).
    """
    n, N = summary.sizes, summary.sizes.sum()
    C, k = summary.offsets.shape
    offsets = summary.offsets / n[:, None]
    means = summary.centres @ summary.subspace.T + offsets
    errors = summary.deviations[OFFSETS] / n
    sigma = summary.deviations[MOMENTS]

    own = summary.moments / n[:, None, None] - offsets[:, :, None] * offsets[:, None, :]
    pooled = np.einsum("c,cij->ij", n / N, own)
    values, Q = np.linalg.eigh(pooled)
    noise = sigma * np.sqrt(C) / N
    values = np.maximum(values, FLOOR * noise * np.sqrt(k))
    scale = np.sqrt(values)
    units = Q / scale
    apart = units.T @ (own - pooled) @ units
    variance = (sigma / n[:, None, None]) ** 2 / np.outer(values, values)
    variance = variance * (1 + np.eye(k)) / 2
    weights = 1 / (variance + 0.02) ** 2
    signal = float(np.sum(weights * (apart**2 - variance)) / weights.sum())
    signal = RELUCTANCE * max(signal, 1e-6)
    spread, U = np.linalg.eigh(np.eye(k) + apart * signal / (signal + variance))
    roots = (Q * scale) @ U * np.sqrt(np.maximum(spread, NARROWEST))[:, None, :]
    return Gaussians(means, errors, roots @ np.swapaxes(roots, 1, 2))
