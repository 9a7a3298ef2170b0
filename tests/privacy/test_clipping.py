from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dptransfer.errors import DataError, DeclarationError, ParameterError
from dptransfer.privacy import clipping
from dptransfer.privacy.clipping import (
    class_counts,
    class_sums,
    clip,
    distance_of_record,
    pack_symmetric,
    second_moment,
    unpack_symmetric,
)

CELLS = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1e-300, 1e300, -1.7e308, 5e-324])
RADII = st.floats(1e-3, 1e3) | st.sampled_from([1.0, 2.0**-200, 2.0**200, 0.1])


def squared(values) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in np.ravel(values)), Fraction(0))


# Clipping ----------------------------------------------------------------------------------------


@given(arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=CELLS), RADII)
def test_no_row_is_longer_than_the_radius(X, radius):
    for row in clip(X, 0.0, radius):
        assert squared(row) <= Fraction(radius) ** 2


@given(arrays(np.float64, (4, 3), elements=st.floats(-100, 100)), st.floats(0.1, 300.0))
def test_rows_are_shortened_and_not_turned(X, radius):
    centre = np.array([1.0, -2.0, 30.0])
    found = clip(X, centre, radius)
    for row, z in zip(X - centre, found, strict=True):
        norm = np.linalg.norm(row)
        expected = row * min(1.0, radius / norm) if norm else row
        assert np.abs(z - expected).max() <= radius * 2.0**-14


def test_a_row_at_the_edge_keeps_nearly_all_of_its_length():
    X = np.random.default_rng(0).normal(size=(500, 784))
    lengths = np.linalg.norm(clip(X, 0.0, 2.0), axis=1)
    assert np.all(lengths <= 2.0)
    assert np.all(lengths >= 2.0 * (1 - 1e-3))


def test_every_row_is_clipped_for_itself():
    X = np.random.default_rng(1).normal(size=(3000, 50)) * 5
    together = clip(X, 0.5, 20.0)
    for i in (0, 1310, 1311, 2999):  # at the seams of blocks too
        assert np.array_equal(clip(X[i : i + 1], 0.5, 20.0)[0], together[i])


def test_rows_equal_to_the_centre_stay_there():
    assert np.array_equal(clip([[7.0, 3.0]], [7.0, 3.0], 1.0), [[0.0, 0.0]])


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, bool])
def test_other_kinds_of_numbers(dtype):
    assert np.array_equal(clip(np.ones((2, 3), dtype=dtype), 0.0, 4.0), np.ones((2, 3)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused_without_a_word_of_the_others(bad):
    with pytest.raises(DataError) as caught:
        clip([[8263.5771, bad]], 0.0, 1.0)
    assert "8263" not in str(caught.value)


@pytest.mark.parametrize("centre", [math.nan, [1.0], [1.0, math.inf], "mean", [[0.0, 0.0]], 1e200])
def test_a_centre_that_is_none_is_refused(centre):
    with pytest.raises(DeclarationError, match="centre"):
        clip([[1.0, 2.0]], centre, 1.0)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf, None, "1", 1e-100, True])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(DeclarationError):
        clip([[1.0, 2.0]], 0.0, radius)


# One record more ---------------------------------------------------------------------------------


@st.composite
def bags(draw):
    """A bag of records, one of which comes last; a radius, weights, and an order to sum them in."""
    n, p, n_classes = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    X = draw(arrays(np.float64, (n, p), elements=CELLS))
    labels = draw(arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    weights = draw(st.tuples(*[st.sampled_from([0.0, 1.0, 0.3, 7.0])] * 3).filter(any))
    radius = draw(st.floats(1e-3, 1e3))
    return X, labels, n_classes, radius, weights, draw(st.permutations(range(n)))


def packed(rows, labels, n_classes, radius, weights, each_class):
    a, b, c = weights
    kinds = [labels == k for k in range(n_classes)] if each_class else [labels >= 0]
    moments = [pack_symmetric(second_moment(rows[kind], radius)) for kind in kinds]
    parts = [
        a * class_counts(labels, n_classes),
        b * class_sums(rows, labels, n_classes, radius),
        c * np.concatenate(moments),
    ]
    return np.concatenate([np.ravel(part) for part in parts])


@given(bags(), st.booleans())
def test_one_record_moves_what_is_packed_by_at_most_the_distance(bag, each_class):
    X, labels, n_classes, radius, weights, order = bag
    rows = clip(X, 0.0, radius)
    with_it = packed(rows[list(order)], labels[list(order)], n_classes, radius, weights, each_class)
    without = packed(rows[:-1], labels[:-1], n_classes, radius, weights, each_class)
    moved = squared([Fraction(0)]) + sum(
        (Fraction(x) - Fraction(y)) ** 2 for x, y in zip(with_it, without, strict=True)
    )
    a, b, c = weights
    distance = distance_of_record(radius, counts=a, sums=b, moments=c)
    assert moved <= Fraction(distance) ** 2


@pytest.mark.parametrize("weights", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (9.0, 3.0, 1.0)])
def test_a_record_at_the_edge_moves_it_so_far(weights):
    """The distance is no larger than it must be."""
    rows, labels = clip([[1.0, 2.0], [3.0, 0.0]], 0.0, 3.0), np.array([0, 1])
    moved = np.linalg.norm(
        packed(rows, labels, 2, 3.0, weights, True)
        - packed(rows[:1], labels[:1], 2, 3.0, weights, True)
    )
    distance = distance_of_record(
        3.0, **dict(zip(("counts", "sums", "moments"), weights, strict=True))
    )
    assert moved == pytest.approx(distance, rel=2e-6)


def test_a_sum_in_floating_point_moves_by_more_than_the_row():
    """What whole steps are for: the 1 in front makes every later sum round upwards."""
    rows = np.full(1000, 1.5 * 2.0**-53)
    with_it, without = np.cumsum(np.append(1.0, rows))[-1], np.cumsum(rows)[-1]
    assert Fraction(with_it) - Fraction(without) > 1
    z = clip(np.append(1.0, rows)[:, None], 0.0, 1.0)
    both = (class_sums(part, np.zeros(len(part), int), 1, 1.0).item() for part in (z, z[1:]))
    assert next(both) - next(both) == 1


# The totals --------------------------------------------------------------------------------------


def test_totals_are_those_of_fractions():
    rng = np.random.default_rng(2)
    rows = clip(rng.normal(size=(300, 3)), 0.1, 1.7)
    labels = rng.integers(0, 4, 300)
    exact = [[Fraction(float(v)) for v in row] for row in rows]
    for k in range(4):
        mine = [row for row, label in zip(exact, labels, strict=True) if label == k]
        assert class_counts(labels, 4)[k] == len(mine)
        sums = class_sums(rows, labels, 4, 1.7)[k]
        moment = second_moment(rows[labels == k], 1.7)
        for i in range(3):
            assert Fraction(sums[i]) == sum(row[i] for row in mine)
            for j in range(3):
                assert Fraction(moment[i, j]) == sum(row[i] * row[j] for row in mine)


def test_more_rows_than_floats_add_up_exactly(monkeypatch):
    monkeypatch.setattr(clipping, "EXACT_ROWS", 70_000)
    rows = clip(np.random.default_rng(3).normal(size=(200_000, 2)), 0.0, 2.0)
    assert np.array_equal(second_moment(rows, 2.0), rows.T @ rows)  # below 2^53 steps: exact
    n_steps = int(2**clipping.FINENESS) ** 2
    assert 2**20 * n_steps <= 2**52
    assert clipping.MOST_ROWS * n_steps <= 2**58


def test_totals_of_nothing_are_zero():
    rows = np.empty((0, 3))
    assert not class_counts(np.empty(0, int), 2).any()
    assert class_sums(rows, np.empty(0, int), 2, 1.0).shape == (2, 3)
    assert not second_moment(rows, 1.0).any()


@pytest.mark.parametrize("bad", [[[0.5, 1.0]], [[0.1, 0.1]], [[math.nan, 0.0]], [[math.inf, 0.0]]])
def test_rows_that_were_not_clipped_are_refused(bad):
    with pytest.raises(ParameterError, match="as clip"):
        second_moment(np.array(bad), 1.0)
    with pytest.raises(ParameterError, match="as clip"):
        class_sums(np.array(bad), [0], 1, 1.0)


def test_rows_clipped_to_a_wider_radius_are_refused():
    with pytest.raises(ParameterError, match="as clip"):
        second_moment(clip([[3.0, 0.0]], 0.0, 3.0), 2.0)


def test_a_release_is_made_of_a_number_of_rows_that_is_proven(monkeypatch):
    monkeypatch.setattr(clipping, "MOST_ROWS", 2)
    with pytest.raises(DataError, match="at most"):
        second_moment(np.zeros((3, 1)), 1.0)


@pytest.mark.parametrize("labels", [[0, 3], [-1, 0], [0.0, 1.0], ["a", "b"], [[0], [1]]])
def test_labels_that_are_no_places_are_refused(labels):
    with pytest.raises(DataError, match="labels"):
        class_counts(labels, 3)


def test_as_many_labels_as_rows():
    with pytest.raises(DataError, match="differ"):
        class_sums(np.zeros((2, 1)), [0], 1, 1.0)


# Packing and weights -----------------------------------------------------------------------------


@given(arrays(np.float64, st.integers(1, 6).map(lambda k: (2, k, k)), elements=st.floats(-9, 9)))
def test_packing_keeps_the_norm_and_can_be_undone(matrices):
    symmetric = matrices + np.swapaxes(matrices, 1, 2)
    packed = pack_symmetric(symmetric)
    assert np.linalg.norm(packed, axis=1) == pytest.approx(
        np.linalg.norm(symmetric, axis=(1, 2)), abs=1e-12
    )
    assert unpack_symmetric(packed) == pytest.approx(symmetric, rel=1e-15, abs=1e-300)
    assert np.array_equal(packed[1], pack_symmetric(symmetric[1]))


@pytest.mark.parametrize("bad", [3.0, [1.0, 2.0], [1.0] * 5])
def test_what_packs_into_no_matrix_is_refused(bad):
    with pytest.raises(ParameterError):
        unpack_symmetric(bad)


@pytest.mark.parametrize("bad", [3.0, [1.0], [[1.0, 2.0]]])
def test_what_is_no_square_matrix_is_refused(bad):
    with pytest.raises(ParameterError):
        pack_symmetric(bad)


@pytest.mark.parametrize("weights", [{}, {"counts": -1.0}, {"sums": math.nan}, {"moments": 0.0}])
def test_weights_that_leave_nothing_are_refused(weights):
    with pytest.raises(ParameterError):
        distance_of_record(1.0, **weights)


def test_weights_and_shares_say_the_same():
    """PROOF.md, section 9: the share of a part is what it adds to the squared distance."""
    from dptransfer.privacy import GaussianBudget, GaussianNoise

    radius, parts = 2.5, {"counts": 5.0, "sums": 3.0, "moments": 1.0}
    whole = distance_of_record(radius, **parts)
    alone = {name: distance_of_record(radius, **{name: 1.0}) for name in parts}
    shares = {name: (w * alone[name] / whole) ** 2 for name, w in parts.items()}
    assert math.fsum(shares.values()) == pytest.approx(1)
    shares["counts"] -= 1e-9
    budget = GaussianBudget(1.0, 1e-5, shares)
    for name, weight in parts.items():
        assert budget.noise(name, alone[name]).sigma * weight == pytest.approx(
            GaussianNoise(1.0, 1e-5, whole).sigma
        )
