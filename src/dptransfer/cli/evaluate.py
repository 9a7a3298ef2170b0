"""`dptransfer evaluate`: how often a model is right about rows whose labels are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dptransfer.cli.output import listening, print_facts, print_json, print_table
from dptransfer.errors import DataError

__all__ = ["evaluate"]

MEND = "mend the cell, or leave the row out"
CONFUSIONS_SHOWN = 20


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What `dptransfer adapt` wrote.")],
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="Rows with labels: CSV, Parquet or NPZ.")
    ],
    *,
    label: Annotated[
        str,
        typer.Option(
            help="The column of the true labels; rows where it is empty, or -1 among whole "
            "numbers, are left out and counted."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """Compare what a model says with labels that are known.

    Take rows that the model was not learned from, or it looks better than it
    is. A row of a class that the model does not know counts as wrong, and how
    many there are is said. Rows stream through, so the table may be larger
    than the memory.

    Examples:
      dptransfer evaluate ours.model checked.csv --label diagnosis
      dptransfer evaluate ours.model checked.parquet --label diagnosis --json
    """
    import numpy as np  # noqa: PLC0415 - `--help` starts without it

    from dptransfer.cli import adopted  # noqa: PLC0415
    from dptransfer.data.tables import as_text, objects, open_table  # noqa: PLC0415

    judge = adopted.open_model(model)
    rows = open_table(table)
    classes = as_text(objects(judge.classes_.tolist())).tolist()
    whole = adopted.all_whole(classes)
    number = {name: k for k, name in enumerate(classes)}  # and of classes that it does not know
    counts = np.zeros((0, len(classes)), dtype=np.int64)
    unlabelled = 0
    with listening():
        columns = adopted.columns_of(judge)
        for block in adopted.read_rows(rows, columns, {label: frozenset(classes)}, MEND):
            labels = adopted.known_labels(block.texts[label], whole=whole)
            known = np.array([text is not None for text in labels.tolist()])
            unlabelled += int((~known).sum())
            if not known.any():
                continue
            said = judge.opinions(block.X[known]).least.argmin(axis=1)
            truth = np.array([number.setdefault(t, len(number)) for t in labels[known].tolist()])
            new = np.zeros((len(number), len(classes)), dtype=np.int64)
            new[: len(counts)] = counts
            np.add.at(new, (truth, said), 1)
            counts = new
    if not counts.any():
        raise DataError(f"{table}: no row has a label in the column {label!r}")
    if not counts[: len(classes)].any():
        raise DataError(
            f"{table}: no label in the column {label!r} is a class that the model knows; is it "
            "the column of the labels?"
        )
    told = _figures(counts.tolist(), list(number), len(classes))
    told = {"model": str(model), "table": str(table), "unlabelled": unlabelled} | told
    if as_json:
        print_json(told)
    else:
        _print(told)


def _figures(counts: list[list[int]], names: list[str], n_known: int) -> dict[str, Any]:
    """The usual figures from how often each class (a row) was called each class (a column)."""
    from dptransfer.transfer.gain import wilson  # noqa: PLC0415

    rows = [sum(row) for row in counts]
    called = [sum(row[k] for row in counts) for k in range(n_known)]
    right = [counts[k][k] for k in range(n_known)]
    each: list[dict[str, Any]] = []
    for k, name in enumerate(names):
        known = k < n_known
        hits, times = (right[k], called[k]) if known else (0, 0)
        each.append(
            {
                "label": name,
                "known": known,
                "rows": rows[k],
                "precision": hits / times if times else None,
                "recall": hits / rows[k] if rows[k] else None,
                "f1": 2 * hits / (times + rows[k]) if times + rows[k] else None,
            }
        )
    recalls = [one["recall"] for one in each if one["recall"] is not None]
    return {
        "rows": sum(rows),
        "of_unknown_classes": sum(rows[n_known:]),
        "accuracy": wilson(sum(right), sum(rows))._asdict(),
        "balanced_accuracy": sum(recalls) / len(recalls),
        "classes": each,
        "confusion": {"true": names, "said": names[:n_known], "rows": counts},
    }


def _print(told: dict[str, Any]) -> None:
    from dptransfer.transfer.gain import Interval  # noqa: PLC0415

    accuracy = Interval(**told["accuracy"])
    rows = f"{told['rows']:,} with a label; {told['unlabelled']:,} without are left out"
    facts = [
        ("rows", rows),
        ("accuracy", f"{accuracy} (95 % interval)"),
        (
            "balanced accuracy",
            f"{_percent(told['balanced_accuracy'])} (the mean recall of classes)",
        ),
    ]
    if told["of_unknown_classes"]:
        unknown = [one["label"] for one in told["classes"] if not one["known"]]
        facts.append(
            (
                "counted as wrong",
                f"{told['of_unknown_classes']:,} rows of {len(unknown):,} classes that the model "
                f"does not know: {', '.join(unknown[:8])}" + ", …" * (len(unknown) > 8),
            )
        )
    print_facts(f"{told['model']} on {told['table']}", facts)
    print_table(
        "Classes",
        ["class", "rows", "precision", "recall", "F1"],
        [
            [
                one["label"],
                f"{one['rows']:,}",
                *(_percent(one[figure]) for figure in ("precision", "recall", "f1")),
            ]
            for one in told["classes"]
        ],
    )
    confusion = told["confusion"]
    if len(confusion["true"]) > CONFUSIONS_SHOWN:
        typer.echo("Too many classes to show who was taken for whom; --json has it.")
        return
    print_table(
        "Confusions: a row for each true class, a column for each that was said",
        ["", *confusion["said"]],
        [
            [name, *(f"{n:,}" if n else "·" for n in row)]
            for name, row in zip(confusion["true"], confusion["rows"], strict=True)
        ],
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
