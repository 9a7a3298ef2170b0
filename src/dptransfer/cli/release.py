"""`dptransfer release`: the owner's table in, one file out that is safe to hand on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptransfer.cli.declared import as_classes, as_distance, as_words, read_bounds
from dptransfer.cli.inspect import facts
from dptransfer.cli.output import listening, print_facts, print_json
from dptransfer.errors import DataError, DeclarationError, OutsideBoundsError, ParameterError

if TYPE_CHECKING:
    from dptransfer.data.tables import Table
    from dptransfer.transfer.columns import Columns
    from dptransfer.transfer.making import Maker

__all__ = ["release"]


class UnitOf(StrEnum):
    """What is protected."""

    element = "element"
    record = "record"


class Mechanism(StrEnum):
    """The noises of a release; the names of `transfer.cell_noise.MECHANISMS`."""

    optimal = "optimal"
    laplace = "laplace"


def release(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="The private rows: CSV, Parquet or NPZ.")
    ],
    *,
    label: Annotated[
        str,
        typer.Option(help="The column of the labels. Only with --unit record are they protected."),
    ],
    bounds: Annotated[
        Path, typer.Option(help="A JSON file that declares every column, as shown below.")
    ],
    classes: Annotated[str, typer.Option(help="The labels that there may be: ill,well")],
    epsilon: Annotated[
        float, typer.Option(help="What is promised for one cell of one row, or for one row.")
    ],
    delta: Annotated[
        float, typer.Option(help="The same; well below one in the number of cells, or of rows.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    unit: Annotated[
        UnitOf,
        typer.Option(
            help="What is protected: one cell of one row (element), or one whole row with its "
            "label, and whether it is there (record)."
        ),
    ] = UnitOf.element,
    name: Annotated[
        str | None,
        typer.Option(
            help="Of the data set, as in the ledger; by default OUT's name. It is public."
        ),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Where the release is entered before its file appears.")
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="Give the perturbed rows out too.")
    ] = False,
    distance: Annotated[
        str | None,
        typer.Option(
            help="By how much a cell may differ and still be protected: a number, or one a column "
            "of the bounds, 1,0.5,2. By default all that its bounds allow."
        ),
    ] = None,
    mechanism: Annotated[
        Mechanism,
        typer.Option(help="The paper's noise, or Laplace noise that leaves no cell untouched."),
    ] = Mechanism.optimal,
    radius: Annotated[
        float | None,
        typer.Option(
            help="With --unit record: rows farther from the centre are brought so near, in units "
            "of features that lie in [0, 1]. By default none is."
        ),
    ] = None,
    centre: Annotated[
        float | None,
        typer.Option(help="With --unit record: about what, for every feature. By default 0.5."),
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Bring values outside the bounds to them.")
    ] = False,
    columns: Annotated[str | None, typer.Option(help="Take these columns only: age,sex")] = None,
    drop: Annotated[str | None, typer.Option(help="Leave these columns out: id,name")] = None,
    sign: Annotated[
        Path | None, typer.Option(help="A PEM file with an Ed25519 private key to sign with.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it is there.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    r"""Make one file of a private labelled table that is safe to hand on.

    Every cell is perturbed, and what is learned from the result goes into
    the file, with the guarantee that it was made under. With --unit record
    only sums over all rows go into it, with noise that hides any one of
    them. Nothing is read off the data: bounds and categories are declared
    in a JSON file,

      {"age": [0, 120], "sex": {"categories": ["f", "m"]},
       "weight": {"low": 0, "high": 300, "fill": 70}}

    where a fill stands for missing cells; without one they are refused. Rows
    stream, three times for a record, so the table may be larger than the
    memory. The file appears whole or not at all.

    Examples:
      dptransfer release clinic.csv --label diagnosis --classes ill,well \
          --bounds bounds.json --epsilon 0.1 --delta 1e-5 \
          --out clinic-a.release
      dptransfer release clinic.parquet --label diagnosis --drop id \
          --classes ill,well --bounds bounds.json \
          --epsilon 0.1 --delta 1e-5 --out clinic-a.release \
          --ledger releases.ledger --name clinic-a --sign key.pem
      dptransfer release clinic.csv --label diagnosis --classes ill,well \
          --bounds bounds.json --unit record --epsilon 1 --delta 1e-5 \
          --out clinic-a.release
    """
    from dptransfer.data.tables import open_table  # noqa: PLC0415 - `--help` starts without them
    from dptransfer.privacy.ledger import Ledger  # noqa: PLC0415
    from dptransfer.transfer.cell_noise import CellNoise  # noqa: PLC0415
    from dptransfer.transfer.making import ReleaseMaker  # noqa: PLC0415
    from dptransfer.transfer.moment_making import MomentMaker  # noqa: PLC0415
    from dptransfer.transfer.signature import load_private_key  # noqa: PLC0415
    from dptransfer.transfer.writing import check_target  # noqa: PLC0415

    check_target(out, overwrite)
    key = None if sign is None else load_private_key(sign)
    book = None if ledger is None else Ledger(ledger)
    rows = open_table(table)
    declared = _wanted(rows, read_bounds(bounds), label, columns, drop)
    maker: Maker[Any]
    common: Any = {"name": out.stem if name is None else name, "clip": clip}
    if unit is UnitOf.record:
        _only(UnitOf.element, samples=samples, distance=distance, mechanism=mechanism)
        common |= {"radius": radius, "centre": centre}
        maker = MomentMaker(declared, as_classes(classes), epsilon, delta, **common)
    else:
        _only(UnitOf.record, radius=radius, centre=centre)
        noise = CellNoise(
            declared, epsilon, delta, as_distance(distance), mechanism=mechanism.value
        )
        common |= {"keep_samples": samples, "n_jobs": -1}
        maker = ReleaseMaker(declared, as_classes(classes), noise, **common)
    if book is not None:
        maker.check(book)
    with listening():
        _read(rows, label, maker)
        made = maker.finish()
        made.save(out, sign=key, overwrite=overwrite, ledger=book)
    size = out.stat().st_size
    if as_json:
        print_json(
            {
                "file": str(out),
                "bytes": size,
                "signed": key is not None,
                "ledger": None if ledger is None else str(ledger),
                "manifest": made.manifest,
            }
        )
        return
    print_facts(f"wrote {out}", facts(made, size))
    typer.echo(made.guarantee.statement())


def _only(unit: UnitOf, **options: Any) -> None:
    """Refuse options that belong to the other unit."""
    for name, value in options.items():
        if not any(value is default for default in (None, False, Mechanism.optimal)):
            raise ParameterError(f"--{name} goes with --unit {unit} only; leave it out")


def _wanted(
    table: Table, declared: Columns, label: str, columns: str | None, drop: str | None
) -> Columns:
    """The declared columns that are released, every column of the table accounted for."""
    from dptransfer.transfer.columns import Columns  # noqa: PLC0415

    taken = None if columns is None else as_words(columns, "--columns")
    left = [] if drop is None else as_words(drop, "--drop")
    for option, names in (("--columns", taken or []), ("--drop", left)):
        for name in names:
            if name not in table.columns and name not in declared.names:
                raise DataError(f"{option}: neither {table.path} nor the bounds know {name!r}")
    kept = [
        column
        for column in declared
        if column.name not in left and (taken is None or column.name in taken)
    ]
    wanted = Columns(kept)
    if label in wanted.names:
        raise DeclarationError(
            f"the column {label!r} is that of the labels, and is declared a column of values too; "
            "take it out of the bounds, or --drop it"
        )
    for name in table.columns if taken is None else taken:
        if name not in wanted.names and name not in left and name != label:
            raise DeclarationError(
                f"nothing is declared of the column {name!r} of {table.path}: declare its bounds "
                "or categories, or leave it out with --drop"
            )
    return wanted


def _read(table: Table, label: str, maker: Maker[Any]) -> None:
    """All rows to the maker, a block at a time, as often as it asks for them."""
    from dptransfer.data.tables import as_labels, as_text, objects  # noqa: PLC0415
    from dptransfer.transfer.progress import report  # noqa: PLC0415

    classes = as_text(objects(maker.classes)).tolist()
    words = {c.name: c.categories for c in maker.columns if c.categories is not None}
    for doing in maker.passes():
        done = 0
        for block in table.blocks([label, *maker.columns.names], text=words | {label: classes}):
            try:
                maker.add(block.cells, as_labels(block.cells[label]))
            except OutsideBoundsError as error:
                raise OutsideBoundsError(f"{table.path}, {error}", error.count) from None
            except DataError as error:
                raise DataError(f"{table.path}, {error}") from None
            done += len(block)
            report(doing, done, table.n_rows)
        if not done:
            raise DataError(f"{table.path} has no rows")
