"""Office+Caltech256: ten classes of things in four domains, and the splits of the protocol.

[Gong et al., 2012] took the ten classes that Office-31 and Caltech-256 share; [Hoffman et al.,
2013] published 20 random splits for each of the 12 pairs of domains, which later work uses too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.data.at_hand import file_at_hand, folders, read_arrays
from dptransfer.data.matlab_folder import Domain, Rows, read_domain, read_splits
from dptransfer.errors import DataError, ParameterError

__all__ = ["DOMAINS", "N_SPLITS", "PAIRS", "OfficeCaltech", "load_office_caltech", "mat_folder"]

DOMAINS = ("amazon", "caltech", "dslr", "webcam")
N_SPLITS = 20
PAIRS = tuple((source, target) for source in DOMAINS for target in DOMAINS if source != target)


@dataclass(frozen=True)
class OfficeCaltech:
    """The four domains, as features and labels 0 … 9, and the splits of the protocol."""

    domains: dict[str, Domain]
    splits: dict[tuple[str, str, int], tuple[Rows, Rows, Rows]]

    def split(self, source: str, target: str, k: int) -> tuple[Rows, Rows, Rows]:
        """Rows of the k-th split: labelled source rows, labelled target rows, target test rows."""
        try:
            return self.splits[source, target, k]
        except KeyError:
            raise ParameterError(
                f"no split {k!r} of {source!r} to {target!r}: the domains are {', '.join(DOMAINS)},"
                f" two different ones, and the splits 0 to {N_SPLITS - 1}"
            ) from None


def load_office_caltech(features: str = "cnn", folder: str | Path | None = None) -> OfficeCaltech:
    """Office+Caltech256 with features of one kind, and the splits of the protocol.

    Parameters
    ----------
    features : str
        ``"cnn"`` (1280 a picture), ``"surf"`` (800 counts), or any kind there are files of: a
        file ``office_caltech_FEATURES.npz`` or a folder ``office_caltech_FEATURES`` of MATLAB
        files (see :mod:`dptransfer.data.matlab_folder`) in a folder where data are looked for.
    folder : str or Path, optional
        A folder of MATLAB files anywhere; then `features` counts for nothing. Where it has no
        splits, the file ``office_caltech_splits.npz`` is looked for.

    Raises
    ------
    DataError
        Files that are not there, that cannot be read, or that do not belong together.
    """
    mat = mat_folder(features) if folder is None else Path(folder)
    if mat is None:
        return OfficeCaltech(_domains(features), _splits())
    domains = {domain: read_domain(mat, domain) for domain in DOMAINS}
    widths = sorted({X.shape[1] for X, _ in domains.values()})
    if len(widths) > 1:
        raise DataError(f"{mat}: its domains have features of several lengths: {widths}")
    data = OfficeCaltech(domains, read_splits(mat, PAIRS, N_SPLITS) or _splits())
    _check_fit(data, mat)
    return data


def mat_folder(features: str) -> Path | None:
    """The folder of MATLAB files with features of a kind, if one is at hand and no NPZ file."""
    if file_at_hand(f"office_caltech_{features}.npz"):
        return None
    found = file_at_hand(f"office_caltech_{features}")
    return found if found is not None and found.is_dir() else None


def _check_fit(data: OfficeCaltech, folder: Path) -> None:
    """Refuse splits of other rows: features whose rows lie in another order look as good."""
    for (source, target, k), (of_source, known, test) in data.splits.items():
        for domain, rows in ((source, of_source), (target, known), (target, test)):
            y = data.domains[domain][1]
            if rows.max() >= len(y):
                raise DataError(
                    f"{folder}: split {k} of {source} to {target} has row {rows.max() + 1} of "
                    f"{domain}, which has {len(y)}"
                )
            if rows is not test and len(set(np.bincount(y[rows], minlength=10).tolist())) > 1:
                raise DataError(
                    f"{folder}: split {k} of {source} to {target} has not as many rows of every "
                    f"class of {domain}; the rows there must lie in another order"
                )
        if np.intersect1d(known, test).size:
            raise DataError(f"{folder}: split {k} of {source} to {target} tests on labelled rows")


def _domains(features: str) -> dict[str, Domain]:
    arrays = _arrays(
        f"office_caltech_{features}.npz", [d + s for d in DOMAINS for s in ("_x", "_y")]
    )
    return {
        domain: (arrays[f"{domain}_x"].astype(np.float64), arrays[f"{domain}_y"].astype(np.int64))
        for domain in DOMAINS
    }


def _splits() -> dict[tuple[str, str, int], tuple[Rows, Rows, Rows]]:
    names = {
        (s, t, k): [f"{s}-{t}/{k}/{which}" for which in ("source", "target", "test")]
        for s, t in PAIRS
        for k in range(N_SPLITS)
    }
    rows = _arrays(
        "office_caltech_splits.npz", [name for three in names.values() for name in three]
    )
    return {
        split: (rows[a].astype(np.intp), rows[b].astype(np.intp), rows[c].astype(np.intp))
        for split, (a, b, c) in names.items()
    }


def _arrays(name: str, keys: list[str]) -> dict[str, npt.NDArray[Any]]:
    path = file_at_hand(name)
    if path is None:
        shown = ", ".join(keys[:2])
        raise DataError(
            f"{name} is in none of the folders {', '.join(map(str, folders()))}, and there is no "
            f"public place to download it from: put {name} with the arrays {shown} and so on into "
            "one of them, or a folder of MATLAB files; docs/data.md says what is in them"
        )
    return read_arrays(path, keys, "Office+Caltech")
