"""Office+Caltech256: ten classes of things in four domains, and the splits of the protocol.

[Gong et al., 2012] took the ten classes that Office-31 and Caltech-256 share; [Hoffman et al.,
2013] published 20 random splits for each of the 12 pairs of domains, which later work uses too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dptransfer.data.at_hand import file_at_hand, folders, read_arrays
from dptransfer.errors import DataError, ParameterError

__all__ = ["DOMAINS", "N_SPLITS", "OfficeCaltech", "load_office_caltech"]

DOMAINS = ("amazon", "caltech", "dslr", "webcam")
N_SPLITS = 20

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class OfficeCaltech:
    """The four domains, as features and labels 0 … 9, and the splits of the protocol."""

    domains: dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]
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


def load_office_caltech(features: str = "cnn") -> OfficeCaltech:
    """Office+Caltech256 with ``"cnn"`` features (1280 a picture) or ``"surf"`` (800 counts)."""
    arrays = _arrays(
        f"office_caltech_{features}.npz", [d + s for d in DOMAINS for s in ("_x", "_y")]
    )
    pairs = [(s, t, k) for s in DOMAINS for t in DOMAINS if s != t for k in range(N_SPLITS)]
    names = [
        [f"{s}-{t}/{k}/{which}" for which in ("source", "target", "test")] for s, t, k in pairs
    ]
    rows = _arrays("office_caltech_splits.npz", [name for three in names for name in three])
    return OfficeCaltech(
        {
            domain: (
                arrays[f"{domain}_x"].astype(np.float64),
                arrays[f"{domain}_y"].astype(np.int64),
            )
            for domain in DOMAINS
        },
        {
            pair: tuple(rows[name].astype(np.intp) for name in three)  # type: ignore[misc]
            for pair, three in zip(pairs, names, strict=True)
        },
    )


def _arrays(name: str, keys: list[str]) -> dict[str, npt.NDArray[np.float64]]:
    path = file_at_hand(name)
    if path is None:
        raise DataError(f"{name} is in none of the folders {', '.join(map(str, folders()))}")
    return read_arrays(path, keys, "Office+Caltech")
