"""The kernel of a membership-mapping, and the length scales that go with it.

Distances are taken in coordinates scaled by √w, in which every dimension spans at most one. Points
are shifted to the data's centre first: the distance does not notice, and the expanded square
‖x‖² − 2x·a + ‖a‖², which is one matrix product, then loses nothing to cancellation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["kernel", "weights"]

Array = npt.NDArray[np.floating]

ROUNDING = 16


def weights(x: Array) -> Array:
    """Inverse squared range of every dimension, eq. (738496.4698).

    w_k = (max_i x_k^i − min_i x_k^i)⁻², and 0 where a dimension is constant: it carries no
    distance. A range that is no more than rounding, or without a finite inverse square, is none.

    >>> weights(np.array([[0.0, 3.0], [2.0, 3.0]]))
    array([0.25, 0.  ])
    """
    low, high = x.min(axis=0), x.max(axis=0)
    spread = high - low
    rounding = ROUNDING * np.finfo(np.float64).eps * np.maximum(high, -low)
    with np.errstate(over="ignore", divide="ignore"):
        w = np.float64(spread) ** -2.0
    return np.where(np.isfinite(w) & (spread > rounding), w, 0.0)


def kernel(x: Array, a: Array, w: Array, sigma2: float = 1.0) -> Array:
    """kr(x, a) = σ² exp(−½ Σ_k w_k (x_k − a_k)²) for every pair of rows, eq. (membership1003_3).

    Parameters
    ----------
    x, a : arrays of shape (N, n) and (M, n)
    w : array of shape (n,)
    sigma2 : float

    Returns
    -------
    array of shape (N, M), of x's type
    """
    scale = np.sqrt(w).astype(x.dtype, copy=False)
    centre = a.mean(axis=0).astype(x.dtype, copy=False)
    # −½‖x − a‖² = x·a − ½‖x‖² − ½‖a‖² as one product: the norms ride along as two more columns
    left = np.ones((len(x), x.shape[1] + 2), dtype=x.dtype)
    right = np.ones((len(a), x.shape[1] + 2), dtype=x.dtype)
    for rows, points, own in ((left, x, -1), (right, a, -2)):
        scaled = rows[:, :-2]
        scaled[...] = (points - centre) * scale
        np.einsum("ij,ij->i", scaled, scaled, out=rows[:, own])
        rows[:, own] *= -0.5
    K = left @ right.T
    np.exp(K, out=K)
    if sigma2 != 1.0:
        K *= sigma2
    return K
