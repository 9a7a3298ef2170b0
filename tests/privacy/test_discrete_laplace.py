from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from reference.noise import ExactLaw, words_of
from scipy import stats

from dptransfer.privacy.discrete_laplace import DiscreteLaplace
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise, _laplace_law, _optimal_law
from dptransfer.privacy.sampler import UNITS, Keystream

# (epsilon, delta, distance, grid): the distance is 1 to 24 steps, so that every shift is tried.
CASES = [
    (0.01, 1e-5, 1.0, 1 / 4),
    (0.05, 1e-12, 3.0, 1.0),
    (0.1, 1e-5, 1.0, 1 / 16),
    (0.1, 1e-2, 0.7, 1 / 16),
    (0.5, 0.3, 1.0, 1 / 8),
    (1.0, 0.0, 1.0, 1 / 16),
    (1.0, 1e-12, 1.5, 1 / 16),
    (2.0, 1e-3, 5.0, 1.0),
    (10.0, 1e-5, 1.0, 1 / 16),
    (10.0, 1e-12, 0.1, 1 / 128),
]


def law_of(kind, epsilon, delta, distance, grid):
    noise = kind(epsilon, delta, distance, grid=grid)
    return noise._law(noise._steps[0]), noise._steps[0]


@pytest.mark.parametrize(("epsilon", "delta", "distance", "grid"), CASES)
@pytest.mark.parametrize("kind", [OptimalNoise, LaplaceNoise])
def test_the_exact_divergence_of_what_is_drawn_is_within_delta(
    kind, epsilon, delta, distance, grid
):
    law, steps = law_of(kind, epsilon, delta, distance, grid)
    exact = ExactLaw(law, blocks=2 + 2 * math.ceil(steps / law.block))
    assert exact.total() == 1
    assert steps == math.ceil(Fraction(distance) / Fraction(grid))
    shifts = [s for s in range(-steps, steps + 1) if s]
    found = [exact.hockey_stick(epsilon, s) for s in shifts]
    assert max(found) <= Fraction(delta)
    # And not far within it: what is claimed is what is there, not more noise than was asked for.
    assert max(found) >= Fraction(delta) * (1 - Fraction(1, 20))


def test_the_divergence_exceeds_delta_as_soon_as_the_distance_does():
    law, steps = law_of(OptimalNoise, 0.5, 1e-3, 1.0, 1 / 8)
    assert ExactLaw(law).hockey_stick(0.5, steps + 1) > Fraction(1e-3)


def test_the_default_grid_at_its_full_distance():
    noise = OptimalNoise(1.0, 1e-5)
    exact = ExactLaw(noise._law(noise._steps[0]))
    for shift in (-noise._steps[0], 1, noise._steps[0] // 2, noise._steps[0]):
        assert exact.hockey_stick(1.0, shift) <= Fraction(1e-5)


def test_the_atom_is_delta_rounded_down_to_64_bits():
    for delta in (1e-12, 1e-5, 0.25):
        atom = _optimal_law(0.1, delta, 8).atom_units
        assert Fraction(delta) - Fraction(1, UNITS) < Fraction(atom, UNITS) <= Fraction(delta)


@pytest.mark.parametrize(
    ("rate", "atom"), [(Decimal("2.5"), 0), (Decimal("0.05"), 2**50), (Decimal("0.0008"), 0)]
)
def test_ratios_are_as_right_as_ratio_error_says(rate, atom):
    law = DiscreteLaplace(rate, atom)
    exact = ExactLaw(law)
    ks = {0, 1, -1, law.block - 1, law.block, -law.block, -law.block - 1, 2 * law.block + 3}
    ks |= set(np.random.default_rng(1).integers(-3 * law.block, 3 * law.block, 60).tolist())
    for k in ks:
        for j in ks:
            p, q = Fraction(exact.tails(k)), Fraction(exact.tails(j))
            ideal = Fraction((rate * (abs(j) - abs(k))).exp())
            error = abs(float(p / q / ideal - 1))
            assert error <= law.ratio_error(abs(abs(k) - abs(j))) + 1e-24


def test_a_wide_law_has_more_digits_and_each_table_is_whole():
    law = DiscreteLaplace(Decimal(2) ** -20, 12345)
    assert law.digit_bits
    for table in (law.head, *law.digits, law.top):
        assert sum(words_of(table)) == UNITS
    assert words_of(law.head)[0] == 12345


@pytest.mark.parametrize("rate", ["2.5", "0.3", "0.004", "0.00001"])
def test_draws_follow_the_exact_law(rate):
    law = DiscreteLaplace(Decimal(rate), UNITS // 100)
    a = math.exp(-float(rate))
    draws = law.draw(1_000_000, Keystream())

    def cdf(k):  # of the tails
        return np.where(k < 0, a ** (-k * 1.0) / (1 + a), 1 - a ** (k + 1.0) / (1 + a))

    edges = np.unique(
        np.concatenate(
            [np.arange(-3, 4), np.round(np.linspace(-9, 9, 60) / float(rate)).astype(int)]
        )
    )
    cells = np.diff(np.concatenate([[0], 0.99 * cdf(edges) + 0.01 * (edges >= 0), [1]]))
    counts = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    big = cells * draws.size >= 5
    counts = np.append(counts[big], counts[~big].sum())
    cells = np.append(cells[big], cells[~big].sum())
    statistic = np.sum((counts - cells * draws.size) ** 2 / np.maximum(cells * draws.size, 1e-9))
    assert stats.chi2.sf(statistic, len(counts) - 1) > 1e-6


def test_the_top_table_is_asked_again_in_the_far_tail():
    law = DiscreteLaplace(Decimal("0.5"))
    draws = law.draw(1_000_000, Keystream())
    magnitude = np.where(draws < 0, -1 - draws, draws)
    beyond = np.sum(magnitude >= law.block)
    p = math.exp(-0.5 * law.block)
    assert abs(beyond - draws.size * p) < 6 * math.sqrt(draws.size * p)


def test_laplace_falls_as_fast_as_its_divergence_allows():
    continuous = (0.1 - 2 * math.log1p(-1e-2)) / 64
    assert 0.98 * continuous < float(_laplace_law(0.1, 1e-2, 64).rate) <= continuous
