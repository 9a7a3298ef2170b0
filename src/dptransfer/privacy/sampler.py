"""Random integers whose distribution is known exactly.

A sampler that computes in floating point has a distribution that nobody can write down, and with
it goes the guarantee. Here a distribution over n symbols *is* a list of n whole numbers that add up
to 2⁶⁴, its weights; a symbol is drawn from one 64-bit word by comparing integers, so it comes out
with probability weight/2⁶⁴ and no other. The comparison uses Walker's alias method: the 2⁶⁴ words
are cut into 2ᶜ equal columns, each of which holds at most two symbols, so one look-up and one
comparison do. The words are a ChaCha20 keystream under a key of the operating system; every batch
of words has a key of its own, so no two calls, threads or processes can share a stream.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

__all__ = ["DIGITS", "UNITS", "IntegerTable", "Keystream", "Words", "integer_weights"]

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

UNITS = 2**64
"""The denominator of every probability: a weight of w units is the probability w/2⁶⁴."""

DIGITS = 80
"""Decimal digits of the arithmetic that makes the weights; a weight needs twenty."""

WORDS_PER_KEY = 2**24


class Keystream:
    """64-bit words from ChaCha20, a fresh key of the operating system for every batch.

    Parameters
    ----------
    insecure_seed : int, optional
        For tests and experiments only: derive the keys from this number, so that the same words
        come again. Whoever knows or guesses the seed can subtract the noise.

    Formal guarantees
    -----------------
    - Without `insecure_seed`, each batch of at most 2²⁴ words is the keystream of a key that
      ``os.urandom`` made for this batch alone; no key, counter or nonce is kept between batches,
      so a forked process repeats nothing.
    - The words are uniform as far as ChaCha20 cannot be told from random: the guarantees that
      rest on them are computational in this one respect.
    """

    def __init__(self, insecure_seed: int | None = None) -> None:
        self._seed = insecure_seed
        self._batch = 0

    def _key(self) -> tuple[bytes, bytes]:
        if self._seed is None:
            return os.urandom(32), bytes(16)
        self._batch += 1
        key = hashlib.sha256(b"dptransfer insecure seed:%d" % self._seed).digest()
        return key, bytes(8) + self._batch.to_bytes(8, "little")

    def words(self, count: int) -> Words:
        """`count` fresh words."""
        words = np.zeros(count, dtype=np.uint64)
        for start in range(0, count, WORDS_PER_KEY):
            part = words[start : start + WORDS_PER_KEY].view(np.uint8).data
            key, nonce = self._key()
            # Encrypting zeros writes the keystream itself.
            Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update_into(part, part)
        return words


def integer_weights(probabilities: Sequence[Decimal], total: int = UNITS) -> list[int]:
    """Whole numbers that add up to `total`, each within one unit of its share.

    Every share is rounded down; what is left, fewer units than there are symbols, goes one unit
    each to the likeliest symbols, where it matters least.

    Examples
    --------
    >>> integer_weights([Decimal("0.5"), Decimal("0.25"), Decimal("0.25")], 7)
    [4, 2, 1]
    """
    with localcontext() as context:
        context.prec = DIGITS
        whole = sum(probabilities)
        weights = [
            int((p / whole * total).to_integral_value(rounding=ROUND_FLOOR)) for p in probabilities
        ]
    likeliest = sorted(range(len(weights)), key=lambda i: -weights[i])
    for i in likeliest[: total - sum(weights)]:
        weights[i] += 1
    return weights


class IntegerTable:
    """A distribution over 0 … n−1, given by integer weights that add up to 2⁶⁴.

    Parameters
    ----------
    weights : sequence of int
        The weight of each symbol.

    Formal guarantees
    -----------------
    - From a uniform word, `symbols` returns symbol i with probability exactly ``weights[i]``/2⁶⁴:
      the table's columns give each symbol that many of the 2⁶⁴ words, which is checked when it is
      built.

    Examples
    --------
    >>> coin = IntegerTable([2**62, 3 * 2**62])
    >>> coin.symbols(np.array([0, 2**62, 2**64 - 1], dtype=np.uint64)).tolist()
    [0, 1, 1]
    """

    def __init__(self, weights: Sequence[int]) -> None:
        if sum(weights) != UNITS or min(weights) < 0:
            raise AssertionError("the weights of a table must be whole and add up to 2**64")
        self.weights = tuple(weights)
        bits = max(1, (len(weights) - 1).bit_length())
        columns, room = 2**bits, UNITS >> bits
        left = list(weights) + [0] * (columns - len(weights))
        own, other = [0] * columns, list(range(columns))
        small = [i for i, weight in enumerate(left) if weight < room]
        large = [i for i, weight in enumerate(left) if weight >= room]
        # A column keeps what its own symbol has left and is filled up by one with plenty.
        while small:
            i, giver = small.pop(), large[-1]
            own[i], other[i] = left[i], giver
            left[giver] -= room - left[i]
            if left[giver] < room:
                small.append(large.pop())
        counted = [0] * columns
        for i in range(columns):
            counted[i] += own[i]
            counted[other[i]] += room - own[i]
        if counted[: len(weights)] != list(weights):
            raise AssertionError("the columns of a table do not add up to its weights")
        self._shift = np.uint64(64 - bits)
        # Column i holds the words from i·room on; below the threshold they are symbol i's own.
        self._thresholds = np.array([i * room + own[i] for i in range(columns)], dtype=np.uint64)
        self._outcomes = np.empty(2 * columns, dtype=np.int64)
        self._outcomes[0::2] = other
        self._outcomes[1::2] = np.arange(columns)

    def symbols(self, words: Words) -> Integers:
        """The symbol of each word."""
        column = (words >> self._shift).view(np.int64)
        # Every index is in range by construction; "wrap" and "clip" only spare NumPy's own check.
        keep = words < self._thresholds.take(column, mode="wrap")
        column <<= 1
        column += keep
        return self._outcomes.take(column, mode="clip")
