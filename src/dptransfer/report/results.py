"""What a report says of measurements: parts with words, tables and figures, as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dptransfer.report.page import Promise
from dptransfer.report.svg import inline_svg

__all__ = ["Figure", "Line", "Part", "ResultTable", "ResultsPage"]

NUMBER = re.compile(r"[-−+]?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?")


class Line(NamedTuple):
    """One row of a table: what it is of, and its cells as they are to be read."""

    cells: tuple[str, ...]
    mark: int | None = None
    """The cell, if any, that differs from what was expected by more than chance would."""
    closing: bool = False
    """Whether it sums up the others, and stays below them."""


@dataclass(frozen=True)
class ResultTable:
    """A table; its first column says what each row is of.

    >>> table = ResultTable("Accuracy", ("labels", "ours"), (Line(("100", "92.4 ± 0.8")),))
    >>> table.is_number(1), table.value(table.lines[0].cells[1])
    (True, 92.4)
    """

    caption: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    compares: bool = False
    """Whether its lines may be marked; then the reader can have the marked ones alone."""

    def is_number(self, column: int) -> bool:
        """Whether every cell of a column begins with a number, or is empty."""
        cells = [line.cells[column] for line in self.lines]
        return any(self.value(cell) is not None for cell in cells) and all(
            self.value(cell) is not None or cell.strip() in {"", "–", "—"} for cell in cells
        )

    @staticmethod
    def value(cell: str) -> float | None:
        """The number that a cell begins with."""
        found = NUMBER.match(cell.strip())
        return float(found[0].replace(",", "").replace("−", "-")) if found else None


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, what stands under it, and what it shows to who does not see it."""

    svg: str
    caption: str
    description: str

    def inline(self, name: str) -> str:
        """The drawing as it stands in a page; see :func:`~dptransfer.report.svg.inline_svg`."""
        return inline_svg(self.svg, name, self.description)


@dataclass(frozen=True)
class Part:
    """One part of the page: words, then tables, then figures."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[ResultTable, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class ResultsPage:
    """All that the page says."""

    title: str
    lead: str
    promises: tuple[Promise, ...]
    parts: tuple[Part, ...]
    parameters: Mapping[str, str]
    versions: Mapping[str, str]

    template = "results.html"

    @property
    def has_marks(self) -> bool:
        """Whether there is a table with lines that may be marked."""
        return any(table.compares for part in self.parts for table in part.tables)
