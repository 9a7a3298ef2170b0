"""Tables as text: CSV and TSV, also compressed by gzip, in UTF-8 with a header.

The standard library's parser knows quotes, and newlines inside them; NumPy turns a whole column of
a block into numbers at once. A blank line is no row. What stands for a missing cell is the union of
the usual words, in any case: nothing at all, NA, N/A, NaN, null, None and the question mark.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from dptransfer.data.blocks import Cells, Table, bounded, check_names, objects, readable
from dptransfer.errors import DataError

__all__ = ["CsvTable"]

GZIP = b"\x1f\x8b"
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})


class CsvTable(Table):
    """A text file of rows, its first row the columns' names."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path = path
        self._delimiter = delimiter
        self._check_packing()
        header = next(self._rows(), None)
        if header is None:
            raise DataError(f"{path} is empty; a table begins with its columns' names")
        if _looks_like_cells(header):
            raise DataError(
                f"{path} begins with numbers; put a header with the columns' names first"
            )
        self.columns = check_names(path, header)

    def _read(
        self, names: list[str], rows: int, text: Mapping[str, Collection[str]]
    ) -> Iterator[dict[str, Cells]]:
        lines = self._rows()
        if next(lines, None) != self.columns:
            raise DataError(f"{self.path} was changed while it was read; read it again")
        rows = bounded(rows, len(self.columns))  # a line is parsed whole
        place = {name: k for k, name in enumerate(self.columns)}
        while chunk := list(islice(lines, rows)):
            columns = list(zip(*chunk, strict=True))
            yield {name: _cells(columns[place[name]], text.get(name)) for name in names}

    def _rows(self) -> Iterator[list[str]]:
        """The header, then the rows, all of one length; blank lines are left out."""
        width = row = 0  # the header is row 0
        try:
            with self._open() as file:
                reader = csv.reader(file, delimiter=self._delimiter, strict=True)
                for cells in filter(None, reader):
                    width = width or len(cells)
                    if len(cells) != width:
                        raise DataError(
                            f"{self.path}, row {row} (line {reader.line_num}) has {len(cells)} "
                            f"cells but the header {width}; a cell that holds a separator must "
                            "stand in quotes"
                        )
                    yield cells
                    row += 1
        except csv.Error:
            raise DataError(
                f"{self.path}, {_place(row)}: a quote is astray, or a cell is endless"
            ) from None
        except UnicodeDecodeError:
            raise DataError(
                f"{self.path} is no UTF-8 text at or after {_place(row)}; save it as UTF-8"
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise DataError(
                f"{self.path} is cut short or damaged at or after {_place(row)}; get it anew"
            ) from None
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror}") from error

    def _check_packing(self) -> None:
        """Refuse a file whose name says that it is compressed and it is not, or the reverse."""
        with readable(self.path, "text"), self.path.open("rb") as file:
            packed = file.read(2) == GZIP
        if packed and not self._packed:
            raise DataError(
                f"{self.path} is compressed by gzip; give it a name that ends in .csv.gz"
            )
        if self._packed and not packed:
            raise DataError(f"{self.path} is not compressed by gzip; take .gz off its name")

    @property
    def _packed(self) -> bool:
        return self.path.name.lower().endswith(".gz")

    def _open(self) -> TextIO:
        opener = gzip.open if self._packed else open
        return opener(self.path, "rt", encoding="utf-8-sig", newline="")

    def _nearest(self, name: str) -> str:
        # Without a header the names are the cells of a private row, which no message may show.
        if any(map(_is_number, self.columns)):
            return ", and its header holds numbers; does its first line hold the columns' names?"
        return super()._nearest(name)


def _place(row: int) -> str:
    return f"row {row}" if row else "its header"


def _looks_like_cells(header: Sequence[str]) -> bool:
    numbers = [name for name in header if _is_number(name)]
    if len(numbers) == len(header):
        return numbers != [str(k) for k in range(len(header))]  # some programs count columns so
    return not all(name.isdigit() for name in numbers)  # 2024 may be a name, 5.1 is none


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cells(texts: Sequence[str], words: Collection[str] | None) -> Cells:
    """A column of a block: numbers if that is what all cells are, otherwise texts.

    With `words` it is texts in any case, and these words are no missing cells.
    """
    if words is None:
        numbers = _numbers(texts)
        if numbers is not None:
            return numbers
    meant = words or ()
    known = [
        None if text.strip().lower() in MISSING and text not in meant else text for text in texts
    ]
    if words is None and None in known:
        numbers = _numbers(["nan" if text is None else text for text in known])
        if numbers is not None:
            return numbers
    return objects(known)


def _numbers(texts: Sequence[str]) -> Cells | None:
    try:
        numbers = np.array(texts, dtype=np.float64)
    except ValueError:
        return None
    return None if "_" in "".join(texts) else numbers  # Python's 1_000 is nobody's number
