"""An adopter's table as a model reads it: features, labels and identifiers, block after block.

Learning, labelling and scoring all pass through :func:`read_rows`, so that a row means the same to
each of them, and an error names the file, the row and the column in all three.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer import TransferClassifier
from dptransfer.data.csv_tables import MISSING
from dptransfer.data.tables import Table, as_labels
from dptransfer.errors import DataError, ParameterError
from dptransfer.transfer.columns import Columns, as_text
from dptransfer.transfer.progress import report
from dptransfer.transfer.writing import check_target

__all__ = [
    "BLOCK_ROWS",
    "IDENTIFIERS",
    "Rows",
    "all_whole",
    "check_output",
    "columns_of",
    "known_labels",
    "open_model",
    "read_rows",
]

BLOCK_ROWS = 8192

WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
UNLABELLED = "-1"

IDENTIFIERS = frozenset(
    {form for word in MISSING for form in (word, word.upper(), word.title())} - {""} | {"NaN"}
)
"""Words that mean themselves where rows are named: NA is a country too."""


class Rows(NamedTuple):
    """Some consecutive rows of a table."""

    first_row: int
    X: npt.NDArray[np.float64]
    texts: Mapping[str, npt.NDArray[Any]]
    """The columns that were wanted to the letter, each cell a text or None."""


def read_rows(
    table: Table, columns: Columns, texts: Mapping[str, Collection[str]], mend: str
) -> Iterator[Rows]:
    """Give a table's rows, a block at a time.

    Parameters
    ----------
    table : Table
    columns : Columns
        What the features are made of. Values outside their bounds stay outside.
    texts : mapping of str to collections of str
        Columns that are wanted to the letter, and which words mean themselves there.
    mend : str
        What to do about a cell that cannot be used, for the error that names it.
    """
    words = {c.name: c.categories for c in columns if c.categories is not None}
    wanted = dict.fromkeys([*texts, *columns.names])
    # a column that is learned from too has its missing cells where it has them for that
    meant = {name: () if name in columns.names else kept for name, kept in texts.items()}
    done = 0
    for block in table.blocks(list(wanted), BLOCK_ROWS, text={**meant, **words}):
        report("reading", done, table.n_rows)
        try:
            X = columns.encode(block.cells, block.first_row, bounded=False)
        except DataError as error:
            raise DataError(f"{table.path}, {error}; {mend}") from None
        yield Rows(block.first_row, X, {name: block.cells[name] for name in texts})
        done += len(block)


def known_labels(cells: npt.NDArray[Any], *, whole: bool | None = None) -> npt.NDArray[Any]:
    """Labels as text, None where a row has none: the cell is empty, or −1 among whole numbers.

    Whether all are whole numbers is seen from the labels, or said.

    >>> from dptransfer.data.tables import objects
    >>> known_labels(objects(["3.0", "-1", None])), known_labels(objects(["a", "-1"]))
    (array(['3', None, None], dtype=object), array(['a', '-1'], dtype=object))
    """
    labels = as_labels(cells)
    if all_whole(labels.tolist()) if whole is None else whole:
        labels[labels == UNLABELLED] = None
    return labels


def all_whole(labels: Iterable[object]) -> bool:
    """Whether all labels that are there are whole numbers, written as such."""
    return all(WHOLE.fullmatch(as_text(label)) for label in labels if label is not None)


def open_model(path: Path) -> TransferClassifier:
    """A model from its file, to work with all cores."""
    model = TransferClassifier.load(path)
    return model.set_params(n_jobs=-1)  # type: ignore[no-any-return] # scikit-learn's are untyped


def columns_of(model: TransferClassifier) -> Columns:
    """What the model's columns are; numbers as they stand, if it was only told their names."""
    if model.columns_ is not None:
        return model.columns_
    names = getattr(model, "feature_names_in_", None)
    return Columns.of_array(model.n_features_in_, (0, 1), None if names is None else list(names))


def check_output(path: Path, overwrite: bool, inputs: Sequence[Path]) -> None:
    """Refuse a place where no file can be made, or where one lies that is read."""
    check_target(path, overwrite)
    for each in inputs:
        if path.exists() and each.exists() and path.samefile(each):
            raise ParameterError(f"{path} is read, and would be written over; choose another name")
