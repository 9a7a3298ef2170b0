"""From a classifier that was fitted to what its report says.

Accuracy, confusions and the labelled rows that are hard come from the trial in which labelled rows
were held out; of the rows without a label, the least sure of the final model are shown.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import dptransfer
from dptransfer.report.page import AdaptationPage, Answers, HardRow, Promise
from dptransfer.transfer.calibration import probabilities
from dptransfer.transfer.columns import as_text
from dptransfer.transfer.labels import read_labels

if TYPE_CHECKING:
    from dptransfer.transfer.adapter import TransferClassifier
    from dptransfer.transfer.release import Release
    from dptransfer.transfer.trial import HeldOut

__all__ = ["adaptation_page", "versions"]

Array = npt.NDArray[np.floating]

HARDEST = 20  # of the rows with a label, and as many of those without


def adaptation_page(
    model: TransferClassifier,
    X: npt.ArrayLike,
    y: Any,
    *,
    title: str,
    row_names: Sequence[str] | None = None,
    facts: Mapping[str, str] | None = None,
    made: date | None = None,
) -> AdaptationPage:
    """What there is to say of a fitted classifier.

    Parameters
    ----------
    model : TransferClassifier
        Fitted.
    X, y
        What it was fitted with.
    title : str
    row_names : sequence of str, optional
        What rows are called; by default their number, counted from 1.
    facts : mapping of str to str, optional
        What else stands among the parameters, such as the names of files.
    made : date, optional
        By default today.
    """
    rows = np.asarray(X)
    known = read_labels(y, len(rows)).numbers >= 0
    names = row_names if row_names is not None else [str(n + 1) for n in range(len(rows))]
    classes = tuple(as_text(c) for c in model.classes_)
    releases = list(model.releases_)
    held_out = model.held_out_
    hard: list[HardRow] = []
    answers = None
    if held_out is not None:
        answers = _answers(held_out, classes)
        hard += _hard_labelled(held_out, model.temperature_, names, classes)
    decided: dict[str, int] = {}
    unknown = np.flatnonzero(~known)
    if len(unknown):
        said = model.opinions(rows[unknown])
        deciders = said.deciders()
        shares = probabilities(said.least, model.temperature_)
        advisers, counts = np.unique(deciders, return_counts=True)
        decided = {str(a): int(n) for a, n in zip(advisers, counts, strict=True)}
        hard += _hardest(shares, deciders, [names[i] for i in unknown.tolist()], None, classes)
    return AdaptationPage(
        title=title,
        lead=_lead(len(rows), int(known.sum()), len(classes), releases, made or date.today()),
        promises=tuple(map(_promise, releases)),
        gain=model.transfer_gain_,
        answers=answers,
        hard=tuple(hard),
        decided=decided,
        notes=(*model.notes_, f"Probabilities were calibrated {model.calibration_}."),
        parameters=dict(facts or {}) | _parameters(model),
        versions=versions(),
    )


def _lead(rows: int, labelled: int, classes: int, releases: list[Release], made: date) -> str:
    source = {0: "without a release", 1: "with one release"}.get(
        len(releases), f"with {len(releases)} releases"
    )
    day = f"{made.day} {made:%B %Y}"
    return f"Learned {source} from {rows:,} rows, {labelled:,} of them labelled, in {classes} " + (
        f"classes, on {day}."
    )


def _promise(release: Release) -> Promise:
    manifest = release.manifest
    element = release.guarantee.unit == "element"
    return Promise(
        release.name,
        release.guarantee,
        {"One whole row": release.per_record} if element else {},
        bool(manifest.get("noise", {}).get("insecure_seed", False)),
        {
            "kind": release.KIND,
            "rows": f"{manifest['n_rows']:,}" if "n_rows" in manifest else "not said",
            "columns": f"{len(release.columns):,}",
            "classes": f"{len(release.classes):,}",
            "made with": str(manifest.get("software", "not said")),
        },
    )


def _answers(held_out: HeldOut, classes: tuple[str, ...]) -> Answers:
    said = held_out.errors.argmin(axis=2)
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (np.broadcast_to(held_out.numbers, said.shape), said), 1)
    return Answers(classes, tuple(map(tuple, counts.tolist())), len(said))


def _hard_labelled(
    held_out: HeldOut, T: float, names: Sequence[str], classes: tuple[str, ...]
) -> list[HardRow]:
    repeats, rows, n_classes = held_out.errors.shape
    every = probabilities(held_out.errors.reshape(-1, n_classes), T)
    shares = every.reshape(repeats, rows, n_classes).mean(axis=0)
    deciders = np.array([" or ".join(np.unique(column)) for column in held_out.deciders.T])
    return _hardest(
        shares, deciders, [names[i] for i in held_out.rows.tolist()], held_out.numbers, classes
    )


def _hardest(
    shares: Array,
    deciders: npt.NDArray[np.str_],
    names: Sequence[str],
    truth: npt.NDArray[np.intp] | None,
    classes: tuple[str, ...],
) -> list[HardRow]:
    """The rows with the least lead of their own label, or of what was said, over the next."""
    order = np.argsort(-shares, axis=1, kind="stable")
    if order.shape[1] < 2:  # one class alone is never in doubt
        return []
    best, second = order[:, 0], order[:, 1]
    each = np.arange(len(shares))
    lead = shares[each, best] - shares[each, second]
    if truth is not None:
        others = np.where(best == truth, second, best)
        lead = shares[each, truth] - shares[each, others]
    return [
        HardRow(
            names[i],
            None if truth is None else classes[truth[i]],
            classes[best[i]],
            float(shares[i, best[i]]),
            classes[second[i]],
            float(shares[i, second[i]]),
            str(deciders[i]),
        )
        for i in np.argsort(lead, kind="stable")[:HARDEST].tolist()
    ]


def _parameters(model: TransferClassifier) -> dict[str, str]:
    """How it was learned; how many workers took part changes nothing."""
    plain = {k: v for k, v in model.get_params().items() if k not in {"source", "n_jobs"}}
    return {
        name: ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
        for name, value in plain.items()
    }


def versions() -> dict[str, str]:
    """With what the page was made."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {
        "dptransfer": dptransfer.__version__,
        "Python": platform.python_version(),
        **libraries,
        "system": f"{platform.system()} {platform.machine()}",
    }
