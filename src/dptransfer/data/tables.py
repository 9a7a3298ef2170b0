"""Tables from files: one function opens them all, by the ending of the name.

See :class:`dptransfer.data.blocks.Table` for what it gives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from dptransfer.data.blocks import Block, Table, as_labels, as_text, objects
from dptransfer.data.csv_tables import CsvTable
from dptransfer.data.npz_tables import NpzTable
from dptransfer.data.parquet_tables import ParquetTable
from dptransfer.errors import DataError

__all__ = ["Block", "Table", "as_labels", "as_text", "objects", "open_table"]

READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": partial(CsvTable, delimiter=","),
    ".csv.gz": partial(CsvTable, delimiter=","),
    ".tsv": partial(CsvTable, delimiter="\t"),
    ".parquet": ParquetTable,
    ".pq": ParquetTable,
    ".npz": NpzTable,
}


def open_table(path: str | Path) -> Table:
    """Open a table to read it; the file's ending says what it is.

    Raises
    ------
    DataError
        A file that is not there, is empty, or is no table of the kind that its name says.
    """
    path = Path(path)
    reader = next(
        (read for ending, read in READERS.items() if path.name.lower().endswith(ending)), None
    )
    if reader is None:
        raise DataError(f"{path} is no table; the name of one ends in {', '.join(READERS)}")
    try:
        if not path.is_file():
            what = "is no file" if path.exists() else "does not exist"
            raise DataError(f"{path} {what}; name a table")
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    return reader(path)
