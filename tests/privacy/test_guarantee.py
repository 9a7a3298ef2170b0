import json
import math
from dataclasses import replace

import numpy as np
import pytest
from guarantees import element, record
from hypothesis import given
from hypothesis import strategies as st

from dptransfer.errors import DeclarationError, ParameterError
from dptransfer.privacy import Guarantee
from dptransfer.privacy.guarantee import NOT_COVERED
from dptransfer.privacy.words import best_guess


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"unit": "pixel"}, ParameterError, "unit"),
        ({"unit": "record"}, ParameterError, "is about one element"),
        ({"adjacency": "anything"}, ParameterError, "adjacency"),
        ({"adjacency": "add-or-remove"}, ParameterError, "is about one record"),
        ({"epsilon": -0.1}, ParameterError, "epsilon"),
        ({"epsilon": math.nan}, ParameterError, "epsilon"),
        ({"epsilon": "0.1"}, ParameterError, "number"),
        ({"epsilon": True}, ParameterError, "number"),
        ({"delta": -1e-9}, ParameterError, "delta"),
        ({"delta": 1.5}, ParameterError, "delta"),
        ({"delta": math.nan}, ParameterError, "delta"),
        ({"distance": None}, DeclarationError, "never measured"),
        ({"distance": 0.0}, DeclarationError, "above 0"),
        ({"distance": math.inf}, DeclarationError, "finite"),
        ({"distance": ()}, DeclarationError, "declared"),
        ({"distance": (1.0, math.nan)}, DeclarationError, "finite"),
        ({"mechanism": " "}, ParameterError, "mechanism"),
        ({"not_covered": "labels"}, ParameterError, "not_covered"),
    ],
)
def test_what_is_not_a_guarantee(change, error, words):
    with pytest.raises(error, match=words):
        replace(element(), **change)


def test_a_whole_record_has_no_distance():
    with pytest.raises(DeclarationError, match="no distance"):
        replace(record(), distance=1.0)


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        element().epsilon = 0.0


def test_distances_a_column_from_an_array():
    assert element(distance=np.array([1.0, 2.0])).distance == (1.0, 2.0)
    assert element(distance=np.float32(0.5)).distance == 0.5


# To JSON and back


@given(
    st.floats(0, 100) | st.just(math.inf),
    st.floats(0, 1),
    st.floats(1e-3, 1e3) | st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4),
)
def test_through_json_and_back(epsilon, delta, distance):
    kept = element(epsilon, delta, distance)
    text = json.dumps(kept.to_dict(), allow_nan=False)
    assert Guarantee.from_dict(json.loads(text)) == kept


def test_a_record_through_json_and_back():
    for kept in (record(), element().per_record(4), element().per_record(4, delta=0.0)):
        assert Guarantee.from_dict(json.loads(json.dumps(kept.to_dict()))) == kept


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("unit"),
        lambda d: d.update(surprise=1),
        lambda d: d.update(epsilon="0.1"),
        lambda d: d.update(epsilon=None),
        lambda d: d.update(distance="1"),
        lambda d: d.update(distance=[[1.0]]),
        lambda d: d.update(distance={"a": 1.0}),
        lambda d: d.update(not_covered="labels"),
        lambda d: d.update(not_covered=[1]),
        lambda d: d.update(unit=["element"]),
        lambda d: d.update(adjacency={}),
        lambda d: d.update(mechanism=3),
    ],
)
def test_a_spoilt_dictionary_is_refused(spoil):
    plain = element().to_dict()
    spoil(plain)
    with pytest.raises((ParameterError, DeclarationError)):
        Guarantee.from_dict(plain)


@pytest.mark.parametrize("plain", [None, [], "text", 3])
def test_only_a_mapping_is_read(plain):
    with pytest.raises(ParameterError, match="mapping"):
        Guarantee.from_dict(plain)


# Units never mix


@pytest.mark.parametrize(
    "mix", [lambda a, b: a.compose(b), lambda a, b: a <= b, lambda a, b: a >= b]
)
@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (element(), record(), "one (element|record) and one for one (element|record)"),
        (record(), element(), "protect different things"),
        (element(), element(distance=2.0), "guarantees of distance"),
        (record(), record(adjacency="replace-record"), "adjacency"),
        (record(), element().per_record(4), "adjacency"),
    ],
)
def test_what_does_not_go_together(mix, one, other, words):
    with pytest.raises(ParameterError, match=words):
        mix(one, other)


def test_the_order_is_partial():
    assert element(0.1, 1e-6) <= element(0.2, 1e-5)
    assert element(0.2, 1e-5) >= element(0.1, 1e-6)
    crossed = element(0.1, 1e-5), element(0.2, 1e-6)
    assert not crossed[0] <= crossed[1]
    assert not crossed[1] <= crossed[0]


# Arithmetic


def test_an_image_of_784_pixels():
    image = element().per_record(784)
    assert (image.unit, image.adjacency, image.distance) == ("record", "replace-values", 1.0)
    assert image.epsilon == pytest.approx(14.9, abs=0.05)
    assert image.delta == pytest.approx(0.0078, abs=5e-5)
    assert element().per_record(784, delta=0.0078).epsilon == math.inf
    assert "the labels" in image.not_covered
    assert "whether a record is in the data at all" in image.not_covered


def test_per_record_needs_an_element_and_its_cells():
    with pytest.raises(ParameterError, match="record's"):
        record().per_record(3)
    with pytest.raises(ParameterError, match="2 distances"):
        element(distance=(1.0, 2.0)).per_record(3)
    for cells in (0, -1, 2.0, True):
        with pytest.raises(ParameterError, match="n_features"):
            element().per_record(cells)
    assert element().per_record(np.int64(2)).epsilon > 0.1


def test_one_cell_is_one_cell():
    assert (element().per_record(1).epsilon, element().per_record(1).delta) == (0.1, 1e-5)
    assert element().compose().epsilon == 0.1


def test_repeated_releases_add_up():
    twice = element().compose(element(0.2, 1e-6))
    assert twice.epsilon == pytest.approx(0.3, abs=1e-3)
    assert 1.1e-5 * 0.99 < twice.delta <= 1.1e-5
    assert "2 ×" in twice.mechanism
    many = element().compose(*[element()] * 99, delta=0.01)
    assert many.epsilon < 10 * 0.5


def test_caveats_are_kept_together():
    one = replace(element(), not_covered=("the labels", "cats"))
    other = replace(element(), not_covered=("dogs", "the labels"))
    assert one.compose(other).not_covered == ("the labels", "cats", "dogs")
    assert "cats" in one.per_record(3).not_covered


# Words


def test_the_statement_names_everything():
    said = element().statement()
    for word in (
        "one cell of one row",
        "not the row as a whole",
        "d-adjacency",
        "(0.1, 1e-05)",
        "by at most 1 ",
        "1.105",
        "0.5250",
        "optimal noise",
        *NOT_COVERED["d-adjacency"],
    ):
        assert word in said, word
    assert "with its label, and whether it is there" in record().statement()
    assert "its label and its presence in the data are published" in (
        element().per_record(64).statement()
    )
    assert "0.5 to 2" in element(distance=(0.5, 2.0)).statement()


def test_no_digit_promises_more_than_is_known():
    """What is rounded is rounded to the weaker side."""
    said = element(0.12345601, 0.0078246931, 1.2345678).statement()
    assert "(0.123457, 0.0078247)" in said
    assert "by at most 1.23456 " in said
    for stronger in ("0.123456", "0.00782469", "1.23457"):
        assert stronger not in said
    assert "(1.23456 to 2)" in element(distance=(2.0, 1.2345678)).statement()


@pytest.mark.parametrize("kept", [element(), element(delta=0.0), record()])
def test_the_statement_names_what_it_rests_on(kept):
    said = kept.statement()
    assert "random bits behind the noise cannot be told from chance" in said
    assert "other releases of the same data add up" in said
    assert "however they compute" not in said  # the keystream is random to bounded computers only


def test_a_large_epsilon_is_not_praised():
    said = element().per_record(784).statement()
    assert "no protection" in said
    assert "No finite epsilon" in element().per_record(784, delta=0.0078).statement()
    assert "no protection" not in element().statement()


def test_the_best_guess_is_the_best_guess():
    """Against the worst mechanism of all: randomised response that sometimes tells the truth."""
    epsilon, delta = 0.7, 0.05
    p = {"true": delta, "+": (1 - delta) * math.exp(epsilon), "-": 1 - delta}
    p["+"] /= 1 + math.exp(epsilon)
    p["-"] /= 1 + math.exp(epsilon)
    right = p["true"] + p["+"]  # guess what is told, else the sign
    assert best_guess(epsilon, delta) == pytest.approx(right)
    assert best_guess(0, 0) == 0.5
    assert best_guess(900, 0) == 1
