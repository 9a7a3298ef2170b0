"""Wide autoencoders: deep ones side by side, each for the rows that lie together (Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dptransfer.models.autoencoder import DeepMembershipAutoencoder
from dptransfer.models.nearest import Nearest, nearest_parts
from dptransfer.models.parameters import check_positive, components, inducing_limit
from dptransfer.models.threads import one_blas_thread
from dptransfer.models.validation import fit_rows, fresh_generator, new_rows
from dptransfer.numerics.kmeans import Seeds, assign, lloyd

__all__ = ["WideMembershipAutoencoder", "checked_components", "learn_parts"]

Array = npt.NDArray[np.floating]
Rows = npt.NDArray[np.intp]

SAMPLE = 20_000  # rows that are clustered whole
SAMPLE_OF_CLUSTER = 100  # rows for every cluster, where that is more


class WideMembershipAutoencoder(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A wide conditionally deep membership-mapping autoencoder (Algorithm 3).

    K-means splits the rows into ⌈N / partition_size⌉ subsets, each gets a
    :class:`DeepMembershipAutoencoder`, and the one that comes nearest to a row speaks for it.

    Parameters
    ----------
    n_components, n_layers, max_inducing
        As for :class:`DeepMembershipAutoencoder`; ``max_inducing`` goes by the rows of a subset.
    partition_size : int, default=1000
        Rows to a subset, on average.
    n_jobs : int or None
        Workers for subsets and rows, through joblib. Every number gives the same result.
    random_state : int, RandomState or None
        Draws the seeds of the clusters.

    Attributes
    ----------
    parts_ : list of DeepMembershipAutoencoder

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> wide = WideMembershipAutoencoder(5, n_layers=2, partition_size=500, random_state=0).fit(X)
    >>> len(wide.parts_)
    4
    """

    parts_: list[DeepMembershipAutoencoder]

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

    def fit(self, X: npt.ArrayLike, y: object = None) -> WideMembershipAutoencoder:
        """Learn to reconstruct the rows of X; y is ignored."""
        rows = fit_rows(self, X)
        self.parts_ = learn_parts(self, rows, [np.arange(len(rows))])[0]
        return self

    def transform(self, X: npt.ArrayLike) -> Array:
        """ŴD(x): the output of the part nearest to each row, eq. (738500.4495)."""
        checked = self._check(X)
        nearest = self._nearest(checked).part[:, 0]
        outputs = np.empty_like(checked)
        with one_blas_thread():
            for part in np.unique(nearest):
                rows = nearest == part
                outputs[rows] = self.parts_[part].reconstruct(checked[rows])
        return outputs

    def residuals(self, X: npt.ArrayLike) -> Array:
        """‖x − ŴD(x)‖² for every row."""
        return self._nearest(self._check(X)).errors[:, 0]

    def _nearest(self, X: Array) -> Nearest:
        groups = np.zeros(len(self.parts_), dtype=np.intp)
        return nearest_parts(self.parts_, groups, X, n_jobs=self.n_jobs)

    def _check(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return new_rows(self, X, self.parts_[0].components_.dtype)


def learn_parts(
    estimator: WideMembershipAutoencoder,
    X: Array,
    groups: Sequence[Rows],
    each: Callable[[DeepMembershipAutoencoder, int], DeepMembershipAutoencoder] | None = None,
) -> list[list[DeepMembershipAutoencoder]]:
    """Algorithm 3 on every group of rows of X, with the parameters of ``estimator``.

    All subsets of all groups are one list of work, so that workers stay busy to the end. X may be
    an array on disk: no more of it is read at a time than a subset, or a sample of a group.
    ``each(part, n_parts)`` is called as a part is learned, and what it returns takes its place.
    """
    n = checked_components(estimator, X.shape[1])
    template = DeepMembershipAutoencoder(
        estimator.n_components, estimator.n_layers, estimator.max_inducing
    )
    streams = fresh_generator(estimator.random_state).spawn(len(groups))
    run = Parallel(n_jobs=estimator.n_jobs, prefer="threads")
    with one_blas_thread():
        split = delayed(_partition)
        subsets = run(
            split(X, rows, estimator.partition_size, stream)
            for rows, stream in zip(groups, streams, strict=True)
        )
        learn = delayed(_learn_part)
        learned = Parallel(n_jobs=estimator.n_jobs, prefer="threads", return_as="generator")(
            learn(template, X, rows, n, child)
            for subset, stream in zip(subsets, streams, strict=True)
            for rows, child in zip(subset, stream.spawn(len(subset)), strict=True)
        )
        if each is not None:
            n_parts = sum(map(len, subsets))
            learned = (each(part, n_parts) for part in learned)
        parts = iter(list(learned))
    return [[next(parts) for _ in subset] for subset in subsets]


def checked_components(estimator: WideMembershipAutoencoder, n_columns: int) -> int:
    """The subspace dimension n, once all parameters are known to be possible."""
    check_positive("n_layers", estimator.n_layers, integer=True)
    check_positive("partition_size", estimator.partition_size, integer=True)
    inducing_limit(estimator.max_inducing, 1)
    return components(estimator.n_components, n_columns)


def _partition(X: Array, rows: Rows, size: int, rng: np.random.Generator) -> list[Rows]:
    """Step 1 of Algorithm 3: k-means into ⌈N / size⌉ subsets, as row numbers.

    Clustering all of N rows into N / size clusters takes a time that grows with N². Beyond
    ``SAMPLE`` rows the centres are found on a sample, and all rows join their nearest.
    """
    wanted = -(-len(rows) // size)
    if wanted == 1:
        return [rows]
    sampled = max(SAMPLE, SAMPLE_OF_CLUSTER * wanted)
    with one_blas_thread():
        if len(rows) <= sampled:
            Y = X[rows]
            labels = lloyd(Y, Seeds(Y, rng).first(wanted)).labels
        else:
            some = X[np.sort(rng.choice(rows, sampled, replace=False))]
            centres = lloyd(some, Seeds(some, rng).first(wanted)).centres
            blocks = (rows[start : start + SAMPLE] for start in range(0, len(rows), SAMPLE))
            labels = np.concatenate([assign(X[block], centres) for block in blocks])
    return [rows[labels == s] for s in np.unique(labels)]


def _learn_part(
    template: DeepMembershipAutoencoder, X: Array, rows: Rows, n: int, rng: np.random.Generator
) -> DeepMembershipAutoencoder:
    part = DeepMembershipAutoencoder(**template.get_params())
    part.n_features_in_ = X.shape[1]
    with one_blas_thread():  # here too: a worker may be a process of its own
        return part.learn(X[rows], n, rng)
