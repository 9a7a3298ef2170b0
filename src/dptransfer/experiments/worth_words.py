"""What the table of a source's worth says, in sentences made from its figures.

Every difference is taken draw by draw, with the same rows and labels on both sides; of one draw
alone no chance is spoken of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dptransfer.experiments.bounds import by_all, by_means
from dptransfer.experiments.sources import DELTA, PAPER
from dptransfer.experiments.summary import Measured, Results
from dptransfer.experiments.words import judged, points
from dptransfer.privacy import OptimalNoise

if TYPE_CHECKING:
    from dptransfer.experiments.experiment import Row, Table

__all__ = ["NOT_PRIVATE", "said_of"]

NOTHING_TOLD = 100 * (10 / 9) ** 2
"""Of ten classes: the mean of the nine others is this much farther than that of all."""
AUTO, TARGET, NOISE_TWIN = "auto", "target", "noise"
NOT_PRIVATE = "not private"
"""The figure of a linear model of the source's rows as they are and the target's labelled ones."""
FEW, MANY = 8, 6000
APART = math.sqrt(2)
"""Rows of length 1 without negative numbers are no farther from each other, nor are their means."""


def said_of(table: Table, results: Results) -> str:
    """Paragraphs; nothing where nothing was measured."""
    rows = [row for row in table.rows if results.get(row.task, AUTO) is not None]
    if not rows:
        return ""
    said = [" ".join(_bars(rows, results)), " ".join(_helped(rows, results))]
    said.append(" ".join(_beside_raw_rows(rows, results)))
    said.append(" ".join(_other_columns(rows, results)))
    if any(row.task == "office" for row in rows):
        said.append(_no_method())
    return "\n\n".join(filter(None, said))


def _bars(rows: Sequence[Row], results: Results) -> Iterator[str]:
    """Which bars are met, and by how much."""
    met: list[str] = []
    missed: list[str] = []
    for row in rows:
        ours = results.get(row.task, AUTO)
        if ours is None or row.bar is None:
            continue
        base = results.get(row.task, row.bar.over) if row.bar.over else Measured(0.0)
        if base is not None:
            over = ours.mean - base.mean - row.bar.value
            (met if over >= 0 else missed).append(f"{row.heading} ({points(over)})")
    yield f"Of {len(met) + len(missed)} bars, {len(met)} are met."
    if met:
        yield f"Met, and by how many points: {'; '.join(met)}."
    if missed:
        yield f"Missed, and by how many points: {'; '.join(missed)}."


def _helped(rows: Sequence[Row], results: Results) -> Iterator[str]:
    """Where the source changed anything, for better or worse, and where it was left out."""
    worth = {row: results.difference([row.task], AUTO, TARGET) for row in rows}
    measured = {row: value for row, value in worth.items() if value is not None}
    left_out = [row for row in measured if _is(results.get(row.task, "changed"), 0.0)]
    others = [row for row in measured if row not in left_out]
    better = [row for row in others if measured[row].mean > 0]
    worse = [row for row in others if measured[row].mean <= 0]
    if better:
        yield f"Auto less target only, where the source helped: {_told(better, measured)}."
    if worse:
        yield f"Where it did not: {_told(worse, measured)}."
    if left_out:
        yield (
            "The source was left out, and no label differs from those of target only: "
            f"{'; '.join(row.heading for row in left_out)}."
        )
    if measured:
        worst = min(measured.values(), key=lambda value: value.mean)
        yield f"The least of these means is {points(worst.mean)}."
    refused = [row for row in rows if _is(results.get(row.task, "noise refused"), 100.0)]
    if refused:
        yield (
            "Without a label of its own the target alone can say nothing, and with noise in the "
            "source's place the software said so and answered nothing, in "
            f"{'every' if len(refused) > 1 else 'the one'} such row where that was tried: all that "
            "these rows' figures tell of classes is the source's."
        )
    against = {row: results.difference([row.task], AUTO, NOISE_TWIN) for row in measured}
    beside_noise = {row: value for row, value in against.items() if value is not None}
    if beside_noise:
        yield f"Auto less noise for source: {_told(list(beside_noise), beside_noise)}."


def _beside_raw_rows(rows: Sequence[Row], results: Results) -> Iterator[str]:
    """What a simple model makes of the source's rows where nothing is protected."""
    for row in rows:
        raw = results.difference([row.task], NOT_PRIVATE, TARGET)
        ours = results.difference([row.task], AUTO, TARGET)
        if raw is not None and ours is not None:
            yield (
                f"{row.heading}: a linear model of the source's rows as they are, without any "
                f"protection, and the labelled rows is {judged(raw)} beside target only; the "
                f"release is {judged(ours)}."
            )


def _other_columns(rows: Sequence[Row], results: Results) -> Iterator[str]:
    """What the geometry among classes adds where the columns differ."""
    means_of = {"few": "the labelled rows", "many": "the test's rows as the target labels them"}
    across = [row for row in rows if results.get(row.task, "by few") is not None]
    if across:
        yield (
            "Where the columns differ, no direction of one table is tied to one of the other, and "
            "the source is left out. Both sides know where classes lie among each other, so each "
            "class's mean can be told by the source and a map made of the other classes. It is "
            "wrong by a squared distance, told here in per cent of that from the classes to their "
            f"middle; to take the middle of the others would be wrong by {NOTHING_TOLD:.0f} %."
        )
    for row in across:
        off = results.get(row.task, "geometry off many")
        parts = [
            f"{judged(added)} to the nearest mean of {of}"
            for few, of in means_of.items()
            if (added := results.difference([row.task], f"by {few} and geometry", f"by {few}"))
            is not None
        ]
        wrong = "" if off is None else f" is wrong by {off.mean:.0f} % and"
        yield f"{row.heading}: what is told so{wrong} adds {' and '.join(parts)}."


def _told(rows: Sequence[Row], values: dict[Row, Measured]) -> str:
    return "; ".join(f"{row.heading}, {judged(values[row])}" for row in rows)


def _is(measured: Measured | None, value: float) -> bool:
    return measured is not None and measured.mean == value


def _no_method() -> str:
    """What eight rows a class can tell at the paper's ε, and what 6,000 can."""
    epsilon = float(PAPER)
    deviation = math.sqrt(float(OptimalNoise(epsilon, DELTA, 1.0).variance))
    means = [by_means(APART, deviation, n) for n in (FEW, MANY)]
    error = [deviation / math.sqrt(n) for n in (FEW, MANY)]
    return (
        f"With {FEW} records of a class at ε = {PAPER} the information is not there. The noise on "
        f"one feature has the standard deviation {deviation:.1f}, so each feature of a class's "
        f"mean is known to ± {error[0]:.1f}, while the means of two classes, of rows of length 1, "
        f"are at most {APART:.2f} apart over all features together. Who knew both means exactly, "
        f"and asked the noisy ones only which is which, would be right {means[0]:.0f} times in a "
        f"hundred; whatever else is done with the rows, at most {by_all(APART, epsilon, FEW):.0f} "
        f"(a coin is right 50 times). With {MANY:,} records of a class, about MNIST's, a number of "
        f"the mean is known to ± {error[1]:.2f}, and classes that far apart would be told apart "
        f"{means[1]:.1f} times in a hundred."
    )
