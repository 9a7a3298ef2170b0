"""The principal subspace of a set of rows: the matrix P of Algorithm 2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse.linalg

__all__ = ["leading_eigenvectors", "principal_subspace", "with_fixed_signs"]

Array = npt.NDArray[np.floating]

ROUNDING = 64  # units in the last place
LANCZOS_RATIO = 6  # below this many columns a component, a dense eigensolver is as quick


def principal_subspace(Y: Array, n: int) -> Array:
    """The n leading eigenvectors of the sample covariance of Y, as rows (Algorithm 2, step 3).

    The rows are orthonormal; each one's sign is fixed by its largest entry. Directions in which Y
    spreads by no more than rounding are left out. Where rows are fewer than columns the
    eigenvectors come from the N × N inner products, which are the smaller problem.

    Parameters
    ----------
    Y : array of shape (N, p), not all rows equal
    n : int, at most min(N - 1, p)

    Returns
    -------
    array of shape (n or less, p), float64
    """
    N, p = Y.shape
    centred = Y - Y.mean(axis=0, dtype=np.float64)
    if p // 2 >= N:
        values, U = leading_eigenvectors(centred @ centred.T, n)
        P = np.linalg.qr(centred.T @ U)[0].T
    else:
        values, V = leading_eigenvectors(centred.T @ centred, n)
        P = V.T
    # the eigenvalues are exact up to their largest, the data up to their own size and type
    least = ROUNDING * np.finfo(np.float64).eps * values[0]
    entry = ROUNDING * np.finfo(Y.dtype).eps
    least = max(least, entry**2 * float(np.einsum("ij,ij->", Y, Y, dtype=np.float64)))
    return with_fixed_signs(P[: max(1, np.count_nonzero(values > least))])


def with_fixed_signs(P: Array) -> Array:
    """The same directions, each with its largest entry positive.

    An eigenvector has no sign of its own, and whoever compares those of two data sets needs one.

    >>> with_fixed_signs(np.array([[0.6, -0.8], [0.8, 0.6]])).tolist()
    [[-0.6, 0.8], [0.8, 0.6]]
    """
    signs = np.sign(np.take_along_axis(P, np.abs(P).argmax(axis=1)[:, None], axis=1))
    return np.ascontiguousarray(P * signs)


def leading_eigenvectors(C: Array, n: int) -> tuple[Array, Array]:
    """The n largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors."""
    size = len(C)
    values: Array
    vectors: Array
    if size > 100 and n * LANCZOS_RATIO < size:
        # the start is fixed, so that equal matrices have equal eigenvectors to the last bit
        start = np.random.default_rng(0).standard_normal(size)
        try:
            values, vectors = scipy.sparse.linalg.eigsh(C, n, v0=start)
        except scipy.sparse.linalg.ArpackError:
            pass  # too many equal eigenvalues for Lanczos; the dense solver does not mind
        else:
            order = np.argsort(-values, kind="stable")
            return values[order], vectors[:, order]
    leading = [size - n, size - 1]
    values, vectors = scipy.linalg.eigh(C, subset_by_index=leading, check_finite=False)
    return values[::-1], vectors[:, ::-1]
