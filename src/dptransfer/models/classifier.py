"""Classification by reconstruction: the class whose autoencoder comes nearest (Algorithm 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dptransfer.models.autoencoder import DeepMembershipAutoencoder
from dptransfer.models.nearest import Nearest, nearest_parts
from dptransfer.models.validation import check_squares, new_rows
from dptransfer.models.wide import WideMembershipAutoencoder, learn_parts

__all__ = ["MembershipClassifier"]

Array = npt.NDArray[np.floating]
Rows = npt.NDArray[np.intp]


class MembershipClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of one wide autoencoder a class (Algorithm 4).

    Bring columns to a common range, [0, 1] say, first: the autoencoders have mean zero and weigh
    columns by their size, as in the paper.

    Parameters
    ----------
    n_components, n_layers, max_inducing, partition_size, n_jobs, random_state
        As for :class:`WideMembershipAutoencoder`.

    Attributes
    ----------
    classes_ : array of shape (C,)
    autoencoders_ : list of WideMembershipAutoencoder
        One for every class, in the order of ``classes_``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = MembershipClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> bool(classifier.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    classes_: npt.NDArray[np.generic]
    autoencoders_: list[WideMembershipAutoencoder]

    def __init__(
        self,
        n_components: int = 20,
        n_layers: int = 5,
        max_inducing: float = 0.5,
        *,
        partition_size: int = 1000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_layers = n_layers
        self.max_inducing = max_inducing
        self.partition_size = partition_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> MembershipClassifier:
        """Learn one autoencoder a class from the labelled rows."""
        rows: Array
        rows, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_squares(rows)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        return self.learn(rows, [np.flatnonzero(labels == c) for c in range(len(classes))], classes)

    def learn(
        self,
        X: Array,
        groups: Sequence[Rows],
        classes: npt.NDArray[np.generic],
        each: Callable[[DeepMembershipAutoencoder, int], DeepMembershipAutoencoder] | None = None,
    ) -> MembershipClassifier:
        """Algorithm 4 on rows that are known to be good, those of every class given by number.

        X may be an array on disk, and ``each`` sees every part; see
        :func:`~dptransfer.models.wide.learn_parts`.
        """
        self.n_features_in_ = X.shape[1]
        self.classes_ = classes
        wide = WideMembershipAutoencoder(**self.get_params())
        self.autoencoders_ = []
        for parts in learn_parts(wide, X, groups, each):
            autoencoder = WideMembershipAutoencoder(**self.get_params())
            autoencoder.n_features_in_ = X.shape[1]
            autoencoder.parts_ = parts
            self.autoencoders_.append(autoencoder)
        return self

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[np.generic]:
        """The class whose autoencoder reconstructs the row best, eq. (satguru_20)."""
        errors = self._nearest(X, contest=True).errors
        labels: npt.NDArray[np.generic] = self.classes_[errors.argmin(axis=1)]
        return labels

    def residuals(self, X: npt.ArrayLike) -> Array:
        """‖x − ŴD(x; P_c)‖² for every row and class, shape (N, C)."""
        return self._nearest(X).errors

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """−residuals; for two classes, as scikit-learn has it, the second's less the first's."""
        decision = -self.residuals(X)
        return decision[:, 1] - decision[:, 0] if len(self.classes_) == 2 else decision

    def _nearest(self, X: npt.ArrayLike, *, contest: bool = False) -> Nearest:
        check_is_fitted(self)
        parts = [part for autoencoder in self.autoencoders_ for part in autoencoder.parts_]
        rows = new_rows(self, X, parts[0].components_.dtype)
        sizes = [len(autoencoder.parts_) for autoencoder in self.autoencoders_]
        groups = np.repeat(np.arange(len(sizes)), sizes)
        return nearest_parts(parts, groups, rows, contest=contest, n_jobs=self.n_jobs)
