"""`dptransfer predict`: a model and a table in, a label for every row out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptransfer.cli.output import listening, print_facts, print_json
from dptransfer.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dptransfer import TransferClassifier

__all__ = ["SAID", "predict"]

SAID = ("label", "runner_up", "margin", "probability", "decided_by")
MEND = "mend the cell, or leave the row out"


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What `dptransfer adapt` wrote.")],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Rows: CSV, Parquet or NPZ.")],
    *,
    out: Annotated[
        Path,
        typer.Option(help="The table to write: CSV, TSV or Parquet; - is standard output, as CSV."),
    ],
    identifiers: Annotated[
        list[str] | None,
        typer.Option("--id", help="A column to keep; once for each of several."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it is there.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """Label every row of a table, and say how sure that is.

    Rows stream through, so the table may be larger than the memory; the file
    appears whole or not at all. For every row it has the columns of --id, or
    else its number from 1 as `row`, and

      label        the class whose reconstruction misses the row by least
      runner_up    the class that comes second
      margin       by which share the label's error is below the runner-up's:
                   0 is a tie, 1 is a perfect reconstruction
      probability  of the label, as calibrated on the labelled rows
      decided_by   who had the least error: target (learned from your rows),
                   source (the release's own model) or source2target (its
                   model, translated); of several sources, with its name

    Examples:
      dptransfer predict ours.model new.csv --id patient --out labels.csv
      dptransfer predict ours.model new.parquet --out labels.parquet
      dptransfer predict ours.model new.csv --out - | head
    """
    import numpy as np  # noqa: PLC0415 - `--help` starts without it

    from dptransfer.cli import adopted  # noqa: PLC0415
    from dptransfer.data.tables import open_table  # noqa: PLC0415
    from dptransfer.data.writing import open_writer  # noqa: PLC0415

    names = list(dict.fromkeys(identifiers or []))
    for name in names:
        if name in SAID:
            raise ParameterError(f"--id {name}: what is written has a column of that name already")
    piped = str(out) == "-"
    if piped and as_json:
        raise ParameterError("--out - and --json both take standard output; choose one")
    if not piped:
        adopted.check_output(out, overwrite, [table, model])
    judge = adopted.open_model(model)
    columns = adopted.columns_of(judge)
    rows = open_table(table)
    for name in names:
        rows.need(name)
    texts = dict.fromkeys(names, adopted.IDENTIFIERS)
    labels: Counter[str] = Counter()
    deciders: Counter[str] = Counter()
    with (
        listening(),
        open_writer(out, [*(names or ["row"]), *SAID], overwrite=overwrite) as writer,
    ):
        for block in adopted.read_rows(rows, columns, texts, MEND):
            said = _said(judge, block.X)
            numbers = np.arange(block.first_row, block.first_row + len(block.X))
            writer.write({**(block.texts if names else {"row": numbers}), **said})
            labels.update(map(str, said["label"].tolist()))
            deciders.update(said["decided_by"].tolist())
    if piped:
        return
    counted = {
        "labels": {str(c): labels[str(c)] for c in judge.classes_.tolist()},
        "decided_by": dict(deciders.most_common()),
    }
    if as_json:
        size = out.stat().st_size
        print_json({"file": str(out), "bytes": size, "rows": labels.total()} | counted)
        return
    print_facts(
        f"wrote {out}",
        [("rows", f"{labels.total():,}")]
        + [
            (what.replace("_", " "), ", ".join(f"{name} ({n:,})" for name, n in counts.items()))
            for what, counts in counted.items()
        ],
    )


def _said(judge: TransferClassifier, X: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[Any]]:
    """The columns of ``SAID`` for some rows."""
    import numpy as np  # noqa: PLC0415

    from dptransfer.data.tables import objects  # noqa: PLC0415
    from dptransfer.transfer.calibration import probabilities  # noqa: PLC0415

    opinions = judge.opinions(X)
    least = opinions.least
    each = np.arange(len(X))
    best = least.argmin(axis=1)
    error = least[each, best]
    shares = probabilities(least, judge.temperature_)
    others = least.copy()
    others[each, best] = np.inf
    second = others.argmin(axis=1)
    behind = others[each, second]
    # a class that nobody knows anything of is infinitely far behind
    margin = 1 - np.divide(error, behind, out=np.ones(len(X)), where=behind > 0)
    alone = len(judge.classes_) == 1
    return {
        "label": judge.classes_[best],
        "runner_up": objects([None] * len(X)) if alone else judge.classes_[second],
        "margin": margin,
        "probability": shares[each, best],
        "decided_by": opinions.deciders(),
    }
