"""Where finished trials are kept: one file an experiment, one line a trial, only ever added to.

A line goes in by one write to the end of the file, so processes that share a folder do not mix
theirs, and a run that was stopped loses the trial it was at and no other. What an interrupted write
left half done is passed over when the file is read. Trials are seeded by their number: two
processes that did the same one found the same figures, and the first line counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dptransfer.errors import DataError

__all__ = ["Figures", "Kept", "Store", "Trial"]

Figures = dict[str, float]
"""What was measured in a trial, in per cent."""


class Trial(NamedTuple):
    """One draw of one task of an experiment; the draw is its seed too."""

    task: str
    draw: int


class Kept(NamedTuple):
    """A finished trial."""

    figures: Figures
    seconds: float


class Store:
    """A folder of finished trials.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.add("digits", 1, Trial("10 labels", 0), Kept({"target": 93.5}, 2.0))
    >>> store.read("digits", 1)
    {Trial(task='10 labels', draw=0): Kept(figures={'target': 93.5}, seconds=2.0)}
    >>> store.read("digits", 2)
    {}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: str) -> Path:
        """The file of an experiment."""
        return self.folder / f"{experiment}.jsonl"

    def read(self, experiment: str, protocol: int) -> dict[Trial, Kept]:
        """The trials of one version of an experiment's protocol, in the order of their draws."""
        try:
            lines = self.path(experiment).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read {self.path(experiment)}: {error}") from error
        found: dict[Trial, Kept] = {}
        for line in lines:
            try:
                entry = json.loads(line)
                trial = Trial(str(entry["task"]), int(entry["draw"]))
                kept = Kept(_figures(entry["figures"]), float(entry["seconds"]))
                of_this = entry["protocol"] == protocol
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # half a line
            if of_this:
                found.setdefault(trial, kept)
        return dict(sorted(found.items(), key=lambda item: item[0].draw))

    def add(self, experiment: str, protocol: int, trial: Trial, kept: Kept) -> None:
        """Keep a finished trial."""
        entry = {
            "protocol": protocol,
            **trial._asdict(),
            "seconds": round(kept.seconds, 2),
            "figures": {name: round(value, 4) for name, value in kept.figures.items()},
        }
        line = json.dumps(entry, allow_nan=False).encode() + b"\n"
        path = self.path(experiment)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                size = os.fstat(file).st_size
                if size and os.pread(file, 1, size - 1) != b"\n":
                    line = b"\n" + line  # do not write on after half a line
                written = os.write(file, line)
            finally:
                os.close(file)
        except OSError as error:
            raise DataError(f"cannot keep a trial in {path}: {error.strerror}") from error
        if written < len(line):
            raise DataError(f"cannot keep a trial in {path}: the disk is full")


def _figures(plain: Mapping[str, Any]) -> Figures:
    return {str(name): float(value) for name, value in plain.items()}
