"""The checksums of the published data sets: ``python -m dptransfer.data.digests FOLDER``.

For every file that the folder holds it prints the checksum, and whether it is the one that a
download is held against.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from dptransfer.data.at_hand import read_arrays
from dptransfer.data.datasets import HEART, MNIST, USPS
from dptransfer.data.published import digest
from dptransfer.errors import DataError

__all__ = ["compared"]


def compared(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """The name of each published file in a folder, its checksum, and whether that is right."""
    for data in (MNIST, USPS, HEART):
        path = folder / data.file
        if path.exists():
            found = digest(read_arrays(path, data.shapes, data.what), data.grid)
            yield data.file, found, found == data.sha256


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m dptransfer.data.digests FOLDER")
    try:
        for name, checksum, right in compared(Path(sys.argv[1])):
            print(f"{checksum}  {name}  {'as published' if right else 'differs'}")
    except DataError as error:
        sys.exit(f"error: {error}")
