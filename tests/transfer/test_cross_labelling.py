import numpy as np
import pytest
from sklearn.datasets import load_digits

from dptransfer.models import MembershipClassifier
from dptransfer.transfer.cross_labelling import cross_residuals, learn_classes

X, y = load_digits(n_class=3, return_X_y=True)
X, y = X[:120] / 16.0, y[:120]


class Watched(MembershipClassifier):
    """Remembers what it learned from, and whether it is ever asked about the same rows."""

    def learn(self, X, groups, classes):
        self.taught_ = {row.tobytes() for group in groups for row in X[group]}
        self.parameters_ = self.n_components
        return super().learn(X, groups, classes)

    def residuals(self, X):
        asked = [row.tobytes() for row in X]
        self.log_.append((self.taught_, asked))
        return super().residuals(X)


def watched(n=3):
    model = Watched(n, 1, random_state=0)
    model.log_ = []
    return model


def test_no_row_is_judged_by_what_learned_it():
    model = watched()
    taught = np.arange(120) % 5 != 0
    errors = cross_residuals(model, X, y, taught, 3, np.random.default_rng(0))
    assert errors.shape == (120, 3)
    assert len(model.log_) == 2
    for learned, asked in model.log_:
        assert not learned & set(asked)
    counts = [sum(row.tobytes() in asked for _, asked in model.log_) for row in X]
    np.testing.assert_array_equal(counts, np.where(taught, 1, 2))
    halves = [learned for learned, _ in model.log_]
    assert not halves[0] & halves[1]
    assert halves[0] | halves[1] == {row.tobytes() for row in X[taught]}
    assert np.mean(errors.argmin(axis=1) == y) > 0.9


def test_a_wrong_label_is_not_defended():
    numbers = y.copy()
    numbers[7] = (y[7] + 1) % 3
    errors = cross_residuals(
        MembershipClassifier(5, 1, random_state=0),
        X,
        numbers,
        np.ones(120, dtype=bool),
        3,
        np.random.default_rng(0),
    )
    assert errors[7].argmin() == y[7]


def test_few_rows_are_not_divided_and_unknown_classes_infinitely_far():
    taught = np.zeros(120, dtype=bool)
    taught[np.flatnonzero(y == 0)[:10]] = True
    taught[np.flatnonzero(y == 1)[:3]] = True
    model = watched()
    errors = cross_residuals(model, X, y, taught, 3, np.random.default_rng(0))
    assert np.isinf(errors[:, 2]).all()
    assert np.isfinite(errors[:, :2]).all()
    few = {row.tobytes() for row in X[np.flatnonzero(y == 1)[:3]]}
    assert all(few <= learned for learned, _ in model.log_)


def test_the_same_halves_for_the_same_draw():
    everything = np.ones(120, dtype=bool)
    first, again, other = (
        cross_residuals(
            MembershipClassifier(3, 1, random_state=0),
            X,
            y,
            everything,
            3,
            np.random.default_rng(seed),
        )
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("n", [2, 500])
def test_learning_takes_no_more_directions_than_columns_and_gives_the_parameter_back(n):
    model = watched(n)
    learn_classes(model, X, y, y < 2)
    assert model.classes_.tolist() == [0, 1]
    assert model.parameters_ == min(n, 64)
    assert model.n_components == n
