"""Results for a person and for a program: one plain structure, and how it is written.

:func:`digest` makes the structure, plain JSON values; Markdown, CSV, the terminal and the report
are all made from it, so they cannot differ.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from dptransfer.experiments.experiment import Bar, Experiment, Row, Table
from dptransfer.experiments.store import Store
from dptransfer.experiments.summary import Compared, Measured, Results, compare, measure
from dptransfer.experiments.words import points

__all__ = ["HOW_TO_READ", "MISSING", "digest", "markdown", "to_csv", "two_tables", "whole_page"]

MISSING = "–"
REFUSED = "refused"
MEAN = "mean of all"


def digest(experiments: Sequence[Experiment], store: Store) -> list[dict[str, Any]]:
    """Every experiment that has a finished trial: its tables, row by row, and what they say."""
    found = []
    for experiment in experiments:
        results = Results(store.read(experiment.name, experiment.protocol))
        if len(results):
            found.append(
                {
                    "experiment": experiment.name,
                    "title": experiment.title,
                    "trials": len(results),
                    "seconds": round(results.seconds, 1),
                    "tables": [_table(experiment, each, results) for each in experiment.tables()],
                }
            )
    return found


def _table(experiment: Experiment, table: Table, results: Results) -> dict[str, Any]:
    rows = [_row(table, row, results) for row in table.rows]
    means = [_mean_row(table, rows)] if table.averaged else []
    return {
        "name": table.name,
        "title": table.title,
        "measured": table.measured,
        "columns": [column.heading for column in table.columns],
        "rows": rows + means,
        "text": experiment.text(table, results),
        "context": [{"method": method, "values": list(values)} for method, values in table.context],
    }


def _row(table: Table, row: Row, results: Results) -> dict[str, Any]:
    ours = results.get(row.task, table.ours.format(e=row.epsilon))
    compared = compare(ours, row.paper) if ours is not None and row.paper is not None else None
    return {
        "row": row.heading,
        "task": row.task,
        "epsilon": row.epsilon,
        "paper": _plain(row.paper),
        "ours": _plain(ours),
        "difference": None if compared is None else compared.difference,
        "outside": None if compared is None else compared.outside,
        "columns": {
            column.heading: _plain(results.get(row.task, column.key.format(e=row.epsilon)))
            for column in table.columns
        },
        "bar": None if row.bar is None else reach(row.bar, row.task, results),
        "others": row.others,
        "refused": [
            column.heading
            for column in table.columns
            if column.refused and _always(results.get(row.task, column.refused))
        ],
    }


def _always(share: Measured | None) -> bool:
    return share is not None and share.mean == 100


def reach(bar: Bar, task: str, results: Results) -> float | None:
    """What must be reached; None where it hangs on a figure that is not there."""
    if not bar.over:
        return bar.value
    base = results.get(task, bar.over)
    return None if base is None else base.mean + bar.value


def _mean_row(table: Table, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean over rows where all have the figure; its deviation is over rows."""

    def over(values: list[dict[str, Any] | None]) -> dict[str, Any] | None:
        means = [value["mean"] for value in values if value is not None]
        found = measure(means) if len(means) == len(rows) else None
        return None if found is None else {"mean": found.mean, "sd": None, "runs": found.runs}

    return {
        "row": MEAN,
        "task": None,
        "epsilon": None,
        "paper": over([row["paper"] for row in rows]),
        "ours": over([row["ours"] for row in rows]),
        "difference": None,
        "outside": None,
        "columns": {
            column.heading: over([row["columns"][column.heading] for row in rows])
            for column in table.columns
        },
        "bar": None,
        "others": "",
        "refused": [],
    }


def _plain(measured: Measured | None) -> dict[str, Any] | None:
    if measured is None:
        return None
    return {"mean": measured.mean, "sd": measured.sd, "runs": measured.runs}


# As text -----------------------------------------------------------------------------------------


def _shown(value: dict[str, Any] | None) -> str:
    return MISSING if value is None else str(Measured(**value))


def two_tables(table: dict[str, Any]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Headings and rows as text: beside the paper's or a bar, then what was taken apart."""
    compared = any(row["paper"] is not None for row in table["rows"])
    if compared:
        yield (
            ["", "paper", "ours", "difference", "runs"],
            [
                [
                    row["row"],
                    _shown(row["paper"]),
                    _shown(row["ours"]),
                    MISSING
                    if row["difference"] is None
                    else str(Compared(row["difference"], row["outside"])),
                    str(row["ours"]["runs"]) if row["ours"] and row["task"] else MISSING,
                ]
                for row in table["rows"]
            ],
        )
    if any(row["bar"] is not None for row in table["rows"]):
        yield _beside_bars(table)
    # a deviation in every cell of a wide table hides the figures; the JSON has them all
    wide = len(table["columns"]) > 4 and len(table["rows"]) > 4

    def brief(value: dict[str, Any] | None, row: dict[str, Any], refused: bool = False) -> str:
        if value is None:
            return REFUSED if refused else MISSING
        fewer = row["task"] and row["ours"] and value["runs"] != row["ours"]["runs"]
        text = f"{value['mean']:.1f}" if wide else _shown(value)
        return text + (f" [{value['runs']}]" if fewer else "")

    columns = [
        c
        for c in table["columns"]
        if any(row["columns"][c] or c in row["refused"] for row in table["rows"])
    ]
    yield (
        ["", table["measured"], *columns],
        [
            [
                row["row"],
                brief(row["ours"], row),
                *(brief(row["columns"][c], row, c in row["refused"]) for c in columns),
            ]
            for row in table["rows"]
        ],
    )
    if table["context"]:
        rows = [row["row"] for row in table["rows"] if row["task"]]
        yield (
            ["published, on other terms", *rows],
            [[each["method"], *each["values"]] for each in table["context"]],
        )


def _beside_bars(table: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """What must be reached, and by how much it is; what others have stands with its own terms."""
    rows = []
    for row in table["rows"]:
        ours, bar = row["ours"], row["bar"]
        over = MISSING if ours is None or bar is None else points(ours["mean"] - bar)
        rows.append(
            [
                row["row"],
                MISSING if bar is None else f"{bar:.1f}",
                _shown(ours),
                over,
                str(ours["runs"]) if ours else MISSING,
                row["others"] or MISSING,
            ]
        )
    return (
        ["", "must reach", table["measured"], "over it", "runs", "others, for what"],
        rows,
    )


def markdown(digested: Sequence[dict[str, Any]], level: int = 2) -> str:
    """All tables and texts as Markdown."""
    lines = []
    for experiment in digested:
        lines += [f"{'#' * level} {experiment['title']}", ""]
        for table in experiment["tables"]:
            lines += [f"**{table['title']}**", ""]
            for headings, rows in two_tables(table):
                lines += _markdown_table(headings, rows)
            if table["text"]:
                lines += [table["text"], ""]
    return "\n".join(lines)


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def to_csv(digested: Sequence[dict[str, Any]]) -> str:
    """One line for every figure: table, row, column, mean, sd, runs; the paper's among them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "row", "epsilon", "figure", "mean", "sd", "runs"])
    for experiment in digested:
        for table in experiment["tables"]:
            for row in table["rows"]:
                bar = None if row["bar"] is None else _plain(Measured(row["bar"]))
                figures = {"paper": row["paper"], "must reach": bar, "ours": row["ours"]}
                figures |= row["columns"]
                for name, value in figures.items():
                    if value is not None:
                        numbers = [value["mean"], value["sd"], value["runs"]]
                        writer.writerow(
                            [table["name"], row["row"], row["epsilon"] or "", name]
                            + ["" if number is None else number for number in numbers]
                        )
    return out.getvalue()


HOW_TO_READ = """Accuracy in per cent on test rows, mean ± standard deviation over the draws of the
labelled rows. A star marks a difference to the paper outside two standard errors; a figure that the
paper prints without deviation is taken as exact. A number in brackets says over how many draws a
figure is, where that is not the number beside the paper's: to keep all of it to about an hour, some
parts are taken away on the first draws only. Draw k has the seed k, for its labelled rows and for
the noise of its source; to seed the noise is for experiments only. **ε is for one element**, unless
a row says record: one pixel of one image, one feature of one picture; what that is for a whole
record is another figure, and the two are never to be compared.

"The paper's rule" is the least of three errors at the paper's ε = 0.1 unless the row says
otherwise. The columns after it are the same trials with parts taken away or exchanged: "target
only" is the target's own error alone; "noise for source" the same rule with a release of pure
noise; then each of the other two errors alone; the rule at other ε; and what a few lines of
scikit-learn make of the same labels. The sentences under a table are made from its figures:
differences are taken draw by draw, with the same rows and labels on both sides, and stand beside
their standard error. Where nothing could be learned, and that was said instead of an answer, a
table has "refused". Where a table has several rows at one ε, they are about the mean of these."""

HEAD = """# Results

*This page is made by `dptransfer reproduce page docs/results.md --out benchmarks/results/reproduce`
from the finished trials in that folder. Do not edit it: run the command.*

{how_to_read} See [privacy.md](privacy.md).
"""


def whole_page(digested: Sequence[dict[str, Any]]) -> str:
    """The page of results."""
    minutes = sum(experiment["seconds"] for experiment in digested) / 60
    trials = sum(experiment["trials"] for experiment in digested)
    tail = f"{trials} trials, {minutes:.0f} minutes of work in all.\n"
    return "\n".join([HEAD.format(how_to_read=HOW_TO_READ), markdown(digested), tail])
