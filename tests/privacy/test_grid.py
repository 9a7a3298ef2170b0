from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptransfer.errors import ParameterError
from dptransfer.privacy.grid import (
    LIMIT,
    choose_grid,
    distance_in_steps,
    is_grid,
    to_steps,
    to_values,
)

steps = st.integers(-40, 40).map(lambda e: 2.0**e)


def literal(x: float, g: float) -> int:
    return math.floor(Fraction(x) / Fraction(g) + Fraction(1, 2))


@settings(deadline=None)
@given(st.floats(-1e6, 1e6), st.integers(-20, 20).map(lambda e: 2.0**e))
def test_rounding_is_exact(x, g):
    assert to_steps(np.array([x]), g).tolist() == [literal(x, g)]


@pytest.mark.parametrize(
    "x", [0.5, -0.5, 1.5, 2.5, math.nextafter(0.5, 0), math.nextafter(-0.5, -1), -5e-324, 5e-324]
)
def test_rounding_is_exact_where_floating_point_is_treacherous(x):
    assert to_steps(np.array([x]), 1.0).tolist() == [literal(x, 1.0)]


@settings(deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(0.01, 10), st.floats(0, 1), st.integers(-12, 0))
def test_values_within_the_distance_are_within_its_steps(x, d, share, e):
    g = 2.0**e
    y = x + share * d
    if Fraction(y) - Fraction(x) <= Fraction(d):  # as numbers, not as floats
        apart = to_steps(np.array([y]), g)[0] - to_steps(np.array([x]), g)[0]
        assert 0 <= apart <= distance_in_steps(d, g)


def test_halves_are_never_further_apart_than_the_distance():
    x = np.arange(-50, 50) + 0.5
    assert set((to_steps(x + 3.0, 1.0) - to_steps(x, 1.0)).tolist()) == {3}


@settings(deadline=None)
@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3), st.sampled_from([0.0, 1e-9, 1e-5, 1e-2, 0.5]))
def test_the_grid_is_a_power_of_two_below_distance_and_scale(d, epsilon, atom):
    g = choose_grid(d, d / epsilon, atom)
    assert is_grid(g)
    assert g <= min(d, d / epsilon) / 2**5
    if atom == 0:
        assert g <= min(d, d / epsilon) / 2**10
    assert g > min(d, d / epsilon) / 2**11


def test_released_multiples_are_floats_exactly_and_stop_at_the_limit():
    k = np.array([0, 1, -3, LIMIT, -LIMIT, LIMIT + 5, -(2**61)], dtype=np.int64)
    for g in (2.0**-30, 0.125, 8.0):
        values = np.empty(k.shape)
        to_values(k.copy(), g, values)
        held = np.clip(k, -LIMIT, LIMIT)
        assert [Fraction(v) for v in values.tolist()] == [
            int(i) * Fraction(g) for i in held.tolist()
        ]


@settings(deadline=None)
@given(st.floats(1e-5, 1e5), steps)
def test_steps_of_a_distance_are_rounded_up(d, g):
    delta = distance_in_steps(d, g)
    assert (delta - 1) * Fraction(g) < Fraction(d) <= delta * Fraction(g)


@pytest.mark.parametrize(("d", "scale"), [(1e-320, 1.0), (1.0, 1e-290), (1e300, 1e305)])
def test_what_float64_cannot_carry_is_refused(d, scale):
    with pytest.raises(ParameterError, match="another unit"):
        choose_grid(d, scale)
