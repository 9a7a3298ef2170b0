import math

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dptransfer.errors import ParameterError
from dptransfer.privacy import OptimalNoise
from dptransfer.privacy.attacks import advantage, membership, recover_element
from dptransfer.privacy.words import best_guess


def mechanism(epsilon, delta=1e-5):
    noise = OptimalNoise(epsilon, delta)
    return lambda values: noise.perturb(values, bounds=(0.0, 1.0))


def test_a_coin_and_certainty():
    assert advantage(500, 1000).low < 0 < advantage(500, 1000).high
    sure = advantage(1000, 1000)
    assert (sure.value, sure.high) == (1.0, 1.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_an_element_is_recovered_as_the_noise_allows(epsilon):
    """Pr{right} = 1 − (1 − δ) exp(−ε/2) / 2; the confidence is such that a miss has 1e-6."""
    found = recover_element(mechanism(epsilon), distance=1.0, trials=100_000, random_state=0)
    right = round((found.value + 1) / 2 * 100_000)
    sure = advantage(right, 100_000, confidence=1 - 1e-6)
    # A grid point in the very middle is a tie: worth half of the thousandth that it is off by.
    assert sure.low - 1e-3 < 1 - (1 - 1e-5) * math.exp(-epsilon / 2) < sure.high + 1e-3
    assert sure.low < 2 * best_guess(epsilon, 1e-5) - 1


def test_everything_is_recovered_without_noise():
    assert recover_element(lambda values: values, distance=2.0, lowest=-1.0).value == 1.0


def test_membership_from_nothing_to_certainty():
    digits = load_digits()
    threes = digits.data[digits.target == 3] / 16
    told = {
        epsilon: membership(
            mechanism(epsilon), threes, scale=1 / epsilon, rows=50, trials=400, random_state=0
        )
        for epsilon in (0.01, 10.0)
    }
    # 200 guesses: a coin strays by 0.35 with a probability below 1e-6.
    assert abs(told[0.01].from_rows.value) < 0.35
    assert abs(told[0.01].from_mean.value) < 0.35
    # About 0.92 and 0.15, with standard deviations of 0.03 and 0.09.
    assert told[10.0].from_rows.value > 0.7
    assert told[10.0].from_mean.value < 0.7


@pytest.mark.parametrize("change", [{"rows": 9}, {"rows": 0}, {"trials": 2}])
def test_membership_needs_records(change):
    asked = {"rows": 5, "trials": 10} | change
    with pytest.raises(ParameterError, match="membership needs"):
        membership(lambda values: values, np.zeros((10, 2)), scale=1.0, **asked)
