"""The noise as printed, and the laws of the samplers as exact fractions: slow and literal."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from dptransfer.privacy.discrete_laplace import DiscreteLaplace
from dptransfer.privacy.sampler import UNITS, IntegerTable


def density(v: float, epsilon: float, delta: float, d: float) -> float:
    """The continuous part of the paper's optimal density."""
    return (1 - delta) * epsilon / (2 * d) * math.exp(-epsilon / d * abs(v))


def cdf(v: float, epsilon: float, delta: float, d: float) -> float:
    if v < 0:
        return (1 - delta) / 2 * math.exp(epsilon / d * v)
    if v == 0:
        return (1 + delta) / 2
    return 1 - (1 - delta) / 2 * math.exp(-epsilon / d * v)


def ppf(t: float, epsilon: float, delta: float, d: float) -> float:
    if t < (1 - delta) / 2:
        return d / epsilon * math.log(2 * t / (1 - delta))
    if t <= (1 + delta) / 2:
        return 0.0
    return -d / epsilon * math.log(2 * (1 - t) / (1 - delta))


def exp_below(x: Fraction | float) -> Fraction:
    """A fraction just below e^x."""
    with localcontext() as context:
        context.prec = 60
        x = Fraction(x)
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp()) * (
            1 - Fraction(1, 10**50)
        )


def words_of(table: IntegerTable) -> list[int]:
    """How many of the 2^64 words give each symbol, read from the arrays that sampling uses."""
    columns = len(table._thresholds)
    room = UNITS // columns
    assert int(table._shift) == 64 - (columns.bit_length() - 1)
    words = [0] * columns
    for i in range(columns):
        own = int(table._thresholds[i]) - i * room
        words[int(table._outcomes[2 * i + 1])] += own
        words[int(table._outcomes[2 * i])] += room - own
    return words


class ExactLaw:
    """P(K = k) of a DiscreteLaplace, exactly, as a whole number over `denominator`.

    The law is written out over so many `blocks` on each side; beyond them it repeats itself,
    `again` times smaller with every block.
    """

    def __init__(self, law: DiscreteLaplace, blocks: int = 4) -> None:
        self.law, self.blocks = law, blocks
        self.head, self.top = words_of(law.head), words_of(law.top)
        self.digits = [words_of(table) for table in law.digits]
        self.denominator = UNITS ** (1 + len(self.digits) + blocks)
        self.atom = self.head[0] * self.denominator // UNITS
        self.again = Fraction(self.top[law.depth], UNITS)
        self.reach = blocks * law.block
        half = 2**law.head_bits
        first = [[self._first_block(sign * half, m) for m in range(law.block)] for sign in (0, 1)]
        above, below = (
            [
                weight * self.top[law.depth] ** asked * UNITS ** (blocks - 1 - asked)
                for asked in range(blocks)
                for weight in side
            ]
            for side in first
        )
        self._tails = below[::-1] + above  # of k = -reach ... reach - 1

    def _first_block(self, offset: int, m: int) -> int:
        law = self.law
        weight = self.head[1 + offset + m % 2**law.head_bits]
        m >>= law.head_bits
        for words, bits in zip(self.digits, law.digit_bits, strict=True):
            weight *= words[m % 2**bits]
            m >>= bits
        return weight * self.top[m]

    def tails(self, k: int) -> int:
        """The weight of k without the atom."""
        assert -self.reach <= k < self.reach
        return self._tails[k + self.reach]

    def probability(self, k: int) -> Fraction:
        return Fraction(self.tails(k) + (self.atom if k == 0 else 0), self.denominator)

    def total(self) -> Fraction:
        """The probability of everything, which must be 1."""
        beyond = self.again**self.blocks
        return Fraction(self.atom, self.denominator) + Fraction(
            sum(self._tails), self.denominator
        ) / (1 - beyond)

    def hockey_stick(self, epsilon: float, shift: int) -> Fraction:
        """sup over O of P(K ∈ O) − e^ε P(K + shift ∈ O), exactly but for e^ε, taken from below."""
        block = self.law.block
        assert self.reach >= 2 * abs(shift) + block > block
        e = exp_below(epsilon)

        def excess(k: int) -> int:
            here, there = self.tails(k), self.tails(k - shift)
            here += self.atom if k == 0 else 0
            there += self.atom if k == shift else 0
            return max(0, here * e.denominator - there * e.numerator)

        end = self.reach - abs(shift)
        every = {k: excess(k) for k in range(-end, end)}
        # From here on every block is the one before it, `again` times: a geometric series.
        last = sum(every[k] + every[-1 - k] for k in range(end - block, end))
        series = self.again / (1 - self.again)
        return (sum(every.values()) + last * series) / (self.denominator * e.denominator)


def normal_tail(x: Decimal, places: int = 60) -> Decimal:
    """P(Z > x) for a standard normal Z, by the series of the error function, to many places."""
    with localcontext() as context:
        context.prec = places + 40 + int(x * x)
        term = total = x
        n = 0
        while abs(term) > Decimal(10) ** (-(places + 30 + int(x * x) // 2)):
            n += 1
            term = term * x * x / (2 * n + 1)
            total += term
            if n > 100_000:
                raise ArithmeticError
        half = Decimal(1) / 2
        return half - total * (-x * x / 2).exp() / (2 * _pi(context.prec)).sqrt()


def _pi(places: int) -> Decimal:
    """Machin's formula."""

    def arctan_of_inverse(n: int) -> Decimal:
        term = total = Decimal(1) / n
        k = 1
        while abs(term) > Decimal(10) ** (-places - 5):
            term = -term / (n * n)
            k += 2
            total += term / k
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


def gaussian_delta(epsilon: float, distance: float, sigma: float) -> Decimal:
    """Theorem 8 of Balle and Wang, term by term."""
    with localcontext() as context:
        context.prec = 100
        eps, ratio = Decimal(epsilon), Decimal(distance) / Decimal(sigma)
        first = normal_tail(eps / ratio - ratio / 2)
        second = normal_tail(eps / ratio + ratio / 2)
        return first - eps.exp() * second
