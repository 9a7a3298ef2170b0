"""A table as its readers give it: named columns, block after block of rows.

A block's column is one of two things: float64 with NaN for a missing cell, where every cell is a
number or missing, and otherwise objects, each a `str` or None for a missing cell. Only one block is
in memory at a time, so that a table may be larger than the memory.

No error here or in a reader tells a cell's content, because cells are private.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError, ParameterError

__all__ = [
    "Block",
    "Cells",
    "Table",
    "as_labels",
    "as_text",
    "bounded",
    "check_names",
    "objects",
    "readable",
]

Cells = npt.NDArray[Any]

MAX_CELLS = 2**20  # 8 MB of numbers, or some 60 MB of the texts that a CSV is made of
NAMES_SHOWN = 8
WHOLE = re.compile(r"\A([+-]?\d+)\.0*\Z")


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a table; `first_row` counts from 1, the header not counted."""

    first_row: int
    cells: Mapping[str, Cells]

    def __len__(self) -> int:
        return len(next(iter(self.cells.values())))


class Table(ABC):
    """A file with named columns, read block by block and as often as wanted.

    Attributes
    ----------
    path : Path
    columns : list of str
        The names of the columns, in order.
    n_rows : int or None
        How many rows there are, where the file says so without being read.
    """

    path: Path
    columns: list[str]
    n_rows: int | None = None

    def blocks(
        self,
        columns: Sequence[str],
        rows: int = 8192,
        *,
        text: Collection[str] | Mapping[str, Collection[str]] = (),
    ) -> Iterator[Block]:
        """Give the wanted columns, block after block.

        Parameters
        ----------
        columns : sequence of str
        rows : int
            The most rows that a block has. It has fewer where there are so many columns that it
            would pass a million cells.
        text : collection of str, or a mapping from str to collections of str
            Which of the columns are read as text, to the letter, whatever stands in them:
            identifiers such as 007, labels, categories. Their cells may be missing all the same.
            A mapping tells for each which words mean themselves, and no missing cell: "none" may
            be a category.

        Raises
        ------
        DataError
            Columns that are not there, at once; a malformed row, when its block is due.
        """
        if rows < 1 or not columns or not set(text) <= set(columns):
            raise ParameterError(
                "blocks needs at least one row and one column, and text columns among the columns"
            )
        for name in columns:
            self.need(name)
        names = list(dict.fromkeys(columns))
        words = {name: frozenset(text[name] if isinstance(text, Mapping) else ()) for name in text}
        return _numbered(self._read(names, bounded(rows, len(names)), words))

    def need(self, name: str) -> None:
        """Refuse a column that is not there, with the nearest that is."""
        if name not in self.columns:
            raise DataError(f"{self.path} has no column {name!r}{self._nearest(name)}")

    @abstractmethod
    def _read(
        self, names: list[str], rows: int, text: Mapping[str, Collection[str]]
    ) -> Iterator[dict[str, Cells]]:
        """Give the columns of each block; `names` are there, and each of them once."""

    def _nearest(self, name: str) -> str:
        """What to say of the columns there are to somebody who asked for another."""
        close = difflib.get_close_matches(name, self.columns, n=1)
        more = len(self.columns) - NAMES_SHOWN
        return (
            (f"; did you mean {close[0]!r}?" if close else ".")
            + f" It has {', '.join(map(repr, self.columns[:NAMES_SHOWN]))}"
            + (f" and {more} more" if more > 0 else "")
        )


def _numbered(blocks: Iterator[dict[str, Cells]]) -> Iterator[Block]:
    row = 1
    for cells in blocks:
        block = Block(row, cells)
        yield block
        row += len(block)


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Make one error of whatever a damaged file makes of a parser, whose words may quote cells."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        raise DataError(
            f"{path} cannot be read as {kind}: it is cut short, damaged or something else; get it "
            "anew"
        ) from None


def bounded(rows: int, width: int) -> int:
    """How many rows of so many cells may be in memory at once: `rows`, or fewer."""
    return max(1, min(rows, MAX_CELLS // width))


def check_names(path: Path, names: Sequence[str]) -> list[str]:
    """Refuse no columns, and names that are empty or there twice; they are told by their place."""
    if not names:
        raise DataError(f"{path} has no columns")
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"{path}: column {place} has no name; give it one, or leave it out")
        if name in first:
            raise DataError(
                f"{path}: columns {first[name]} and {place} have the same name; rename one of them"
            )
        first[name] = place
    return list(names)


def as_text(cells: Cells) -> Cells:
    """Cells of any kind as text, None where one is missing; a whole number has no decimal point.

    >>> as_text(np.array([3.0, 2.5, np.nan]))
    array(['3', '2.5', None], dtype=object)
    """
    return objects([_text(cell) for cell in cells.tolist()])


def as_labels(cells: Cells) -> Cells:
    """Labels as text: as `as_text`, and the text 3.0 is 3 too.

    A program that knows no missing whole numbers writes the labels 3 and 4 as 3.0 and 4.0 as soon
    as one label is missing.

    >>> as_labels(np.array(["3.0", "3", "b", None], dtype=object))
    array(['3', '3', 'b', None], dtype=object)
    """
    return objects([text and WHOLE.sub(r"\1", text) for text in as_text(cells).tolist()])


def objects(values: Sequence[object]) -> Cells:
    """Any values as an array of objects, one cell each."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _text(cell: object) -> str | None:
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN is not itself
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
