"""NPZ tables: names of columns, and files that are something else."""

import io
import zipfile

import numpy as np
import pytest

from dptransfer.data.tables import open_table
from dptransfer.errors import DataError


def saved(folder, packed=False, **arrays):
    path = folder / "t.npz"
    (np.savez_compressed if packed else np.savez)(path, **arrays)
    return path


def read(path, rows=8192, text=()):
    table = open_table(path)
    blocks = list(table.blocks(table.columns, rows, text=text))
    return {name: [c for b in blocks for c in b.cells[name].tolist()] for name in table.columns}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", [1, 2, 8192])
def test_arrays_are_columns(tmp_path, packed, order, rows):
    X = np.asarray(np.arange(6.0).reshape(3, 2), order=order)
    path = saved(tmp_path, packed, X=X, y=np.array(["u", "", "v"]))
    found = read(path, rows)
    assert found == {"x0": [0, 2, 4], "x1": [1, 3, 5], "y": ["u", None, "v"]}
    assert open_table(path).n_rows == 3


def test_names_of_the_columns_of_x(tmp_path):
    path = saved(tmp_path, X=np.ones((2, 2)), columns=["age", "pulse"], y=[1, 2])
    assert read(path) == {"age": [1, 1], "pulse": [1, 1], "y": [1, 2]}


@pytest.mark.parametrize("kind", ["?", "i1", "u8", ">i4", "f2", ">f8", "g"])
def test_types_of_numbers(tmp_path, kind):
    assert read(saved(tmp_path, a=np.array([1, 0], dtype=kind))) == {"a": [1, 0]}


def test_missing_infinite_and_verbatim(tmp_path):
    found = read(saved(tmp_path, a=[1.0, np.nan, np.inf], b=[3, 4, 5]), text=["b"])
    np.testing.assert_array_equal(found["a"], [1, np.nan, np.inf])
    assert found["b"] == ["3", "4", "5"]


def test_no_rows(tmp_path):
    assert read(saved(tmp_path, a=np.array([]))) == {"a": []}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "is empty"),
        ({"a": np.array([1, "x"], dtype=object)}, "'a' holds Python objects"),
        ({"a": [1], "b": [1, 2]}, "not of one length"),
        ({"a": [1j]}, "'a' is of the type complex128"),
        ({"a": [b"x"]}, r"'a' is of the type \|S1"),
        ({"a": np.array(["2020-01-01"], "M8[D]")}, "'a' is of the type datetime64"),
        ({"a": np.zeros(2, [("f", "i4")])}, "'a' is of the type"),
        ({"a": 3}, "'a' has 0 dimensions"),
        ({"B": np.ones((2, 2))}, "'B' has 2 dimensions"),
        ({"X": np.ones((2, 2, 2))}, "'X' has 3 dimensions"),
        ({"X": np.ones((0, 5))}, "'X' is empty"),
        ({"X": np.ones((1, 2)), "columns": ["a"]}, "must hold the 2 names"),
        ({"X": np.ones((1, 2)), "columns": ["a", "a"]}, "columns 1 and 2 have the same name"),
        ({"X": np.ones((1, 2)), "columns": ["a", ""]}, "column 2 has no name"),
        ({"X": np.ones((1, 2)), "columns": np.array(["a", "b"], object)}, "holds Python objects"),
        ({"X": np.ones((1, 2)), "x1": [3]}, "columns 2 and 3 have the same name"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_array(tmp_path, arrays, words):
    with pytest.raises(DataError, match=words) as caught:
        read(saved(tmp_path, **arrays))
    assert "\n" not in str(caught.value)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def zipped(**entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, raw in entries.items():
            archive.writestr(f"{name}.npy", raw)
    return stream.getvalue()


GOOD = zipped(a=npy(np.arange(9.0)))


@pytest.mark.parametrize(
    "raw",
    [
        b"text",
        npy(np.ones(3)),
        zipped(a=b""),
        zipped(a=b"text"),
        zipped(a=npy(np.ones(3))[:-1]),
        zipped(a=npy(np.ones(3)) + b"more"),
        zipped(a=npy(np.ones(3)).replace(b"(3,)", b"(-3,)")),
        GOOD[:100],
        GOOD.replace(np.float64(5).tobytes(), np.float64(6).tobytes()),
    ],
)
def test_damaged_files(tmp_path, raw):
    path = tmp_path / "t.npz"
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"t\.npz cannot be read as an NPZ file"):
        read(path)
