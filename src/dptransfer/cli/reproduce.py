"""`dptransfer reproduce`: the paper's figures, made anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dptransfer.cli.output import progress
from dptransfer.errors import DataError

__all__ = ["reproduce"]

reproduce = typer.Typer(help="Make the paper's figures anew.", no_args_is_help=True)


@reproduce.callback()
def _reproduce() -> None:
    pass


@reproduce.command("figures")
def figures(
    out: Annotated[Path, typer.Option(help="The folder for the PNG files.")] = Path("figures"),
) -> None:
    """Draw the three pictures of abstraction: across layers, across n, across r_max.

    Uses MNIST if the environment variable DPTRANSFER_DATA names a folder with mnist.npz, and
    scikit-learn's small digits otherwise.

    Example: dptransfer reproduce figures --out figures
    """
    from dptransfer.data.datasets import load_digits, load_mnist  # noqa: PLC0415 - slow to import
    from dptransfer.experiments.figures import FIGURES, draw_figures  # noqa: PLC0415

    images = load_mnist() if os.environ.get("DPTRANSFER_DATA") else load_digits()
    typer.echo(f"drawing on {images.name}")
    try:
        for path in progress(draw_figures(images, out), len(FIGURES), "drawing"):
            typer.echo(str(path))
    except OSError as error:
        raise DataError(f"cannot write to {out}: {error.strerror}") from error
