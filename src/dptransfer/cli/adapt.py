"""`dptransfer adapt`: the adopter's table and owners' releases in, a model and its worth out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dptransfer.cli.declared import read_bounds
from dptransfer.cli.outcome import outcome, print_outcome
from dptransfer.cli.output import listening, print_json
from dptransfer.errors import DataError, ParameterError, ReleaseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from dptransfer import Release, TransferClassifier
    from dptransfer.data.tables import Table
    from dptransfer.transfer.columns import Columns
    from dptransfer.transfer.container import Container

__all__ = ["adapt"]

MEND = "declare the column anew in --bounds, or leave it out with --drop"


def adapt(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="Your own rows: CSV, Parquet or NPZ.")
    ],
    *,
    out: Annotated[Path, typer.Option(help="The file to write the model to.")],
    label: Annotated[
        str | None,
        typer.Option(
            help="The column of the labels; empty, or -1 among whole numbers, where a row has none."
        ),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="A release; once for each of several. Without one, yours alone."),
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="How to learn: auto, paper, noise-aware or target-only.")
    ] = "auto",
    identifier: Annotated[
        str | None, typer.Option("--id", help="The column that names rows; not learned from.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Learn from these columns only: age,sex")
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Leave these columns out: note,date")] = None,
    bounds: Annotated[
        Path | None,
        typer.Option(help="A JSON file that declares columns, as for `dptransfer release`."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="The same seed, the same model.")
    ] = 0,
    verify: Annotated[
        list[Path] | None,
        typer.Option(
            help="A PEM file with an owner's Ed25519 public key: refuse what none of these owners "
            "signed."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="HTML", help="Write what it came to as a page too.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    r"""Learn from your few labels, your other rows and what owners released.

    With releases, no label at all will do. Says what they were worth: labelled
    rows are held out and labelled with them, without them, and with pure noise
    in their place. That takes as long as some ten times the learning.

    Columns that a release knows are matched by name and brought to its units;
    missing cells become its fill. Where all its columns are there, others are
    left out, with a note. Columns that no release knows are numbers, or are
    declared in --bounds.

    Examples:
      dptransfer adapt ours.csv --label diagnosis --id patient \
          --source clinic-a.release --out ours.model
      dptransfer adapt ours.parquet --label diagnosis \
          --source clinic-a.release --source clinic-b.release \
          --verify a.pem --verify b.pem --out ours.model --report ours.html
      dptransfer adapt unlabelled.csv --source clinic-a.release --out ours.model
      dptransfer adapt ours.csv --label diagnosis --out alone.model
    """
    from dptransfer.cli import adopted, matched  # noqa: PLC0415 - `--help` starts without them
    from dptransfer.data.tables import open_table  # noqa: PLC0415
    from dptransfer.transfer.strategies import STRATEGIES, choose  # noqa: PLC0415

    paths = source or []
    uses_source = STRATEGIES[choose(strategy, [])].uses_source
    if uses_source and not paths:
        raise ParameterError(f"--strategy {strategy} learns from releases; name one with --source")
    inputs = [table, *paths, *(verify or []), *([] if bounds is None else [bounds])]
    adopted.check_output(out, overwrite, inputs)
    if report is not None:
        _check_page(report, overwrite, inputs, out)
    given = [_opened(path, verify or []) for path in paths]
    releases = [release for release, _ in given]
    own = None if bounds is None else read_bounds(bounds)
    rows = open_table(table)
    aside = [name for name in (label, identifier) if name is not None]
    names = matched.candidates(rows, aside, columns, drop)
    with listening():
        found = matched.match(rows, names, releases, own)
        data = _read(rows, found.columns, label, identifier, releases)
        model = _learned(rows, data, found.columns, releases, strategy, seed)
        if releases and not model.sources_:
            model.notes_.append(f"{strategy} takes nothing from the sources but their columns")
        model.notes_ += found.notes
        model.notes_ += matched.far_outside(found.columns, data.X, releases, own)
        model.save(out, overwrite=overwrite)  # which is when the source is weighed
        if report is not None:
            _write_page(model, data, report, overwrite, {"table": str(table), "model": str(out)})
    used = given if model.sources_ else []
    told = outcome(model, used, data.y.tolist()) | {"left_out": found.left_out}
    files = {
        "file": str(out),
        "bytes": out.stat().st_size,
        "report": None if report is None else str(report),
        "table": str(table),
    }
    if as_json:
        print_json(files | told)
        return
    print_outcome(told, [release for release, _ in used], files)


class _Data(NamedTuple):
    """The adopter's rows, whole."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    names: list[str] | None


def _opened(path: Path, keys: Sequence[Path]) -> tuple[Release, Container]:
    """A release, signed by the holder of one of the keys where there are any."""
    from dptransfer.transfer import container  # noqa: PLC0415
    from dptransfer.transfer.release_file import open_release  # noqa: PLC0415
    from dptransfer.transfer.signature import load_public_key  # noqa: PLC0415

    trusted = [load_public_key(key) for key in keys]
    with listening():
        release, file = open_release(path)
    for number, key in enumerate(trusted, start=1):
        try:
            container.verify(file, key)
        except ReleaseError:
            if number == len(trusted):
                raise
        else:
            break
    return release, file


def _read(
    table: Table,
    columns: Columns,
    label: str | None,
    identifier: str | None,
    releases: Sequence[Release],
) -> _Data:
    """All rows, since learning needs them all at once."""
    import numpy as np  # noqa: PLC0415

    from dptransfer.cli import adopted  # noqa: PLC0415
    from dptransfer.data.tables import as_text, objects  # noqa: PLC0415

    classes = [c for release in releases for c in release.classes]
    texts = {} if label is None else {label: frozenset(as_text(objects(classes)).tolist())}
    if identifier is not None:
        texts[identifier] = adopted.IDENTIFIERS
    blocks = list(adopted.read_rows(table, columns, texts, MEND))
    if not blocks:
        raise DataError(f"{table.path} has no rows")
    X = np.concatenate([block.X for block in blocks])
    y = objects([None] * len(X))
    if label is not None:
        y = adopted.known_labels(np.concatenate([block.texts[label] for block in blocks]))
        # a source's classes and one's own are of one type
        if adopted.all_whole(y.tolist()) and all(isinstance(c, int) for c in classes):
            y = objects([None if text is None else int(text) for text in y.tolist()])
    names = None
    if identifier is not None:
        cells = np.concatenate([block.texts[identifier] for block in blocks])
        names = ["" if cell is None else cell for cell in cells.tolist()]
    return _Data(X, y, names)


def _learned(
    table: Table,
    data: _Data,
    columns: Columns,
    releases: list[Release],
    strategy: str,
    seed: int,
) -> TransferClassifier:
    from dptransfer import TransferClassifier  # noqa: PLC0415

    model = TransferClassifier(releases or None, strategy=strategy, n_jobs=-1, random_state=seed)
    try:
        return model.learn(data.X, data.y, columns)
    except DataError as error:
        raise DataError(f"{table.path}: {error}") from None


def _check_page(path: Path, overwrite: bool, inputs: Sequence[Path], out: Path) -> None:
    """Refuse a page that cannot be written before hours are spent on what it would say."""
    from dptransfer.cli import adopted  # noqa: PLC0415
    from dptransfer.report.rendering import templates  # noqa: PLC0415

    adopted.check_output(path, overwrite, inputs)
    if path.resolve() == out.resolve():
        raise ParameterError(f"--out and --report both name {path}; choose another for one")
    templates()


def _write_page(
    model: TransferClassifier, data: _Data, path: Path, overwrite: bool, facts: dict[str, str]
) -> None:
    from dptransfer.report.adaptation import adaptation_page  # noqa: PLC0415
    from dptransfer.report.rendering import write_page  # noqa: PLC0415

    title = f"What was learned from {Path(facts['table']).name}"
    page = adaptation_page(model, data.X, data.y, title=title, row_names=data.names, facts=facts)
    write_page(page, path, overwrite=overwrite)
