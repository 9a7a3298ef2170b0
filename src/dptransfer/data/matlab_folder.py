"""Office+Caltech256 in MATLAB files, as authors hand it around.

A folder holds one file a domain and, perhaps, the splits of the protocol:

- ``amazon.mat``, ``Caltech10_SURF_L10.mat``, ``dslr_VGG-FC6.mat`` and so on: the name begins with
  the domain's, in any case. In it are the features (``fts``, ``feas`` or ``features``; a picture a
  row, or a picture a column) and the ``labels`` (or ``label``), ten whole numbers.
- ``SameCategory_amazon-caltech_20RandomTrials_10Categories.mat``, for each of the 12 pairs: the
  cells ``train.source``, ``train.target`` and ``test.target``, 20 lists of rows that count from 1.
  They may lie in a folder ``DataSplitsOfficeCaltech`` within.

Files of MATLAB's version 7.3 are another format and are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dptransfer.data.blocks import readable
from dptransfer.data.matlab import Value, read_mat
from dptransfer.errors import DataError

__all__ = ["Domain", "Rows", "read_domain", "read_splits"]

Rows = npt.NDArray[np.intp]
Domain = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]

FEATURES = ("fts", "feas", "features")
LABELS = ("labels", "label")
CLASSES = 10
MOST = 2**25  # numbers of a domain: seven times those of the paper's features
SPLIT = "SameCategory_{}-{}_20RandomTrials_10Categories.mat"
SPLIT_FOLDER = "DataSplitsOfficeCaltech"


def read_domain(folder: Path, domain: str) -> Domain:
    """The features of a domain, a picture a row, and what the pictures show, from 0 to 9.

    Raises
    ------
    DataError
        No such file or more than one, or one that cannot be read or holds something else.
    """
    files = [
        path
        for path in _mat_files(folder)
        if path.name.lower().startswith(domain) and "imgs" not in path.name.lower()
    ]
    if len(files) != 1:
        found = ", ".join(path.name for path in files) or "none"
        raise DataError(
            f"{folder} needs one file {domain}*.mat with features and labels; found: {found}"
        )
    path = files[0]
    held = _read(path)
    X = _named(path, held, FEATURES)
    y = _named(path, held, LABELS)
    if not isinstance(X, np.ndarray) or not isinstance(y, np.ndarray) or X.ndim != 2:
        raise DataError(f"{path} holds features or labels that are no table of numbers")
    if y.size not in X.shape:
        raise DataError(
            f"{path} holds {y.size} labels, but features of the shape {X.shape[0]} × {X.shape[1]}"
        )
    if max(X.size, y.size) > MOST:  # small numbers, well packed, are many where each takes 8 bytes
        raise DataError(f"{path} holds {max(X.size, y.size):,} numbers; at most {MOST:,} are read")
    X, y = X.astype(np.float64), y.astype(np.float64).ravel()
    if X.shape[0] != len(y):
        X = X.T
    if not np.isfinite(X).all():
        raise DataError(f"{path} holds features that are missing or infinite")
    classes = np.unique(y)
    if not any(np.array_equal(classes, np.arange(first, first + CLASSES)) for first in (0, 1)):
        raise DataError(f"{path} holds other labels than the ten whole numbers 1 to 10 (or 0 to 9)")
    return np.ascontiguousarray(X), (y - classes[0]).astype(np.int64)


def read_splits(
    folder: Path, pairs: Iterable[tuple[str, str]], n_splits: int
) -> dict[tuple[str, str, int], tuple[Rows, Rows, Rows]] | None:
    """The splits of all pairs, with rows that count from 0; None where the folder has none.

    Raises
    ------
    DataError
        Some files are there and others not, or one cannot be read or holds something else.
    """
    places = _mat_files(folder) + _mat_files(folder / SPLIT_FOLDER)
    files = {path.name.lower(): path for path in places}
    named = {pair: SPLIT.format(*pair) for pair in pairs}
    missing = [name for name in named.values() if name.lower() not in files]
    if len(missing) == len(named):
        return None
    if missing:
        raise DataError(f"{folder} has splits of some pairs but lacks {missing[0]}")
    return {
        (*pair, k): rows
        for pair, name in named.items()
        for k, rows in enumerate(_split_file(files[name.lower()], n_splits))
    }


def _split_file(path: Path, n_splits: int) -> list[tuple[Rows, Rows, Rows]]:
    held = _read(path)
    lists = []
    for group, name in (("train", "source"), ("train", "target"), ("test", "target")):
        try:
            rows = [cell.astype(np.float64).ravel() for cell in held[group][name]]  # type: ignore
        except (AttributeError, LookupError, TypeError):
            raise DataError(f"{path} lacks the cells {group}.{name} with lists of rows") from None
        if len(rows) != n_splits:
            raise DataError(f"{path}: {group}.{name} has {len(rows)} splits, not {n_splits}")
        if any(not len(r) or not ((r >= 1) & (r < 2**31) & (r == np.floor(r))).all() for r in rows):
            raise DataError(f"{path}: {group}.{name} holds something else than rows from 1 on")
        lists.append([r.astype(np.intp) - 1 for r in rows])
    return list(zip(*lists, strict=True))


def _mat_files(folder: Path) -> list[Path]:
    with readable(folder, "a folder"):
        if not folder.is_dir():
            return []
        return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".mat")


def _read(path: Path) -> dict[str, Value]:
    with readable(path, "a MATLAB file"):
        raw = path.read_bytes()
        if raw.startswith(b"MATLAB 7.3"):
            raise DataError(
                f"{path} is of MATLAB's version 7.3, which cannot be read here; in MATLAB, load it "
                "and save it again with the option '-v7'"
            )
        return read_mat(raw)


def _named(path: Path, held: dict[str, Value], names: Sequence[str]) -> Value:
    """The one array whose name, in small letters, is among the names."""
    found = [value for name, value in held.items() if name.lower() in names]
    if len(found) != 1:
        raise DataError(f"{path} needs one array called {' or '.join(names)}; it has {len(found)}")
    return found[0]
