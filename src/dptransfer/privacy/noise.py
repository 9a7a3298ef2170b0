r"""The paper's optimal noise, and Laplace noise that promises the same.

The paper (Section 4.1, Result 2) perturbs each element by noise with an atom of mass δ at zero and
Laplace tails of scale d/ε: with probability δ an element is published as it is. That is optimal
among densities that meet the paper's *sufficient* conditions for (ε, δ)-privacy. Plain Laplace
noise of scale d/(ε − 2 ln(1 − δ)) is (ε, δ)-private too, publishes no element untouched, and below
ε ≈ 2 its mean magnitude is the smaller one; `docs/noise.md` has the numbers. Both are one family,
with an atom A and a scale s, and both are released in discrete form only.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dptransfer.errors import ParameterError
from dptransfer.privacy.discrete_laplace import DiscreteLaplace
from dptransfer.privacy.perturbation import ElementNoise, Floats
from dptransfer.privacy.sampler import DIGITS, UNITS

__all__ = ["LaplaceNoise", "OptimalNoise"]

SLACK = 2.0**-44
"""What of ε is kept back for the rounding of the sampler's tables."""

FAR_TAIL = 2.0**-20
"""The share of Laplace noise's δ that is kept back for the same, and for the far tail."""

WIDEST_BLOCK = 2**44
"""Noise overflows 64 bits when the top table is asked again 2⁶³/block times."""

ASKED_AGAIN = 9
"""So often, or more, the top table is asked again with probability below 2⁻¹⁰⁰."""


class _AtomAndTails(ElementNoise):
    """A mass A at zero and Laplace tails of scale s: the continuous form, for formulas."""

    @property
    @abstractmethod
    def scale(self) -> float | Floats:
        """The scale s of the tails."""

    @property
    def variance(self) -> float | Floats:
        """E v² = (1 − A)·2s²."""
        variance: float | Floats = (1 - self.atom) * 2 * self.scale**2
        return variance

    @property
    def mean_magnitude(self) -> float | Floats:
        """E|v| = (1 − A)·s, which the paper's Result 2 minimises."""
        return (1 - self.atom) * self.scale

    def pdf(self, v: npt.ArrayLike) -> Floats:
        """The density away from zero, (1 − A)/(2s)·exp(−|v|/s); at zero there is the atom too."""
        s = self.scale
        return np.asarray((1 - self.atom) / (2 * s) * np.exp(-np.abs(v) / s))

    def cdf(self, v: npt.ArrayLike) -> Floats:
        """F(v) as the paper's Remark 1 prints it.

        (1 − A)/2·exp(v/s) for v < 0, (1 + A)/2 at 0, and 1 − (1 − A)/2·exp(−v/s) for v > 0.
        """
        v = np.asarray(v, dtype=np.float64)
        tail = (1 - self.atom) / 2 * np.exp(-np.abs(v) / self.scale)
        return np.asarray(np.where(v < 0, tail, 1 - tail))

    def ppf(self, t: npt.ArrayLike) -> Floats:
        """F⁻¹(t) as the paper's Remark 1 prints it, for t in (0, 1).

        s·ln(2t/(1 − A)) below (1 − A)/2, 0 up to (1 + A)/2, −s·ln(2(1 − t)/(1 − A)) above.
        """
        t = np.asarray(t, dtype=np.float64)
        if not np.all((t > 0) & (t < 1)):
            raise ParameterError("t must lie in the open interval from 0 to 1")
        rest = 1 - self.atom
        below, above = np.minimum(2 * t / rest, 1), np.minimum(2 * (1 - t) / rest, 1)
        return np.asarray(self.scale * (np.log(below) - np.log(above)))

    def sample_continuous(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        """The noise of the paper's Algorithm 5 in floating point, never to be released.

        For experiments that repeat the paper: the low bits of value + noise give the value away.
        """
        return self.ppf((rng.integers(0, 2**52, size=size) + 0.5) / 2**52)


class OptimalNoise(_AtomAndTails):
    """The paper's optimal noise (Section 4.1, Result 2).

    The density δ·Dirac(v) + (1 − δ)·ε/(2d)·exp(−ε|v|/d).

    Parameters
    ----------
    epsilon, delta : float
        What is promised for one element; δ is also the chance that it is left untouched.
    distance : float or sequence of float
        d of the d-adjacency: by how much one element may differ, for all columns or one a column.
    grid : float, optional
        The step of the released values, a power of two, for all columns; by default
        :func:`~dptransfer.privacy.grid.choose_grid` chooses one a column.
    insecure_seed : int, optional
        For tests and experiments only: the same noise at every call.

    Formal guarantees
    -----------------
    - `perturb` is (ε, δ)-differentially private for one element that differs by at most its
      distance; its noise is the discrete form of the density above, on `grid`.
    - The atom has at most the mass δ, and 2⁻⁶⁴ less at most.
    - ``delta=0`` is allowed: ε-differential privacy, with no untouched values.

    Examples
    --------
    >>> noise = OptimalNoise(epsilon=0.1, delta=1e-5, distance=1.0)
    >>> print(float(noise.cdf(0.0)), float(noise.ppf(0.5)), noise.grid)
    0.500005 0.0 0.00390625
    >>> released = noise.perturb([[0.0, 1.0], [0.5, 0.25]], bounds=(0, 1))
    >>> released.shape, bool((released % noise.grid == 0).all())
    ((2, 2), True)
    """

    name = "optimal noise"

    @property
    def scale(self) -> float | Floats:
        """The scale of the tails, d/ε."""
        return self.distance / self.epsilon

    @property
    def atom(self) -> float:
        """The mass at zero, δ."""
        return self.delta

    def _law(self, steps: int) -> DiscreteLaplace:
        return _optimal_law(self.epsilon, self.delta, steps)


class LaplaceNoise(_AtomAndTails):
    """Laplace noise at the same (ε, δ): scale d/(ε − 2 ln(1 − δ)), no atom.

    Parameters
    ----------
    epsilon, delta, distance, grid, insecure_seed
        As for :class:`OptimalNoise`.

    Formal guarantees
    -----------------
    - `perturb` is (ε, δ)-differentially private for one element that differs by at most its
      distance; its noise is the two-sided geometric law on `grid` with the fastest fall that the
      exact divergence of that law allows.
    - No element is singled out to be published untouched.

    Examples
    --------
    >>> laplace, optimal = LaplaceNoise(0.1, 1e-5), OptimalNoise(0.1, 1e-5)
    >>> bool(laplace.mean_magnitude < optimal.mean_magnitude)
    True
    """

    name = "Laplace noise"

    @property
    def scale(self) -> float | Floats:
        """The scale of the tails, d/(ε − 2 ln(1 − δ))."""
        return self.distance / (self.epsilon - 2 * math.log1p(-self.delta))

    @property
    def atom(self) -> float:
        """The mass at zero: none."""
        return 0.0

    def _law(self, steps: int) -> DiscreteLaplace:
        return _laplace_law(self.epsilon, self.delta, steps)


def _exact_enough(law: DiscreteLaplace, shift: int, slack: float) -> DiscreteLaplace:
    if not law.ratio_error(shift) <= slack:
        raise ParameterError(
            "these epsilon, delta and grid leave no room for exact tables: "
            "choose a smaller delta or a finer grid"
        )
    if law.block > WIDEST_BLOCK:
        raise ParameterError("the grid is too fine for this distance and epsilon: noise overflows")
    return law


@lru_cache(maxsize=1024)
def _optimal_law(epsilon: float, delta: float, steps: int) -> DiscreteLaplace:
    """Tails that fall by ε − SLACK over the distance, and an atom of δ rounded down."""
    with localcontext() as context:
        context.prec = DIGITS
        rate = (Decimal(epsilon) - Decimal(SLACK)) / steps
    law = DiscreteLaplace(rate, math.floor(Fraction(delta) * UNITS))
    return _exact_enough(law, steps, SLACK)


@lru_cache(maxsize=1024)
def _laplace_law(epsilon: float, delta: float, steps: int) -> DiscreteLaplace:
    """Tails that fall as fast as a divergence of δ(1 − FAR_TAIL) at ε − SLACK allows."""
    with localcontext() as context:
        context.prec = DIGITS
        eps = Decimal(epsilon) - Decimal(SLACK)
        slow = eps / steps
        if delta >= 2.0**-64:  # below, what the proof sets aside for the far tail is not paid for
            target = Decimal(delta) * (1 - Decimal(FAR_TAIL))
            fast = (eps - 2 * (1 - target).ln()) / steps
            for _ in range(100):
                middle = (slow + fast) / 2
                if _divergence(middle, eps, steps) <= target:
                    slow = middle
                else:
                    fast = middle
    law = DiscreteLaplace(slow)
    return _exact_enough(law, ASKED_AGAIN * law.block + steps, SLACK / 2)


def _divergence(rate: Decimal, eps: Decimal, steps: int) -> Decimal:
    """The hockey-stick divergence at ε of the two-sided geometric law from itself, `steps` away.

    P(K ≤ m) − e^ε P(K ≤ m − Δ) at the last m whose ratio of probabilities is still above e^ε,
    with P(K ≤ m) = 1 − a^{m+1}/(1 + a) for m ≥ 0 and P(K ≤ m − Δ) = a^{Δ−m}/(1 + a) for m < Δ.
    """
    m = int((steps - eps / rate) // 2)
    a = (-rate).exp()
    return 1 - (a ** (m + 1) + (eps - rate * (steps - m)).exp()) / (1 + a)
