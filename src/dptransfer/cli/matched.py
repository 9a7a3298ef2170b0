"""Which columns of an adopter's table a model is learned from, and what each of them is.

A column is what the adopter declares it to be, or else what the release says of a column of that
name, or else a number whose bounds are its own extremes: they are the adopter's, and stay in the
adopter's model. Where every column of every release is there, the table's other columns are of no
use to them and are left out; where one is missing, rows are aligned by their principal directions,
to which every column adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.cli.declared import as_words
from dptransfer.data.tables import Table
from dptransfer.errors import DataError, ParameterError
from dptransfer.transfer.alignment import FAR_OUTSIDE, covers
from dptransfer.transfer.columns import Column, Columns
from dptransfer.transfer.release import Release

__all__ = ["Matched", "candidates", "far_outside", "match"]

SHOWN = 8


class Matched(NamedTuple):
    """The columns to learn from."""

    columns: Columns
    left_out: list[str]
    """Columns of the table that could have been learned from, and are of no use."""
    notes: list[str]


def candidates(
    table: Table, set_aside: Sequence[str], columns: str | None, drop: str | None
) -> list[str]:
    """The columns of the table that may be learned from, in its order.

    Parameters
    ----------
    table : Table
    set_aside : sequence of str
        The columns of labels and identifiers.
    columns, drop : str or None
        What the options of these names were given.
    """
    taken = table.columns if columns is None else as_words(columns, "--columns")
    left = [] if drop is None else as_words(drop, "--drop")
    for name in [*set_aside, *taken, *left]:
        table.need(name)
    if columns is not None:
        for name in set_aside:
            if name in taken:
                raise ParameterError(
                    f"--columns: {name!r} holds labels or identifiers; it cannot be learned from"
                )
    kept = [n for n in table.columns if n in set(taken) - set(left) - set(set_aside)]
    if not kept:
        raise DataError(f"{table.path} has no column left to learn from")
    return kept


def match(
    table: Table, names: Sequence[str], releases: Sequence[Release], own: Columns | None
) -> Matched:
    """Say what each of the named columns is, and which of them are learned from."""
    declared = {c.name: c for release in reversed(releases) for c in release.columns}
    for column in own or ():
        table.need(column.name)
        declared[column.name] = column
    notes = []
    used = list(names)
    if releases and all(_has_all(names, declared, release) for release in releases):
        theirs = {name for release in releases for name in release.columns.names}
        used = [name for name in names if name in theirs]
        if len(used) < len(names):
            left = [name for name in names if name not in theirs]
            notes.append(
                f"not learned from, because the sources know nothing of them: {_listed(left)}"
            )
    else:
        for release in releases:
            lacking = [name for name in release.columns.names if name not in names]
            if len(lacking) < len(release.columns) and lacking:
                notes.append(f"columns of {release.name!r} that are not there: {_listed(lacking)}")
    strangers = [name for name in used if name not in declared]
    declared |= _measured(table, strangers) if strangers else {}
    left_out = [name for name in names if name not in used]
    return Matched(Columns(declared[name] for name in used), left_out, notes)


def far_outside(
    columns: Columns, X: npt.NDArray[Any], releases: Sequence[Release], own: Columns | None
) -> list[str]:
    """Say which columns lie so far outside a release's bounds that their units may be others."""
    theirs = {name for release in releases for name in release.columns.names}
    theirs -= set(own.names if own is not None else ())
    farthest = np.abs(X).max(axis=0)
    owners = [column for column in columns for _ in column.features]
    return [
        f"column {c.name!r} has values far outside the {c.low:g} to {c.high:g} that the release "
        "declares: is it in the owner's units?"
        for c, far in zip(owners, farthest.tolist(), strict=True)
        if far > FAR_OUTSIDE and c.name in theirs
    ]


def _has_all(names: Sequence[str], declared: dict[str, Column], release: Release) -> bool:
    """Whether a release's columns are all there, and are what the release takes them for."""
    wanted = release.columns
    # names that only count are trusted if their number is the same; others beside them do not count
    stems = {_stem(name) for name in wanted.names}
    if not covers([name for name in names if _stem(name) in stems], wanted.names):
        return False
    ours = Columns(declared[name] for name in wanted.names)
    return covers(ours.features, wanted.features)


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def _measured(table: Table, names: Sequence[str]) -> dict[str, Column]:
    """Columns of which nothing is declared: numbers between their own extremes."""
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    for block in table.blocks(names):
        for k, name in enumerate(names):
            cells = block.cells[name]
            if cells.dtype == object:
                cells = _numbers(cells, f"{table.path}, row {{}}, column {name!r}", block.first_row)
            finite = cells[np.isfinite(cells)]
            if len(finite):
                low[k], high[k] = min(low[k], finite.min()), max(high[k], finite.max())
    known = low <= high
    low, high = np.where(known, low, 0.0), np.where(known, high, 1.0)
    alone = np.maximum(low + 1, np.nextafter(low, np.inf))  # so that a constant column is 0
    high = np.where(low < high, high, alone)
    return {
        name: Column(name, float(a), float(b)) for name, a, b in zip(names, low, high, strict=True)
    }


def _numbers(cells: npt.NDArray[Any], where: str, first_row: int) -> npt.NDArray[np.float64]:
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells.tolist()):
        try:
            numbers[row] = np.nan if cell is None else float(cell)
        except ValueError:
            raise DataError(
                f"{where.format(first_row + row)}: not a number, and no categories are declared; "
                "declare them in --bounds, or leave the column out with --drop"
            ) from None
    return numbers


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
