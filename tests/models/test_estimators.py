"""What a scikit-learn user expects of every estimator."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dptransfer import (
    DeepMembershipAutoencoder,
    MembershipClassifier,
    MembershipMapping,
    WideMembershipAutoencoder,
)
from dptransfer.errors import DataError

X, Y = load_digits(return_X_y=True)
X, Y = X[:300], Y[:300]
ALL = [
    MembershipMapping(),
    DeepMembershipAutoencoder(),
    WideMembershipAutoencoder(),
    MembershipClassifier(),
]
apply = {
    MembershipMapping: "predict",
    DeepMembershipAutoencoder: "transform",
    WideMembershipAutoencoder: "transform",
    MembershipClassifier: "residuals",
}


@parametrize_with_checks(ALL)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def fitted(kind, rows, labels=Y):
    model = kind(random_state=0)
    return model.fit(rows, labels[: len(rows)])


@pytest.mark.parametrize("kind", apply)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_refused(kind, wrong):
    rows = X.copy()
    rows[3, 4] = wrong
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted(kind, rows)
    model = fitted(kind, X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        getattr(model, apply[kind])(rows)


@pytest.mark.parametrize("kind", apply)
def test_wrong_shapes_are_refused(kind):
    with pytest.raises(ValueError, match=r"2D|dimension"):
        fitted(kind, X[:, 0])
    with pytest.raises(ValueError, match="features"):
        getattr(fitted(kind, X), apply[kind])(X[:, :5])
    with pytest.raises(NotFittedError):
        getattr(kind(), apply[kind])(X)


@pytest.mark.parametrize("kind", apply)
def test_how_the_array_lies_in_memory_does_not_matter(kind):
    expected = getattr(fitted(kind, X), apply[kind])(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    for rows in (read_only, np.asfortranarray(X), strided, X.tolist()):
        np.testing.assert_allclose(
            getattr(fitted(kind, rows), apply[kind])(rows), expected, rtol=1e-6
        )
    np.testing.assert_allclose(
        getattr(fitted(kind, X.astype(int)), apply[kind])(X.astype(int)), expected, rtol=1e-6
    )


@pytest.mark.parametrize("kind", apply)
def test_float32_in_float32_out(kind):
    rows = (X / 16).astype(np.float32)
    found = getattr(fitted(kind, rows), apply[kind])(rows)
    assert found.dtype == np.float32
    expected = getattr(fitted(kind, rows.astype(float)), apply[kind])(rows.astype(float))
    np.testing.assert_allclose(found, expected, atol=0.02 * np.ptp(expected))


@pytest.mark.parametrize("kind", apply)
def test_one_row(kind):
    model = fitted(kind, X[:1])
    assert np.all(np.isfinite(getattr(model, apply[kind])(X)))


@pytest.mark.parametrize("kind", apply)
def test_clones_and_pickles(kind):
    model = fitted(kind, X)
    expected = getattr(model, apply[kind])(X)
    for twin in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        np.testing.assert_array_equal(getattr(twin, apply[kind])(X), expected)


@pytest.mark.parametrize("kind", apply)
@pytest.mark.parametrize(("factor", "dtype"), [(1e160, np.float64), (1e25, np.float32)])
def test_values_whose_squares_overflow_are_refused(kind, factor, dtype):
    with pytest.raises(DataError, match="rescale"):
        fitted(kind, (X * factor).astype(dtype))
    with pytest.raises(DataError, match="rescale"):
        getattr(fitted(kind, X.astype(dtype)), apply[kind])((X * factor).astype(dtype))


def test_outputs_whose_squares_overflow_are_refused():
    with pytest.raises(DataError, match="rescale"):
        MembershipMapping().fit(X.astype(np.float32), Y * 1e39)


@pytest.mark.parametrize("kind", [DeepMembershipAutoencoder, WideMembershipAutoencoder])
def test_output_may_be_named(kind):
    model = fitted(kind, X)
    assert model.get_feature_names_out()[0] == "x0"
    assert model.set_output(transform="default").transform(X).shape == X.shape


def test_in_a_pipeline():
    model = make_pipeline(MinMaxScaler(), MembershipClassifier(8, 2, random_state=0))
    assert model.fit(X[:200], Y[:200]).score(X[200:], Y[200:]) > 0.7


def test_labels_may_be_words():
    words = np.array(
        ["nought", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    )
    found = MembershipClassifier(random_state=0).fit(X, words[Y])
    numbers = MembershipClassifier(random_state=0).fit(X, Y)
    assert list(found.classes_) == sorted(words)
    assert np.mean(found.predict(X) == words[numbers.predict(X)]) > 0.97


def test_one_class_and_two_classes():
    alone = MembershipClassifier(random_state=0).fit(X, np.full(len(X), "all"))
    assert set(alone.predict(X)) == {"all"}
    two = MembershipClassifier(random_state=0).fit(X, Y < 5)
    decision = two.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_array_equal(two.predict(X), two.classes_[(decision > 0).astype(int)])


def test_a_class_with_a_single_row():
    labels = np.where(np.arange(len(X)) == 7, "rare", "common")
    found = MembershipClassifier(random_state=0).fit(X, labels)
    assert found.predict(X[7:8]) == ["rare"]
    assert found.residuals(X[7:8])[0, 1] == 0


def test_targets_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="label type"):
        MembershipClassifier().fit(X, np.linspace(0, 1, len(X)))


def test_the_same_seed_gives_the_same_and_another_does_not():
    def coefficients(seed):
        return (
            MembershipClassifier(random_state=seed)
            .fit(X, Y)
            .autoencoders_[0]
            .parts_[0]
            .layers_[0]
            .coef_
        )

    np.testing.assert_array_equal(coefficients(0), coefficients(0))
    assert not np.array_equal(coefficients(0), coefficients(1))
