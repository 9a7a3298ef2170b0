"""The formulas of the two mechanisms: as printed, against the literal ones and by sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import noise as literal
from scipy import integrate, stats

from dptransfer.errors import DeclarationError, ParameterError
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise

epsilons = st.floats(0.01, 10)
deltas = st.sampled_from([0.0, 1e-12, 1e-5, 0.01, 0.3])
distances = st.floats(0.01, 100)


@settings(deadline=None)
@given(epsilons, deltas, distances, st.floats(-1e3, 1e3))
def test_density_and_distribution_are_as_printed(epsilon, delta, d, v):
    noise = OptimalNoise(epsilon, delta, d)
    assert noise.cdf(v) == pytest.approx(literal.cdf(v, epsilon, delta, d), rel=1e-12, abs=1e-300)
    assert noise.pdf(v) == pytest.approx(
        literal.density(v, epsilon, delta, d), rel=1e-12, abs=1e-300
    )


@settings(deadline=None)
@given(epsilons, deltas, distances, st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_the_inverse_is_as_printed_and_inverts(epsilon, delta, d, t):
    noise = OptimalNoise(epsilon, delta, d)
    v = float(noise.ppf(t))
    assert v == pytest.approx(literal.ppf(t, epsilon, delta, d), rel=1e-9, abs=1e-12 * d / epsilon)
    if (1 - delta) / 2 <= t <= (1 + delta) / 2:
        assert v == 0
    else:
        assert noise.cdf(v) == pytest.approx(t, rel=1e-9)


@pytest.mark.parametrize("kind", [OptimalNoise, LaplaceNoise])
@pytest.mark.parametrize(("epsilon", "delta", "d"), [(0.1, 1e-5, 1.0), (1.0, 0.3, 2.5)])
def test_moments_are_those_of_the_density(kind, epsilon, delta, d):
    noise = kind(epsilon, delta, d)

    def moment(f):
        return 2 * integrate.quad(lambda v: f(v) * float(noise.pdf(v)), 0, np.inf)[0]

    assert moment(lambda v: 1) + noise.atom == pytest.approx(1, rel=1e-8)
    assert moment(lambda v: v) == pytest.approx(noise.mean_magnitude, rel=1e-8)
    assert moment(lambda v: v * v) == pytest.approx(noise.variance, rel=1e-8)


@pytest.mark.parametrize("kind", [OptimalNoise, LaplaceNoise])
def test_the_continuous_form_follows_its_distribution(kind):
    noise = kind(0.5, 0.1, 2.0)
    v = noise.sample_continuous(200_000, np.random.default_rng(3))
    untouched = np.mean(v == 0)
    assert abs(untouched - noise.atom) < 6 * math.sqrt(0.25 / v.size)
    # Given that it moved, its place in the distribution is uniform.
    moved = v[v != 0]
    t = noise.cdf(moved)
    t = np.where(t < 0.5, t, t - noise.atom) / (1 - noise.atom)
    assert stats.kstest(t, "uniform").pvalue > 1e-6


def test_the_scales_and_the_mean_magnitudes():
    optimal, laplace = OptimalNoise(0.1, 1e-5, 3.0), LaplaceNoise(0.1, 1e-5, 3.0)
    assert optimal.scale == pytest.approx(30)
    assert optimal.mean_magnitude == pytest.approx(30 * (1 - 1e-5))
    assert optimal.variance == pytest.approx((1 - 1e-5) * 2 * 900)
    assert laplace.scale == laplace.mean_magnitude == pytest.approx(3 / (0.1 + 2e-5), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("factor", [0.5, 0.99, 1.01, 2.0])
def test_below_an_epsilon_of_about_two_laplace_is_the_smaller(delta, factor):
    # They meet where ε/(1 − δ) = ε − 2 ln(1 − δ).
    meeting = -2 * (1 - delta) * math.log1p(-delta) / delta
    assert meeting == pytest.approx(2, abs=1.2 * delta)
    epsilon = factor * meeting
    laplace, optimal = LaplaceNoise(epsilon, delta), OptimalNoise(epsilon, delta)
    assert (laplace.mean_magnitude < optimal.mean_magnitude) == (factor < 1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 0.01), (5.0, 1e-3)])
def test_continuous_laplace_at_this_scale_is_private_and_no_more(epsilon, delta):
    b = LaplaceNoise(epsilon, delta, 1.0).scale
    # sup over O is reached on {v <= m}, where the densities' ratio is still above e^ε.
    m = np.linspace(-5 * b, 1, 400_001)
    law = stats.laplace(scale=b)
    divergence = np.max(law.cdf(m) - math.exp(epsilon) * law.cdf(m - 1))
    assert divergence == pytest.approx(delta, rel=1e-6)
    nearer = law.cdf(m) - math.exp(epsilon) * law.cdf(m - 0.5)
    assert np.max(nearer) <= delta


def test_everything_goes_by_column():
    noise = OptimalNoise(0.5, 1e-3, [1.0, 4.0])
    one, four = OptimalNoise(0.5, 1e-3, 1.0), OptimalNoise(0.5, 1e-3, 4.0)
    v, t = np.array([[-2.0, 1.0], [0.0, 3.0]]), np.array([[0.1, 0.5], [0.9, 0.7]])
    for f in ("cdf", "pdf"):
        both = getattr(noise, f)(v)
        assert np.array_equal(both[:, 0], getattr(one, f)(v[:, 0]))
        assert np.array_equal(both[:, 1], getattr(four, f)(v[:, 1]))
    assert np.array_equal(noise.ppf(t)[:, 1], four.ppf(t[:, 1]))
    assert noise.variance.tolist() == [one.variance, four.variance]
    assert noise.mean_magnitude.tolist() == [one.mean_magnitude, four.mean_magnitude]
    assert noise.grid.tolist() == [one.grid, four.grid]
    assert noise.guarantee.distance == (1.0, 4.0)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"epsilon": 0}, ParameterError),
        ({"epsilon": -1}, ParameterError),
        ({"epsilon": math.inf}, ParameterError),
        ({"epsilon": math.nan}, ParameterError),
        ({"epsilon": "1"}, ParameterError),
        ({"epsilon": True}, ParameterError),
        ({"delta": -1e-9}, ParameterError),
        ({"delta": 1.0}, ParameterError),
        ({"delta": 1 - 2**-53}, ParameterError),
        ({"distance": None}, DeclarationError),
        ({"distance": 0.0}, DeclarationError),
        ({"distance": [1.0, -1.0]}, DeclarationError),
        ({"distance": [[1.0]]}, DeclarationError),
        ({"distance": "wide"}, DeclarationError),
        ({"distance": []}, DeclarationError),
        ({"distance": math.inf}, DeclarationError),
        ({"distance": 1e-300}, ParameterError),
        ({"grid": 0.3}, ParameterError),
        ({"grid": -0.5}, ParameterError),
        ({"grid": 2.0**-50}, ParameterError),
        ({"grid": 16.0, "epsilon": 500.0}, ParameterError),
        ({"insecure_seed": 1.5}, ParameterError),
    ],
)
@pytest.mark.parametrize("kind", [OptimalNoise, LaplaceNoise])
def test_arguments_out_of_range_are_refused(kind, arguments, error):
    if kind is LaplaceNoise and arguments.get("delta", 0) > 0.99 and arguments["delta"] < 1:
        pytest.skip("no atom, so no tables without room")
    with pytest.raises(error):
        kind(**({"epsilon": 1.0, "delta": 1e-5} | arguments))


@pytest.mark.parametrize("t", [0.0, 1.0, -0.1, math.nan])
def test_only_probabilities_have_quantiles(t):
    with pytest.raises(ParameterError):
        OptimalNoise(1.0, 1e-5).ppf(t)


def test_the_guarantee_says_what_was_run():
    guarantee = OptimalNoise(0.1, 1e-5, 2.0).guarantee
    assert (guarantee.unit, guarantee.epsilon, guarantee.delta) == ("element", 0.1, 1e-5)
    assert (guarantee.distance, guarantee.adjacency) == (2.0, "d-adjacency")
    assert guarantee.mechanism == "optimal noise, discrete on a grid of 2^-7"
    assert "INSECURE" not in guarantee.statement()
    assert LaplaceNoise(0.1, 1e-5).guarantee.mechanism.startswith("Laplace noise, discrete")


@pytest.mark.parametrize("kind", [OptimalNoise, LaplaceNoise])
def test_seeded_noise_is_named_insecure(kind):
    guarantee = kind(0.1, 1e-5, insecure_seed=0).guarantee
    assert guarantee.mechanism.startswith("INSECURE: seeded noise")
    assert "INSECURE: seeded noise" in guarantee.statement()
    assert any("seed" in words for words in guarantee.not_covered)
