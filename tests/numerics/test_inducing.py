import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from dptransfer.numerics.inducing import choose_inducing_points, first_passing, ladder
from dptransfer.numerics.kernel import weights
from dptransfer.numerics.kmeans import Seeds, lloyd
from dptransfer.numerics.smoothing import project


@given(st.integers(1, 5000))
def test_the_ladder_always_ends(M_max):
    steps = ladder(M_max)
    assert steps[0] == M_max
    assert steps[-1] == 1
    for step, following in pairwise(steps):
        assert following == min(math.ceil(0.9 * step), step - 1)


@given(st.integers(1, 60), st.integers(0, 60), st.randoms())
def test_bisection_finds_what_a_scan_finds(n_steps, first, random):
    first = min(first, n_steps - 1)
    asked = []

    def passes(step):
        asked.append(step)
        return step >= first

    found = first_passing(n_steps, passes, lambda low, high: random.randint(low - 2, high + 2))
    assert found == first
    assert len(asked) == len(set(asked))


def walk(x, w, M_max, seeds):
    """The loop as printed, with the same clusterings."""
    for M in ladder(M_max):
        points = seeds.first(M)
        if len(points) == M:
            projection = project(x, lloyd(x, points).centres, w, 2.1)
            if projection.tau >= 0.1 or M == 1:
                return projection
    raise AssertionError


def test_the_search_stops_where_the_loop_does():
    data = load_digits().data
    rng = np.random.default_rng(0)
    for trial in range(20):
        n = int(rng.integers(1, 25))
        rows = rng.choice(len(data), int(rng.integers(20, 500)), replace=False)
        x = (data[rows] - data[rows].mean(axis=0)) @ rng.standard_normal((64, n))
        w = weights(x)
        M_max = max(1, len(x) // 2)
        expected = walk(x, w, M_max, Seeds(x, np.random.default_rng(trial)))
        found, labels = choose_inducing_points(
            x, w, M_max, Seeds(x, np.random.default_rng(trial)).first, dof=2.1, min_smoothing=0.1
        )
        assert len(found.a) == len(expected.a), (trial, n, len(x))
        np.testing.assert_array_equal(found.a, expected.a)
        assert labels.max() < len(found.a)


def test_few_steps_are_asked_for(monkeypatch):
    data = load_digits().data[:1000] @ np.random.default_rng(0).standard_normal((64, 10))
    asked = []
    monkeypatch.setattr(
        "dptransfer.numerics.inducing.project",
        lambda x, a, w, dof: (asked.append(len(a)), project(x, a, w, dof))[1],
    )
    seeds = Seeds(data, np.random.default_rng(0))
    choose_inducing_points(data, weights(data), 500, seeds.first, dof=2.1, min_smoothing=0.1)
    assert len(ladder(500)) > 30
    assert len(asked) <= 5


def test_fewer_distinct_points_than_asked_for():
    x = np.repeat(np.linspace(0, 1, 7)[:, None], 30, axis=0)
    w = weights(x)
    expected = walk(x, w, 105, Seeds(x, np.random.default_rng(0)))
    seeds = Seeds(x, np.random.default_rng(0))
    found, _ = choose_inducing_points(x, w, 105, seeds.first, dof=2.1, min_smoothing=0.1)
    np.testing.assert_array_equal(found.a, expected.a)
    assert len(found.a) <= 7
