"""The book that keeps count: what was released of which data, against which budget.

A guarantee speaks of one release; releases of the same data add up. The owner keeps one SQLite
file. In it every data set has a name and a budget for each unit that it is protected in, and every
release is entered **before** its file becomes visible. A process that dies between the two has
entered a release that nobody saw: the book then counts too much, never too little. Rows are only
ever added; a change of budget is a row too.

If a data set has budgets for both units, *every* release counts against both, and states what it
costs in each: one element's guarantee g, and the same release as a record sees it,
``g.per_record(n_features)``. Else a budget for records would not notice that the cells of a record
were published one by one.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from dptransfer.errors import BudgetExceeded, LedgerError, ParameterError
from dptransfer.privacy import book as file
from dptransfer.privacy.accounting import Loss, basic_composition, compose_epsilon, fits
from dptransfer.privacy.guarantee import Guarantee, Unit

__all__ = ["Balance", "Entry", "Ledger"]

LONGEST_NAME = 200


@dataclass(frozen=True)
class Entry:
    """One row of the book: a release, or (where `release` is None) a budget that was declared."""

    release: int | None
    at: str
    name: str
    guarantee: Guarantee


@dataclass(frozen=True)
class Balance:
    """Where a data set stands in one unit.

    `epsilon_spent` is the ε of all releases together at the *budget's* δ (privacy-loss
    distributions); `delta_spent` is the plain sum of their δ.
    """

    budget: Guarantee
    releases: int
    epsilon_spent: float
    delta_spent: float

    @property
    def epsilon_left(self) -> float:
        """A further release with δ = 0 and this ε just about fits.

        Sums are rounded up, by up to 1e-4 a release, so that a little less is sure to.
        """
        return max(0.0, self.budget.epsilon - self.epsilon_spent)


class Ledger:
    """The owner's book of releases, in one SQLite file.

    Parameters
    ----------
    path : str or path
        An existing ledger. :meth:`create` makes one; a mistyped path must not.

    Formal guarantees
    -----------------
    - At every moment, and whatever processes die at whatever moment, the releases entered for a
      data set compose to no more than each of its budgets (see
      :func:`~dptransfer.privacy.accounting.fits`).
    - That composition presumes that the (ε, δ) of a release is not chosen in the light of what
      earlier ones published; whoever does so should keep a budget that Σ ε and Σ δ fit into.
    - When `spend` has returned, the entry is on disk; when it raises an error of dptransfer,
      nothing was entered; when it is interrupted, the release may have been entered.
    - The file holds what is declared (names, guarantees) and the times; no data.
    - It counts what is entered. A release made elsewhere, a second ledger, the same records under
      another name, or an old copy of the file put back are not seen.

    Examples
    --------
    >>> import tempfile
    >>> from dptransfer.privacy.guarantee import NOT_COVERED
    >>> def pixel(epsilon, delta):
    ...     return Guarantee("element", epsilon, delta, 1.0, mechanism="optimal noise",
    ...                      adjacency="d-adjacency", not_covered=NOT_COVERED["d-adjacency"])
    >>> folder = tempfile.TemporaryDirectory()
    >>> book = Ledger.create(folder.name + "/releases.ledger")
    >>> book.set_budget("digits", pixel(0.25, 1e-4))
    >>> book.spend("digits", pixel(0.1, 1e-5)), book.spend("digits", pixel(0.1, 1e-5))
    (1, 2)
    >>> f"{book.remaining('digits')['element'].epsilon_left:.2f}"
    '0.05'
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not os.path.isfile(self.path):
            raise LedgerError(
                f"there is no ledger at {self.path}; make one with "
                f"`dptransfer ledger init {self.path}` or Ledger.create"
            )
        with file.opened(self.path):
            pass

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Ledger:
        """Make an empty ledger, readable by its owner alone; an existing file is left alone."""
        file.create(Path(path))
        return cls(path)

    # Writing -------------------------------------------------------------------------------------

    def set_budget(self, name: str, guarantee: Guarantee) -> None:
        """Declare the most that may ever be released of a data set, in the guarantee's unit.

        A budget may be raised or lowered, and the change is entered beside the old one. It cannot
        be lowered under what is spent (set it to what is spent to stop further releases), cannot
        change its adjacency or distance once something is spent, and cannot be declared for a unit
        in which earlier releases stated no cost.
        """
        name = _checked_name(name)
        if not math.isfinite(guarantee.epsilon):
            raise ParameterError("a budget without a finite epsilon is no budget")
        with file.opened(self.path) as book, file.writing(book):
            rows = self._rows(book, name)
            spent = _spent(rows, guarantee.unit)
            for earlier in spent:
                earlier.check_same_kind(guarantee, "set against each other")
            uncounted = _releases(rows) - len(spent)
            if uncounted:
                raise LedgerError(
                    f"{uncounted} releases of {name!r} were entered without their cost for one "
                    f"{guarantee.unit}, so a budget for it could not be kept; nothing was entered"
                )
            if not fits(_losses(spent), guarantee.epsilon, guarantee.delta):
                raise BudgetExceeded(
                    f"of {name!r} {_spent_words(spent, guarantee)} already, more than the budget "
                    f"{_pair(guarantee)} for one {guarantee.unit}; nothing was entered. "
                    "To stop further releases, set the budget to what is spent"
                )
            _add(book, None, name, guarantee)

    def spend(self, name: str, *guarantees: Guarantee) -> int:
        """Enter one release, before it becomes visible; return its number.

        Parameters
        ----------
        name : str
            The data set.
        *guarantees : Guarantee
            What the release costs, at most one a unit; one for every unit that has a budget.

        Raises
        ------
        BudgetExceeded
            A budget would be passed. Nothing was entered.
        LedgerError
            No budget is declared, a unit that has one is not stated, or the file cannot be
            written. Nothing was entered.
        """
        return self._spend(name, guarantees, keep=True)

    def check(self, name: str, *guarantees: Guarantee) -> None:
        """Raise what `spend` would raise, and enter nothing: for work that is better not begun.

        No promise for later: another process may spend what is left before this one does.
        """
        self._spend(name, guarantees, keep=False)

    def _spend(self, name: str, guarantees: Sequence[Guarantee], *, keep: bool) -> int:
        name = _checked_name(name)
        stated = {guarantee.unit: guarantee for guarantee in guarantees}
        if not guarantees or len(stated) < len(guarantees):
            raise ParameterError("a release states its guarantee once for each unit")
        with file.opened(self.path) as book, file.writing(book, keep=keep):
            rows = self._rows(book, name)
            budgets = _budgets(rows)
            if not budgets:
                raise LedgerError(
                    f"no budget is declared for {name!r}, so nothing may be released of it; "
                    f"declare one with `dptransfer ledger budget {self.path} {name!r} ...` "
                    "or Ledger.set_budget"
                )
            for unit, budget in budgets.items():
                if unit not in stated:
                    raise LedgerError(
                        f"{name!r} has a budget for one {unit}, and this release does not state "
                        f"what it costs one {unit}; enter both, for example "
                        "spend(name, g, g.per_record(n_features)). Nothing was entered"
                    )
                _check_fits(name, budget, _spent(rows, unit), stated[unit])
            release = _releases(rows) + 1
            for guarantee in stated.values():
                _add(book, release, name, guarantee)
            return release

    # Reading -------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Every data set that is spoken of, in order."""
        with file.opened(self.path) as book:
            return [n for (n,) in book.execute("SELECT DISTINCT name FROM entries ORDER BY name")]

    def entries(self, name: str) -> list[Entry]:
        """Every release of a data set, oldest first; one entry for each unit that it stated."""
        return [entry for entry in self.history(name) if entry.release is not None]

    def history(self, name: str) -> list[Entry]:
        """Releases and budgets as they were entered, oldest first."""
        with file.opened(self.path) as book:
            return self._rows(book, _checked_name(name))

    def units(self, name: str) -> tuple[Unit, ...]:
        """The units that have a budget, which every release must state; none for a new name."""
        return tuple(_budgets(self.history(name)))

    def remaining(self, name: str) -> dict[Unit, Balance]:
        """Where a data set stands, for each unit that has a budget."""
        rows = self.history(name)
        budgets = _budgets(rows)
        if not budgets:
            raise LedgerError(f"no budget is declared for {name!r} in {self.path}")
        return {
            unit: _balance(budget, _losses(_spent(rows, unit))) for unit, budget in budgets.items()
        }

    def _rows(self, book: sqlite3.Connection, name: str) -> list[Entry]:
        entries = []
        for release, at, unit, plain in book.execute(
            "SELECT release, at, unit, guarantee FROM entries WHERE name = ? ORDER BY id", (name,)
        ):
            try:
                entry = Entry(release, at, name, Guarantee.from_dict(json.loads(plain)))
            except (TypeError, ValueError) as error:
                raise LedgerError(file.damaged(self.path)) from error
            if entry.guarantee.unit != unit:
                raise LedgerError(file.damaged(self.path))
            entries.append(entry)
        return entries


def _add(book: sqlite3.Connection, release: int | None, name: str, said: Guarantee) -> None:
    book.execute(
        "INSERT INTO entries (release, at, name, unit, guarantee) VALUES (?, ?, ?, ?, ?)",
        (
            release,
            datetime.now(UTC).isoformat(timespec="seconds"),
            name,
            said.unit,
            json.dumps(said.to_dict(), allow_nan=False),
        ),
    )


def _budgets(rows: Sequence[Entry]) -> dict[Unit, Guarantee]:
    """The latest budget of each unit."""
    latest = {row.guarantee.unit: row.guarantee for row in rows if row.release is None}
    return {unit: latest[unit] for unit in get_args(Unit) if unit in latest}


def _spent(rows: Sequence[Entry], unit: Unit) -> list[Guarantee]:
    return [r.guarantee for r in rows if r.release is not None and r.guarantee.unit == unit]


def _releases(rows: Sequence[Entry]) -> int:
    return len({row.release for row in rows} - {None})


def _losses(guarantees: Sequence[Guarantee]) -> list[Loss]:
    return [(guarantee.epsilon, guarantee.delta) for guarantee in guarantees]


def _check_fits(name: str, budget: Guarantee, spent: Sequence[Guarantee], asked: Guarantee) -> None:
    budget.check_same_kind(asked, "set against each other")
    if not fits(_losses([*spent, asked]), budget.epsilon, budget.delta):
        raise BudgetExceeded(
            f"the budget of {name!r} for one {asked.unit} is {_pair(budget)}; "
            f"{_spent_words(spent, budget)}, and this release asks for {_pair(asked)}. "
            "Nothing was entered; release with less, or raise the budget knowingly"
        )


def _balance(budget: Guarantee, losses: Sequence[Loss]) -> Balance:
    spent = compose_epsilon(losses, budget.delta) if losses else 0.0
    return Balance(budget, len(losses), spent, basic_composition(losses)[1])


def _pair(guarantee: Guarantee) -> str:
    return f"({guarantee.epsilon:g}, {guarantee.delta:g})"


def _spent_words(spent: Sequence[Guarantee], budget: Guarantee) -> str:
    epsilon = _balance(budget, _losses(spent)).epsilon_spent
    return f"{len(spent)} releases have spent epsilon {epsilon:.4g} at delta {budget.delta:g}"


def _checked_name(name: str) -> str:
    """One spelling a data set: the same name must not open a second account."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise ParameterError(f"a data set's name is a text of 1 to {LONGEST_NAME} characters")
    if not name.isprintable():
        raise ParameterError("a data set's name must be printable, on one line")
    return unicodedata.normalize("NFC", name.strip())
