"""Student-t membership-mappings: a smooth function of few inputs, learned in closed form.

A membership-mapping interpolates between the outputs at a few inducing points with a Gaussian
kernel. How many points, how wide the outputs may swing and how much of the data is noise are all
read off the data, without a gradient step (Section 3.1 of the paper, Algorithm 1).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, validate_data

from dptransfer.errors import ParameterError
from dptransfer.models.parameters import check_positive, inducing_limit
from dptransfer.models.threads import one_blas_thread
from dptransfer.models.validation import check_squares, fresh_generator, new_rows
from dptransfer.numerics.inducing import choose_inducing_points
from dptransfer.numerics.kernel import kernel, weights
from dptransfer.numerics.kmeans import Seeds
from dptransfer.numerics.smoothing import Outputs, Projection, coefficients, precision, project

__all__ = ["MembershipMapping"]

Array = npt.NDArray[np.floating]
Labels = npt.NDArray[np.intp]


class MembershipMapping(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Regression by Student-t membership-mappings (Algorithm 1).

    Made for the layers of an autoencoder, it smooths by design: on few inputs that two or three
    points describe, τ(M, 1) ≥ κ leaves no more than these, and the fit is coarse.

    Parameters
    ----------
    max_inducing : int, float or None, default=None
        At most so many inducing points: an int is M_max itself, a float in (0, 1] is a share of
        the rows (r_max), None allows as many as there are rows. Fewer are used where τ(M, 1)
        would fall below ``min_smoothing``.
    dof : float, default=2.1
        Degrees of freedom ν, above 2.
    min_smoothing : float, default=0.1
        κ, the smoothing that is always left.
    tol, max_iter : float, int
        The iteration on β stops when it changes by less than ``tol``, relatively.
    inducing_points : array of shape (M, n_features) or None
        Take these and do not look for any.
    random_state : int, RandomState or None
        Draws the seeds of the clusters.

    Attributes
    ----------
    inducing_points_ : array of shape (M, n)
        The centroids a, eq. (738496.4692).
    coef_ : array of shape (M, p)
        α, eq. (vector_alpha). A single output gives shape (M,).
    weights_ : array of shape (n,)
        w, eq. (738496.4698).
    variance_ : float
        σ², eq. (738497.3839).
    noise_precision_ : float
        β, eq. (738497.4473).
    smoothing_ : float
        τ(M, 1).
    n_iter_ : int
        Iterations on β.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> mapping = MembershipMapping(0.5, random_state=0).fit(X, X)
    >>> bool(mapping.score(X, X) > 0.8), bool(mapping.smoothing_ >= 0.1)
    (True, True)
    """

    inducing_points_: Array
    coef_: Array
    weights_: Array
    variance_: float
    noise_precision_: float
    smoothing_: float
    n_iter_: int

    def __init__(
        self,
        max_inducing: float | None = None,
        *,
        dof: float = 2.1,
        min_smoothing: float = 0.1,
        tol: float = 1e-6,
        max_iter: int = 1000,
        inducing_points: npt.ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_inducing = max_inducing
        self.dof = dof
        self.min_smoothing = min_smoothing
        self.tol = tol
        self.max_iter = max_iter
        self.inducing_points = inducing_points
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, Y: npt.ArrayLike) -> MembershipMapping:
        """Learn the mapping from X, shape (N, n), to Y, shape (N, p) or (N,)."""
        rows: Array
        outputs: Array
        rows, outputs = validate_data(
            self, X, Y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        check_positive("dof", self.dof)
        if not self.dof > 2:
            raise ParameterError(f"dof must be above 2, but is {self.dof}")
        check_positive("min_smoothing", self.min_smoothing)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, integer=True)
        limit = inducing_limit(self.max_inducing, len(rows))
        with np.errstate(over="ignore"):  # what overflows is refused
            outputs = outputs.astype(rows.dtype, copy=False)
        check_squares(rows)
        check_squares(outputs)
        rng = fresh_generator(self.random_state)
        x = rows.astype(np.float64, copy=False)
        columns = outputs[:, None] if outputs.ndim == 1 else outputs
        with one_blas_thread():
            self.learn(x, Outputs.of(columns), limit, Seeds(x, rng).first)
        if outputs.ndim == 1:
            self.coef_ = self.coef_[:, 0]
        return self

    def learn(
        self,
        x: Array,
        outputs: Outputs,
        M_max: int,
        starts: Callable[[int], Array],
        likely: int | None = None,
    ) -> tuple[Projection, Labels]:
        """Algorithm 1 on arrays that are known to be good.

        Returns what :func:`choose_inducing_points` found.
        """
        w = weights(x)
        if self.inducing_points is None:
            projection, labels = choose_inducing_points(
                x,
                w,
                M_max,
                starts,
                dof=self.dof,
                min_smoothing=self.min_smoothing,
                likely=likely,
            )
        else:
            given = check_array(self.inducing_points, dtype=np.float64)
            if given.shape[1] != x.shape[1]:
                raise ParameterError(
                    f"inducing_points have {given.shape[1]} columns, but X has {x.shape[1]}"
                )
            projection = project(x, given, w, self.dof)
            labels = np.zeros(len(x), dtype=np.intp)
        a, R, V, tau = projection
        sigma2 = outputs.variance / tau if 0 < tau < outputs.variance else 1.0
        VtY = V.astype(outputs.Y.dtype, copy=False).T @ outputs.Y
        found = precision(V, outputs, VtY, tau, sigma2, tol=self.tol, max_iter=self.max_iter)
        if found.n_iter == self.max_iter and not found.converged:
            warnings.warn(
                f"β still changed by more than tol={self.tol:g} after max_iter={self.max_iter} "
                "steps",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_features_in_ = x.shape[1]
        self.inducing_points_ = a.astype(VtY.dtype, copy=False)
        self.coef_ = coefficients(R, found.inverse, VtY, sigma2)
        self.weights_ = w.astype(VtY.dtype, copy=False)
        self.variance_ = sigma2
        self.noise_precision_ = found.beta
        self.smoothing_ = tau
        self.n_iter_ = found.n_iter
        return projection, labels

    def learn_constant(self, x: Array, y: Array) -> None:
        """The mapping of one point alone, its own output wherever it is asked.

        This is what the equations tend to as β grows without bound.
        """
        self.n_features_in_ = x.shape[1]
        self.inducing_points_ = x[:1].copy()
        self.coef_ = y[:1].copy()
        self.weights_ = np.zeros(x.shape[1], dtype=x.dtype)
        self.variance_ = 1.0
        self.noise_precision_ = np.inf
        self.smoothing_ = 0.0
        self.n_iter_ = 0

    def predict(self, X: npt.ArrayLike) -> Array:
        """ŷ(x) = αᵀ G(x)ᵀ for every row, eq. (738124.770095)."""
        rows = new_rows(self, X)
        with one_blas_thread():
            outputs: Array = self.features(rows) @ self.coef_
        return outputs.astype(rows.dtype, copy=False)

    def features(self, x: Array) -> Array:
        """G(x), eq. (738495.5497): the kernel between every row and the inducing points."""
        return kernel(x, self.inducing_points_, self.weights_, self.variance_)
