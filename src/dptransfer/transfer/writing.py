"""The safe file, written whole or not at all; :mod:`dptransfer.transfer.container` reads it.

All is written and flushed under a name that nobody looks for and that nobody else may open; then
the caller has a last word (the ledger is entered); then the file gets its own name, in one step
that cannot be seen half done. Arrays pass in blocks, twice: their digest stands before them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dptransfer.errors import DPTransferError, ParameterError
from dptransfer.transfer.header import (
    BLANK,
    DIGEST,
    FORMAT_VERSION,
    Place,
    check_size,
    header_of,
    places_of,
    strict_json,
)
from dptransfer.transfer.progress import report
from dptransfer.transfer.signature import public_text, signature_text

__all__ = ["BLOCK", "blocks", "check_target", "write"]

Anything = npt.NDArray[Any]

BLOCK = 2**22  # bytes that are read, written, hashed and looked at together


def check_target(path: str | os.PathLike[str], overwrite: bool) -> None:
    """Refuse a place where no file can be made, before any work is done for it."""
    try:
        target = _target(path)
        there = target.lstat().st_mode if os.path.lexists(target) else None
    except (OSError, ValueError) as error:
        raise DPTransferError(f"cannot write {path}: {_reason(error)}") from error
    if there is not None and not stat.S_ISREG(there):
        raise DPTransferError(f"{path} is there and is no ordinary file; choose another name")
    if there is not None and not overwrite:
        raise DPTransferError(
            f"{path} is there already; choose another name, or allow it to be overwritten"
        )
    if not target.parent.is_dir():
        raise DPTransferError(f"there is no folder {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise DPTransferError(f"the folder {target.parent} may not be written; choose another")


def write(
    path: str | os.PathLike[str],
    kind: str,
    manifest: Mapping[str, Any],
    arrays: Mapping[str, Anything],
    *,
    sign: Ed25519PrivateKey | None = None,
    before_visible: Callable[[], object] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : str or path
    kind : str
        What the file is.
    manifest : dict
        Whatever strict JSON holds. `format_version`, `kind`, `arrays` and `arrays_digest` are set
        here.
    arrays : dict of arrays
        Of type float64, float32, int64, int32 or uint8, and finite. They may be memory maps larger
        than memory.
    sign : Ed25519PrivateKey or None
    before_visible : callable or None
        Called when all is on disk under a name that nobody looks for, just before the file gets
        its own. If it raises, there is no file.
    overwrite : bool
        Whether a file of this name may be replaced.

    Raises
    ------
    ParameterError
        The manifest or an array cannot be kept in such a file.
    DPTransferError
        The place or the disk refuses.
    """
    check_target(path, overwrite)
    target = _target(path)
    places = _places(arrays)
    text = _manifest_text(kind, manifest, places, _digest_of(arrays, places))
    metadata = {
        "digest": BLANK,
        "kind": kind,
        "manifest": text,
        "signature": "" if sign is None else signature_text(sign, text),
        "public_key": "" if sign is None else public_text(sign.public_key()),
    }
    header = header_of(metadata, places)
    try:
        check_size(len(header), header)
    except ValueError as fault:
        raise ParameterError(f"the manifest is too large: the file {fault}") from None

    temporary = target.with_name(f".dptransfer-{secrets.token_hex(8)}.tmp")
    try:
        with _disk_faults_told(path):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb", buffering=0) as file:
                _write_all(file, header, [arrays[place.name] for place in places])
                os.fsync(file.fileno())
        check_target(path, overwrite)  # the work may have taken hours
        if before_visible is not None:
            before_visible()
        with _disk_faults_told(path):
            with suppress(OSError):  # not every file system knows permissions
                os.chmod(temporary, _ordinary_mode(target))
            _give_name(temporary, target, overwrite)
    finally:
        with suppress(OSError):  # after the replacement it is not there any more
            os.unlink(temporary)
    _flush_folder(target.parent)


def blocks(array: Anything) -> Iterator[Anything]:
    """The values of an array in C order, little-endian, a block of them at a time."""
    little = array.dtype.newbyteorder("<")
    if array.size:
        yield from np.nditer(
            array,
            flags=["external_loop", "buffered"],
            order="C",
            buffersize=BLOCK // little.itemsize,
            op_dtypes=[little],
            casting="equiv",
        )


def _target(path: str | os.PathLike[str]) -> Path:
    """The file itself, where the path is a link: the link stays, as with an ordinary open()."""
    return Path(os.path.realpath(path))


def _places(arrays: Mapping[str, Anything]) -> list[Place]:
    try:
        return places_of(
            {
                name: {"dtype": array.dtype.name, "shape": list(array.shape)}
                for name, array in arrays.items()
            }
        )
    except ValueError as fault:
        raise ParameterError(f"these arrays cannot be written: the file {fault}") from None


def _digest_of(arrays: Mapping[str, Anything], places: Iterable[Place]) -> str:
    """SHA-256 of the arrays in the order of the file, which must be finite."""
    digest = hashlib.sha256()
    for place in places:
        for block in blocks(arrays[place.name]):
            if not np.isfinite(block).all():
                raise ParameterError(f"the array {place.name!r} holds a value that is not finite")
            digest.update(block.view(np.uint8).data)
    return digest.hexdigest()


def _manifest_text(
    kind: str, manifest: Mapping[str, Any], places: Iterable[Place], arrays_digest: str
) -> str:
    table = {p.name: {"dtype": p.dtype.name, "shape": list(p.shape)} for p in places}
    head = {"format_version": FORMAT_VERSION, "kind": kind}
    tail = {"arrays": table, "arrays_digest": arrays_digest}
    try:
        text = json.dumps(head | dict(manifest) | head | tail, allow_nan=False)
        strict_json(text, "a manifest")
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"the manifest cannot be written as strict JSON: {error.__cause__ or error}"
        ) from error
    return text


def _write_all(file: FileIO, header: bytes, arrays: Sequence[Anything]) -> None:
    digest = hashlib.sha256(header)
    _write_block(file, memoryview(header))
    written, size = 0, sum(array.nbytes for array in arrays)
    for array in arrays:
        for block in blocks(array):
            content = block.view(np.uint8).data
            digest.update(content)
            _write_block(file, content)
            written += len(content)
            report("writing", written, size)
    file.seek(DIGEST.start)
    _write_block(file, memoryview(digest.hexdigest().encode("ascii")))


def _write_block(file: FileIO, block: memoryview) -> None:
    while block:
        block = block[file.write(block) :]


def _give_name(temporary: Path, target: Path, overwrite: bool) -> None:
    """Make the file visible in one step; two that want one name at once do not both get it."""
    if not overwrite:
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            pass
        else:
            return
    os.replace(temporary, target)


def _ordinary_mode(target: Path) -> int:
    """The permissions that an ordinary open() would leave the file with."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0o077)  # it cannot be read without being set; a thread beside is safe meanwhile
    os.umask(mask)
    return 0o666 & ~mask


def _flush_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where folders can be flushed."""
    with suppress(OSError):  # the file is whole and visible: that is no failure to report
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _disk_faults_told(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DPTransferError(
            f"cannot write {path}: {_reason(error)}; nothing was written"
        ) from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
