"""Tables written: they come back as they were, whole or not at all."""

import gc
import os

import numpy as np
import pytest

from dptransfer.data.blocks import objects
from dptransfer.data.tables import open_table
from dptransfer.data.writing import open_writer, whole_file
from dptransfer.errors import DataError, ParameterError

# what pyarrow's writers complain of when they are collected would be a traceback on stderr
pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")

ENDINGS = ("csv", "tsv", "parquet", "pq")


def written(path, *blocks):
    with open_writer(path, list(blocks[0])) as table:
        for block in blocks:
            table.write(block)
    table = open_table(path)
    found = list(table.blocks(table.columns))
    return {n: [c for b in found for c in b.cells[n].tolist()] for n in table.columns}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_was_written_comes_back(tmp_path, ending):
    texts = ["plain", 'a "quoted", one', "two\nlines", "tab\there", "größe"]
    numbers = [1.5, np.nan, -3.0, 1e-300, 0.1]
    blocks = [
        {"text": objects(texts[s]), "number": np.array(numbers[s]), "whole": np.arange(5)[s]}
        for s in (slice(0, 2), slice(2, 5))
    ]
    found = written(tmp_path / f"t.{ending}", *blocks)
    assert found["text"] == texts
    np.testing.assert_array_equal(found["number"], numbers)
    assert found["whole"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("ending", ENDINGS)
def test_missing_cells(tmp_path, ending):
    first = {"a": objects([None, None]), "b": np.array([np.nan, 2.0])}
    then = {"a": objects(["x", None]), "b": np.array([np.nan, np.nan])}
    found = written(tmp_path / f"t.{ending}", first, then)
    assert found["a"] == [None, None, "x", None]
    np.testing.assert_array_equal(found["b"], [np.nan, 2, np.nan, np.nan])


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    with open_writer(path, ["a", "b"]):
        pass
    assert open_table(path).columns == ["a", "b"]


def test_whole_numbers_have_no_decimal_point_in_text(tmp_path):
    path = tmp_path / "t.csv"
    written(path, {"a": np.array([3.0, 2.5, np.nan]), "b": objects(["x", "y", "z"])})
    assert path.read_bytes() == b"a,b\n3,x\n2.5,y\n,z\n"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (np.array([1, 2]), np.array([1.5])),
        (np.array([1.0]), objects(["x"])),
        (np.array([1.0]), objects([1, "x"])),
    ],
)
def test_a_column_of_several_kinds_is_no_parquet(tmp_path, first, then):
    path = tmp_path / "t.parquet"
    with pytest.raises(DataError, match="column 'a' does not hold one kind of values"):
        written(path, {"a": first}, {"a": then})
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt])
def test_what_ends_early_leaves_the_old_file(tmp_path, ending, stop):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"old")

    def stops():
        with open_writer(path, ["a"]) as table:
            table.write({"a": np.arange(1000.0)})
            raise stop

    with pytest.raises(stop):
        stops()
    gc.collect()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_needs_all_columns_at_one_length(tmp_path):
    for block in ({"a": np.ones(2)}, {"a": np.ones(2), "b": np.ones(3)}):
        with (
            pytest.raises(ParameterError, match="all columns"),
            open_writer(tmp_path / "t.csv", ["a", "b"]) as table,
        ):
            table.write(block)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["t.txt", "t.csv.gz", "t.npz", "none/t.csv", "folder.csv"])
def test_places_that_cannot_be_written(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    with (
        pytest.raises(DataError, match="cannot be written"),
        open_writer(tmp_path / name, ["a"]) as table,
    ):
        table.write({"a": np.ones(1)})


def test_standard_output(capsys):
    for place in (None, "-"):
        with open_writer(place, ["a"]) as table:
            table.write({"a": np.array([1.0, 2.5])})
        assert capsys.readouterr().out == "a\n1\n2.5\n"


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with whole_file(link, "w") as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_is_no_ordinary_file():
    with pytest.raises(DataError, match="no ordinary file"), whole_file("/dev/full"):
        pass
