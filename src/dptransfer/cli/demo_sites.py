"""The two sites of `dptransfer demo`: one owns labelled digits, the other has few labels.

The images are scikit-learn's 1,797 handwritten digits. The owner has the first thousand, in the
order of the file; the adopter the others, shuffled. Both write their pixels into tables of the same
columns, as two hospitals would that measure the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import load_digits
from dptransfer.data.writing import open_writer, whole_file

__all__ = ["BOUNDS", "CHECKED", "OURS", "OWNED", "Sites", "write_sites"]

OWNED_ROWS, CHECKED_ROWS = 1000, 300
LABELS_A_CLASS = 5
INK = 16  # pixels are 0 to 16

OWNED, BOUNDS, OURS, CHECKED = "owner.csv", "bounds.json", "ours.csv", "checked.csv"


class Sites(NamedTuple):
    """How many rows lie where."""

    owned: int
    ours: int
    labelled: int
    checked: int
    classes: tuple[int, ...]


def write_sites(folder: Path) -> Sites:
    """Write the owner's table and bounds, and the adopter's two tables, into a folder."""
    digits = load_digits()
    pixels = np.rint(digits.X * INK).astype(np.int64)
    height, width = digits.shape
    names = [f"r{row}c{column}" for row in range(height) for column in range(width)]
    rng = np.random.default_rng(0)
    others = OWNED_ROWS + rng.permutation(len(pixels) - OWNED_ROWS)
    checked, ours = others[:CHECKED_ROWS], others[CHECKED_ROWS:]
    classes = tuple(range(10))
    few = np.concatenate([ours[digits.y[ours] == c][:LABELS_A_CLASS] for c in classes])

    def table(rows: npt.NDArray[Any], known: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        labels = np.where(np.isin(rows, known), digits.y[rows].astype(np.str_), "")
        columns = {name: pixels[rows, k] for k, name in enumerate(names)}
        return {"image": rows + 1} | columns | {"digit": labels}

    owned = np.arange(OWNED_ROWS)
    for file, rows, known in (
        (OWNED, owned, owned),
        (OURS, ours, few),
        (CHECKED, checked, checked),
    ):
        columns = table(rows, known)
        with open_writer(folder / file, list(columns)) as writer:
            writer.write(columns)
    with whole_file(folder / BOUNDS, "w") as stream:
        json.dump({name: [0, INK] for name in names}, stream)
    return Sites(len(owned), len(ours), len(few), len(checked), classes)
