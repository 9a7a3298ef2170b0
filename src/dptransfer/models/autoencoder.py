"""Conditionally deep autoencoders: layers of ever more abstract reconstruction.

Every layer maps the leading principal directions of what came before to a full reconstruction of
the data; the output is the layer's that comes nearest to the input (Algorithm 2). Between layers
only the few principal coordinates are carried, never a reconstruction: P ŷ = G (α Pᵀ).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dptransfer.models.mapping import MembershipMapping
from dptransfer.models.parameters import check_positive, components, inducing_limit
from dptransfer.models.threads import one_blas_thread
from dptransfer.models.validation import fit_rows, fresh_generator, new_rows
from dptransfer.numerics.inducing import power_law
from dptransfer.numerics.kmeans import Seeds, centroids
from dptransfer.numerics.smoothing import Outputs
from dptransfer.numerics.subspace import principal_subspace

__all__ = ["DeepMembershipAutoencoder"]

Array = npt.NDArray[np.floating]

FEWER_POINTS = 1.2  # inducing points fall about like the number of dimensions to this power


class DeepMembershipAutoencoder(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A conditionally deep membership-mapping autoencoder (Algorithm 2).

    The mappings have mean zero and P y is not centred, as in the paper: a constant added to all
    columns matters. Bring columns to a common range, [0, 1] say, first.

    Parameters
    ----------
    n_components : int, default=20
        Dimension n of the first layer's subspace; layer l has max(n − l + 1, 1). The default is
        the paper's min(20, p): with fewer columns it is their number. It never exceeds N − 1, all
        that N rows can carry.
    n_layers : int, default=5
        L.
    max_inducing : float or int, default=0.5
        Inducing points of the first layer at most: a float in (0, 1] is the paper's r_max, an int
        its M_max.
    random_state : int, RandomState or None
        Draws the seeds of the clusters.

    Attributes
    ----------
    components_ : array of shape (n, p)
        The rows of P; layer l uses the first n − l + 1 of them. Fewer than asked for where the
        rows spread in fewer directions.
    layers_ : list of MembershipMapping
    steps_ : list of arrays
        α Pᵀ, from the features of a layer to the latent points of the next.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> autoencoder = DeepMembershipAutoencoder(5, n_layers=2, random_state=0).fit(X[:100])
    >>> autoencoder.transform(X[100:103]).shape
    (3, 64)
    """

    components_: Array
    layers_: list[MembershipMapping]
    steps_: list[Array]

    def __init__(
        self,
        n_components: int = 20,
        n_layers: int = 5,
        max_inducing: float = 0.5,
        *,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_layers = n_layers
        self.max_inducing = max_inducing
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> DeepMembershipAutoencoder:
        """Learn to reconstruct the rows of X; y is ignored."""
        rows = fit_rows(self, X)
        check_positive("n_layers", self.n_layers, integer=True)
        n = components(self.n_components, rows.shape[1])
        with one_blas_thread():
            return self.learn(rows, n, fresh_generator(self.random_state))

    def learn(self, Y: Array, n: int, rng: np.random.Generator) -> DeepMembershipAutoencoder:
        """Algorithm 2 on an array that is known to be good."""
        N, p = Y.shape
        alone = bool(np.all(Y[0] == Y[-1]) and np.all(Y[0] == Y))
        n = 1 if alone else min(n, N - 1)
        P = np.eye(1, p) if alone else principal_subspace(Y, n)
        n = len(P)
        self.components_ = P.astype(Y.dtype, copy=False)
        self.layers_ = []
        self.steps_ = []
        M_max = inducing_limit(self.max_inducing, N)
        latent = np.asarray(Y @ self.components_.T, dtype=np.float64)
        outputs = Outputs.of(Y)
        starts = Seeds(latent, rng).first
        likely = None
        for layer in range(1, self.n_layers + 1):
            mapping = MembershipMapping()
            if alone:
                mapping.learn_constant(latent.astype(Y.dtype), Y)
            else:
                (_, R, V, _), labels = mapping.learn(latent, outputs, M_max, starts, likely)
            step = mapping.coef_ @ self.components_[: max(n - layer, 1)].T
            if not alone:
                M_max = len(mapping.coef_)
                latent = V @ (mapping.variance_ * R @ step)
                # the next layer's latent points lie much as these do: so do their clusters
                starts = _Leading(centroids(latent, labels))
                likely = _next_size(mapping, latent.shape[1])
            self.layers_.append(mapping)
            self.steps_.append(step)
        return self

    def transform(self, X: npt.ArrayLike) -> Array:
        """D̂(x): for every row the output of the layer nearest to it, eq. (satguru_18)."""
        with one_blas_thread():
            return self.reconstruct(self._check(X))

    def reconstruct(self, X: Array) -> Array:
        """D̂(x) of an array that is known to be good."""
        best = np.zeros_like(X)
        least = np.full(len(X), np.inf, dtype=X.dtype)
        for output in self._outputs(X):
            errors = np.sum((X - output) ** 2, axis=1)
            better = errors < least
            best[better], least[better] = output[better], errors[better]
        return best

    def layer_outputs(self, X: npt.ArrayLike) -> Array:
        """ŷ^l(x) of every layer, shape (L, N, p): the abstraction grows with l."""
        with one_blas_thread():
            return np.stack(list(self._outputs(self._check(X))))

    def residuals(self, X: npt.ArrayLike) -> Array:
        """min_l ‖x − ŷ^l(x)‖² for every row, eq. (satguru_19)."""
        with one_blas_thread():
            return self.least_error(self._check(X))

    def least_error(self, X: Array, enough: Array | None = None) -> Array:
        """The residuals of an array that is known to be good.

        A row that a layer brings below its ``enough`` is left at that: its error may be too large.
        """
        least = np.full(len(X), np.inf, dtype=X.dtype)
        rows = np.arange(len(X))
        latent = X @ self.components_.T
        for mapping, step in zip(self.layers_, self.steps_, strict=True):
            G = mapping.features(latent)
            missed = G @ mapping.coef_
            missed -= X
            least[rows] = np.minimum(least[rows], np.einsum("ij,ij->i", missed, missed))
            latent = G @ step
            if enough is not None:
                left = least[rows] >= enough[rows]
                rows, X, latent = rows[left], X[left], latent[left]
        return least

    def _check(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return new_rows(self, X, self.components_.dtype)

    def _outputs(self, X: Array) -> Iterator[Array]:
        """ŷ^l of Definition (CDMMA filtering), layer by layer; each array is the caller's own."""
        latent = X @ self.components_.T
        for mapping, step in zip(self.layers_, self.steps_, strict=True):
            G = mapping.features(latent)
            yield G @ mapping.coef_
            latent = G @ step


def _next_size(mapping: MembershipMapping, n: int) -> int:
    """About how many inducing points the next layer wants, in n dimensions."""
    here = power_law([(len(mapping.coef_), mapping.smoothing_)], mapping.min_smoothing)
    return int(here * (n / mapping.n_features_in_) ** FEWER_POINTS)


class _Leading:
    """The first M of the given points."""

    def __init__(self, points: Array) -> None:
        self._points = points

    def __call__(self, M: int) -> Array:
        return self._points[:M]
