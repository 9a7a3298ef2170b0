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

__all__ = ["GaussianClasses"]

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
        self._means, self._roots = laws.means, np.linalg.cholesky(spread)
        diagonals = np.diagonal(self._roots, axis1=1, axis2=2)
        self._constants = np.log(summary.sizes) - np.log(diagonals).sum(axis=1)

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
        likely = np.empty((len(seen), len(self.classes_)))
        for c, (mean, root) in enumerate(zip(self._means, self._roots, strict=True)):
            away = solve_triangular(root, (seen - mean).T, lower=True)
            likely[:, c] = self._constants[c] - np.einsum("ij,ij->j", away, away) / 2
        return likely

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest class of every row."""
        labels: npt.NDArray[Any] = self.classes_[self.decision_function(X).argmax(axis=1)]
        return labels

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Pr{y | x} if the laws were true; real rows are less sure than that."""
        return np.asarray(softmax(self.decision_function(X), axis=1))
