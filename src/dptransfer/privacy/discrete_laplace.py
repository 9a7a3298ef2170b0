r"""Whole numbers with the shape of a Laplace density, and an atom at zero.

The noise that is released is a whole number K of grid steps with

    P(K = 0) = A + (1 − A) q,    P(K = k) = (1 − A) q a^|k|,    q = (1 − a)/(1 + a),

where a = exp(−rate) and A is the atom. A geometric variable M, P(M = m) = (1 − a) aᵐ, falls apart
into *independent* digits, M = l + 2ᶜ·d + …, the digit j at place 2ⁱ having P(j) ∝ exp(−rate·2ⁱ·j);
and K is M with probability 1/(1 + a), else −1 − M. So a few small tables make K exactly:

    head      the atom, or a sign and the lowest digit
    digits    the digits between, if the scale needs them
    top       the highest digit h < T, or "T or more": then T is added and the table asked again,
              for a geometric variable has no memory

Nothing is cut off. `PROOF.md` beside this file shows why the ratio of any two probabilities is
right to within `ratio_error`, over the whole infinite support.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from dptransfer.privacy.sampler import (
    DIGITS,
    UNITS,
    Integers,
    IntegerTable,
    Keystream,
    integer_weights,
)

__all__ = ["DiscreteLaplace"]

DIGIT_BITS = 10  # a table of 2^11 symbols stays in the fastest cache
TOP_SCALE_BITS = 4  # the top digit falls by e over 16 to 32 of its units ...
TOP_DEPTH = 8  # ... and its table reaches down to about e^-8 before it is asked again


def _powers(ratio: Decimal, count: int) -> list[Decimal]:
    powers = [Decimal(1)]
    for _ in range(count - 1):
        powers.append(powers[-1] * ratio)
    return powers


class DiscreteLaplace:
    """The two-sided geometric distribution with an atom at zero, as tables of integers.

    Parameters
    ----------
    rate : Decimal
        −ln a, by which the logarithm of the probability falls a step.
    atom_units : int
        The atom A in units of 2⁻⁶⁴.

    Formal guarantees
    -----------------
    - The atom has probability exactly ``atom_units``/2⁶⁴.
    - Leaving the atom out, ln(P(k)/P(k′)) differs from rate·(|k′| − |k|) by no more than
      ``ratio_error(s)`` for all k, k′ whose magnitudes differ by at most s.
    """

    def __init__(self, rate: Decimal, atom_units: int = 0) -> None:
        self.rate, self.atom_units = rate, atom_units
        with localcontext() as context:
            context.prec = DIGITS
            octaves = int(((1 / rate).ln() / Decimal(2).ln()).to_integral_value("ROUND_FLOOR"))
            bits = max(0, octaves - TOP_SCALE_BITS)
            sizes = [min(DIGIT_BITS, bits - at) for at in range(0, bits, DIGIT_BITS)] or [0]
            a = (-rate).exp()
            lowest = _powers(a, 2 ** sizes[0])
            head = lowest + [a * p for p in lowest]
            self.head = IntegerTable([atom_units, *integer_weights(head, UNITS - atom_units)])
            self.digits, self.digit_bits = [], sizes[1:]
            at = sizes[0]
            for size in self.digit_bits:
                powers = _powers((-rate * 2**at).exp(), 2**size)
                self.digits.append(IntegerTable(integer_weights(powers)))
                at += size
            unit = rate * 2**at
            self.depth = max(1, int((TOP_DEPTH / unit).to_integral_value("ROUND_CEILING")))
            step = (-unit).exp()
            share = [(1 - step) * p for p in _powers(step, self.depth)]
            self.top = IntegerTable(integer_weights([*share, (-unit * self.depth).exp()]))
        half = 2 ** sizes[0]
        self.head_bits, self.block = sizes[0], self.depth << bits
        # Symbol 0 is the atom, then the lowest digits of M >= 0, then those of -1 - M.
        self._low = np.array([0, *range(half), *range(half)], dtype=np.int64)
        self._flip = np.array([0] + [0] * half + [-1] * half, dtype=np.int64)

    def ratio_error(self, shift: int) -> float:
        """How far the logarithm of a ratio of probabilities may be from the ideal one.

        A weight w is within one unit of its ideal share, so its logarithm is right to
        1/(w − 1). Two values whose magnitudes differ by `shift` take one weight each from every
        table, and differ by at most ⌊shift/block⌋ + 1 in how often the top table is asked again.
        """
        crossings = shift // self.block + 1
        lightest = [min(self.head.weights[1:]), *(min(t.weights) for t in self.digits)]
        lightest.append(min(self.top.weights[:-1]))
        again = self.top.weights[-1]
        if min(*lightest, again) < 2:
            return float("inf")
        return sum(2 / (w - 1) for w in lightest) + crossings / (again - 1)

    def draw(self, count: int, keystream: Keystream) -> Integers:
        """`count` independent values of K."""
        high = self.top.symbols(keystream.words(count))
        again = np.flatnonzero(high == self.depth)
        while again.size:
            more = self.top.symbols(keystream.words(again.size))
            high[again] += more
            again = again[more == self.depth]
        for table, bits in zip(reversed(self.digits), reversed(self.digit_bits), strict=True):
            high <<= bits
            high |= table.symbols(keystream.words(count))
        head = self.head.symbols(keystream.words(count))
        high <<= self.head_bits
        high |= self._low.take(head, mode="clip")
        high ^= self._flip.take(head, mode="clip")  # m ^ -1 is -1 - m
        if self.atom_units:
            high[head == 0] = 0
        return high
