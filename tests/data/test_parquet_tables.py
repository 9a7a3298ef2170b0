"""Parquet tables of every type that a column may have."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from dptransfer.data.tables import open_table
from dptransfer.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def saved(folder, **columns):
    path = folder / "t.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def cells(path, name, **options):
    table = open_table(path)
    return [c for b in table.blocks([name], **options) for c in b.cells[name].tolist()]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, None, 3]), [1, np.nan, 3]),
        (pa.array([True, None, False]), [1, np.nan, 0]),
        (pa.array([1.5, float("nan"), float("inf")]), [1.5, np.nan, np.inf]),
        (pa.array(np.array([1.5], np.float16)), [1.5]),
        (pa.array([Decimal("1.25"), None]), [1.25, np.nan]),
        (pa.array([2**64 - 1], pa.uint64()), [2.0**64]),
        (pa.nulls(2), [np.nan, np.nan]),
        (pa.array([4, None, 4]).dictionary_encode(), [4, np.nan, 4]),
        (pa.array([], pa.float64()), []),
    ],
)
def test_numbers(tmp_path, column, expected):
    path = saved(tmp_path, a=column)
    assert open_table(path).n_rows == len(expected)
    np.testing.assert_array_equal(cells(path, "a"), expected)
    np.testing.assert_array_equal(cells(path, "a", rows=1), expected)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x", None, ""]),
        pa.array(["x", None, ""], pa.large_string()),
        pa.array(["x", None, ""]).dictionary_encode(),
    ],
)
def test_text(tmp_path, column):
    assert cells(saved(tmp_path, a=column), "a") == ["x", None, ""]


def test_whole_numbers_as_text_lose_no_digit(tmp_path):
    path = saved(tmp_path, a=pa.array([2**53 + 1, None]))
    assert cells(path, "a", text=["a"]) == [str(2**53 + 1), None]


@pytest.mark.parametrize(
    "values",
    [
        [datetime.datetime(2020, 1, 1)],
        [datetime.date(2020, 1, 1)],
        [datetime.timedelta(1)],
        [b"bytes"],
        [[1, 2]],
        [{"x": 1}],
    ],
)
def test_other_types_are_refused_with_the_column_and_only_if_asked_for(tmp_path, values):
    path = saved(tmp_path, good=[1], when=values)
    with pytest.raises(DataError, match=r"column 'when' is of the type .*, neither numbers nor"):
        cells(path, "when")
    assert cells(path, "good") == [1]


def test_columns(tmp_path):
    path = tmp_path / "t.parquet"
    for names, words in [
        (["a", "a"], "columns 1 and 2 have the same name"),
        (["a", ""], "column 2 has no name"),
        ([], "has no columns"),
    ]:
        pq.write_table(pa.table([pa.array([1])] * len(names), names=names), path)
        with pytest.raises(DataError, match=words):
            open_table(path)
    path = saved(tmp_path, **{"a.b": [1], "a": [{"b": 2}]})
    assert cells(path, "a.b") == [1]
    with pytest.raises(DataError, match="has no column 'c'"):
        cells(path, "c")


def test_many_row_groups_are_one_table(tmp_path):
    path = tmp_path / "t.pq"
    pq.write_table(pa.table({"a": list(range(100))}), path, row_group_size=7)
    blocks = list(open_table(path).blocks(["a"], 30))
    assert [c for b in blocks for c in b.cells["a"].tolist()] == list(range(100))
    assert [b.first_row for b in blocks] == list(np.cumsum([1, *map(len, blocks)])[:-1])
    assert max(map(len, blocks)) <= 30


def test_damaged_files_are_one_line(tmp_path):
    path = saved(tmp_path, a=list(range(1000)), b=["text"] * 1000)
    whole = path.read_bytes()
    for raw in (b"", b"PAR1", b"a,b\n1,2\n", whole[:-1], whole[: len(whole) // 2], whole[9:]):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"cannot be read as Parquet|is empty") as caught:
            cells(path, "a")
        assert "\n" not in str(caught.value)


def test_text_that_is_no_utf8(tmp_path):
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.int32([0, 4]).tobytes()), pa.py_buffer(b"caf\xe9")]
    )
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        cells(saved(tmp_path, a=bad), "a")
