import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dptransfer.errors import DataError, ParameterError
from dptransfer.privacy.clipping import clip, second_moment, squared_lengths
from dptransfer.privacy.passes import BlockTotal, directions, project

RADIUS = 2.5
ROWS = clip(np.random.default_rng(0).normal(size=(300, 5)), 0.1, RADIUS)


def total_of(rows, cuts):
    total = BlockTotal(RADIUS, 2)
    for block in np.split(rows, cuts):
        total.add(second_moment(block, RADIUS), len(block))
    return total.value


@given(st.lists(st.integers(0, 300), max_size=6).map(sorted), st.integers(0, 9))
def test_cuts_and_order_change_no_digit(cuts, seed):
    rows = np.random.default_rng(seed).permutation(ROWS)
    np.testing.assert_array_equal(total_of(rows, cuts), second_moment(ROWS, RADIUS))


def test_totals_beyond_the_digits_of_a_float_are_exact():
    total = BlockTotal(1.0, 0)
    for _ in range(2):
        total.add(2.0**53, 2**20)
    total.add(1.0, 1)
    total.add(1.0, 1)
    assert total.value == 2.0**54 + 2
    assert 2.0**54 + 1 + 1 == 2.0**54  # which is what floats would say


def test_more_rows_than_were_proven_are_refused():
    total = BlockTotal(1.0, 0)
    with pytest.raises(ParameterError, match="block"):
        total.add(1.0, 2**20 + 1)
    with pytest.raises(ParameterError, match="block"):
        total.add(0.5, 1)
    for _ in range(64):
        total.add(1.0, 2**20)
    with pytest.raises(DataError, match=r"2\*\*26"):
        total.add(1.0, 1)
    with pytest.raises(DataError, match="no rows"):
        _ = BlockTotal(1.0, 0).value


def test_squared_lengths_are_the_trace():
    assert squared_lengths(ROWS, RADIUS) == np.trace(second_moment(ROWS, RADIUS))


def test_a_row_is_seen_alike_in_every_company():
    """And so exactly that whole numbers of any size say the same."""
    V = directions(np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0][:3])
    seen = project(ROWS, V, RADIUS)
    alone = np.vstack([project(row[None], V, RADIUS) for row in ROWS])
    np.testing.assert_array_equal(seen, alone)
    np.testing.assert_array_equal(seen[::-1], project(ROWS[::-1], V, RADIUS))
    for row, found in zip(ROWS[:20], seen[:20], strict=True):
        numbers = [int(x * 2**30) for x in row.tolist()]
        for direction, value in zip(V.tolist(), found.tolist(), strict=True):
            exact = sum(a * int(v * 2**36) for a, v in zip(numbers, direction, strict=True))
            assert value == exact / 2**66


def test_a_projection_in_floats_would_not_be_exact():
    V = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0][:3]
    assert np.any(ROWS[:, ::-1] @ V[:, ::-1].T != ROWS @ V.T)
    exact = directions(V)
    np.testing.assert_array_equal(ROWS @ exact.T, ROWS[:, ::-1] @ exact[:, ::-1].T)


def test_other_rows_and_directions_are_refused():
    V = np.eye(5)[:2]
    with pytest.raises(ParameterError, match="directions"):
        project(ROWS, V / 3, RADIUS)
    with pytest.raises(ParameterError, match="directions"):
        project(ROWS, 2 * V, RADIUS)
    with pytest.raises(ParameterError, match="clip"):
        project(ROWS + 1e-9, V, RADIUS)
    with pytest.raises(ParameterError, match="clip"):
        project(4 * ROWS, V, RADIUS)
