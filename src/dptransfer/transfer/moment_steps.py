"""What each pass over private rows makes of what the passes before it released.

Second moments about a centre that is far from the rows are mostly those of the distance, and noise
in proportion to it. So the first pass releases where every class lies and how long rows are; the
others look at rows from the released centre of their class, brought within a radius that follows
from the released lengths. All of this is post-processing: its input is noisy, or declared.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dptransfer.numerics.subspace import leading_eigenvectors, with_fixed_signs
from dptransfer.privacy.passes import directions

__all__ = ["centres_of", "mean_square_about", "near_radius", "sizes_of", "subspace_of"]

Array = npt.NDArray[np.float64]

SMALLEST = 1e-4
"""Of a squared radius: a later one is not smaller."""


def sizes_of(counts: Array, deviation: float) -> Array:
    """How many rows a class has, to divide by: no fewer than noise alone would count."""
    return np.maximum(counts, deviation)


def centres_of(sums: Array, sizes: Array, deviation: float) -> Array:
    """The mean of every class, drawn to that of all classes as far as it is noise (James, Stein).

    So is the mean of all classes drawn to 0, where rows are clipped about.
    """
    n_features = sums.shape[1]
    everywhere = sums.sum(axis=0) / sizes.sum()
    variance = len(sums) * (deviation / sizes.sum()) ** 2
    middle = _shrunk(everywhere[None], n_features * np.array([variance]))
    apart: Array = middle + _shrunk(
        sums / sizes[:, None] - middle, n_features * (deviation / sizes) ** 2
    )
    return apart


def _shrunk(vectors: Array, noise: Array) -> Array:
    """Each times 1 − noise/‖v‖², no less than 0."""
    lengths = np.einsum("ij,ij->i", vectors, vectors)
    known = 1 - np.minimum(noise, lengths) / np.maximum(lengths, np.finfo(float).tiny)
    shrunk: Array = vectors * known[:, None]
    return shrunk


def mean_square_about(centres: Array, sizes: Array, lengths: float) -> float:
    """The mean of ‖z − c‖² over all rows: Σ‖z‖² − Σ n‖c‖², over N.

    Exactly it is Σ‖z‖² − 2 Σ c·S + Σ n‖c‖², but the noise of S is also in c. What is shrunk as in
    :func:`centres_of` has c·S = n‖c‖² for the true S, up to what cannot be known.
    """
    between = np.vdot(sizes, np.einsum("ij,ij->i", centres, centres))
    return float((lengths - between) / sizes.sum())


def near_radius(mean_square: float, part: float, uncertainty: float, radius: float) -> float:
    """√(part of the mean squared length), within what is sure and within the radius before."""
    least = max(uncertainty, SMALLEST * radius**2)
    return min(radius, math.sqrt(max(part * mean_square, least)))


def subspace_of(scatter: Array, centres: Array, sizes: Array, n_directions: int) -> Array:
    """V: the leading eigenvectors, as rows, of the scatter within classes and that between."""
    apart = centres - sizes @ centres / sizes.sum()
    total = scatter + (apart.T * sizes) @ apart
    return directions(with_fixed_signs(leading_eigenvectors(total, n_directions)[1].T))
