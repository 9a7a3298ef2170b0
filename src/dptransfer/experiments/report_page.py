"""The report of what was measured: the tables of `pages`, as a page of `report.results`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dptransfer.experiments.pages import HOW_TO_READ, MISSING, two_tables
from dptransfer.experiments.sources import DELTA, PAPER
from dptransfer.privacy import OptimalNoise
from dptransfer.report.adaptation import versions
from dptransfer.report.page import Promise
from dptransfer.report.results import Figure, Line, Part, ResultsPage, ResultTable

__all__ = ["results_page"]

LEAD = "Section 5 of the paper beside what this software measures."
NAME = "a source at the paper’s ε"
RECORDS = {
    "One image of MNIST, 784 pixels": 784,
    "One image of USPS, 256 pixels": 256,
    "One picture of Office+Caltech256, 800 SURF features": 800,
}
CONTROLS = ("target only", "noise for source")


def results_page(
    digested: Sequence[dict[str, Any]],
    parameters: Mapping[str, str],
    figures: Sequence[Figure] = (),
) -> ResultsPage:
    """A page of what :func:`~dptransfer.experiments.pages.digest` found."""
    cell = OptimalNoise(float(PAPER), DELTA, 1.0).guarantee
    promise = Promise(
        NAME, cell, {name: cell.per_record(n) for name, n in RECORDS.items()}, repeatable=True
    )
    drawn = (
        [Part("Against ε, and against the number of labels", figures=tuple(figures))]
        if figures
        else []
    )
    trials = sum(experiment["trials"] for experiment in digested)
    minutes = sum(experiment["seconds"] for experiment in digested) / 60
    return ResultsPage(
        "The paper’s results, measured again",
        LEAD,
        (promise,),
        (_worth(digested), *drawn, *(part for each in digested for part in _parts(each))),
        {**parameters, "finished trials": f"{trials:,}", "minutes of work": f"{minutes:.0f}"},
        versions(),
    )


def _worth(digested: Sequence[dict[str, Any]]) -> Part:
    """Every task with the source, without it, and with noise in its place; long tables' means."""
    lines = []
    for experiment in digested:
        for table in experiment["tables"]:
            rows = table["rows"]
            if set(CONTROLS) <= set(table["columns"]):
                for row in rows[-1:] if rows[-1]["task"] is None else rows:
                    ours, *controls = row["ours"], *(row["columns"][name] for name in CONTROLS)
                    if ours is not None:
                        lines.append(
                            Line(
                                (
                                    f"{table['title'].split(':')[0]}: {row['row']}",
                                    *map(_mean, (ours, *controls)),
                                    *(_over(ours, control) for control in controls),
                                )
                            )
                        )
    columns = ("task", "with the source", *CONTROLS, "over target only", "over noise")
    table = ResultTable("Accuracy in per cent, and by how many points", columns, tuple(lines))
    return Part(
        "What the source was worth", tuple(_paragraphs(HOW_TO_READ)), (table,) if lines else ()
    )


def _mean(value: dict[str, Any] | None) -> str:
    return MISSING if value is None else f"{value['mean']:.1f}"


def _over(one: dict[str, Any], other: dict[str, Any] | None) -> str:
    if other is None:
        return MISSING
    return f"{one['mean'] - other['mean']:+.1f}".replace("-", "−")


def _parts(experiment: dict[str, Any]) -> list[Part]:
    """A part for each table: what it says, then itself."""
    return [
        Part(
            table["title"],
            tuple(_paragraphs(table["text"])),
            tuple(_tables(table)),
        )
        for table in experiment["tables"]
    ]


def _paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.split("\n\n") if each.strip()]


def _tables(table: dict[str, Any]) -> list[ResultTable]:
    found = []
    for headings, rows in two_tables(table):
        compares = "difference" in headings
        own = len(rows) == len(table["rows"]) and headings[0] == ""
        place = headings.index("difference") if compares else None
        lines = [
            Line(
                tuple(cells),
                place if own and table["rows"][n]["outside"] else None,
                own and table["rows"][n]["task"] is None,
            )
            for n, cells in enumerate(rows)
        ]
        bars = "must reach" in headings
        what = "beside what must be reached" if bars else "parts taken away" if own else headings[0]
        what = "beside the paper" if compares else what
        columns = ("task" if own else "method", *headings[1:])
        found.append(ResultTable(f"{table['title']}: {what}", columns, tuple(lines), compares))
    return found
