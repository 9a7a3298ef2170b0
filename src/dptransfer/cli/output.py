"""What a command prints: a table for a person, JSON for a program, nothing lively in a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import Any

import typer

__all__ = ["listening", "long_work", "print_facts", "print_json", "print_table", "progress"]

WIDTH_IN_A_PIPE = 200
PATIENCE = 1.0  # seconds of work before a bar appears


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


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """A line for each fact, its name first, under a title."""
    lines = list(facts)
    width = max(len(name) for name, _ in lines)
    typer.echo(f"{title}\n")
    for name, value in lines:
        typer.echo(f"  {name:{width}}  {value}")
    typer.echo()


@contextmanager
def listening() -> Iterator[None]:
    """A bar on standard error, if that is a terminal, for all that reports how far it has come."""
    from dptransfer.transfer.progress import reporting_to  # noqa: PLC0415

    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn  # noqa: PLC0415

    bar = Progress(
        SpinnerColumn(),
        *Progress.get_default_columns()[:-1],
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("reading", total=None)

    def listener(doing: str, done: int, total: int | None) -> None:
        bar.update(task, description=doing, completed=done, total=total)

    waiting = Timer(PATIENCE, bar.start)
    waiting.start()
    try:
        with reporting_to(listener):
            yield
    finally:
        waiting.cancel()
        waiting.join()  # or it could start a bar that nobody stops
        bar.stop()


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


@contextmanager
def long_work(total: float, expected: float) -> Iterator[Callable[[float, str], None]]:
    """A bar with the time left, for pieces of work that take minutes each and are unlike.

    Parameters
    ----------
    total : float
        The sum of all pieces, in any unit.
    expected : float
        The seconds that all of it is thought to take; what is done corrects it.

    Yields
    ------
    callable
        To be told the size of each piece that is done, and what to say.
    """
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text  # noqa: PLC0415

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            seconds = max(0.0, task.fields["expected"] - (task.elapsed or 0.0))
            return Text(f"about {seconds / 60:.0f} min left")

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), Left())
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task("beginning", total=total, expected=expected)

        def done(size: float, say: str) -> None:
            bar.update(task, advance=size, description=say)
            now = bar.tasks[0]
            bar.update(task, expected=(now.elapsed or 0.0) * total / max(now.completed, 1e-9))

        yield done
