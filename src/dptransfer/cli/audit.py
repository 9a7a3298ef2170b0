"""`dptransfer audit`: try to prove a privacy claim wrong."""

from __future__ import annotations

import importlib
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptransfer.cli.output import print_json, print_table, progress
from dptransfer.errors import ParameterError

if TYPE_CHECKING:
    from dptransfer.privacy.audit import Mechanism

__all__ = ["audit"]

VIOLATED = 9


class Noise(StrEnum):
    """The element noises of dptransfer."""

    optimal = "optimal"
    laplace = "laplace"


def audit(
    *,
    epsilon: Annotated[float, typer.Option(help="The claim, for one element.")],
    delta: Annotated[float, typer.Option(help="The claim, for one element.")],
    distance: Annotated[float, typer.Option(help="By how much an element may differ.")] = 1.0,
    noise: Annotated[Noise, typer.Option(help="Which noise of dptransfer.")] = Noise.optimal,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Your own instead: takes an array of one column with values from 0 to the "
            "distance and returns it perturbed. It is imported and run, so it must be yours.",
        ),
    ] = None,
    cells: Annotated[
        int | None, typer.Option(help="Runs by cells; more see smaller violations.")
    ] = None,
    calls: Annotated[
        int | None, typer.Option(help="Runs by calls; more see repeated noise at larger epsilon.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the bounds.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """Look for a violation of a privacy claim; exit code 9 if one is found.

    Runs the noise on neighbouring inputs of its own making and reports lower bounds on epsilon.
    A bound above the claim shows that the claim is false. A bound below it proves nothing.

    Examples:
      dptransfer audit --epsilon 1 --delta 1e-5
      dptransfer audit --epsilon 0.1 --delta 1e-5 --noise laplace --json
      dptransfer audit --epsilon 1 --delta 1e-5 --mechanism mine:perturb
    """
    from dptransfer.privacy.audit import audit as look_for_violation  # noqa: PLC0415

    report = look_for_violation(
        _imported(mechanism) if mechanism else _ours(noise, epsilon, delta, distance),
        epsilon=epsilon,
        delta=delta,
        distance=distance,
        cells=cells,
        calls=calls,
        confidence=confidence,
        steps=lambda what, total: progress(what, total, "auditing"),
    )
    if as_json:
        print_json(report.to_dict())
    else:
        print_table(
            f"Audit of {mechanism or noise.value + ' noise'}",
            ["claimed (epsilon, delta)", "lower bound", "one-run bound", "violated"],
            [
                [
                    f"({epsilon:g}, {delta:g})",
                    f"{report.epsilon_lower:.4g}",
                    f"{report.one_run:.4g}",
                    "YES" if report.violated else "not found",
                ]
            ],
        )
        typer.echo(report.statement())
    if report.violated:
        raise typer.Exit(VIOLATED)


def _ours(noise: Noise, epsilon: float, delta: float, distance: float) -> Mechanism:
    from dptransfer.privacy import LaplaceNoise, OptimalNoise  # noqa: PLC0415

    kind = OptimalNoise if noise is Noise.optimal else LaplaceNoise
    made = kind(epsilon, delta, distance)
    return lambda values: made.perturb(values, bounds=(0.0, distance))


def _imported(place: str) -> Any:
    module, _, function = place.partition(":")
    if os.getcwd() not in sys.path:  # as `python -m` would find it
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not callable(found):
        raise ParameterError(f"--mechanism must be MODULE:FUNCTION; found no function at {place!r}")
    return found
