"""The attack on low-order bits: it works on value + laplace in floating point, and fails here.

A float is one of 2^64 bit patterns, and of those only some can come out of ``0 + noise``, others
out of ``1 + noise``. Who sees one that only 0 can make, knows the value (Mironov, 2012). And where
the noise has an atom, a value that comes out with the very bits of a data value was left untouched.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise


def can_be_laplace(y: float, scale: float) -> bool:
    """Whether NumPy's ``Generator.laplace(0, scale)`` can return exactly y.

    It returns ±scale·ln(w), w a multiple of 2^-52 in (0, 1]; only a few w come into question.
    """
    nearest = round(math.exp(-abs(y) / scale) * 2**52)
    return any(
        0 < w <= 2**52 and -scale * math.log(w / 2**52) == abs(y)
        for w in range(nearest - 3, nearest + 4)
    )


def can_be_sum(y: float, value: float, scale: float) -> bool:
    """Whether value + laplace can be exactly y: some float near y − value must be reachable."""
    noise = y - value
    candidates = {noise}
    up = down = noise
    for _ in range(4):
        up, down = math.nextafter(up, math.inf), math.nextafter(down, -math.inf)
        candidates |= {up, down}
    return any(v + value == y and can_be_laplace(v, scale) for v in candidates)


def guess(y: float, scale: float) -> float:
    """The attacker's guess which of 0 and 1 was perturbed: by reachability, else by nearness."""
    zero, one = can_be_sum(y, 0.0, scale), can_be_sum(y, 1.0, scale)
    if zero != one:
        return 0.0 if zero else 1.0
    return 0.0 if y < 0.5 else 1.0


def advantage(outputs: dict[float, np.ndarray], scale: float) -> float:
    """Pr{guesses 1 | was 1} − Pr{guesses 1 | was 0}."""
    right = {x: np.mean([guess(y, scale) == 1.0 for y in ys]) for x, ys in outputs.items()}
    return float(right[1.0] - right[0.0])


N = 4000


def test_the_attack_works_on_floating_point_noise():
    rng = np.random.default_rng(11)
    scale = 1 / 0.1  # ε = 0.1: nobody may gain more than (e^ε − 1)/(e^ε + 1) = 0.05
    naive = {x: x + rng.laplace(0, scale, size=N) for x in (0.0, 1.0)}
    assert advantage(naive, scale) > 0.5


@pytest.mark.parametrize("kind", [OptimalNoise, LaplaceNoise])
def test_the_attack_fails_on_what_is_released(kind):
    noise = kind(0.1, 1e-5)
    released = {x: noise.perturb(np.full(N, x), bounds=(0, 1)) for x in (0.0, 1.0)}
    bound = math.tanh(0.05) + 1e-5
    # Six standard deviations of a difference of two proportions: a false alarm in 10^9.
    assert advantage(released, noise.scale) < bound + 6 * math.sqrt(0.5 / N)


@pytest.mark.parametrize("x", [0.3, 0.1 + 0.2, 1 / 3])
def test_nothing_below_the_grid_is_left_of_a_value(x):
    noise = OptimalNoise(1.0, 1e-5)
    released = noise.perturb(np.full(10_000, x), bounds=(0, 1))
    assert np.all(released / noise.grid == np.round(released / noise.grid))
    # Two values with one nearest grid point are one value from here on.
    twin = math.nextafter(x, 1)
    seeded = OptimalNoise(1.0, 1e-5, insecure_seed=1)
    one, other = (seeded.perturb([v], bounds=(0, 1)) for v in (x, twin))
    assert np.array_equal(one, other)


def called_untouched(released: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The attacker knows which values the data can take, and looks for their very bits."""
    return np.isin(released, values)


def test_untouched_values_are_found_in_the_printed_form_and_hide_in_the_released_one():
    rng = np.random.default_rng(5)
    n, delta = 1_000_000, 1e-3
    X = rng.integers(0, 2, size=n).astype(float)
    noise = OptimalNoise(1.0, delta)
    values = np.array([0.0, 1.0])

    v = noise.sample_continuous(n, rng)
    printed = called_untouched(X + v, values)
    assert np.array_equal(printed, v == 0)  # every one found, no false alarm
    assert printed.sum() > 0.8 * delta * n

    released = noise.perturb(X, bounds=(0, 1))
    called = called_untouched(released, values)
    # At most `delta * n` and a little of these were really left untouched.
    precision = (delta * n + 6 * math.sqrt(delta * n)) / called.sum()
    assert precision < 0.06
    # The bound that the choice of grid gives: noise comes back to 0 sixteen times as often.
    zero = math.tanh(noise.epsilon * noise.grid / 2)
    assert zero > 15 * delta
    came_back = np.mean(released == X)
    assert abs(came_back - (delta + (1 - delta) * zero)) < 6 * math.sqrt(zero / n)
