"""The safe file, read with distrust; :mod:`dptransfer.transfer.writing` makes it.

A file is one of the safetensors format, so that any tool for that format opens it and no code runs
when it is loaded: a header (see :mod:`dptransfer.transfer.header`), then the arrays' bytes. The
header's metadata are texts:

- ``kind``: what the file is, ``"release"`` or ``"model"``, say;
- ``manifest``: JSON for people and programs. To what its writer puts there come `format_version`,
  `kind`, `arrays` (the type and shape of each) and `arrays_digest` (SHA-256 of all bytes after the
  header);
- ``digest``: SHA-256 of the whole file, these 64 characters read as zeros: every byte counts;
- ``signature`` and ``public_key``: Ed25519, over the manifest's text and thereby over kind and
  arrays, or empty.

A file is read once, in blocks that are hashed as they arrive, into one array of what is left after
the header. What was hashed is therefore what is used, even if another process writes to the file
meanwhile, which a memory map (or a second look by the safetensors library) could not promise. The
arrays given out are read-only views of it, made after their places were checked against its size.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dptransfer.errors import ReleaseError
from dptransfer.transfer.header import (
    BLANK,
    DIGEST,
    FORMAT_VERSION,
    METADATA,
    OPENING,
    check_size,
    header_of,
    places_of,
    strict_json,
)
from dptransfer.transfer.signature import holds, public_text
from dptransfer.transfer.writing import BLOCK, blocks, check_target, write

__all__ = ["FORMAT_VERSION", "Container", "check_target", "read", "verify", "write"]


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds, once every check has passed."""

    path: Path
    kind: str
    manifest: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    """Read-only, by name."""
    text: str
    """The manifest as it stands in the file, which is what a signature is over."""
    digest: str
    signature: str
    public_key: str
    """As hexadecimal digits; both empty if nobody signed. They fit each other and the text, and
    say nothing about who signed: see :func:`verify`."""

    @property
    def signed(self) -> bool:
        """Whether there is a signature, whoever's."""
        return bool(self.signature)


def read(path: str | os.PathLike[str], *kinds: str) -> Container:
    """Read a file of one of these kinds, and check all that can be checked.

    Formal guarantees
    -----------------
    - Every fault, from a missing file to a forged one, is a :class:`ReleaseError`.
    - No code runs; and what is allocated is the size of the file, plus what its manifest takes as
      Python's objects, which is bounded.
    - What comes back is to the bit what :func:`write` was given, or what somebody forged with a
      digest of their own: only a signature, :func:`verify` and a public key from elsewhere exclude
      that.
    """
    try:
        with open(path, "rb", buffering=0, opener=_opened) as file:
            return _read(Path(path), file, kinds)
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(f"there is no file at {path}") from None
    except IsADirectoryError:
        raise ReleaseError(f"{path} is no ordinary file") from None
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror or error}") from error
    except MemoryError:
        raise ReleaseError(f"{path} is larger than the memory that there is") from None
    except ValueError as fault:
        raise ReleaseError(f"{path} {fault}") from fault


def verify(container: Container, public_key: Ed25519PublicKey) -> None:
    """Refuse what the holder of this key did not sign; :func:`read` tied all else to the text."""
    if not container.signed:
        raise ReleaseError(f"{container.path} is not signed")
    if container.public_key != public_text(public_key):
        raise ReleaseError(f"{container.path} is signed by another key than the one given")
    if not holds(container.public_key, container.signature, container.text):
        raise ReleaseError(f"the signature of {container.path} does not fit its manifest")


def _opened(path: str, flags: int) -> int:
    """Open without waiting for whoever may hold the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _read(path: Path, file: FileIO, kinds: Collection[str]) -> Container:
    """The checks, from the outermost in; faults are ValueErrors that go after the file's name."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("is no ordinary file")
    head = bytes(_filled(file, min(status.st_size, DIGEST.stop)))
    length = int.from_bytes(head[:8], "little")
    if not head[8:].startswith(OPENING) or DIGEST.stop > length + 8:
        raise ValueError("is not a file of dptransfer, or its beginning is damaged")
    if length + 8 > status.st_size:
        raise ValueError("is cut short or damaged; fetch it again")
    check_size(length)
    head += bytes(_filled(file, 8 + length - len(head)))

    blank = head[: DIGEST.start] + BLANK.encode("ascii") + head[DIGEST.stop :]
    whole, of_arrays = hashlib.sha256(blank), hashlib.sha256()
    content = _filled(file, status.st_size - len(head), whole, of_arrays)
    if head[DIGEST] != whole.hexdigest().encode("ascii"):
        raise ValueError("is cut short or damaged: its digest is another; fetch it again")

    # Whole, then; but anybody can compute a digest.
    check_size(length, head)
    metadata = _metadata(head[8:])
    text = metadata["manifest"]
    manifest = strict_json(text, "a manifest")
    _check_version_and_kind(manifest, metadata["kind"], kinds)
    places = places_of(manifest.get("arrays"))
    if header_of(metadata, places) != head:
        raise ValueError("has a header that does not fit its manifest")
    if len(content) != (places[-1].end if places else 0):
        raise ValueError("does not have the size that its manifest tells")
    if manifest.get("arrays_digest") != of_arrays.hexdigest():
        raise ValueError("has arrays that are not those of its manifest")
    _check_signature(metadata)
    arrays = {p.name: content[p.start : p.end].view(p.dtype).reshape(p.shape) for p in places}
    for name, array in arrays.items():
        if not all(np.isfinite(block).all() for block in blocks(array)):
            raise ValueError(f"holds a value that is not finite, in the array {name!r}")
    return Container(
        path,
        metadata["kind"],
        manifest,
        arrays,
        text,
        metadata["digest"],
        metadata["signature"],
        metadata["public_key"],
    )


def _filled(file: FileIO, size: int, *hashes: Any) -> npt.NDArray[np.uint8]:
    """The next bytes of the file, read-only; every hash has seen them."""
    content = np.empty(size, dtype=np.uint8)
    rest = content.data
    while rest:
        count = file.readinto(rest[:BLOCK])
        if not count:
            raise ValueError("became shorter while it was read")
        for digest in hashes:
            digest.update(rest[:count])
        rest = rest[count:]
    content.flags.writeable = False
    return content


def _metadata(header: bytes) -> dict[str, str]:
    try:
        text = header.decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError("has a header that is not ASCII") from error
    found = strict_json(text, "a header")["__metadata__"]
    metadata = {key: found[key] for key in METADATA if isinstance(found.get(key), str)}
    if len(metadata) < len(METADATA):
        raise ValueError(f"lacks one of the metadata {', '.join(METADATA)}")
    if not metadata["manifest"].isascii():
        raise ValueError("has a manifest that is not ASCII")
    return metadata


def _check_version_and_kind(manifest: Any, found: str, wanted: Collection[str]) -> None:
    if not isinstance(manifest, dict):
        raise ValueError("has a manifest that is not a JSON object")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError("has a manifest that does not tell its format_version")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"is of format version {version}, and this dptransfer reads version {FORMAT_VERSION}; "
            "update dptransfer"
        )
    if manifest.get("kind") != found:
        raise ValueError("tells its kind twice, and not alike")
    if found not in wanted:
        needed = " or ".join(map(repr, wanted))
        raise ValueError(f"is of the kind {found[:60]!r}, and the kind {needed} is needed")


def _check_signature(metadata: Mapping[str, str]) -> None:
    signature, public_key = metadata["signature"], metadata["public_key"]
    if not signature and not public_key:
        return
    well_formed = re.fullmatch("[0-9a-f]{128}", signature) and re.fullmatch(
        "[0-9a-f]{64}", public_key
    )
    if not well_formed or not holds(public_key, signature, metadata["manifest"]):
        raise ValueError("has a signature that does not fit its manifest")
