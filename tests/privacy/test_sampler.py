from __future__ import annotations

import itertools
import os
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.noise import words_of
from scipy import stats

from dptransfer.privacy.sampler import UNITS, IntegerTable, Keystream, integer_weights


def split_units(cuts: list[int]) -> list[int]:
    edges = [0, *sorted(cuts), UNITS]
    return [b - a for a, b in itertools.pairwise(edges)]


@settings(deadline=None)
@given(st.lists(st.integers(0, UNITS), max_size=40))
def test_every_symbol_has_exactly_its_weight_of_words(cuts):
    weights = split_units(cuts)
    table = IntegerTable(weights)
    words = words_of(table)
    assert words[: len(weights)] == weights
    assert not any(words[len(weights) :])


def test_sampling_agrees_with_the_arrays_at_every_edge():
    table = IntegerTable(split_units([3, 2**60 + 1, 2**63, 2**63 + 5, UNITS - 1]))
    room = UNITS // len(table._thresholds)
    edges = {0, UNITS - 1}
    for i, threshold in enumerate(table._thresholds.tolist()):
        edges |= {i * room, threshold - 1, threshold, threshold + 1, (i + 1) * room - 1}
    for word in sorted(e for e in edges if 0 <= e < UNITS):
        i = word // room
        own = word < int(table._thresholds[i])
        expected = int(table._outcomes[2 * i + own])
        assert table.symbols(np.array([word], dtype=np.uint64)).tolist() == [expected]


def test_draws_follow_the_weights():
    weights = integer_weights([Decimal(p) for p in (50, 30, 15, 4, 1)])
    draws = IntegerTable(weights).symbols(Keystream().words(1_000_000))
    counts = np.bincount(draws, minlength=5)
    expected = np.array([float(w / UNITS) for w in weights]) * draws.size
    assert stats.chisquare(counts, expected).pvalue > 1e-6


@settings(deadline=None)
@given(
    st.lists(st.decimals(min_value=0, max_value=1, places=20), min_size=1, max_size=50).filter(any)
)
def test_integer_weights_are_within_one_unit_of_their_share(probabilities):
    weights = integer_weights(probabilities)
    assert sum(weights) == UNITS
    whole = sum(probabilities)
    for weight, p in zip(weights, probabilities, strict=True):
        assert abs(weight - p / whole * UNITS) <= 1 + Decimal("1e-5")


@pytest.mark.parametrize("weights", [[1, 2, 3], [UNITS + 1, -1]])
def test_weights_that_are_no_distribution_are_refused(weights):
    with pytest.raises(AssertionError, match="weights"):
        IntegerTable(weights)


def test_words_are_uniform_bits():
    words = Keystream().words(200_000)
    ones = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=0)
    z = (ones - words.size / 2) / np.sqrt(words.size / 4)
    assert np.max(np.abs(z)) < 6.5  # false alarm below 64 × 8e-11
    assert np.unique(words).size == words.size  # 64 bits: a repeat has chance 1e-9


def test_no_two_batches_share_a_keystream():
    one = Keystream()
    batches = [one.words(50), one.words(50), Keystream().words(50)]
    assert np.unique(np.concatenate(batches)).size == 150


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_shares_no_keystream():
    keystream = Keystream()
    keystream.words(1)  # whatever state there is, exists before the fork
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the child
        os.write(write, keystream.words(100).tobytes())
        os._exit(0)
    theirs = np.frombuffer(os.read(read, 800), dtype=np.uint64)
    os.waitpid(child, 0)
    ours = keystream.words(100)
    assert theirs.size == 100
    assert not np.intersect1d(ours, theirs).size


def test_a_seed_repeats_its_words_but_never_within_a_stream():
    one, two = Keystream(insecure_seed=5), Keystream(insecure_seed=5)
    first, second = one.words(100), one.words(100)
    assert np.array_equal(two.words(100), first)
    assert not np.intersect1d(first, second).size
    assert not np.intersect1d(first, Keystream(insecure_seed=6).words(100)).size


def test_a_long_batch_takes_a_new_key_on_the_way(monkeypatch):
    monkeypatch.setattr("dptransfer.privacy.sampler.WORDS_PER_KEY", 100)
    words = Keystream().words(1050)
    assert np.unique(words).size == 1050
