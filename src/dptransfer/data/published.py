"""Data sets that have a public home: at hand, or downloaded once into the cache and checked.

What is checked is the values: the SHA-256 of the arrays in one canonical form, so that it does not
matter which host they came from, in what container, or compressed how. A download that differs is
not kept. It appears in the cache whole or not at all, also where two processes load it at once.

``DPTRANSFER_DOWNLOAD`` names a mirror to ask in place of the public hosts, and while
``DPTRANSFER_OFFLINE`` is set to anything nobody is asked.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.data.at_hand import cache_folder, file_at_hand, folders, read_arrays
from dptransfer.data.transport import fetch, mirrored
from dptransfer.data.writing import whole_file, writing_to
from dptransfer.errors import DataError

__all__ = ["Arrays", "Published", "at_hand_or_downloaded", "digest", "load", "numbers"]

Arrays = dict[str, npt.NDArray[Any]]

ROWS_AT_ONCE = 4096
MISSING = np.int32(-(2**31))


@dataclass(frozen=True)
class Published:
    """A data set, where it is published, and how what is there becomes arrays.

    Attributes
    ----------
    what : str
        Its name, for messages.
    file : str
        The NPZ file that it is kept in.
    addresses : tuple of str
        The files to download.
    shapes : mapping from str to tuple of int
        The arrays, and the shape of each.
    grid : int
        All values are multiples of 1 / grid.
    sha256 : str
        The :func:`digest` of the arrays.
    decode : callable
        From the downloaded files, in the order of their addresses, to the arrays.
    """

    what: str
    file: str
    addresses: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    grid: int
    sha256: str
    decode: Callable[[Sequence[bytes]], Arrays]


def load(data: Published) -> Arrays:
    """The arrays of a data set, from a file at hand or else from its public home.

    Raises
    ------
    DataError
        It is not at hand and cannot be had: what was tried, and what file to put where.
    """
    path = at_hand_or_downloaded(data)
    try:
        return read_arrays(path, data.shapes, data.what)
    except DataError as error:
        if path.parent == cache_folder():
            raise DataError(f"{error}; delete {path} and it is downloaded anew") from error
        raise


def at_hand_or_downloaded(data: Published) -> Path:
    """The file of a data set; it is downloaded if it is not at hand."""
    return file_at_hand(data.file) or _download(data)


def _download(data: Published) -> Path:
    path = cache_folder() / data.file
    remedy = (
        f"Put {data.file} with the arrays "
        f"{', '.join(f'{name} {shape}' for name, shape in data.shapes.items())} into "
        f"{path.parent}, or set DPTRANSFER_DATA to a folder that holds it"
    )
    if os.environ.get("DPTRANSFER_OFFLINE"):
        looked = ", ".join(map(str, folders()))
        raise DataError(
            f"{data.what} is not at hand (looked in {looked}), and DPTRANSFER_OFFLINE forbids to "
            f"download it. {remedy}"
        )
    with writing_to(path):  # before anybody waits for a download that could not be kept
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        raw = [fetch(address, data.what) for address in data.addresses]
        arrays = _decoded(data, raw)
    except DataError as error:
        raise DataError(
            f"{data.what} is not at hand and could not be downloaded: {error}. {remedy}"
        ) from error
    with whole_file(path) as stream, writing_to(path):
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]  # names are not options
    return path


def _decoded(data: Published, raw: Sequence[bytes]) -> Arrays:
    where = ", ".join(map(mirrored, data.addresses))
    try:
        arrays = data.decode(raw)
        right = digest(arrays, data.grid) == data.sha256
    except Exception as error:  # a parser in the hands of whoever answers may raise anything
        raise DataError(f"what {where} gave cannot be read as {data.what}") from error
    if not right:
        raise DataError(
            f"the values that {where} gave are not those of {data.what} (their "
            "checksum differs), so they were not kept"
        )
    return arrays


def digest(arrays: Mapping[str, npt.NDArray[Any]], grid: int) -> str:
    """The SHA-256 of arrays whose values are multiples of 1 / grid, or missing.

    Every array counts by its name, its rows and its columns; its values as whole multiples, in four
    bytes each, the lowest first. So neither type nor rounding matters.

    >>> a = digest({"x": np.array([[0.1, np.nan]])}, 10)
    >>> a == digest({"x": np.array([[0.1, np.nan]], dtype=np.float32)}, 10)
    True
    >>> a == digest({"x": np.array([[0.2, np.nan]])}, 10)
    False
    """
    state = hashlib.sha256()
    for name in sorted(arrays):
        table = arrays[name].reshape(len(arrays[name]), -1)
        state.update(f"{name} {table.shape[0]} {table.shape[1]}\n".encode())
        for start in range(0, len(table), ROWS_AT_ONCE):
            rows = table[start : start + ROWS_AT_ONCE].astype(np.float64)
            missing = np.isnan(rows)
            whole = np.rint(np.where(missing, 0.0, rows) * grid).astype("<i4")
            state.update(np.where(missing, MISSING, whole).astype("<i4").tobytes())
    return state.hexdigest()


def numbers(raw: bytes) -> npt.NDArray[Any]:
    """The numbers of a file of lines with commas between, NaN where a question mark stands.

    It may be compressed by gzip, and begin as an ARFF file does, with a header that @data ends.
    """
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="ascii")
    first = next(text, "")
    lines = chain([first], text)
    if first[:1] in {"%", "@"}:
        for line in lines:
            if line.strip().lower() == "@data":
                break
    known = (line.replace("?", "nan") for line in lines if line.strip())
    row = next(known, None)
    if row is None:
        raise ValueError("no rows")
    return np.loadtxt(
        chain([row], known), dtype=np.float32, delimiter=",", comments="%", quotechar="'", ndmin=2
    )
