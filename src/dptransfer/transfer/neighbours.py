"""The neighbourhood graph of the target's rows, and what it is to be smooth on it.

Each row is joined to its few nearest in the leading principal directions, by the angle between
them as seen from the mean. With W the weights, D their row sums and S = D^{-1/2} W D^{-1/2},

    (1 − α) D^{-1/2} (I − αS)^{-1} D^{1/2} P

spreads what P says of each row over the rows around it: a random walk that stops with probability
1 − α at each step, asked where it stands. The same inverse is the covariance of a Gaussian field
that differs little between neighbours; see :mod:`~dptransfer.transfer.field`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dptransfer.numerics.subspace import leading_eigenvectors

__all__ = ["Neighbourhood"]

Array = npt.NDArray[np.floating]

NEIGHBOURS = 4
DIRECTIONS = 40
MOST_DIRECTIONS = 100
"""In which means are compared; neighbours are sought in the first 40 of them."""

BLOCK_VALUES = 2**24
TOLERANCE = 1e-4
MOST_STEPS = 300


class Neighbourhood:
    """Rows in their principal directions, and the graph of who is near whom.

    Attributes
    ----------
    mean : array of shape (p,)
    directions : array of shape (d, p)
        Orthonormal, the leading one first.
    coordinates : array of shape (N, d)
    variances : array of shape (d,)
        Of the coordinates.
    degrees : array of shape (N,)
        D, the sum of each row's weights, in units of their mean.
    """

    def __init__(self, X: Array) -> None:
        N, p = X.shape
        self.mean = X.mean(axis=0, dtype=np.float64)
        d = max(1, min(MOST_DIRECTIONS, p, N - 1))
        centred = X - self.mean.astype(X.dtype)
        if p <= N:
            _, V = leading_eigenvectors(np.asarray(centred.T @ centred, dtype=np.float64), d)
        else:  # few rows: the N × N inner products are the smaller problem
            _, U = leading_eigenvectors(np.asarray(centred @ centred.T, dtype=np.float64), d)
            V = np.linalg.qr(centred.T @ U)[0]
        self.directions = np.ascontiguousarray(V.T)
        self.coordinates = np.asarray(centred @ V, dtype=np.float64)
        self.variances = np.mean(self.coordinates**2, axis=0)
        W = _weights(self.coordinates[:, :DIRECTIONS])
        degrees = np.maximum(np.asarray(W.sum(axis=1)).ravel(), 1e-12)
        roots = sp.diags(1 / np.sqrt(degrees))
        self._S = (roots @ W @ roots).tocsr()
        self.degrees = degrees / degrees.mean()

    def spread(self, P: Array, alpha: float) -> Array:
        """What P says of each row, spread over the rows around it."""
        roots = np.sqrt(self.degrees)[:, None]
        spread: Array = (1 - alpha) * self.solve(P * roots, alpha) / roots
        return spread

    def solve(self, B: Array, alpha: float) -> Array:
        """(I − αS)^{-1} B, all columns at once by conjugate gradients."""
        X = np.zeros_like(B)
        R = B.copy()
        P = B.copy()
        squares = np.einsum("ij,ij->j", R, R)
        enough = TOLERANCE**2 * squares
        for _ in range(MOST_STEPS):
            if np.all(squares <= enough):
                break
            AP = P - alpha * (self._S @ P)
            steps = squares / np.maximum(np.einsum("ij,ij->j", P, AP), 1e-300)
            X += steps * P
            R -= steps * AP
            after = np.einsum("ij,ij->j", R, R)
            P *= after / np.maximum(squares, 1e-300)
            P += R
            squares = after
        return X


def _weights(Z: Array) -> sp.csr_matrix:
    """W_ij = exp(−‖q_i − q_j‖² / (s_i s_j)), q the unit vectors, s the farthest kept."""
    N = len(Z)
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    Q = (Z / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    k = min(NEIGHBOURS, N - 1)
    near = np.empty((N, k), dtype=np.intp)
    away = np.empty((N, k))
    step = max(1, BLOCK_VALUES // N)
    for start in range(0, N, step):
        block = slice(start, min(start + step, N))
        alike = Q[block] @ Q.T
        here = np.arange(start, block.stop)
        alike[here - start, here] = -np.inf
        found = np.argpartition(alike, N - k, axis=1)[:, N - k :]
        near[block] = found
        away[block] = 2 - 2 * np.take_along_axis(alike, found, axis=1)
    away = np.maximum(away, 1e-12)  # equal rows
    scale = np.sqrt(away.max(axis=1))
    values = np.exp(-away / (scale[:, None] * scale[near]))
    W = sp.csr_matrix((values.ravel(), (np.repeat(np.arange(N), k), near.ravel())), shape=(N, N))
    return W.maximum(W.T)
