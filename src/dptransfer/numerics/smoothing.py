"""The regression inside a membership-mapping: one factorisation, and everything read off it.

With K_aa = RᵀR and V = K_xa R⁻¹ the equations of Section 3.1 lose their ill-conditioned inverses:

    Tr(K_aa⁻¹ K_xaᵀ K_xa) = ‖V‖²
    α = σ⁻² R⁻¹ (VᵀV + c I)⁻¹ Vᵀ Y,   c = τ(M, 1) + 1/(β σ²)

where kernels are those of σ² = 1. With VᵀV = U Λ Uᵀ the mean squared error, which is what the
disturbance precision β is iterated on, is a scalar function of c; an iteration costs M operations.

NumPy's factorisations and products are used rather than SciPy's because they let other threads run
meanwhile; only what NumPy lacks for triangles is SciPy's, on small matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dtrtri

from dptransfer.numerics.kernel import kernel

__all__ = [
    "JITTERS",
    "Outputs",
    "Precision",
    "Projection",
    "coefficients",
    "divide",
    "factorise",
    "precision",
    "project",
]

Array = npt.NDArray[np.floating]

JITTERS = (0.0, 1e-8, 1e-7, 1e-6)
SMALLEST_PIVOT = 1e-8
COLUMNS = 64  # of a triangle, so many are taken at a time
CANCELLATION = 1e-5  # below this share of ‖Y‖², the error is summed from the residuals themselves


def factorise(Kaa: Array) -> Array:
    """The upper triangle R with RᵀR = K_aa + jitter, of the smallest jitter that allows it.

    K_aa has a unit diagonal. A jitter of the ladder is enough when the Cholesky factorisation goes
    through with no squared pivot below 1e-8: then rounding, which the inverse magnifies as much,
    leaves α good to at least six digits.
    """
    for jitter in JITTERS:
        try:
            R = np.linalg.cholesky(Kaa + np.diag(np.full(len(Kaa), jitter)) if jitter else Kaa).T
        except np.linalg.LinAlgError:
            continue
        if np.min(np.diagonal(R)) ** 2 >= SMALLEST_PIVOT:
            break
    return R


def divide(K: Array, R: Array) -> Array:
    """K R⁻¹ for an upper triangle R, in place of K.

    Column block after column block, so that nearly all of the work is matrix products: these are
    faster than a triangular solve for the sizes met here, and only the small blocks on the
    diagonal are inverted.
    """
    for start in range(0, len(R), COLUMNS):
        block = slice(start, start + COLUMNS)
        if start:
            K[:, block] -= K[:, :start] @ R[:start, block]
        K[:, block] = K[:, block] @ dtrtri(R[block, block])[0]
    return K


class Projection(NamedTuple):
    """The kernel's feature vectors of x, projected on those of the inducing points."""

    a: Array
    """Inducing points, (M, n)."""
    R: Array
    """Upper Cholesky factor of K_aa, (M, M)."""
    V: Array
    """K_xa R⁻¹, (N, M)."""
    tau: float
    """τ(M, 1) = (Tr(K_xx) − Tr(K_aa⁻¹ K_xaᵀ K_xa)) / (ν + M − 2), before eq. (738497.3805)."""


def project(x: Array, a: Array, w: Array, dof: float) -> Projection:
    """Project x on the inducing points a; kernels with σ² = 1."""
    R = factorise(kernel(a, a, w))
    V = divide(kernel(x, a, w), R)
    trace = len(x) - float(np.vdot(V, V))
    return Projection(a, R, V, max(trace, 0.0) / (dof + len(a) - 2))


class Outputs(NamedTuple):
    """The data that mappings are to give back, with what every layer asks of it alone."""

    Y: Array
    square: float
    """‖Y‖²."""
    variance: float
    """The variance, averaged over columns, as in eq. (738496.6594)."""

    @classmethod
    def of(cls, Y: Array) -> Outputs:
        """Take the sums of an array of shape (N, p)."""
        square = float(np.einsum("ij,ij->", Y, Y, dtype=np.float64))
        return cls(Y, square, float(np.mean(np.var(Y, axis=0, dtype=np.float64))))


class Precision(NamedTuple):
    """The disturbance precision β where the iteration came to rest."""

    beta: float
    n_iter: int
    converged: bool
    inverse: Array
    """(VᵀV + c I)⁻¹ at the last β, (M, M)."""


def precision(
    V: Array, outputs: Outputs, VtY: Array, tau: float, sigma2: float, *, tol: float, max_iter: int
) -> Precision:
    """Iterate β = 1 / mean squared error from β = 1 (Algorithm 1, steps 15 to 19).

    The error at c = τ(M, 1) + 1/(βσ²) is

        ‖Y − ŷ‖² = ‖Y‖² − Σ_i z_i (λ_i + 2c) / (λ_i + c)²,   z_i = ‖(Uᵀ VᵀY)_i‖²

    and, where that difference would cancel, the same thing as a sum of positive terms: the part of
    Y outside the range of V, and Σ_i z_i c² / (λ_i (λ_i + c)²).
    """
    lambda_, U = np.linalg.eigh(V.T @ V)
    np.maximum(lambda_, 0.0, out=lambda_)
    VtY = np.asarray(VtY, dtype=np.float64)
    z = np.einsum("ij,ij->j", U, (VtY @ VtY.T) @ U)
    np.maximum(z, 0.0, out=z)
    Y, total, _ = outputs
    floor = max(np.finfo(np.float64).eps * total / Y.size, np.finfo(np.float64).tiny)
    inside = lambda_ > len(lambda_) * np.finfo(np.float64).eps * lambda_[-1]
    outside: float | None = None

    beta = 1.0
    for n_iter in range(1, max_iter + 1):
        c = tau + 1.0 / (beta * sigma2)
        error = total - float(z @ ((lambda_ + 2 * c) / (lambda_ + c) ** 2))
        if error < CANCELLATION * total:
            if outside is None:
                fitted = V @ (U[:, inside] @ ((U[:, inside].T @ VtY) / lambda_[inside, None]))
                outside = float(np.sum((Y - fitted) ** 2))
            missed = z[inside] / lambda_[inside] * (c / (lambda_[inside] + c)) ** 2
            error = outside + float(np.sum(missed))
        previous, beta = beta, 1.0 / max(error / Y.size, floor)
        converged = abs(beta - previous) <= tol * beta
        if converged:
            break
    return Precision(beta, n_iter, converged, (U / (lambda_ + tau + 1.0 / (beta * sigma2))) @ U.T)


def coefficients(R: Array, inverse: Array, VtY: Array, sigma2: float) -> Array:
    """α = σ⁻² R⁻¹ (VᵀV + c I)⁻¹ VᵀY, which is eq. (vector_alpha); shape (M, p)."""
    H = dtrsm(1.0 / sigma2, R, inverse)
    alpha: Array = H.astype(VtY.dtype, copy=False) @ VtY
    return alpha
