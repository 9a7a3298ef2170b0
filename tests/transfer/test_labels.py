import numpy as np
import pytest

from dptransfer.errors import DataError
from dptransfer.transfer.labels import read_labels, same_classes


class LikePandasNA:
    def __eq__(self, other):
        return self

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None


@pytest.mark.parametrize(
    ("y", "classes", "numbers"),
    [
        ([3, -1, 7], [3, 7], [0, -1, 1]),
        (np.array([3, -1, 7], np.int8), [3, 7], [0, -1, 1]),
        (np.array([3, 7, 255], np.uint8), [3, 7, 255], [0, 1, 2]),
        (np.array([1.0, np.nan, 2.0]), [1, 2], [0, -1, 1]),
        (np.array([1.0, -1.0, 2.0]), [1, 2], [0, -1, 1]),
        ([1.0, None, 2.0], [1.0, 2.0], [0, -1, 1]),
        (["b", "", "a"], ["a", "b"], [1, -1, 0]),
        (["b", None, "a"], ["a", "b"], [1, -1, 0]),
        (["b", float("nan"), "a"], ["a", "b"], [1, -1, 0]),
        (["b", LikePandasNA(), "a"], ["a", "b"], [1, -1, 0]),
        ([np.datetime64("NaT"), "a", "b"], ["a", "b"], [-1, 0, 1]),
        (np.array(["b", "", "a"]), ["a", "b"], [1, -1, 0]),
        (np.array(["b", "a"], dtype=object), ["a", "b"], [1, 0]),
        (["-1", "1", "-1"], ["-1", "1"], [0, 1, 0]),
        ([True, False, True], [False, True], [1, 0, 1]),
        ([[1], [2], [-1]], [1, 2], [0, 1, -1]),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_of_all_kinds(y, classes, numbers):
    found = read_labels(y, len(y))
    assert found.classes.tolist() == classes
    assert found.numbers.tolist() == numbers


@pytest.mark.parametrize(
    ("y", "fault"),
    [
        ([-1, -1], "no row has a label"),
        ([None, ""], "no row has a label"),
        (np.full(2, np.nan), "no row has a label"),
        ([1, 2, 3], "one label for each of the 2 rows"),
        (np.ones((2, 2)), "one label for each of the 2 rows"),
        (3, "one label for each of the 2 rows"),
    ],
)
def test_what_cannot_be_labels(y, fault):
    with pytest.raises(DataError, match=fault):
        read_labels(y, 2)


def test_measurements_are_not_labels():
    with pytest.raises(ValueError, match="Unknown label type"):
        read_labels(np.array([0.1, 0.7]), 2)


def test_a_label_is_the_same_however_it_is_written():
    found = same_classes(np.array([3, 1, 9]), ["1", 3.0, "b"])
    assert found.tolist() == [1, 0, -1]
