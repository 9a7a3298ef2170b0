"""Sums over perturbed rows: averages beat the noise, so they are worth more than any single row.

For every class the number of its rows, their sum, and their second moments in the subspace V⁺ of
the leading principal directions of all perturbed rows. The noise is independent of the data and
has a known variance, so whoever reads this can take its share off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.numerics.subspace import (
    leading_eigenvectors,
    principal_subspace,
    with_fixed_signs,
)
from dptransfer.transfer.progress import report

__all__ = ["Summary", "summarise"]

Array = npt.NDArray[np.floating]

BLOCK_VALUES = 2**22
LARGEST_MOMENTS = 512


class Summary(NamedTuple):
    """What a release says of its rows, class by class."""

    counts: npt.NDArray[np.int64]
    """Rows of every class, (C,)."""
    sums: Array
    """The sum of every class's perturbed rows, (C, p)."""
    subspace: Array
    """V⁺: the leading eigenvectors of the perturbed rows' sample covariance, as rows, (k, p)."""
    moments: Array
    """Σ z zᵀ over every class's perturbed rows, z = V⁺ y; the first 512 directions at most."""
    noise_variance: Array
    """The variance of the noise on every feature, (p,)."""

    @property
    def means(self) -> Array:
        """The mean of every class's perturbed rows; unbiased for that of the rows themselves."""
        means: Array = self.sums / self.counts[:, None]
        return means

    @property
    def mean_errors(self) -> Array:
        """The standard deviation of the noise in `means`, (C, p)."""
        errors: Array = np.sqrt(self.noise_variance / self.counts[:, None])
        return errors


def summarise(
    X: Array, labels: npt.NDArray[np.intp], n_classes: int, noise_variance: Array
) -> Summary:
    """Two passes over the perturbed rows X, a block at a time."""
    N, p = X.shape
    counts = np.bincount(labels, minlength=n_classes)
    step = max(1, BLOCK_VALUES // p)
    blocks = [slice(start, min(start + step, N)) for start in range(0, N, step)]
    sums = np.zeros((n_classes, p))
    for block in blocks:
        members = np.eye(n_classes)[labels[block]]
        sums += members.T @ X[block].astype(np.float64)
    mean = sums.sum(axis=0) / N
    k = max(1, min(-(-p // 2), N - 1))
    if p > N:  # few rows: the N × N inner products are the smaller problem
        V = principal_subspace(X.astype(np.float64), k) if N > 1 else np.eye(1, p)
    else:
        covariance = np.zeros((p, p))
        for number, block in enumerate(blocks):
            report("summing", number, len(blocks))
            centred = X[block].astype(np.float64) - mean
            covariance += centred.T @ centred
        V = with_fixed_signs(leading_eigenvectors(covariance, k)[1].T)
    moments = np.zeros((n_classes, min(len(V), LARGEST_MOMENTS), min(len(V), LARGEST_MOMENTS)))
    W = V[:LARGEST_MOMENTS].T.astype(np.float32)
    for number, block in enumerate(blocks):
        report("summing", number, len(blocks))
        Z, own = X[block] @ W, labels[block]
        for c in np.unique(own):
            members = Z[own == c]
            moments[c] += (members.T @ members).astype(np.float64)
    return Summary(counts, sums, V, moments, noise_variance)
