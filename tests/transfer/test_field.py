import numpy as np
import pytest
from reference import field as literal
from sklearn.datasets import load_digits

from dptransfer.transfer import field as room
from dptransfer.transfer.field import ALPHA, SHARE_TOLERANCE, TAUS, WITHIN, Field
from dptransfer.transfer.neighbours import NEIGHBOURS, Neighbourhood
from dptransfer.transfer.source_means import SourceMeans

X, y = load_digits(n_class=4, return_X_y=True)
X = X[:80, 4:52] / 16.0
y = y[:80]
SHARES = np.bincount(y) / len(y)


def told(noise, graph, classes=range(4)):
    """Of the rows' own classes, with noise of a given deviation on every number of a mean."""
    classes = list(classes)
    rng = np.random.default_rng(0)
    means = np.array([X[y == c].mean(axis=0) for c in classes]) - graph.mean
    means += noise * rng.standard_normal(means.shape)
    return SourceMeans(means, np.full(len(classes), noise**2), SHARES[classes])


@pytest.fixture(scope="module")
def graph():
    return Neighbourhood(X)


@pytest.fixture(scope="module")
def guess():
    return np.random.default_rng(1).dirichlet(np.ones(4), len(X))


def oracle(graph, told, P, classes, taus=TAUS):
    """The conditional mean for the likeliest τ, from N × N matrices."""
    S, D = literal.normalised(literal.weights(graph.coordinates[:, :40], NEIGHBOURS))
    prior = literal.prior_covariance(S, D, ALPHA)
    H = literal.observed(graph.coordinates)
    problems = []
    for k, c in enumerate(classes):
        share = told.shares[k]
        b = share * np.concatenate([[1], graph.directions @ told.means[k]])
        unsure = told.variances[k] + WITHIN * graph.variances / (share * len(X))
        R = np.diag(np.concatenate([[(SHARE_TOLERANCE * share) ** 2], share**2 * unsure]))
        problems.append((c, b, R))
    likely = [
        sum(literal.log_evidence(P[:, c], tau * prior, H, b, R) for c, b, R in problems)
        for tau in taus
    ]
    tau = taus[int(np.argmax(likely))]
    F = P.copy()
    for c, b, R in problems:
        F[:, c] = literal.posterior_mean(P[:, c], tau * prior, H, b, R)
    return F, tau


@pytest.mark.parametrize("tau", [1e-3, 1.0])
@pytest.mark.parametrize("noise", [0.02, 0.5])
def test_it_is_the_conditional_mean(graph, guess, monkeypatch, tau, noise):
    monkeypatch.setattr(room, "TAUS", np.array([tau]))
    says, classes = told(noise, graph), np.arange(4)
    expected, _ = oracle(graph, says, guess, classes, [tau])
    found = Field(graph, says, classes).correct(guess)
    assert np.abs(expected - guess).max() > 1e-3  # it does something
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("noise", [0.02, 0.2, 2.0])
def test_tau_is_the_likeliest(graph, guess, noise, monkeypatch):
    says, classes = told(noise, graph), np.arange(4)
    expected, tau = oracle(graph, says, guess, classes)
    found = Field(graph, says, classes).correct(guess)
    np.testing.assert_allclose(found, expected, atol=5e-3 * np.abs(expected).max())
    monkeypatch.setattr(room, "TAUS", np.array([tau * 100 if tau < 1 else tau / 100]))
    other = Field(graph, says, classes).correct(guess)
    assert np.abs(other - expected).max() > np.abs(found - expected).max()


def test_means_become_those_that_are_told(graph):
    says = told(0.01, graph)
    P = np.full((len(X), 4), 0.25)
    F = Field(graph, says, np.arange(4)).correct(P)
    assert np.mean(F.argmax(axis=1) == y) > 0.9  # no row was labelled
    np.testing.assert_allclose(F.mean(axis=0), SHARES, atol=0.02)
    means = F.T @ graph.coordinates / len(X) / SHARES[:, None]
    theirs = says.means @ graph.directions.T
    assert np.linalg.norm(means - theirs) < 0.35 * np.linalg.norm(theirs)


def test_too_noisy_to_tell_moves_nothing(graph, guess):
    says = told(0.02, graph)._replace(variances=np.full(4, 1e8))
    shares = guess.mean(axis=0)
    F = Field(graph, says._replace(shares=shares), np.arange(4)).correct(guess)
    np.testing.assert_allclose(F, guess, atol=1e-3)


def test_classes_that_a_source_does_not_know_stay(graph, guess):
    classes = np.array([3, 1])
    says = told(0.02, graph, classes)
    F = Field(graph, says, classes).correct(guess)
    np.testing.assert_array_equal(F[:, [0, 2]], guess[:, [0, 2]])
    expected, _ = oracle(graph, says, guess, classes)
    np.testing.assert_allclose(F, expected, atol=5e-3 * np.abs(expected).max())


def test_the_guess_is_left_as_it_is(graph, guess):
    before = guess.copy()
    Field(graph, told(0.02, graph), np.arange(4)).correct(guess)
    np.testing.assert_array_equal(guess, before)
