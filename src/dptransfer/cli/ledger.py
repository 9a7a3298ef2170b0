"""`dptransfer ledger init | show | budget`: the owner's book of releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from dptransfer.cli.declared import as_distance, one_or_all, read_bounds
from dptransfer.cli.output import print_json, print_table
from dptransfer.errors import ParameterError

if TYPE_CHECKING:
    from dptransfer.privacy.guarantee import Guarantee
    from dptransfer.privacy.ledger import Ledger

__all__ = ["ledger"]

HELP = r"""The book of what was released of which data, against which budget.

Every release is entered before its file appears, and refused if it would pass the budget.

Examples:
  dptransfer ledger init releases.ledger
  dptransfer ledger budget releases.ledger clinic-a --unit element \
      --epsilon 1 --delta 1e-4 --bounds bounds.json
  dptransfer ledger show releases.ledger
"""

ledger = typer.Typer(help=HELP, no_args_is_help=True)

Book = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.")]


@ledger.command()
def init(path: Book) -> None:
    """Make an empty ledger; an existing file is left alone.

    Example:
      dptransfer ledger init releases.ledger
    """
    from dptransfer.privacy.ledger import Ledger  # noqa: PLC0415 - `--help` starts without it

    Ledger.create(path)
    typer.echo(f"made the ledger {path}; next: dptransfer ledger budget {path} NAME ...", err=True)


@ledger.command()
def budget(
    path: Book,
    name: Annotated[str, typer.Argument(help="The data set.")],
    *,
    epsilon: Annotated[float, typer.Option(help="The most that all releases may cost.")],
    delta: Annotated[float, typer.Option(help="The delta at which epsilon is counted.")],
    unit: Annotated[str, typer.Option(help="What is protected: element or record.")],
    distance: Annotated[
        str | None,
        typer.Option(help="By how much a cell may differ: a number, or one a column: 1,0.5,2."),
    ] = None,
    bounds: Annotated[
        Path | None,
        typer.Option(
            help="Instead of --distance: the JSON file of declared bounds. A cell may then differ "
            "by the whole width of its column's bounds, or be another category (distance 1)."
        ),
    ] = None,
    adjacency: Annotated[
        str | None,
        typer.Option(
            help="Which inputs are neighbours. For an element: d-adjacency (always). For a "
            "record: add-or-remove (the default), replace-record or replace-values."
        ),
    ] = None,
) -> None:
    r"""Declare the most that may ever be released of a data set.

    It may be declared anew, but not under what is spent.
    For an element it needs the distance that its releases will have.

    Examples:
      dptransfer ledger budget releases.ledger clinic-a --unit element \
          --epsilon 1 --delta 1e-4 --bounds bounds.json
      dptransfer ledger budget releases.ledger digits --unit element \
          --epsilon 1 --delta 1e-4 --distance 1
      dptransfer ledger budget releases.ledger clinic-a --unit record \
          --epsilon 2 --delta 1e-5
    """
    from dptransfer.privacy.guarantee import NOT_COVERED, Guarantee, Unit  # noqa: PLC0415
    from dptransfer.privacy.ledger import Ledger  # noqa: PLC0415

    if unit not in get_args(Unit):
        raise ParameterError(f"--unit must be element or record, not {unit!r}")
    if distance is not None and bounds is not None:
        raise ParameterError("--distance and --bounds both say by how much a cell may differ")
    neighbours: Any = adjacency or {"element": "d-adjacency", "record": "add-or-remove"}[unit]
    declared = Guarantee(
        unit,  # type: ignore[arg-type] # checked above
        epsilon,
        delta,
        as_distance(distance) if bounds is None else one_or_all(read_bounds(bounds).distances),
        mechanism="budget",
        adjacency=neighbours,
        not_covered=NOT_COVERED.get(neighbours, ()),
    )
    Ledger(path).set_budget(name, declared)
    typer.echo(f"{name}: at most ({epsilon:g}, {delta:g}) for one {unit}", err=True)


@ledger.command()
def show(
    path: Book,
    name: Annotated[
        str | None, typer.Argument(help="One data set, with all that was entered for it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """Show where every data set stands, or what was entered for one.

    Examples:
      dptransfer ledger show releases.ledger
      dptransfer ledger show releases.ledger clinic-a
      dptransfer ledger show releases.ledger --json
    """
    from dptransfer.privacy.ledger import Ledger  # noqa: PLC0415

    book = Ledger(path)
    known = book.names()
    if name is not None and name not in known:
        raise ParameterError(f"the ledger {path} does not know a data set {name!r}")
    shown = known if name is None else [name]
    standing = [row for each in shown for row in _standing(book, each)]
    entered = [] if name is None else _history(book, name)
    if as_json:
        print_json({"balances": standing} | ({"entries": entered} if name else {}))
        return
    print_table(
        f"{path}: what was released, against which budget",
        [
            "data set",
            "protects",
            "budget (epsilon, delta)",
            "releases",
            "spent",
            "left",
            "sum of deltas",
        ],
        [
            [
                row["name"],
                f"one {row['unit']} ({row['budget']['adjacency']})",
                f"({row['budget']['epsilon']:g}, {row['budget']['delta']:g})",
                str(row["releases"]),
                f"{row['epsilon_spent']:.4g}",
                f"{row['epsilon_left']:.4g}",
                f"{row['delta_spent']:.3g}",
            ]
            for row in standing
        ],
    )
    if name is not None:
        print_table(
            "Entered, oldest first (spent, above, is of all together at the budget's delta)",
            ["at (UTC)", "what", "protects", "epsilon", "delta", "distance", "mechanism"],
            [
                [
                    row["at"],
                    "budget" if row["release"] is None else f"release {row['release']}",
                    f"one {row['guarantee']['unit']}",
                    f"{row['guarantee']['epsilon']:g}",
                    f"{row['guarantee']['delta']:g}",
                    _distance_words(row["guarantee"]["distance"]),
                    row["guarantee"]["mechanism"],
                ]
                for row in entered
            ],
        )


def _distance_words(distance: Any) -> str:
    if isinstance(distance, list):
        return f"{min(distance):g} to {max(distance):g}"
    return "" if distance is None else f"{distance:g}"


def _standing(book: Ledger, name: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "unit": unit,
            "budget": _plain(balance.budget),
            "releases": balance.releases,
            "epsilon_spent": balance.epsilon_spent,
            "epsilon_left": balance.epsilon_left,
            "delta_spent": balance.delta_spent,
        }
        for unit, balance in book.remaining(name).items()
    ]


def _history(book: Ledger, name: str) -> list[dict[str, Any]]:
    return [
        {"at": entry.at, "release": entry.release, "guarantee": _plain(entry.guarantee)}
        for entry in book.history(name)
    ]


def _plain(guarantee: Guarantee) -> dict[str, Any]:
    return guarantee.to_dict() | {"epsilon": guarantee.epsilon}
