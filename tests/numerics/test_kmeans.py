import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from dptransfer.numerics import kmeans
from dptransfer.numerics.kmeans import Seeds, assign, centroids, lloyd


@pytest.fixture(autouse=True)
def as_delivered():
    work = kmeans.LITTLE_WORK
    yield
    kmeans.LITTLE_WORK = work


def plain_lloyd(x, centres, steps):
    """Every distance anew in every step; an empty cluster stays where it is."""
    for _ in range(steps):
        labels = ((x[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array(
            [
                x[labels == m].mean(axis=0) if np.any(labels == m) else c
                for m, c in enumerate(centres)
            ]
        )
    return centres, labels


def inertia(x, centres):
    return ((x[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize("work", [0, 10**9])
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 12), st.sampled_from([2, 90]))
def test_skipping_rows_leaves_the_steps_as_they_are(work, seed, N, M, n):
    kmeans.LITTLE_WORK = work
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N, n)) * 10 ** rng.uniform(-3, 3) + rng.standard_normal(n)
    centres = Seeds(x, rng).first(min(M, N))
    expected, labels = plain_lloyd(x, centres, 200)
    found = lloyd(x, centres, max_iter=200, tol=0)
    if len(np.unique(labels)) == len(centres):  # no cluster went empty
        np.testing.assert_allclose(found.centres, expected, atol=1e-4 * np.ptp(x))


@pytest.mark.parametrize("M", [20, 150, 450])
def test_clusters_are_as_tight_as_scikit_learns(M):
    x = load_digits().data[:900, 20:40]
    ours, theirs = [], []
    for seed in range(5):
        seeds = Seeds(x, np.random.default_rng(seed))
        ours.append(inertia(x, lloyd(x, seeds.first(M)).centres))
        theirs.append(KMeans(M, n_init=1, random_state=seed).fit(x).inertia_)
    assert np.mean(ours) <= 1.03 * np.mean(theirs)


def test_seeds_are_nested_and_distinct():
    x = np.repeat(np.random.default_rng(1).standard_normal((40, 3)), 3, axis=0)
    few = Seeds(x, np.random.default_rng(0)).first(10)
    seeds = Seeds(x, np.random.default_rng(0))
    np.testing.assert_array_equal(seeds.first(25)[:10], few)
    every = seeds.first(1000)
    assert len(every) == len(np.unique(every, axis=0)) == 40


def test_no_cluster_is_left_empty_while_rows_differ():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 2))
    centres = np.vstack([x[:5], [[1e3, 1e3]], [[-1e3, 0]]])
    assert len(np.unique(lloyd(x, centres).labels)) == 7


def test_one_distinct_row():
    x = np.full((8, 3), 2.5)
    assert len(Seeds(x, np.random.default_rng(0)).first(4)) == 1
    np.testing.assert_allclose(lloyd(x, x[:1]).centres, x[:1])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_does_not_matter(scale):
    x = np.random.default_rng(0).standard_normal((60, 2))
    here = Seeds(x * scale, np.random.default_rng(0)).first(9)
    np.testing.assert_allclose(here / scale, Seeds(x, np.random.default_rng(0)).first(9))


def test_centroids_leave_out_what_is_empty():
    x = np.array([[0.0], [2.0], [5.0]])
    np.testing.assert_array_equal(centroids(x, np.array([0, 0, 3])), [[1.0], [5.0]])


def test_rows_join_their_nearest_centre():
    rng = np.random.default_rng(0)
    x, centres = rng.standard_normal((500, 3)) + 50, rng.standard_normal((7, 3)) + 50
    expected = ((x[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(assign(x, centres), expected)
