import numpy as np
import pytest
from sklearn.datasets import load_digits

from dptransfer import Release
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.noise_twin import noise_twin
from dptransfer.transfer.source_means import SourceMeans, source_means

X, y = load_digits(return_X_y=True)
X = X / 16.0
OWN, THEIRS = slice(1000, 1300), slice(0, 900)
BOUNDS = {"delta": 1e-5, "bounds": (0, 1), "classes": range(10)}


def element(epsilon=3.0, labels=y[THEIRS], seed=1):
    return Release.from_samples(
        X[THEIRS], labels, epsilon=epsilon, **BOUNDS, n_layers=1, random_state=0, insecure_seed=seed
    )


def record(epsilon=3.0, labels=y[THEIRS], seed=1, **options):
    return Release.from_moments(
        X[THEIRS], labels, epsilon=epsilon, **BOUNDS, insecure_seed=seed, **options
    )


MAKERS = pytest.mark.parametrize("make", [element, record], ids=["element", "record"])


@pytest.fixture(scope="module")
def graph():
    return Neighbourhood(X[OWN])


@MAKERS
def test_means_are_unbiased_and_their_errors_what_they_say(make, graph):
    true = np.array([X[THEIRS][y[THEIRS] == c].mean(axis=0) for c in range(10)]) - graph.mean
    off = []
    for seed in range(4):
        told = source_means(make(seed=seed), graph)
        off.append((told.means - true) / np.sqrt(told.variances)[:, None])
        np.testing.assert_allclose(told.shares, np.bincount(y[THEIRS]) / 900, atol=0.04)
        assert told.shares.sum() == pytest.approx(1)
    off = np.array(off)
    assert abs(off.mean()) < 4 / np.sqrt(off.size) + 0.02
    assert np.sqrt(np.mean(off**2)) == pytest.approx(1, abs=0.06)


def test_a_centre_of_the_owners_own_is_taken_off_again(graph):
    near = source_means(record(20.0), graph)
    far = source_means(record(20.0, centre=0.2, radius=6.0), graph)
    np.testing.assert_allclose(near.means, far.means, atol=0.25)


@MAKERS
@pytest.mark.parametrize("seed", range(3))
def test_classes_are_told_apart_through_noise_but_not_in_it(make, seed, graph):
    release = make(seed=seed)
    assert source_means(release, graph).tell_apart(graph.directions)
    twin = noise_twin(release, None, np.random.default_rng(seed))
    assert not source_means(twin, graph).tell_apart(graph.directions)


@MAKERS
def test_labels_in_disorder_are_seldom_told_apart(make, graph):
    """Means of classes picked by lot lie apart as far as noise throws them, here and there more."""
    lots = np.random.default_rng(0).permutation(y[THEIRS])
    told = [source_means(make(0.3, lots, seed), graph) for seed in range(15)]
    assert sum(each.tell_apart(graph.directions) for each in told) <= 3


def test_a_single_class_is_nothing_to_tell_apart(graph):
    one = SourceMeans(np.ones((1, 64)), np.ones(1), np.ones(1))
    assert not one.tell_apart(graph.directions)


@MAKERS
def test_rows_that_lie_elsewhere(make, graph):
    release = make()
    assert not source_means(release, graph).lie_elsewhere(graph.directions)
    elsewhere = Neighbourhood(1 - X[OWN])
    assert source_means(release, elsewhere).lie_elsewhere(elsewhere.directions)


def test_noise_of_the_middle_does_not_count_as_distance(graph):
    """Means that differ by more than they are away from home, under noise that is larger yet."""
    rng = np.random.default_rng(0)
    apart = 0.5 * rng.standard_normal((10, 64)) @ graph.directions.T @ graph.directions
    shares = np.full(10, 0.1)
    apart -= shares @ apart
    answers = []
    for _ in range(20):
        told = SourceMeans(apart + rng.standard_normal(apart.shape), np.ones(10), shares)
        answers.append(told.lie_elsewhere(graph.directions))
    assert sum(answers) < 3
