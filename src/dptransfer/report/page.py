"""What a report says of an adaptation, as plain values that a template renders.

:func:`dptransfer.report.adaptation.adaptation_page` fills it in,
:func:`dptransfer.report.rendering.render` makes HTML of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dptransfer.privacy import Guarantee
from dptransfer.privacy.words import Words, in_words
from dptransfer.transfer.gain import Interval, TransferGain, wilson

__all__ = ["AdaptationPage", "Answers", "ClassLine", "Confusion", "HardRow", "Promise"]


@dataclass(frozen=True)
class Promise:
    """What the owner of one release promised."""

    name: str
    guarantee: Guarantee
    records: Mapping[str, Guarantee] = field(default_factory=dict)
    """What it amounts to for a whole row, where `guarantee` is for one element."""
    repeatable: bool = False
    """Whether the noise was seeded, so that whoever has the seed can take it off."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What else the manifest says."""

    @property
    def words(self) -> list[tuple[str, Words]]:
        """What is promised to each unit, in words, the declared one first."""
        unit = {"element": "One cell of one row", "record": "One whole row"}[self.guarantee.unit]
        promised = {unit: self.guarantee, **self.records}
        return [(name, in_words(guarantee)) for name, guarantee in promised.items()]


class ClassLine(NamedTuple):
    """How one class fared."""

    name: str
    rows: int
    found: Interval | None
    """Of the rows of this class, the share that was called so; None where it has no rows."""
    trusted: float | None
    """Of the rows called so, the share that are of this class; None where none was."""


class Confusion(NamedTuple):
    """A class taken for another."""

    truth: str
    said: str
    answers: int
    share: float
    """Of the answers for rows of the true class."""


@dataclass(frozen=True)
class Answers:
    """What was answered for labelled rows by models that had not seen their labels.

    >>> answers = Answers(("a", "b"), ((9, 1), (4, 6)), repeats=1)
    >>> print(answers.accuracy)
    75.0 % [53.1, 88.8]
    >>> answers.confusions[0]
    Confusion(truth='b', said='a', answers=4, share=0.4)
    """

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """Answers, by the true class and then by the class that was answered."""
    repeats: int = 1
    """How often every row was held out; intervals count rows, not answers."""

    @property
    def rows(self) -> int:
        """How many rows were held out."""
        return sum(map(sum, self.counts)) // self.repeats

    @property
    def accuracy(self) -> Interval:
        """The share of right answers."""
        right = sum(line[c] for c, line in enumerate(self.counts))
        return wilson(right / self.repeats, self.rows)

    @property
    def by_class(self) -> list[ClassLine]:
        """Every class on its own."""
        lines = []
        for c, name in enumerate(self.classes):
            answers, said = sum(self.counts[c]), sum(line[c] for line in self.counts)
            right = self.counts[c][c]
            found = wilson(right / self.repeats, answers / self.repeats) if answers else None
            lines.append(
                ClassLine(name, answers // self.repeats, found, right / said if said else None)
            )
        return lines

    @property
    def confusions(self) -> list[Confusion]:
        """What was taken for what, the most frequent first."""
        found = [
            Confusion(self.classes[c], self.classes[k], count, count / sum(line))
            for c, line in enumerate(self.counts)
            for k, count in enumerate(line)
            if k != c and count
        ]
        return sorted(found, key=lambda one: (-one.answers, -one.share, one.truth, one.said))


class HardRow(NamedTuple):
    """A row that was nearly, or truly, called something else."""

    row: str
    """Its number in the table, counted from 1, or its name."""
    label: str | None
    """What the table says of it; None where it has no label."""
    said: str
    share: float
    """The probability of what was said."""
    runner_up: str
    runner_up_share: float
    decided_by: str

    @property
    def margin(self) -> float:
        """By how much what was said is more likely than the next."""
        return self.share - self.runner_up_share

    @property
    def kind(self) -> str:
        """How the table's label stands to what was said: wrong, right or unlabelled."""
        if self.label is None:
            return "unlabelled"
        return "right" if self.label == self.said else "wrong"


@dataclass(frozen=True)
class AdaptationPage:
    """All that the page says."""

    title: str
    lead: str
    promises: tuple[Promise, ...]
    gain: TransferGain | None
    answers: Answers | None
    hard: tuple[HardRow, ...]
    decided: Mapping[str, int]
    """How many rows of the table each adviser decided."""
    notes: tuple[str, ...]
    parameters: Mapping[str, str]
    versions: Mapping[str, str]

    template = "adaptation.html"
