"""What an experiment is: trials that give figures, and tables that set them beside the paper's.

A table has a row for each row of the paper's; its own figure stands beside the printed one, and the
ablations of the same trials in columns. Keys of figures may hold ``{e}``, the row's ε.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from dptransfer.data.published import Published, at_hand_or_downloaded
from dptransfer.experiments.store import Figures, Trial
from dptransfer.experiments.summary import Measured, Results
from dptransfer.experiments.words import derived

__all__ = ["Bar", "Column", "Experiment", "Row", "Table"]


class Column(NamedTuple):
    """A figure of every row."""

    heading: str
    key: str
    refused: str = ""
    """A figure that says in how many draws of a hundred an answer was refused; where all are, there
    is no mean to show, and that is not for want of a trial."""


class Bar(NamedTuple):
    """A figure that ours must reach."""

    value: float
    over: str = ""
    """The key of a figure of the same row to which the value is added."""


class Row(NamedTuple):
    """A row of the paper's table: which task of ours it is, and what the paper prints."""

    heading: str
    task: str
    epsilon: str = "0.1"
    paper: Measured | None = None
    bar: Bar | None = None
    others: str = ""
    """What others have published of such a task, and for what they promise it."""


class Table(NamedTuple):
    """A table of the paper, and what it leaves out."""

    name: str
    title: str
    rows: Sequence[Row]
    columns: Sequence[Column]
    ours: str = "rule@{e}"
    measured: str = "the paper's rule"
    """What ours is, as a heading."""
    averaged: bool = False
    """Whether the rows are alike enough for a mean over them."""
    context: Sequence[tuple[str, Sequence[str]]] = ()
    """Published figures that were had on other data or under other terms: a name, and for every
    row what it says."""


class Experiment(ABC):
    """A table of the paper, or several that come from the same trials."""

    name: ClassVar[str]
    title: ClassVar[str]
    protocol: ClassVar[int] = 1
    """Counted up whenever a trial would give other figures: those kept before are passed over."""
    runs: ClassVar[int]
    """How many draws the paper took of each task; where it does not say, how many we take."""
    data: ClassVar[Sequence[Published]] = ()
    """The published data sets that are read."""
    across: ClassVar[bool] = False
    """Whether workers take a trial each, or all work at the same one (few, large trials)."""

    notes: ClassVar[Mapping[str, str]] = {}
    """By name of a table, what a person who has read the figures adds to the sentences that are
    made from them."""

    def __init__(self, *, quick: bool = False) -> None:
        self.quick = quick
        """Whether only the paper's own ε and the controls are wanted, on one draw."""

    @property
    @abstractmethod
    def tasks(self) -> Sequence[str]:
        """What is drawn anew in every run."""

    def get_ready(self) -> None:
        """See that the data are at hand, or download them: once, before any worker needs them."""
        for data in self.data:
            at_hand_or_downloaded(data)

    @abstractmethod
    def run(self, trial: Trial, n_jobs: int) -> Figures:
        """One trial; the same figures whatever ``n_jobs`` is."""

    @abstractmethod
    def tables(self) -> Sequence[Table]:
        """The paper's tables."""

    def text(self, table: Table, results: Results) -> str:
        """Paragraphs under a table: what its figures say by themselves, then what a person did."""
        return "\n\n".join(filter(None, [derived(table, results), self.read(table, results)]))

    def read(self, table: Table, results: Results) -> str:
        """What a person wrote who read the whole table; nothing under a part of it."""
        measured = [results.get(row.task, table.ours.format(e=row.epsilon)) for row in table.rows]
        whole = all(each is not None and each.runs >= self.runs for each in measured)
        return self.notes.get(table.name, "") if whole and not self.quick else ""

    def seconds(self, trial: Trial) -> float:
        """About how long a trial takes on one core; for the time left, and for nothing else."""
        return 1.0

    def grids(self) -> Mapping[str, Sequence[str]]:
        """What is drawn against ε: a title, and the tasks whose mean it is."""
        return {}

    def by_labels(self) -> Mapping[int, str]:
        """What is drawn against the number of labelled rows: that number, and its task."""
        return {}

    def trials(self, runs: int) -> list[Trial]:
        """All trials, those of the first draw before those of the second."""
        return [Trial(task, draw) for draw in range(runs) for task in self.tasks]
