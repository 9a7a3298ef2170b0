"""Two-sample tests against an independent, exact sampler: OpenDP's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dptransfer.privacy.discrete_gaussian import DiscreteGaussian
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise
from dptransfer.privacy.sampler import Keystream

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")

N = 1_000_000


def opendp_draws(kind: str, scale: float, n: int) -> np.ndarray:
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        measure = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    else:
        measure = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    return np.array(measure([0] * n))


def same_law(one: np.ndarray, other: np.ndarray) -> float:
    """The p-value of a χ² test over about 200 cells of even weight."""
    edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 200)))
    counts = [
        np.bincount(np.searchsorted(edges, draws), minlength=edges.size) for draws in (one, other)
    ]
    return float(stats.chi2_contingency(np.array(counts) + 1e-9).pvalue)


@pytest.fixture(scope="module")
def theirs():
    return opendp_draws("laplace", 10.0, N)


def steps_of(noise, n):
    return (noise.perturb(np.zeros(n), bounds=(0, 1)) / noise.grid).astype(np.int64)


@pytest.mark.slow
def test_noise_without_an_atom(theirs):
    # Scale d/(ε g) = 1/(0.8/8) = 10 steps.
    ours = steps_of(OptimalNoise(0.8, 0.0, grid=1 / 8), N)
    assert same_law(ours, theirs) > 1e-6
    laplace = LaplaceNoise(0.8, 0.0, grid=1 / 8)
    assert same_law(steps_of(laplace, N), theirs) > 1e-6


@pytest.mark.slow
def test_noise_with_an_atom_taken_away(theirs):
    ours = steps_of(OptimalNoise(0.8, 0.05, grid=1 / 8), N)
    assert same_law(ours, theirs) < 1e-12  # the test has the power to see the atom
    assert same_law(ours[ours != 0], theirs[theirs != 0]) > 1e-6


@pytest.mark.slow
def test_a_scale_that_is_off_by_two_hundredths_is_seen(theirs):
    assert same_law(steps_of(OptimalNoise(0.816, 0.0, grid=1 / 8), N), theirs) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1.5, 40.0])
def test_the_discrete_gaussian(sigma):
    theirs = opendp_draws("gaussian", sigma, 200_000)
    ours = DiscreteGaussian(sigma).draw(N, Keystream())
    assert same_law(ours, theirs) > 1e-6
    assert same_law(DiscreteGaussian(sigma * 1.03).draw(N, Keystream()), theirs) < 1e-6
