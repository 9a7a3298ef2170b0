import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import membership as reference
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import MinMaxScaler

from dptransfer import (
    DeepMembershipAutoencoder,
    MembershipClassifier,
    WideMembershipAutoencoder,
)
from dptransfer.errors import ParameterError

DIGITS = load_digits().data


@given(st.integers(0, 10**6), st.integers(5, 40), st.integers(2, 12), st.integers(1, 8))
def test_every_layer_agrees_with_the_equations(seed, N, p, n):
    """Given the same inducing points, in float64, layer upon layer."""
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, p)) * np.linspace(3, 1, p) + rng.standard_normal(p)
    found = DeepMembershipAutoencoder(min(n, p), 3, 1.0, random_state=0).fit(Y)
    points = [layer.inducing_points_ for layer in found.layers_]
    expected = reference.Deep(Y, min(n, p), N, 3, inducing_points=points)
    for ours, theirs in zip(found.layers_, expected.layers, strict=True):
        np.testing.assert_allclose(ours.weights_, theirs.w, rtol=1e-6)
        np.testing.assert_allclose(ours.noise_precision_, theirs.beta, rtol=1e-6)
        np.testing.assert_allclose(ours.smoothing_, theirs.tau1, rtol=1e-6, atol=1e-9)
    new = rng.standard_normal((7, p)) * 3
    np.testing.assert_allclose(
        found.layer_outputs(new), expected.layer_outputs(new), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(found.transform(new), expected.filter(new), rtol=1e-5, atol=1e-5)


def test_as_good_as_the_printed_loop_with_its_own_clusters():
    Y = DIGITS[:400]
    found = DeepMembershipAutoencoder(10, 3, random_state=0).fit(Y)
    expected = reference.Deep(Y, 10, 200, 3)
    theirs = np.mean(np.sum((Y - expected.filter(Y)) ** 2, axis=1))
    assert np.mean(found.residuals(Y)) == pytest.approx(theirs, rel=0.05)


def test_the_output_is_the_nearest_layers():
    found = DeepMembershipAutoencoder(8, 4, random_state=0).fit(DIGITS[:300])
    new = DIGITS[300:350]
    outputs = found.layer_outputs(new)
    assert outputs.shape == (4, 50, 64)
    errors = ((new - outputs) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.residuals(new), errors.min(axis=0))
    np.testing.assert_allclose(
        found.transform(new), outputs[errors.argmin(axis=0), np.arange(len(new))]
    )


def test_components_and_points_shrink_from_layer_to_layer():
    found = DeepMembershipAutoencoder(3, 5, random_state=0).fit(DIGITS[:200])
    assert [len(layer.weights_) for layer in found.layers_] == [3, 2, 1, 1, 1]
    counts = [len(layer.coef_) for layer in found.layers_]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("N", [1, 6])
def test_one_point_alone_is_its_own_reconstruction(N):
    y = DIGITS[:1].repeat(N, axis=0)
    found = DeepMembershipAutoencoder(20, 5, random_state=0).fit(y)
    np.testing.assert_array_equal(found.transform(DIGITS[5:8]), np.repeat(y[:1], 3, axis=0))
    assert found.layer_outputs(DIGITS[5:8]).shape == (5, 3, 64)


@pytest.mark.parametrize("N", [2, 3, 4])
def test_a_tiny_set_shrinks_to_what_it_can_carry(N):
    found = DeepMembershipAutoencoder(20, 5, random_state=0).fit(DIGITS[:N])
    assert found.components_.shape == (N - 1, 64)
    assert np.all(np.isfinite(found.transform(DIGITS[:9])))


@pytest.mark.parametrize("extra", ["none", "duplicates", "a difference", "constants"])
def test_columns_that_add_nothing_change_nothing(extra):
    """A direction in which only rounding spreads must not weigh as much as the others."""
    X, y = load_wine(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    added = {
        "none": X[:, :0],
        "duplicates": X,
        "a difference": X[:, :1] - X[:, 1:2],
        "constants": np.full((len(X), 3), 0.1),
    }[extra]
    Z = np.hstack([X, added])
    noisy = Z + 1e-9 * np.random.default_rng(0).standard_normal(Z.shape)
    train = np.arange(len(X)) % 3 > 0
    found = MembershipClassifier(random_state=0).fit(Z[train], y[train])
    assert np.mean(found.predict(Z[~train]) == y[~train]) > 0.9
    np.testing.assert_array_equal(found.predict(noisy[~train]), found.predict(Z[~train]))


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"n_components": 65}, "columns"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"n_layers": 0}, "n_layers"),
        ({"max_inducing": 0.0}, "max_inducing"),
        ({"max_inducing": 1.01}, "max_inducing"),
    ],
)
@pytest.mark.parametrize(
    "kind", [DeepMembershipAutoencoder, WideMembershipAutoencoder, MembershipClassifier]
)
def test_what_cannot_be_had_is_one_sentence(kind, wrong, word):
    with pytest.raises(ParameterError, match=word) as error:
        kind(**wrong).fit(DIGITS[:50], np.arange(50) % 2)
    assert "\n" not in str(error.value)


def test_the_default_number_of_components_means_at_most_twenty():
    assert DeepMembershipAutoencoder(random_state=0).fit(DIGITS[:50, 1:8]).components_.shape == (
        7,
        7,
    )
