"""Tables of arrays: NumPy's NPZ, a zip file of arrays.

One-dimensional arrays are columns by their own names. A two-dimensional array X is as many columns
as it is wide, called x0, x1, … or by the names in a text array `columns`. All have the same length.

The arrays stream out of the zip file, compressed or not, so that a block of each wanted array is in
memory; only an X in Fortran order, which lies there column after column, is read whole. Arrays of
Python objects are refused: to read one is to run whatever code its maker put in.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from dptransfer.data.blocks import Cells, Table, as_text, bounded, check_names, readable
from dptransfer.errors import DataError

__all__ = ["NpzTable"]

KIND = "an NPZ file"
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@dataclass(frozen=True)
class _Array:
    """An array in the zip file, as its header describes it; its values begin at `start`."""

    entry: zipfile.ZipInfo
    shape: tuple[int, ...]
    in_columns: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def width(self) -> int:
        return math.prod(self.shape[1:])


class NpzTable(Table):
    """An NPZ file of columns, some of them perhaps side by side in an array X."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with readable(path, KIND), zipfile.ZipFile(path) as archive:
            arrays = {_name(entry): self._array(archive, entry) for entry in archive.infolist()}
            names = self._names_in_X(archive, arrays)
        lengths = {array.shape[0] for array in arrays.values()}
        if len(lengths) != 1:
            raise DataError(
                f"{path}: its arrays are not of one length"
                if arrays
                else f"{path} is empty; it needs at least one array"
            )
        self.n_rows = lengths.pop()
        # where each column is: in which array, and there in which place
        places = [("X", k) for k in range(len(names))] + [
            (name, 0) for name, array in arrays.items() if len(array.shape) == 1
        ]
        self.columns = check_names(path, names + [name for name, _ in places[len(names) :]])
        self._places = dict(zip(self.columns, places, strict=True))
        self._arrays = arrays

    def _array(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> _Array:
        """Read the header of an array, and refuse what no table can hold."""
        what = f"{self.path}: the array {_name(entry)!r}"
        with archive.open(entry) as stream:
            shape, in_columns, dtype = HEADERS[npy.read_magic(stream)](stream)
            start = stream.tell()
        if dtype.hasobject:
            raise DataError(
                f"{what} holds Python objects, which can run code when they are loaded; save it as "
                "numbers or text"
            )
        if dtype.kind not in "biufU" or dtype.itemsize == 0:
            raise DataError(f"{what} is of the type {dtype}, neither numbers nor text; convert it")
        if len(shape) != 1 and not (len(shape) == 2 and _name(entry) == "X"):
            raise DataError(
                f"{what} has {len(shape)} dimensions; only X may have two, all others have one"
            )
        if min(shape) < 0 or math.prod(shape) * dtype.itemsize != entry.file_size - start:
            raise ValueError("the header does not fit the size")
        if len(shape) == 2 and 0 in shape:  # it could claim any number of columns
            raise DataError(f"{what} is empty")
        return _Array(entry, shape, in_columns and len(shape) == 2, dtype, start)

    def _names_in_X(self, archive: zipfile.ZipFile, arrays: dict[str, _Array]) -> list[str]:
        """Give the names of X's columns; the array `columns` is taken out of the others."""
        if "X" not in arrays or len(arrays["X"].shape) == 1:
            return []
        width = arrays["X"].width
        names = arrays.pop("columns", None)
        if names is None:
            return [f"x{k}" for k in range(width)]
        if names.dtype.kind != "U" or names.shape != (width,):
            raise DataError(
                f"{self.path}: the array 'columns' must hold the {width} names of X's columns"
            )
        return [name for block in _stream(archive, names, width) for name in block[:, 0].tolist()]

    def _read(
        self, names: list[str], rows: int, text: Mapping[str, Collection[str]]
    ) -> Iterator[dict[str, Cells]]:
        wanted = {name: self._arrays[name] for name, _ in map(self._places.__getitem__, names)}
        rows = bounded(rows, sum(array.width for array in wanted.values()))
        with readable(self.path, KIND), zipfile.ZipFile(self.path) as archive:
            streams = [_stream(archive, array, rows) for array in wanted.values()]
            for blocks in zip(*streams, strict=True):
                block = dict(zip(wanted, blocks, strict=True))
                cells = {}
                for name in names:
                    array, place = self._places[name]
                    cells[name] = _cells(block[array][:, place], verbatim=name in text)
                yield cells


def _name(entry: zipfile.ZipInfo) -> str:
    return entry.filename.removesuffix(".npy")


def _stream(archive: zipfile.ZipFile, array: _Array, rows: int) -> Iterator[Cells]:
    """Give blocks of an array's rows, always two-dimensional."""
    n_rows = array.shape[0]
    at_once = n_rows if array.in_columns else rows
    with archive.open(array.entry) as stream:
        stream.read(array.start)
        for row in range(0, n_rows, at_once):
            shape = min(at_once, n_rows - row), array.width
            raw = stream.read(math.prod(shape) * array.dtype.itemsize)
            values = np.frombuffer(raw, array.dtype).reshape(
                shape, order="F" if array.in_columns else "C"
            )
            for start in range(0, len(values), rows):
                yield values[start : start + rows]
        if stream.read(1):  # at its end the zip file's checksum is compared
            raise ValueError("more values than the header says")


def _cells(values: Cells, *, verbatim: bool) -> Cells:
    if values.dtype.kind == "U" or verbatim:
        texts = as_text(values)
        texts[texts == ""] = None  # nothing else can stand for a missing text in an array
        return texts
    return values.astype(np.float64)
