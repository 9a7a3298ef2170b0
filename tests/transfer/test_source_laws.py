import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

from dptransfer import Release
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.source_laws import DIRECTIONS, source_laws

X, y = load_digits(return_X_y=True)
X = X / 16.0
OWN, THEIRS = slice(1000, 1300), slice(0, 1000)


def element(epsilon, rows=THEIRS, classes=range(10), seed=1, labels=None):
    return Release.from_samples(
        X[rows],
        y[rows] if labels is None else labels,
        epsilon=epsilon,
        delta=1e-5,
        bounds=(0, 1),
        classes=classes,
        n_layers=1,
        random_state=0,
        insecure_seed=seed,
    )


@pytest.fixture(scope="module")
def graph():
    return Neighbourhood(X[OWN])


def laws_of(Z, own, seen):
    """ln Pr{z, c} by the mean and covariance of every class's rows."""
    return np.column_stack(
        [
            np.log(np.mean(own == c))
            + multivariate_normal(
                Z[own == c].mean(axis=0), np.cov(Z[own == c].T, bias=True)
            ).logpdf(seen)
            for c in np.unique(own)
        ]
    )


def test_with_hardly_any_noise_they_are_the_normal_laws_of_the_rows():
    """Three normal classes of different shapes, in 20 of 50 columns' directions."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((50, 20)))[0].T
    labels = np.repeat([0, 1, 2], 700)
    widths = np.geomspace(0.2, 0.06, 20) * rng.uniform(0.6, 1.6, (3, 20))
    Z = 0.05 * rng.standard_normal((3, 20))[labels]
    Z += widths[labels] * rng.standard_normal((2100, 20))
    rows = np.clip(0.5 + Z @ axes, 0, 1)
    theirs = np.arange(2100) % 7 != 0
    release = Release.from_samples(
        rows[theirs],
        labels[theirs],
        epsilon=1000.0,
        delta=1e-5,
        bounds=(0, 1),
        classes=range(3),
        n_layers=1,
        random_state=0,
        insecure_seed=1,
    )
    graph = Neighbourhood(rows[~theirs])
    u = graph.directions[:DIRECTIONS]
    expected = laws_of((rows[theirs] - graph.mean) @ u.T, labels[theirs], graph.coordinates[:, :20])
    found = source_laws(release, rows[~theirs], graph)
    assert np.mean(found.argmax(axis=1) == expected.argmax(axis=1)) > 0.97
    apart, ours = (each - each.mean(axis=1, keepdims=True) for each in (expected, found))
    assert np.corrcoef(apart.ravel(), ours.ravel())[0, 1] > 0.98
    assert np.median(np.abs(apart - ours)) < 0.25 * np.median(np.abs(apart))


def test_noise_is_taken_off_and_what_it_hides_is_common(graph):
    """The more noise, the less classes are told from each other, but never made up."""
    right = []
    for epsilon in (1000.0, 30.0, 8.0):
        found = source_laws(element(epsilon), X[OWN], graph)
        assert np.isfinite(found).all()
        right.append(np.mean(found.argmax(axis=1) == y[OWN]))
    assert right[0] > right[2] > 0.7


def test_directions_lost_in_noise_give_no_laws(graph):
    assert source_laws(element(0.3), X[OWN], graph) is None


def test_a_class_of_one_row_gives_no_laws(graph):
    rows = np.concatenate([np.flatnonzero(y[:400] < 9), [9]])
    assert y[9] == 9
    assert source_laws(element(1000.0, rows), X[OWN], graph) is None


def test_a_record_level_release_brings_its_own(graph):
    release = Release.from_moments(
        X[THEIRS],
        y[THEIRS],
        epsilon=20.0,
        delta=1e-5,
        bounds=(0, 1),
        classes=range(10),
        insecure_seed=1,
    )
    found = source_laws(release, X[OWN], graph)
    np.testing.assert_array_equal(found, release.model.decision_function(X[OWN]))
    assert np.mean(found.argmax(axis=1) == y[OWN]) > 0.8
