r"""Whole numbers with the shape of a Gaussian density.

P(K = k) ∝ exp(−k²/(2σ²)), by rejection (Canonne, Kamath and Steinke, 2020): propose k from a
discrete Laplace law of scale t = σ²/c, and keep it with probability exp(−γ),
γ = (|k| − c)²/(2σ²); the product of the two is proportional to exp(−k²/(2σ²)) for every c, and
c ≈ σ keeps three proposals in four. "With probability exp(−γ)" is done with integers again: γ is
cut to 48 binary places, exp of a sum is a product, so one event of known probability for each group
of digits must happen, and all of them independently.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dptransfer.privacy.discrete_laplace import DiscreteLaplace
from dptransfer.privacy.sampler import DIGITS, UNITS, Integers, Keystream, Words

__all__ = ["PLACES", "DiscreteGaussian", "happens_with_exp"]

PLACES = 48
"""Binary places of γ."""

GROUPS = ((0, 13), (13, 13), (26, 13), (39, 12))
"""The digits of γ below 8 in groups: the place of the lowest (in units of 2⁻⁴⁸), how many."""

WHOLE = 51
"""From this place on stand the eights: γ ≥ 8 is γ/8 events of probability exp(−8)."""


@lru_cache(maxsize=1)
def _thresholds() -> tuple[tuple[Words, ...], np.uint64]:
    """For each group of digits, the largest word for which its event happens; and for an eight."""
    with localcontext() as context:
        context.prec = DIGITS
        tables = []
        for place, count in GROUPS:
            step = (-(Decimal(2) ** (place - PLACES))).exp()
            weight, weights = Decimal(UNITS), []
            for _ in range(2**count):
                weights.append(int(weight.to_integral_value()) - 1)
                weight *= step
            tables.append(np.array(weights, dtype=np.uint64))
        eight = int((Decimal(-8).exp() * UNITS).to_integral_value()) - 1
    return tuple(tables), np.uint64(eight)


def happens_with_exp(gamma: Integers, keystream: Keystream) -> npt.NDArray[np.bool_]:
    """For each γ in units of 2⁻⁴⁸, true with probability exp(−γ)."""
    tables, eight = _thresholds()
    happens = np.ones(gamma.shape, dtype=bool)
    for (place, count), table in zip(GROUPS, tables, strict=True):
        digits = (gamma >> place) & (2**count - 1)
        happens &= keystream.words(gamma.size) <= table.take(digits, mode="clip")
    eights = gamma >> WHOLE
    asked = np.flatnonzero(happens & (eights > 0))
    while asked.size:
        kept = keystream.words(asked.size) <= eight
        happens[asked] = kept
        eights[asked] -= 1
        asked = asked[kept & (eights[asked] > 0)]
    return happens


class DiscreteGaussian:
    """The discrete Gaussian law, sampled by rejection.

    Parameters
    ----------
    sigma : float
        The parameter σ, in steps.

    Formal guarantees
    -----------------
    - For |k| ≤ 12σ and σ ≥ 1, ln P(k) differs from −k²/(2σ²) by a constant and at most 2⁻⁴⁴
      (``PROOF.md``); values beyond 12σ have probability below 2⁻¹⁰⁰.
    """

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma
        self.centre = max(1, round(sigma))
        self.twice_variance = 2 * (sigma * sigma)
        with localcontext() as context:
            context.prec = DIGITS
            rate = 2 * Decimal(self.centre) / Decimal(self.twice_variance)
        self.proposal = DiscreteLaplace(rate)

    def gamma(self, proposed: Integers) -> Integers:
        """γ of each proposal, in units of 2⁻⁴⁸, rounded down.

        Two correctly rounded operations, on a whole number below 2⁵³.
        """
        gap = (np.abs(proposed) - self.centre).astype(np.float64)
        gap *= gap
        gap /= self.twice_variance
        np.minimum(gap, 2.0**14, out=gap)
        gap *= 2.0**PLACES
        return gap.astype(np.int64)

    def draw(self, count: int, keystream: Keystream) -> Integers:
        """`count` independent values of K."""
        drawn = np.empty(count, dtype=np.int64)
        done = 0
        while done < count:
            proposed = self.proposal.draw((count - done) * 4 // 3 + 64, keystream)
            kept = proposed[happens_with_exp(self.gamma(proposed), keystream)][: count - done]
            drawn[done : done + kept.size] = kept
            done += kept.size
        return drawn
