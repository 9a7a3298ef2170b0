"""Tables into files, block after block; and files that appear whole or not at all.

What is written goes into a temporary file in the same folder, and only when all is done and on the
disk does that take the name wanted. Whoever looks sees the old file or the new one, never half.
"""

from __future__ import annotations

import csv
import errno
import os
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from dptransfer.data.blocks import Cells, as_text
from dptransfer.data.parquet_tables import pyarrow_for
from dptransfer.errors import DataError, ParameterError

__all__ = ["TableWriter", "open_writer", "whole_file", "writing_to"]


@contextmanager
def writing_to(path: Path | str) -> Iterator[None]:
    """Say of a disk that is full, or a folder that is closed, that `path` cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads on: no fault, and the command line ends quietly
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def whole_file(
    path: str | Path, mode: Literal["w", "wb"] = "wb", *, overwrite: bool = True
) -> Iterator[IO[Any]]:
    """Open a file to write; it appears under its name when the block ends, and only then.

    On any exception, an interrupt too, nothing is left behind and a file that was there before is
    as it was. Text is UTF-8, its newlines as they are written. Where nothing may be overwritten, a
    file that got the name in the meantime keeps it.

    Raises
    ------
    DataError
        The file cannot be made or completed. What `write` itself raises within the block is an
        OSError as ever; :func:`writing_to` makes a DataError of it.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "no ordinary file"
        raise DataError(f"{path} cannot be written: it is {what}")
    part = target.with_name(f".dptransfer-{secrets.token_hex(8)}.part")
    text: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    stream: IO[Any] | None = None
    try:
        with writing_to(path):
            stream = open(part, mode.replace("w", "x"), **text)  # noqa: SIM115 - closed below
        yield stream
        with writing_to(path):
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()
            _give_name(part, target, overwrite)
    except BaseException:
        with suppress(OSError):  # a full disk is full for what is still in the buffer too
            if stream is not None:
                stream.close()
        with suppress(OSError):
            part.unlink()
        raise


def _give_name(part: Path, target: Path, overwrite: bool) -> None:
    """Make the file visible in one step; two that want one name at once do not both get it."""
    if not overwrite:
        try:
            os.link(part, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if target.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        else:
            part.unlink()
            return
    part.replace(target)


class TableWriter(ABC):
    """What a table is written to, some rows at a time."""

    def __init__(self, path: Path | str, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = list(columns)

    def write(self, cells: Mapping[str, Cells]) -> None:
        """Append rows: an array for each column, all of one length; None or NaN is missing."""
        if set(cells) != set(self.columns) or len({len(column) for column in cells.values()}) > 1:
            raise ParameterError(f"{self.path}: a block needs all columns, and at one length")
        with writing_to(self.path):
            self._write([cells[name] for name in self.columns])

    @abstractmethod
    def _write(self, cells: list[Cells]) -> None: ...


@contextmanager
def open_writer(
    path: str | Path | None, columns: Sequence[str], *, overwrite: bool = True
) -> Iterator[TableWriter]:
    r"""Write a table with the named columns: CSV, TSV or Parquet, by the ending of the name.

    None or "-" is CSV on standard output. A file appears whole or not at all, see
    :func:`whole_file`. In text files a missing cell is empty and whole numbers have no decimal
    point. Cells stay as they are, those too that begin with =, +, - or @: a spreadsheet that opens
    the file may take them for formulas. In Parquet the first block says what type each column has.

    Raises
    ------
    DataError
        An ending that is not known, or a file that cannot be written.
    """
    if path is None or str(path) == "-":
        with writing_to("standard output"):
            writer = CsvWriter(sys.stdout, "standard output", columns, ",")
            yield writer
            sys.stdout.flush()
        return
    ending = Path(path).name.lower()
    delimiter = next((d for end, d in DELIMITERS.items() if ending.endswith(end)), None)
    if delimiter is not None:
        with whole_file(path, "w", overwrite=overwrite) as stream:
            with writing_to(path):
                text = CsvWriter(stream, path, columns, delimiter)
            yield text
    elif ending.endswith(PARQUET):
        pyarrow_for(Path(path))
        with whole_file(path, overwrite=overwrite) as stream:
            table = ParquetWriter(stream, path, columns)
            try:
                yield table
                with writing_to(path):
                    table.finish()
            except BaseException:
                table.abandon()
                raise
    else:
        endings = ", ".join([*DELIMITERS, *PARQUET])
        raise DataError(f"{path} cannot be written: the name of a table ends in {endings}")


DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


class CsvWriter(TableWriter):
    """Rows of text, under a header."""

    def __init__(
        self, stream: IO[str], path: Path | str, columns: Sequence[str], delimiter: str
    ) -> None:
        super().__init__(path, columns)
        self._rows = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        self._rows.writerow(self.columns)

    def _write(self, cells: list[Cells]) -> None:
        texts = [["" if c is None else c for c in as_text(column).tolist()] for column in cells]
        self._rows.writerows(zip(*texts, strict=True))


class ParquetWriter(TableWriter):
    """Row groups, one a block; the file is opened when the first block tells the types."""

    def __init__(self, stream: IO[bytes], path: Path | str, columns: Sequence[str]) -> None:
        super().__init__(path, columns)
        self._pa = pyarrow_for(Path(path))
        self._stream = stream
        self._file: Any = None

    def _write(self, cells: list[Cells]) -> None:
        types = self._file.schema.types if self._file else [None] * len(cells)
        arrays = [self._array(*column) for column in zip(self.columns, cells, types, strict=True)]
        if self._file is None:
            types = [self._type(array) for array in arrays]
            self._open(self._pa.schema(list(zip(self.columns, types, strict=True))))
            arrays = [array.cast(kind) for array, kind in zip(arrays, types, strict=True)]
        self._file.write_table(self._pa.Table.from_arrays(arrays, schema=self._file.schema))

    def _array(self, name: str, cells: Cells, kind: Any) -> Any:
        try:
            if cells.dtype.kind == "f":
                array = self._pa.array(cells, from_pandas=True)
            else:
                array = self._pa.array(cells.tolist() if cells.dtype == object else cells)
            return array if kind is None else array.cast(kind)
        except self._pa.ArrowException as error:
            raise DataError(
                f"{self.path} cannot be written: column {name!r} does not hold one kind of values "
                "throughout, as Parquet asks; write a CSV file instead"
            ) from error

    def _type(self, array: Any) -> Any:
        """The type of a column; text where its first block is nothing but missing."""
        return self._pa.string() if self._pa.types.is_null(array.type) else array.type

    def _open(self, schema: Any) -> None:
        self._file = self._pa.parquet.ParquetWriter(self._stream, schema)

    def finish(self) -> None:
        """Write the footer; a table without rows has columns of text."""
        if self._file is None:
            self._open(self._pa.schema([(name, self._pa.string()) for name in self.columns]))
        self._file.close()

    def abandon(self) -> None:
        """Close the file while its stream is open, or pyarrow tries later and complains aloud."""
        if self._file is not None:
            with suppress(Exception):
                self._file.close()
            self._file.is_open = False
