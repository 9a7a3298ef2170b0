"""A classifier with one normal law a class, made of means and covariances instead of rows.

log Pr{y} + log N(x; m_y, Σ_y): the quadratic discriminant. The mean is itself known up to noise of
a known variance e² only, and a row lies about the true one; so it is Σ_y + e²I that is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import softmax

from dptransfer.errors import DataError
from dptransfer.privacy.clipping import clip
from dptransfer.transfer.moment_summary import MomentSummary, gaussians_of

__all__ = ["GaussianClasses", "joint_densities"]

Array = npt.NDArray[np.float64]


class GaussianClasses:
    """Labels rows by the laws of a record-level release.

    Parameters
    ----------
    summary : MomentSummary
    classes : sequence
        The labels, in the order of the summary.
    centre : float or one a feature
        Rows are clipped about it as the owner's were, within `summary.radii[0]`.

    Attributes
    ----------
    classes_ : array
    n_features_in_ : int
    """

    def __init__(
        self, summary: MomentSummary, classes: Sequence[Any], centre: float | Sequence[float]
    ) -> None:
        self.classes_ = np.array(classes)
        self.n_features_in_ = summary.subspace.shape[1]
        self._centre, self._radius = centre, float(summary.radii[0])
        self._subspace = summary.subspace
        laws = gaussians_of(summary)
        k = laws.means.shape[1]
        spread = laws.covariances + laws.errors[:, None, None] ** 2 * np.eye(k)
        self._means, self._roots, self._sizes = (
            laws.means,
            np.linalg.cholesky(spread),
            summary.sizes,
        )

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The logarithm of Pr{x, y}, up to one number for all, shape (N, C); also of two classes.

        Parameters
        ----------
        X : array of shape (N, p)
            Features, as :meth:`~dptransfer.transfer.release.Release.encode` gives them.
        """
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise DataError(f"the model is one of rows with {self.n_features_in_} features")
        seen = clip(rows, self._centre, self._radius) @ self._subspace.T
        return joint_densities(seen, self._means, self._roots, self._sizes)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest class of every row."""
        labels: npt.NDArray[Any] = self.classes_[self.decision_function(X).argmax(axis=1)]
        return labels

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Pr{y | x} if the laws were true; real rows are less sure than that."""
        return np.asarray(softmax(self.decision_function(X), axis=1))


def joint_densities(
    seen: npt.NDArray[np.floating],
    means: npt.NDArray[np.floating],
    roots: npt.NDArray[np.floating],
    sizes: npt.NDArray[np.floating],
) -> Array:
    """The sum log n_c + log N(x; m_c, L_c L_cᵀ) of every row x and class, up to one number for all.

    >>> joint_densities(np.zeros((1, 1)), np.array([[0.0], [2.0]]), np.ones((2, 1, 1)), np.ones(2))
    array([[ 0., -2.]])
    """
    likely = np.empty((len(seen), len(means)))
    for c, (mean, root, size) in enumerate(zip(means, roots, sizes, strict=True)):
        away = solve_triangular(root, (seen - mean).T, lower=True)
        likely[:, c] = np.log(size) - np.log(np.diag(root)).sum()
        likely[:, c] -= np.einsum("ij,ij->j", away, away) / 2
    return likely
