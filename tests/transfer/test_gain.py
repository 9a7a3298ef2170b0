import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from dptransfer.transfer.gain import (
    Interval,
    TransferGain,
    folds,
    measure_gain,
    paired_difference,
    wilson,
)

LABELS = st.lists(st.integers(-1, 4), min_size=1, max_size=60).map(np.array)


@given(numbers=LABELS, wanted=st.integers(2, 7), seed=st.integers(0, 99))
def test_folds_hold_every_row_out_once_and_never_a_whole_class(numbers, wanted, seed):
    found = folds(numbers, wanted, np.random.default_rng(seed))
    held = np.concatenate(found) if found else np.empty(0, int)
    sizes = np.bincount(numbers[numbers >= 0], minlength=5)
    expected = [k for k, c in enumerate(numbers) if c >= 0 and sizes[c] > 1]
    assert sorted(held.tolist()) == expected
    assert len(found) <= wanted
    for fold in found:
        left = np.delete(numbers, fold)
        assert set(left[left >= 0]) == set(numbers[numbers >= 0])


def test_folds_are_stratified():
    numbers = np.repeat([0, 1, 2], [50, 20, 10])
    for fold in folds(numbers, 5, np.random.default_rng(0)):
        assert np.bincount(numbers[fold]).tolist() == [10, 4, 2]


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (90, 100), (3, 7)])
def test_wilson_is_scipys(right, n):
    found = wilson(right, n)
    theirs = binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert found.value == right / n
    np.testing.assert_allclose([found.low, found.high], theirs, atol=1e-12)


def test_the_difference_against_newcombes_own_table():
    # Newcombe (1998), Statistics in Medicine 17, 2635-2650, Table II, method 10
    found = paired_difference(36, 12, 2, 0)
    assert found == pytest.approx((0.2, 0.0569, 0.3404), abs=5e-5)


def test_no_difference_at_all_is_not_certainty():
    found = paired_difference(50, 0, 0, 0)
    assert found.low < 0 < found.high


@pytest.mark.parametrize(
    "shares", [(0.8, 0.1, 0.05, 0.05), (0.5, 0.3, 0.1, 0.1), (0.97, 0, 0, 0.03)]
)
@pytest.mark.parametrize("n", [20, 100])
def test_intervals_cover_what_they_should(shares, n):
    rng = np.random.default_rng(5)
    truth = shares[1] - shares[2]
    draws = rng.multinomial(n, shares, size=2000)
    covered = [
        low - 1e-9 <= truth <= high + 1e-9
        for _, low, high in (paired_difference(*d) for d in draws)
    ]
    assert np.mean(covered) > 0.93
    accuracy = shares[0] + shares[1]
    covered = [low <= accuracy <= high for _, low, high in (wilson(d[0] + d[1], n) for d in draws)]
    assert np.mean(covered) > 0.92


def measured(with_source, without, with_noise, rows=100):
    """Both repetitions alike; the first so many rows are right."""
    right = np.zeros((2, rows, 3), dtype=bool)
    for arm, count in enumerate((with_source, without, with_noise)):
        right[:, :count, arm] = True
    return measure_gain(right, 5, 1000)


@pytest.mark.parametrize(
    ("right", "verdict"),
    [
        ((95, 70, 70), "The source helped."),
        ((90, 90, 90), "The source did not help: there is no clear difference."),
        ((91, 90, 90), "The source did not help: there is no clear difference."),
        ((70, 90, 70), "The source did harm."),
        ((95, 70, 95), "not what the source knows that helped"),
    ],
)
def test_the_words_say_what_the_figures_do(right, verdict):
    gain = measured(*right)
    assert verdict in gain.summary()
    assert gain.summary().startswith(gain.verdict())
    assert f"{right[0]}.0 %" in gain.summary()
    assert "1000 unlabelled" in gain.summary()
    assert gain.helped == (right[0] > right[1] + 10)
    assert gain.hurt == (right[0] < right[1] - 10)


def test_repetitions_are_averaged_and_not_counted_as_rows():
    right = np.zeros((2, 10, 3), dtype=bool)
    right[0, :, 0] = True
    gain = measure_gain(right, 5, 0)
    assert gain.with_source == wilson(5, 10)
    assert gain.rows == 10


def test_where_nothing_was_held_out_nothing_is_claimed():
    gain = measure_gain(np.zeros((2, 0, 3), bool), 0, 7)
    assert gain.gain is None
    assert not gain.helped
    assert not gain.hurt
    assert "cannot be said" in gain.summary()


@pytest.mark.parametrize(
    "gain", [measured(95, 70, 71), measure_gain(np.zeros((2, 0, 3), bool), 0, 7)]
)
def test_through_json_and_back(gain):
    assert TransferGain.from_dict(json.loads(json.dumps(gain.to_dict()))) == gain


def test_an_interval_in_words():
    assert str(Interval(0.5, 0.401, 0.6)) == "50.0 % [40.1, 60.0]"
