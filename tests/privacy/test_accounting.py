import math
import subprocess
import sys
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.composition import composed_epsilon

from dptransfer.errors import ParameterError
from dptransfer.privacy.accounting import (
    basic_composition,
    compose_epsilon,
    default_delta,
    delta_floor,
    fits,
)

LOSSES = st.lists(
    st.tuples(st.floats(0.01, 3.0), st.one_of(st.just(0.0), st.floats(1e-9, 1e-2))),
    min_size=1,
    max_size=7,
)


@settings(deadline=None, max_examples=40)
@given(LOSSES, st.floats(1e-6, 0.3))
def test_an_upper_bound_and_a_near_one(losses, above):
    delta = delta_floor(losses) + above
    exact = composed_epsilon(losses, delta)
    ours = compose_epsilon(losses, delta)
    assert ours >= exact - 1e-7
    # Rounding up costs at most one interval of the grid for each loss, here 1e-4.
    assert ours <= exact + 1e-4 * (len(losses) + 1)


def test_equal_losses_are_exact():
    losses = [(0.3, 1e-4)] * 10
    for delta in (0.0011, 0.01, 0.2):
        assert compose_epsilon(losses, delta) == pytest.approx(
            composed_epsilon(losses, delta), abs=1e-6
        )


def test_the_figures_of_an_image():
    pixels = [(0.1, 1e-5)] * 784
    assert basic_composition(pixels) == pytest.approx((78.4, 0.00784))
    assert delta_floor(pixels) == pytest.approx(1 - (1 - 1e-5) ** 784)
    assert compose_epsilon(pixels, 0.0078) == math.inf
    assert compose_epsilon(pixels, default_delta(pixels)) == pytest.approx(14.92, abs=0.01)
    assert compose_epsilon(pixels, delta_floor(pixels)) == pytest.approx(78.4)


def test_one_mechanism_is_itself():
    assert compose_epsilon([(0.7, 1e-5)], 1e-5) == pytest.approx(0.7)
    assert default_delta([(0.7, 1e-5)]) == 1e-5


@pytest.mark.parametrize(
    ("losses", "delta", "epsilon"),
    [
        ([(0.0, 0.0)] * 3, 0.0, 0.0),
        ([(1.0, 0.0)] * 3, 0.0, 3.0),
        ([(1.0, 0.0)] * 3, 1.0, 0.0),
        ([(1.0, 1.0), (1.0, 0.0)], 0.5, math.inf),
        ([(math.inf, 0.0), (1.0, 0.0)], 0.5, math.inf),
        ([(1000.0, 0.0)] * 2, 0.0, 2000.0),
        ([(1e-7, 0.0)] * 10_000 + [(5.0, 0.0)] * 10, 0.0, 50.001),
    ],
)
def test_at_the_edges(losses, delta, epsilon):
    assert compose_epsilon(losses, delta) == pytest.approx(epsilon)


@pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan])
def test_no_delta_outside_its_range(delta):
    with pytest.raises(ParameterError, match="delta"):
        compose_epsilon([(1.0, 0.0)], delta)


@settings(deadline=None, max_examples=30)
@given(LOSSES, st.floats(0.0, 8.0), st.floats(0.0, 0.3))
def test_fits_says_what_the_composition_says(losses, epsilon, delta):
    assert fits(losses, epsilon, delta) == (compose_epsilon(losses, delta) <= epsilon * (1 + 1e-12))


def test_small_sums_need_nothing_heavy():
    code = (
        "import sys; from dptransfer.privacy.accounting import fits; "
        "import dptransfer.privacy; assert fits([(0.1, 1e-5)] * 3, 1.0, 1e-3); "
        "sys.exit('dp_accounting' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "times", "at"),
    [
        (1.0, 1e-9, 784, None),
        (0.1, 1e-12, 784, 1e-6),
        (0.1, 1e-5, 784, None),
        (0.1, 0.0, 500, 1e-12),
    ],
)
def test_no_rounding_error_goes_the_wrong_way(epsilon, delta, times, at):
    """δ at the ε that is claimed, in 60 digits: the binomial law of the worst mechanism."""
    losses = [(epsilon, delta)] * times
    at = default_delta(losses) if at is None else at
    claimed = compose_epsilon(losses, at)
    with localcontext() as context:
        context.prec = 60
        e, n = Decimal(epsilon), times
        p = 1 / (1 + (-e).exp())
        told = 1 - (1 - Decimal(delta)) ** n
        rest = sum(
            math.comb(n, k) * p**k * (1 - p) ** (n - k) * (1 - (Decimal(claimed) - loss).exp())
            for k in range(n + 1)
            if (loss := (2 * k - n) * e) > claimed
        )
        assert told + (1 - told) * rest <= Decimal(at)
