from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from reference import noise as literal
from reference.noise import ExactLaw
from scipy import integrate, stats

from dptransfer.errors import DataError, DeclarationError, ParameterError
from dptransfer.privacy import gaussian
from dptransfer.privacy.discrete_gaussian import PLACES, DiscreteGaussian, _thresholds
from dptransfer.privacy.discrete_gaussian import happens_with_exp as happens
from dptransfer.privacy.gaussian import GaussianNoise, gaussian_delta, gaussian_sigma
from dptransfer.privacy.sampler import UNITS, Keystream

PAIRS = [(e, d) for e in (0.01, 0.1, 1.0, 5.0, 10.0) for d in (1e-12, 1e-5, 1e-2, 0.3)]


# The calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_sigma_is_the_least_that_is_private(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta, 2.5)
    exact = literal.gaussian_delta(epsilon, 2.5, sigma)
    assert exact <= Decimal(delta)
    assert exact >= Decimal(delta) * (1 - Decimal("2e-8"))
    assert gaussian_delta(epsilon, 2.5, sigma) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 3.0, 30.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-25, 1e-9, 0.999])
def test_double_precision_is_enough_at_the_ends_of_the_range(epsilon, delta):
    with mpmath.workdps(120):
        ratio = 1 / mpmath.mpf(gaussian_sigma(epsilon, delta))
        near, far = (epsilon / ratio + side * ratio / 2 for side in (-1, 1))
        tail = [mpmath.erfc(x / mpmath.sqrt(2)) / 2 for x in (near, far)]
        exact = tail[0] - mpmath.exp(epsilon) * tail[1]
        assert mpmath.mpf(delta) * (1 - mpmath.mpf("2e-8")) <= exact <= delta


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_noise_pays_for_going_discrete_and_not_much(epsilon, delta):
    noise = GaussianNoise(epsilon, delta, 3.0)
    assert 1 < noise.sigma / gaussian_sigma(epsilon, delta, 3.0) < 1.001
    # As PROOF.md adds it up, with the exact δ of the Gaussian at the reduced ε and wider distance.
    n = noise.max_values
    step = noise.grid(n)
    moved = Fraction(noise.distance) / Fraction(step) + Fraction(math.isqrt(n) + 1)
    slack = n * gaussian.ERROR
    exact = literal.gaussian_delta(
        epsilon - 2 * slack, float(moved) * (1 + 1e-12) * step, noise.sigma
    )
    total = float(exact) * math.exp(slack) + n * gaussian.TAIL * (1 + math.exp(epsilon))
    assert total <= delta
    assert noise.sigma / step >= gaussian.FINE


# The law -----------------------------------------------------------------------------------------


def exp_of(units: int) -> Fraction:
    return 1 / literal.exp_below(Fraction(units, 2**PLACES)) * (1 - Fraction(1, 10**49))


def exact_acceptance(units: int) -> Fraction:
    """The probability of `happens`, from the thresholds that it compares with."""
    tables, eight = _thresholds()
    p = Fraction(int(eight) + 1, UNITS) ** (units >> 51)
    for (place, count), table in zip(((0, 13), (13, 13), (26, 13), (39, 12)), tables, strict=True):
        p *= Fraction(int(table[units >> place & 2**count - 1]) + 1, UNITS)
    return p


@pytest.mark.parametrize("gamma", [0.0, 2.0**-48, 1e-6, 0.3, 1.0, 7.999, 8.0, 25.0, 71.0])
def test_acceptance_is_exp_to_many_bits(gamma):
    units = int(gamma * 2**PLACES)
    assert abs(float(exact_acceptance(units) / exp_of(units)) - 1) < 2**-49


def test_acceptance_happens_as_often_as_it_should():
    n = 400_000
    for gamma in (0.0, 0.001, 0.7, 3.0, 8.5):
        times = happens(np.full(n, int(gamma * 2**PLACES)), Keystream()).sum()
        p = math.exp(-gamma)
        assert abs(times - n * p) <= 6 * math.sqrt(n * p * (1 - p)) + 3
    assert not happens(np.full(n, 16000 << PLACES), Keystream()).any()


@pytest.mark.parametrize("sigma", [1.0, 2.7, 40.0])
def test_the_law_is_gaussian_to_many_bits(sigma):
    law = DiscreteGaussian(sigma)
    twice = Fraction(law.twice_variance)
    assert float(twice) == pytest.approx(2 * sigma**2, rel=1e-15)
    proposal = ExactLaw(law.proposal)
    reach = math.floor(12 * sigma)
    assert reach < proposal.reach
    constant = None
    for k in range(-reach, reach + 1):
        units = int(law.gamma(np.array([k]))[0])
        found = proposal.probability(k) * exact_acceptance(units)
        ratio = found * literal.exp_below(Fraction(k * k) / twice)
        constant = constant or ratio
        assert abs(float(ratio / constant) - 1) < 2**-43  # two values, each right to 2^-44


def test_beyond_twelve_sigma_there_is_next_to_nothing():
    law = DiscreteGaussian(3.0)
    proposal = ExactLaw(law.proposal, blocks=6)
    beyond = sum(
        proposal.probability(k) * exact_acceptance(int(law.gamma(np.array([k]))[0]))
        for k in range(37, proposal.reach)
    )
    assert 4 * float(beyond) < gaussian.TAIL


@pytest.mark.parametrize("sigma", [4.0, 32.0])
def test_discrete_and_rounded_gaussian_are_as_close_as_the_proof_says(sigma):
    # ln of the integral over a cell against the density at its middle, before normalising.
    for k in range(0, int(12 * sigma) + 1, 3):
        cell, _ = integrate.quad(
            lambda s, k=k: math.exp(-(2 * k * s + s * s) / (2 * sigma**2)),
            -0.5,
            0.5,
            epsabs=0,
            epsrel=1e-12,
        )
        assert -1 / (8 * sigma**2) - 1e-11 <= math.log(cell) <= 6 / sigma**2 + 1e-11


@pytest.mark.parametrize("sigma", [1.0, 30.0, 2.0**24 * 1.3])
def test_draws_are_gaussian(sigma):
    draws = DiscreteGaussian(sigma).draw(400_000, Keystream())
    edges = np.unique(np.round(np.linspace(-3.5, 3.5, 40) * sigma)) + 0.5
    if sigma == 1.0:
        ks = np.arange(-40, 41)
        p = np.exp(-(ks**2) / 2)
        p /= p.sum()
        cells = np.array([p[ks < e].sum() for e in edges])
    else:
        cells = stats.norm.cdf(edges / sigma)
    cells = np.diff(np.concatenate([[0], cells, [1]]))
    counts = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    keep = cells * draws.size > 1
    counts, cells = (
        np.append(counts[keep], counts[~keep].sum()),
        np.append(cells[keep], cells[~keep].sum() + 1e-12),
    )
    assert stats.chisquare(counts, cells / cells.sum() * draws.size).pvalue > 1e-6


# What is released --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (1,), (70_000,), (10, 30, 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_arrays_of_every_shape(shape, dtype):
    noise = GaussianNoise(1.0, 1e-5, 1.0)
    X = np.full(shape, 1000, dtype=dtype)
    out = noise.perturb(X)
    assert out.shape == shape
    assert out.dtype == np.float64
    assert np.all(out % noise.grid(X.size) == 0)
    assert np.all(np.abs(out - 1000) < 9 * noise.sigma)


def test_the_noise_has_the_standard_deviation_it_says():
    noise = GaussianNoise(0.5, 1e-6, 4.0)
    V = noise.perturb(np.zeros(500_000))
    assert V.std() == pytest.approx(noise.sigma, rel=6 / math.sqrt(2 * V.size))
    assert noise.variance == noise.sigma**2
    assert np.abs(V).mean() == pytest.approx(noise.mean_magnitude, rel=0.01)
    assert stats.kstest(V / noise.sigma, "norm").pvalue > 1e-6


def test_the_rounded_array_moves_little_further_than_the_array():
    noise = GaussianNoise(1.0, 1e-5, 1.0)
    for n in (1, 1000, 10**6):
        assert math.sqrt(n) <= gaussian.SLACK * noise.distance / noise.grid(n)


def test_huge_values_saturate():
    noise = GaussianNoise(1.0, 1e-5, 1.0)
    out = noise.perturb(np.array([1e300, -1e300, np.finfo(np.float32).max]))
    assert np.all(np.isfinite(out))
    assert out[0] > 1e6
    assert out[1] < -1e6


def test_fresh_noise_unless_insecurely_seeded():
    X = np.zeros(1000)
    noise, seeded = GaussianNoise(1.0, 1e-5, 1.0), GaussianNoise(1.0, 1e-5, 1.0, insecure_seed=4)
    assert not np.array_equal(noise.perturb(X), noise.perturb(X))
    assert np.array_equal(seeded.perturb(X), seeded.perturb(X))
    assert "INSECURE: seeded noise" in seeded.guarantee.statement()
    assert "INSECURE" not in noise.guarantee.statement()
    assert (noise.guarantee.unit, noise.guarantee.adjacency) == ("record", "add-or-remove")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"delta": 0.0}, ParameterError),
        ({"epsilon": 0.0}, ParameterError),
        ({"distance": None}, DeclarationError),
        ({"distance": 0.0}, DeclarationError),
        ({"distance": math.inf}, DeclarationError),
        ({"distance": [1.0]}, DeclarationError),
        ({"adjacency": "d-adjacency"}, ParameterError),
        ({"insecure_seed": "x"}, ParameterError),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, error):
    with pytest.raises(error):
        GaussianNoise(**({"epsilon": 1.0, "delta": 1e-5, "distance": 1.0} | arguments))


def test_more_values_than_the_proof_pays_for_are_refused():
    noise = GaussianNoise(1e-6, 1e-5, 1.0)
    assert noise.max_values < 1000
    with pytest.raises(ParameterError, match="at most"):
        noise.perturb(np.zeros(1000))


@pytest.mark.parametrize(("epsilon", "delta"), [(100.0, 1e-5), (1.0, 1e-28)])
def test_where_nothing_is_proven_nothing_is_released(epsilon, delta):
    noise = GaussianNoise(epsilon, delta, 1.0)
    assert noise.max_values == 0
    with pytest.raises(ParameterError, match=rf"epsilon {epsilon:g} .*at most 0 values"):
        noise.perturb([0.0])


def test_whole_numbers_beyond_those_that_floats_hold_are_all_one():
    """A float would round them, and two of them would come further apart than they are."""
    noise = GaussianNoise(1.0, 1e-5, 2.0**30, insecure_seed=0)
    assert noise.grid(1) * 2**51 > 2**53
    limit = noise.perturb(np.array([2**53]))
    for beyond in (2**53 + 1, 2**57 + 63, 2**63 - 1):
        assert np.array_equal(noise.perturb(np.array([beyond])), limit)
        assert np.array_equal(noise.perturb(np.array([beyond], dtype=np.uint64)), limit)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused_without_a_word_of_the_others(bad):
    with pytest.raises(DataError) as caught:
        GaussianNoise(1.0, 1e-5, 1.0).perturb([8263.5771, bad])
    assert "8263" not in str(caught.value)


def test_an_interruption_leaves_the_array_unchanged():
    X = np.ones(200_000)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GaussianNoise(1.0, 1e-5, 1.0).perturb(X, progress=interrupt)
    assert np.all(X == 1)
