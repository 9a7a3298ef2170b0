"""Files of data sets that are on this computer already: where they are looked for, how read.

First the folder that the environment variable ``DPTRANSFER_DATA`` names, then the local cache:
``$XDG_CACHE_HOME/dptransfer``, usually ``~/.cache/dptransfer``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.data.blocks import readable
from dptransfer.errors import DataError

__all__ = ["cache_folder", "file_at_hand", "folders", "read_arrays"]


def cache_folder() -> Path:
    """The folder where downloads are kept; it need not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # the convention has it that a relative path there is to be ignored
    parent = Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()
    return parent / "dptransfer"


def folders() -> list[Path]:
    """The folders where files of data sets are looked for, the first one first."""
    named = os.environ.get("DPTRANSFER_DATA")
    return ([Path(named).expanduser()] if named else []) + [cache_folder()]


def file_at_hand(name: str) -> Path | None:
    """The first file of this name in :func:`folders`, or None."""
    return next((path for folder in folders() if (path := folder / name).exists()), None)


def read_arrays(path: Path, names: Iterable[str], what: str) -> dict[str, npt.NDArray[Any]]:
    """The named arrays of an NPZ file; arrays of Python objects are refused, as they run code."""
    with readable(path, f"an NPZ file with {what}"), np.load(path, allow_pickle=False) as file:
        missing = [name for name in names if name not in file.files]
        if missing:
            raise DataError(f"{path} lacks the array {missing[0]!r}, which {what} needs")
        return {name: file[name] for name in names}
