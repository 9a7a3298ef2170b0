"""What a command prints: a table for a person, JSON for a program, nothing lively in a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

__all__ = ["print_json", "print_table", "progress"]

WIDTH_IN_A_PIPE = 200


def print_json(value: Any) -> None:
    """As strict JSON on standard output; an infinite number is the string "inf"."""
    typer.echo(json.dumps(_strict(value), indent=2, allow_nan=False))


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return "inf" if value == float("inf") else value


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table by rich; as wide as it needs to be where no terminal says otherwise."""
    from rich import box  # noqa: PLC0415 - other commands start without it
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else WIDTH_IN_A_PIPE
    Console(width=width, markup=False, highlight=False).print(title, table, sep="\n")


def progress(steps: Iterable[Any], total: int, doing: str) -> Iterable[Any]:
    """The same steps, with a bar on standard error if that is a terminal."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track  # noqa: PLC0415

    return track(
        steps,
        total=total,
        description=doing,
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
