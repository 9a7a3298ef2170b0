"""Means over runs, beside what the paper prints.

A difference is marked where it lies outside two standard errors. The error is that of our mean and,
where the paper gives a deviation and a number of runs, of its mean too; a number that it prints
without either is taken as exact, since nothing else can be done with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dptransfer.experiments.store import Kept, Trial

__all__ = ["Compared", "Measured", "Results", "compare", "measure"]


class Measured(NamedTuple):
    """A mean over runs, in per cent; the deviation is None where there is one run, or none told."""

    mean: float
    sd: float | None = None
    runs: int = 1

    @property
    def error(self) -> float | None:
        """The standard error of the mean."""
        return None if self.sd is None else self.sd / math.sqrt(self.runs)

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if self.sd is None else f" ± {self.sd:.1f}")


class Compared(NamedTuple):
    """Our mean less the paper's."""

    difference: float
    outside: bool | None
    """Whether it lies outside two standard errors; None where ours is a single run."""

    def __str__(self) -> str:
        return f"{self.difference:+.1f}".replace("-", "−") + (" *" if self.outside else "")


def measure(values: Sequence[float]) -> Measured | None:
    """Mean and standard deviation (of a sample) of some runs.

    >>> print(measure([90.0, 92.0]), measure([90.0]), measure([]))
    91.0 ± 1.4 90.0 None
    """
    if not values:
        return None
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Measured(mean)
    return Measured(mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)), n)


def compare(ours: Measured, paper: Measured) -> Compared:
    """Set our mean beside the paper's.

    >>> print(compare(Measured(91.0, 1.0, 4), Measured(92.5)))
    −1.5 *
    """
    difference = ours.mean - paper.mean
    if ours.error is None:
        return Compared(difference, None)
    error = math.hypot(ours.error, paper.error or 0.0)
    return Compared(difference, abs(difference) > 2 * error)


class Results:
    """The finished trials of an experiment, asked by task and figure."""

    def __init__(self, kept: Mapping[Trial, Kept]) -> None:
        self._kept = kept

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def seconds(self) -> float:
        """What all trials took together."""
        return math.fsum(kept.seconds for kept in self._kept.values())

    def values(self, task: str, key: str) -> dict[int, float]:
        """A figure of every draw of a task that has it."""
        return {
            trial.draw: kept.figures[key]
            for trial, kept in self._kept.items()
            if trial.task == task and key in kept.figures
        }

    def get(self, task: str, key: str) -> Measured | None:
        """A figure over all draws of a task."""
        return measure(list(self.values(task, key).values()))

    def together(self, tasks: Sequence[str], key: str) -> dict[int, float]:
        """The mean of a figure over tasks, for every draw in which all of them have it."""
        each = [self.values(task, key) for task in tasks]
        return {
            draw: math.fsum(values[draw] for values in each) / len(each)
            for draw in (each[0] if each else {})
            if all(draw in values for values in each)
        }

    def over(self, tasks: Sequence[str], key: str) -> Measured | None:
        """The mean over tasks, each of them counting alike, over draws."""
        return measure(list(self.together(tasks, key).values()))

    def difference(self, tasks: Sequence[str], key: str, other: str) -> Measured | None:
        """By how much one figure exceeds another, draw by draw."""
        these, those = self.together(tasks, key), self.together(tasks, other)
        return measure([these[draw] - those[draw] for draw in these if draw in those])
