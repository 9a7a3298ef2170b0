"""The principal subspace of a set of rows: the matrix P of Algorithm 2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse.linalg

__all__ = ["principal_subspace"]

Array = npt.NDArray[np.floating]

LANCZOS_RATIO = 6  # below this many columns a component, a dense eigensolver is as quick


def principal_subspace(Y: Array, n: int) -> Array:
    """The n leading eigenvectors of the sample covariance of Y, as rows (Algorithm 2, step 3).

    The rows are orthonormal; each one's sign is fixed by its largest entry. Where rows are fewer
    than columns the eigenvectors come from the N × N inner products, which are the smaller problem.

    Parameters
    ----------
    Y : array of shape (N, p)
    n : int, at most min(N - 1, p)

    Returns
    -------
    array of shape (n, p), float64
    """
    N, p = Y.shape
    centred = Y - Y.mean(axis=0, dtype=np.float64)
    if p // 2 >= N:
        U = leading_eigenvectors(centred @ centred.T, n)
        # orthogonal directions of the row space, also where an eigenvalue is zero
        P = np.linalg.qr(centred.T @ U)[0].T
    else:
        P = leading_eigenvectors(centred.T @ centred, n).T
    signs = np.sign(P[np.arange(n), np.abs(P).argmax(axis=1)])
    return np.ascontiguousarray(P * np.where(signs == 0, 1.0, signs)[:, None])


def leading_eigenvectors(C: Array, n: int) -> Array:
    """Eigenvectors of the n largest eigenvalues of a symmetric matrix, largest first."""
    size = len(C)
    vectors: Array
    if size > 100 and n * LANCZOS_RATIO < size:
        # the start is fixed, so that equal matrices have equal eigenvectors to the last bit
        start = np.random.default_rng(0).standard_normal(size)
        try:
            values, vectors = scipy.sparse.linalg.eigsh(C, n, v0=start)
        except scipy.sparse.linalg.ArpackError:
            pass  # too many equal eigenvalues for Lanczos; the dense solver does not mind
        else:
            return np.take(vectors, np.argsort(-values, kind="stable"), axis=1)
    _, vectors = scipy.linalg.eigh(C, subset_by_index=[size - n, size - 1], check_finite=False)
    return np.flip(vectors, axis=1)
