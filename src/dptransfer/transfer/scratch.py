"""Arrays that live on disk while a release is made, so that it may be larger than memory.

Only what has been perturbed is ever written here. The files have no name: they vanish with the
process, however it ends.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DPTransferError

__all__ = ["PerturbedRows", "Scratch"]

SMALLEST_CHUNK, LARGEST_CHUNK = 2**22, 2**28


class PerturbedRows:
    """Rows that arrive in blocks and are then one array, float32, with a label each."""

    def __init__(self, width: int, folder: str | None = None) -> None:
        self.width = width
        try:
            self._file = tempfile.TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115 - until we go
        except OSError as error:
            raise _full(error) from error
        self._labels: list[npt.NDArray[np.intp]] = []

    def append(self, rows: npt.NDArray[np.floating], labels: npt.NDArray[np.intp]) -> None:
        """Add a block of perturbed rows."""
        rest = memoryview(np.ascontiguousarray(rows, dtype=np.float32).tobytes())
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise _full(error) from error
        self._labels.append(labels)

    @property
    def labels(self) -> npt.NDArray[np.intp]:
        """The class of every row."""
        return np.concatenate(self._labels) if self._labels else np.empty(0, dtype=np.intp)

    def array(self) -> npt.NDArray[np.float32]:
        """All rows, shape (N, width); reading it reads the disk."""
        shape = (sum(map(len, self._labels)), self.width)
        if not shape[0]:
            return np.empty(shape, dtype=np.float32)
        return np.asarray(np.memmap(self._file, dtype=np.float32, mode="r", shape=shape))


class Scratch:
    """Room on disk for arrays."""

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._chunk: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._used = 0

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array to be written to."""
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if not size:
            return np.empty(shape, dtype=kind)
        start = -(-self._used // 64) * 64
        if start + size > len(self._chunk):
            self._chunk, start = self._new_chunk(size), 0
        self._used = start + size
        return self._chunk[start : start + size].view(kind).reshape(shape)

    def keep(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same array, on disk."""
        kept = self.empty(array.shape, array.dtype)
        kept[...] = array
        return kept

    def _new_chunk(self, wanted: int) -> npt.NDArray[np.uint8]:
        size = max(wanted, min(max(2 * len(self._chunk), SMALLEST_CHUNK), LARGEST_CHUNK))
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                # room that is only promised would be a crash where a full disk is an error
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                return np.asarray(np.memmap(file, dtype=np.uint8, mode="r+", shape=(size,)))
        except OSError as error:
            raise _full(error) from error


def _full(error: OSError) -> DPTransferError:
    return DPTransferError(
        f"cannot write temporary files to {tempfile.gettempdir()}: {error.strerror}; "
        "set the environment variable TMPDIR to a folder with room"
    )
