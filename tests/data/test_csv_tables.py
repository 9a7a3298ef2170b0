"""Text tables as programs write them, and as they should not."""

import gzip

import numpy as np
import pytest

from dptransfer.data.tables import open_table
from dptransfer.errors import DataError, ParameterError


def saved(folder, raw, name="t.csv"):
    path = folder / name
    path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return path


def columns(path, *names, rows=8192, text=()):
    """Whole columns, put together from all blocks."""
    table = open_table(path)
    names = names or table.columns
    blocks = list(table.blocks(list(names), rows, text=text))
    assert [b.first_row for b in blocks] == list(
        np.cumsum([1, *(len(b) for b in blocks)][: len(blocks)])
    )
    return {name: [cell for b in blocks for cell in b.cells[name].tolist()] for name in names}


@pytest.mark.parametrize(
    "raw",
    [
        b"a,b\n1,2\n3,4\n",
        b"a,b\n1,2\n3,4",
        b"a,b\r\n1,2\r\n3,4\r\n",
        b"a,b\r1,2\r3,4\r",
        b"\xef\xbb\xbfa,b\n1,2\n3,4\n",
        b'\xef\xbb\xbf"a","b"\r\n"1",2\r\n\r\n3,"4"\r\n',
        b"\na,b\n\n1,2\n\n3,4\n\n",
        b"a,b\n 1 ,2.0\n3e0,+4\n",
    ],
)
def test_what_programs_write_means_the_same(tmp_path, raw):
    for path in (saved(tmp_path, raw), saved(tmp_path, gzip.compress(raw), "t.csv.gz")):
        assert columns(path) == {"a": [1, 3], "b": [2, 4]}
        assert columns(path, rows=1) == {"a": [1, 3], "b": [2, 4]}


def test_tabs_and_gzip_in_several_members(tmp_path):
    assert columns(saved(tmp_path, "a\tb\n1,5\t2\n", "t.TSV")) == {"a": ["1,5"], "b": [2]}
    raw = gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n")
    assert columns(saved(tmp_path, raw, "T.CSV.GZ")) == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "null", "None", "?", " na "])
def test_words_for_a_missing_cell(tmp_path, word):
    found = columns(saved(tmp_path, f"a,b,c\n1,x,{word}\n{word},{word},{word}\n"))
    np.testing.assert_array_equal(found["a"], [1, np.nan])
    assert found["b"] == ["x", None]
    assert np.isnan(found["c"]).all()


def test_words_that_mean_themselves(tmp_path):
    path = saved(tmp_path, "a\nnone\nNA\n007\n")
    assert columns(path, text=["a"]) == {"a": [None, None, "007"]}
    assert columns(path, text={"a": ["none"]}) == {"a": ["none", None, "007"]}


def test_infinite_numbers_are_numbers(tmp_path):
    assert columns(saved(tmp_path, "a\ninf\n-Infinity\n1e400\n"))["a"] == [np.inf, -np.inf, np.inf]


@pytest.mark.parametrize("cell", ["1_000", "0x10", "1,5", "=1+1", "12 kg", "1.2.3"])
def test_what_is_no_number_is_text(tmp_path, cell):
    assert columns(saved(tmp_path, f'a\n"{cell}"\n2\n'))["a"] == [cell, "2"]


def test_newlines_quotes_and_separators_inside_cells(tmp_path):
    found = columns(saved(tmp_path, 'a,b\r\n"x\r\ny, ""z""",1\r\n'))
    assert found == {"a": ['x\r\ny, "z"'], "b": [1]}


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    for raw in ("a,b\n", "a,b"):
        assert open_table(saved(tmp_path, raw)).columns == ["a", "b"]
        assert columns(saved(tmp_path, raw)) == {"a": [], "b": []}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is empty"),
        (b"\n\r\n\n", "is empty; a table begins with its columns' names"),
        (b"   \n", "column 1 has no name"),
        (b"a,,c\n1,2,3\n", "column 2 has no name"),
        (b"a,b,a\n1,2,3\n", "columns 1 and 3 have the same name"),
        (b"1.5,2\n3,4\n", "begins with numbers"),
        (b"a,b\n1,2\n3\n", r"row 2 \(line 3\) has 1 cells but the header 2"),
        (b'a,b\n"x\n\ny",2\n3,4,5\n', r"row 2 \(line 5\) has 3 cells"),
        (b'a,b\n1,"x"y\n', "row 1: a quote is astray"),
        (b'a,b\n1,2\n1,"x\n2,3\n', "row 2: a quote is astray"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "row 1: .* a cell is endless"),
        (b"a,b\n1,caf\xe9\n", "no UTF-8 text .* save it as UTF-8"),
        ("größe,b\n1,2\n".encode("latin-1"), "no UTF-8 text at or after its header"),
        ("a,b\n1,2\n".encode("utf-16"), "no UTF-8 text"),
        (
            gzip.compress(b"a,b\n1,2\n"),
            r"compressed by gzip; give it a name that ends in \.csv\.gz",
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_the_place(tmp_path, raw, words):
    with pytest.raises(DataError, match=words) as caught:
        columns(saved(tmp_path, raw))
    said = str(caught.value)
    assert said.startswith(str(tmp_path / "t.csv"))
    assert "\n" not in said


def test_no_message_tells_a_cell(tmp_path):
    for raw in (b'a,b\nsecret,"x"secret\n', b"a,b\nsecret,1,2\n", b"a,b\nsecret\xe9,2\n"):
        with pytest.raises(DataError) as caught:
            columns(saved(tmp_path, raw))
        assert "secret" not in str(caught.value)
    path = saved(tmp_path, "secret,2024\n1,2\n")  # perhaps a first row in place of a header
    with pytest.raises(DataError, match="header holds numbers") as caught:
        columns(path, "age")
    assert "secret" not in str(caught.value)


PACKED = gzip.compress(b"a,b\n" + b"1,2\n" * 5000)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"a,b\n1,2\n", "is not compressed by gzip; take .gz off its name"),
        (PACKED[:-20], "cut short or damaged"),
        (PACKED[:-5] + b"\x00" * 5, "cut short or damaged"),
        (PACKED[:30] + b"\xff" * 5 + PACKED[35:], "cut short or damaged"),
        (PACKED + b"junk", "cut short or damaged"),
    ],
)
def test_damaged_gzip(tmp_path, raw, words):
    with pytest.raises(DataError, match=words):
        columns(saved(tmp_path, raw, "t.csv.gz"))


def test_a_file_that_is_not_there_or_no_table(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name, words in [
        ("none.csv", "does not exist"),
        ("folder.csv", "is no file"),
        ("t.xlsx", "is no table; the name of one ends in"),
    ]:
        with pytest.raises(DataError, match=words):
            open_table(tmp_path / name)


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = saved(tmp_path, "a,b\n1,2\n")
    table = open_table(path)
    saved(tmp_path, "b,a\n1,2\n")
    with pytest.raises(DataError, match="was changed while it was read"):
        list(table.blocks(["a"]))
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        list(table.blocks(["a"]))


def test_columns_asked_for(tmp_path):
    table = open_table(saved(tmp_path, "age,pulse\n1,2\n"))
    with pytest.raises(DataError, match="has no column 'puls'; did you mean 'pulse'"):
        table.blocks(["puls"])
    for arguments in ([], 1, ()), (["age"], 0, ()), (["age"], 1, ["pulse"]):
        with pytest.raises(ParameterError):
            table.blocks(*arguments[:2], text=arguments[2])
    assert columns(table.path, "pulse", "pulse") == {"pulse": [2]}


def test_memory_is_bounded_where_there_are_many_columns(tmp_path):
    wide = 30_000
    line = ",".join(["1"] * wide)
    names = ",".join(f"c{k}" for k in range(wide))
    table = open_table(saved(tmp_path, f"{names}\n" + f"{line}\n" * 70))
    assert [len(block) for block in table.blocks(["c7"])] == [34, 34, 2]
