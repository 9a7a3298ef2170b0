"""The application object, and the door through which every command leaves."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

import dptransfer
from dptransfer.cli.adapt import adapt
from dptransfer.cli.audit import audit
from dptransfer.cli.demo import demo
from dptransfer.cli.evaluate import evaluate
from dptransfer.cli.inspect import inspect
from dptransfer.cli.ledger import ledger
from dptransfer.cli.predict import predict
from dptransfer.cli.release import release
from dptransfer.cli.reproduce import reproduce
from dptransfer.errors import DPTransferError

__all__ = ["app", "main"]

INTERRUPTED = 130

OWNER, ADOPTER, ANYBODY = "The owner of private rows", "The adopter", "Anybody"


class InOrder(TyperGroup):
    """The commands as two people come to use them; typer would list groups of commands first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Give the names in the order of ``ORDER``."""
        return list(ORDER)


app = typer.Typer(
    name="dptransfer",
    cls=InOrder,
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


ORDER: dict[str, tuple[Any, str]] = {
    "ledger": (ledger, OWNER),
    "release": (release, OWNER),
    "inspect": (inspect, ADOPTER),
    "adapt": (adapt, ADOPTER),
    "evaluate": (evaluate, ADOPTER),
    "predict": (predict, ADOPTER),
    "demo": (demo, ANYBODY),
    "audit": (audit, ANYBODY),
    "reproduce": (reproduce, ANYBODY),
}

for _name, (_command, _who) in ORDER.items():
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name, rich_help_panel=_who)
    else:
        app.command(_name, rich_help_panel=_who)(_command)


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
