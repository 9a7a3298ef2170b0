"""Parquet tables, by pyarrow.

Of a file only the wanted columns are read, and of these one page at a time; so what is in memory is
a block, and a page of each wanted column (a page has about a megabyte, whatever the row groups).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dptransfer.data.blocks import Cells, Table, as_text, check_names, objects, readable
from dptransfer.errors import DataError

__all__ = ["ParquetTable", "pyarrow_for"]

READ_AHEAD = 2**13  # bytes a column; without it pyarrow reads a column's whole row group at once


def pyarrow_for(path: Path) -> Any:
    """The module pyarrow with its parquet, or an error that says how to come by it."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise DataError(
            f"{path}: Parquet needs pyarrow; pip install 'dptransfer[tables]'"
        ) from None
    return pa


class ParquetTable(Table):
    """A Parquet file of numbers, true or false, and text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pa = pyarrow_for(path)
        with self._file() as file:
            schema = file.schema_arrow
            self.n_rows = file.metadata.num_rows
        self.columns = check_names(path, schema.names)
        self._types = dict(zip(schema.names, schema.types, strict=True))

    @contextmanager
    def _file(self) -> Iterator[Any]:
        with (
            readable(self.path, "Parquet"),
            self._pa.parquet.ParquetFile(str(self.path), buffer_size=READ_AHEAD) as file,
        ):
            yield file

    def _read(
        self, names: list[str], rows: int, text: Mapping[str, Collection[str]]
    ) -> Iterator[dict[str, Cells]]:
        for name in names:
            if not self._readable(self._types[name]):
                raise DataError(
                    f"{self.path}: column {name!r} is of the type {self._types[name]}, neither "
                    "numbers nor text; convert it first, or leave it out"
                )
        return self._batches(names, rows, text)

    def _batches(
        self, names: list[str], rows: int, text: Mapping[str, Collection[str]]
    ) -> Iterator[dict[str, Cells]]:
        with self._file() as file:
            for batch in file.iter_batches(rows, columns=names, use_threads=False):
                if len(batch):
                    yield {
                        name: self._cells(batch.column(name), verbatim=name in text)
                        for name in names
                    }

    def _readable(self, kind: Any) -> bool:
        types = self._pa.types
        if types.is_dictionary(kind):
            return self._readable(kind.value_type)
        checks = (
            types.is_integer,
            types.is_floating,
            types.is_decimal,
            types.is_boolean,
            types.is_null,
            self._is_text,
        )
        return any(check(kind) for check in checks)

    def _is_text(self, kind: Any) -> bool:
        types = self._pa.types
        return any(
            check(kind) for check in (types.is_string, types.is_large_string, types.is_string_view)
        )

    def _cells(self, column: Any, *, verbatim: bool) -> Cells:
        if self._pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if verbatim or self._is_text(column.type):
            return as_text(objects(column.to_pylist()))  # by way of Python, no digit is lost
        numbers = column.cast(self._pa.float64(), safe=False)  # unsafe: 2**53 + 1 is rounded
        return np.asarray(numbers.to_numpy(zero_copy_only=False))
