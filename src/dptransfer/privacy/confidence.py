"""From counts to a lower bound on ε that holds with a stated confidence.

An event O with probability p on one input and q on a neighbouring one shows that a mechanism is
not (ε, δ)-private for any ε < log((p − δ) / q). Neither p nor q is known, but how often O was seen
bounds both (Clopper and Pearson). The second bound, of Steinke, Nasr and Jagielski (2023), needs
only one run: many cells are set by coins, and nobody who sees an (ε, δ)-private output can guess
more of the coins than ε allows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betainc, betaincinv

from dptransfer.errors import ParameterError

__all__ = ["clopper_pearson", "epsilon_from_counts", "epsilon_from_guesses"]

LARGEST_EPSILON = 50.0


def clopper_pearson(
    hits: ArrayLike, trials: int, miss: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact bounds of a probability, each missed with a chance of at most `miss`.

    >>> low, high = clopper_pearson(0, 100, miss=0.025)
    >>> f"{low:.3f} {high:.3f}"
    '0.000 0.036'
    """
    return _at_least(hits, trials, miss), _at_most(hits, trials, miss)


def _at_least(hits: ArrayLike, trials: int, miss: float) -> NDArray[np.float64]:
    k = _checked(hits, trials)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), trials - k + 1, miss), 0.0)


def _at_most(hits: ArrayLike, trials: int, miss: float) -> NDArray[np.float64]:
    k = _checked(hits, trials)
    return np.where(k < trials, betaincinv(k + 1, np.maximum(trials - k, 1), 1 - miss), 1.0)


def _checked(hits: ArrayLike, trials: int) -> NDArray[np.float64]:
    k = np.asarray(hits, dtype=np.float64)
    if trials < 1 or np.any(k < 0) or np.any(k > trials):
        raise ParameterError("hits must lie between 0 and the number of trials, at least one")
    return k


def epsilon_from_counts(
    hits: ArrayLike, other_hits: ArrayLike, trials: int, delta: float, confidence: float
) -> NDArray[np.float64]:
    """Lower bound log((p − δ) / q) on ε, where an event was seen `hits` times against `other_hits`.

    Formal guarantees
    -----------------
    - If the runs are independent, the event was chosen without looking at them, and the mechanism
      is (ε, δ)-private, the result is at most ε with a probability of at least `confidence`:
      p is bounded from below and q from above, each missed with at most half of what is left.

    Examples
    --------
    >>> f"{epsilon_from_counts(600, 200, 1000, delta=0.0, confidence=0.95):.2f}"
    '0.92'
    """
    miss = (1 - confidence) / 2
    p, q = _at_least(hits, trials, miss), _at_most(other_hits, trials, miss)
    return np.log(np.maximum(np.maximum(p - delta, 0.0) / q, 1.0))


def epsilon_from_guesses(
    right: int, guesses: int, coins: int, delta: float, confidence: float
) -> float:
    """Lower bound on ε from one run in which `right` of `guesses` about `coins` coins were right.

    If the mechanism is (ε, δ)-private in each of m coins, then for X ~ Binomial(r, e^ε/(1 + e^ε))
    the number V of right guesses among r obeys (Steinke, Nasr, Jagielski 2023, Theorem 5.2)

        Pr{V ≥ v} ≤ Pr{X ≥ v} + 2mδ · max over 1 ≤ i ≤ v of Pr{v − i ≤ X < v} / i.

    The bound is the largest ε at which the right side is still at most 1 − `confidence`.

    Formal guarantees
    -----------------
    - If the guesses depend on the coins only through the output of the one run, and their number
      was fixed before, the result is at most ε with a probability of at least `confidence`.

    Examples
    --------
    >>> f"{epsilon_from_guesses(900, 1000, coins=2000, delta=0.0, confidence=0.95):.2f}"
    '2.02'
    """
    if not 0 <= right <= guesses <= coins or guesses < 1:
        raise ParameterError("there must be 0 <= right <= guesses <= coins, and one guess at least")
    steps = np.arange(1, right + 1)

    def chance(epsilon: float) -> float:
        q = 1 / (1 + math.exp(-epsilon))
        at_least = float(betainc(right, guesses - right + 1, q)) if right else 1.0
        if not right or not delta:
            return at_least
        below = bdtr(right - 1, guesses, q)
        within = below - np.where(
            steps < right, bdtr(np.maximum(right - steps - 1, 0), guesses, q), 0
        )
        return at_least + 2 * coins * delta * float(np.max(within / steps))

    if chance(0.0) > 1 - confidence:
        return 0.0
    low, high = 0.0, LARGEST_EPSILON
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) <= 1 - confidence else (low, middle)
    return low
