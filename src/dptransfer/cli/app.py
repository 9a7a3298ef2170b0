"""The application object, and the door through which every command leaves."""

from __future__ import annotations

import sys

import typer

import dptransfer
from dptransfer.cli.audit import audit
from dptransfer.cli.demo import demo
from dptransfer.cli.inspect import inspect
from dptransfer.cli.ledger import ledger
from dptransfer.cli.release import release
from dptransfer.cli.reproduce import reproduce
from dptransfer.errors import DPTransferError

__all__ = ["app", "main"]

INTERRUPTED = 130

app = typer.Typer(
    name="dptransfer",
    help="Publish what a private labelled data set knows, once; learn from it with few labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dptransfer {dptransfer.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    pass


app.command("release")(release)
app.command("inspect")(inspect)
app.command("demo")(demo)
app.command("audit")(audit)
app.add_typer(ledger, name="ledger")
app.add_typer(reproduce, name="reproduce")


def main() -> None:
    """Run the command line; a user's error is one line on standard error, never a traceback."""
    try:
        app()
    except DPTransferError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, SystemExit) as end:  # typer makes the one of the other
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        typer.echo("interrupted; nothing was left half-written", err=True)
        sys.exit(INTERRUPTED)
