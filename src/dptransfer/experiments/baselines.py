"""What else one could do with a few labels and many rows: a few lines of scikit-learn each.

All take the same rows and the same labels as the paper's method, and none of them a source, save
the last: a linear SVM on the source's raw rows and the target's, which is what privacy forgoes.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC

from dptransfer.experiments.ablation import Target
from dptransfer.experiments.store import Figures
from dptransfer.models.threads import one_blas_thread

__all__ = ["Neighbours", "baselines", "sphere_kmeans", "svm"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

NEIGHBOURS = 10
SPHERE_ROUNDS = 100


class Neighbours:
    """The graph of nearest neighbours among the target's rows, which no label changes."""

    def __init__(self, target: Target, n_jobs: int | None = None) -> None:
        k = min(NEIGHBOURS, len(target.X))
        search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(target.X)
        self.graph: sparse.csr_matrix = search.kneighbors_graph(target.X)
        self.of_test: Numbers = search.kneighbors(target.x_test, return_distance=False)

    def spread(self, X: Array, numbers: Numbers) -> Numbers:
        """Label spreading over the graph; a test row has the label of its neighbours."""
        model = LabelSpreading(kernel=lambda X, Y: self.graph)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # a row that no labelled one reaches has weight zero everywhere
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            model.fit(X, numbers)
        shares = np.nan_to_num(model.label_distributions_)
        found: Numbers = model.classes_[shares[self.of_test].sum(axis=1).argmax(axis=1)]
        return found


def baselines(
    target: Target, numbers: Numbers, near: Neighbours, *, self_training: bool = True
) -> Figures:
    """Accuracy on the test rows."""
    known = np.flatnonzero(numbers >= 0)
    with one_blas_thread():
        found = {
            "svm": svm(target.X[known], numbers[known], target.x_test),
            "label spreading": near.spread(target.X, numbers),
            "sphere k-means": sphere_kmeans(target.X, numbers, target.x_test),
        }
        if self_training:
            found["self-training"] = _self_training(target, numbers)
    return {name: 100 * float((labels == target.y_test).mean()) for name, labels in found.items()}


def svm(X: Array, y: Numbers, x_test: Array) -> Numbers:
    """A linear SVM with C = 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found: Numbers = LinearSVC(random_state=0).fit(X, y).predict(x_test)
    return found


def _self_training(target: Target, numbers: Numbers) -> Numbers:
    """Self-training of logistic regression, with scikit-learn's own threshold and rounds."""
    model = SelfTrainingClassifier(LogisticRegression(max_iter=100, tol=1e-3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found: Numbers = model.fit(target.X, numbers).predict(target.x_test)
    return found


def sphere_kmeans(X: Array, numbers: Numbers, x_test: Array) -> Numbers:
    """K-means of directions: centres begin at the labelled rows' means, whose labels stay.

    >>> X = np.array([[1, 0.1], [0.1, 1], [2, 0.1], [0.1, 3]])
    >>> sphere_kmeans(X, np.array([0, 1, -1, -1]), X[2:])
    array([0, 1])
    """
    rows, test = _unit(X), _unit(x_test)
    labels, known = numbers.copy(), numbers >= 0
    classes = np.unique(numbers[known])
    for _ in range(SPHERE_ROUNDS):
        centres = _unit(np.stack([rows[labels == c].mean(axis=0) for c in classes]))
        nearest = np.where(known, numbers, classes[(rows @ centres.T).argmax(axis=1)])
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    found: Numbers = classes[(test @ centres.T).argmax(axis=1)]
    return found


def _unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))
