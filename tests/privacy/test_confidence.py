import math

import numpy as np
import pytest
from scipy import stats

from dptransfer.errors import ParameterError
from dptransfer.privacy.confidence import (
    clopper_pearson,
    epsilon_from_counts,
    epsilon_from_guesses,
)


@pytest.mark.parametrize("trials", [1, 7, 500])
def test_the_interval_is_scipys(trials):
    hits = np.unique(np.array([0, 1, trials // 2, trials]))
    low, high = clopper_pearson(hits, trials, miss=0.025)
    for k, a, b in zip(hits, low, high, strict=True):
        known = stats.binomtest(int(k), trials).proportion_ci(0.95, method="exact")
        assert (a, b) == pytest.approx((known.low, known.high))


def test_counts_must_be_counts():
    for hits, trials in ((-1, 3), (4, 3), (0, 0)):
        with pytest.raises(ParameterError, match="hits"):
            clopper_pearson(hits, trials, 0.05)


def test_no_bound_from_nothing():
    assert epsilon_from_counts(0, 0, 100, 0.0, 0.95) == 0
    assert epsilon_from_counts(100, 0, 100, 0.99, 0.95) == 0
    assert epsilon_from_counts(50, 100, 100, 0.0, 0.95) == 0


def guesses_by_hand(right, guesses, coins, delta, epsilon):
    """The right side of the theorem, term by term."""
    q = 1 / (1 + math.exp(-epsilon))
    x = stats.binom(guesses, q)
    excess = max(
        (sum(x.pmf(right - j) for j in range(1, i + 1)) / i for i in range(1, right + 1)),
        default=0,
    )
    return x.sf(right - 1) + 2 * coins * delta * excess


@pytest.mark.parametrize(
    ("right", "guesses", "coins", "delta"),
    [
        (30, 40, 100, 0.0),
        (30, 40, 100, 1e-4),
        (40, 40, 40, 1e-3),
        (21, 40, 50, 0.0),
        (90, 100, 1000, 1e-5),
    ],
)
def test_the_one_run_bound_solves_the_theorem(right, guesses, coins, delta):
    epsilon = epsilon_from_guesses(right, guesses, coins, delta, 0.95)
    if epsilon == 0:
        assert guesses_by_hand(right, guesses, coins, delta, 0.0) > 0.05
    else:
        assert guesses_by_hand(right, guesses, coins, delta, epsilon) == pytest.approx(
            0.05, rel=1e-3
        )


def test_guesses_must_be_guesses():
    for right, guesses, coins in ((3, 2, 5), (1, 2, 1), (-1, 2, 5), (0, 0, 5)):
        with pytest.raises(ParameterError, match="guesses"):
            epsilon_from_guesses(right, guesses, coins, 0.0, 0.95)
    assert epsilon_from_guesses(0, 10, 10, 0.01, 0.95) == 0


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_both_bounds_keep_their_confidence(delta):
    """Randomised response that tells the truth with probability δ: no mechanism is worse.

    With 2,000 repetitions and a true miss of at most 5 %, more than 150 misses have a probability
    below 1e-6.
    """
    epsilon, trials, repetitions = 1.0, 300, 2_000
    rng = np.random.default_rng(0)
    right = delta + (1 - delta) / (1 + math.exp(-epsilon))
    wrong = 1 - right
    hits, others = (
        rng.binomial(trials, right, repetitions),
        rng.binomial(trials, wrong, repetitions),
    )
    bounds = epsilon_from_counts(hits, others, trials, delta, 0.95)
    assert np.count_nonzero(bounds > epsilon) <= 150
    one_run = [epsilon_from_guesses(int(k), trials, trials, delta, 0.95) for k in hits]
    assert np.count_nonzero(np.array(one_run) > epsilon) <= 150
    if not delta:  # and they are not vacuous
        assert np.median(bounds) > 0.6
        assert np.median(one_run) > 0.6
