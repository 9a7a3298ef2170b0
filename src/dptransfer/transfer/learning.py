"""From the target's rows and the owners' releases to everybody who has a say in a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError
from dptransfer.transfer.alignment import Alignment, align, as_given
from dptransfer.transfer.columns import Columns, as_text
from dptransfer.transfer.decision import Domain
from dptransfer.transfer.labels import Labels, same_classes
from dptransfer.transfer.lesson import Lesson
from dptransfer.transfer.progress import report
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings, self_train
from dptransfer.transfer.source2target import Source, learn_source2target

__all__ = [
    "Known",
    "different_names",
    "learn_domains",
    "learn_target",
    "same_classes_of",
    "with_source_classes",
]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]


class Known(NamedTuple):
    """What is known of the target's labels."""

    classes: npt.NDArray[Any]
    """All classes, those that only a source knows among them."""
    numbers: Numbers
    """The class number of every row, −1 where it has no label."""
    columns: Columns | None = None
    """What the rows' columns are, where that is known."""


def with_source_classes(labels: Labels, releases: Sequence[Release]) -> tuple[Known, list[str]]:
    """Bring the adopter's labels and the sources' classes together, and say where they differ."""
    own = labels.classes
    notes = []
    extra: list[Any] = []
    for release in releases if len(own) else ():
        here = same_classes(np.array(release.classes), own.tolist())
        if not (here >= 0).any():
            raise DataError(
                f"the release {release.name!r} has the classes {_listed(release.classes)}, and "
                f"your labels are {_listed(own.tolist())}: they have none in common"
            )
        unlabelled = [c for c, k in zip(release.classes, here.tolist(), strict=True) if k < 0]
        if unlabelled:
            notes.append(
                f"no row of yours is labelled {_listed(unlabelled)}, which {release.name!r} knows: "
                "only that release speaks for it"
            )
            extra += unlabelled
        known = same_classes(own, release.classes)
        strangers = [c for c, k in zip(own.tolist(), known.tolist(), strict=True) if k < 0]
        if strangers:
            notes.append(
                f"{release.name!r} knows nothing of {_listed(strangers)}: your rows alone speak "
                "for it"
            )
    if not len(own):
        for release in releases:
            extra += release.classes
        classes = np.unique(np.array(extra))
        notes.append("no row of yours has a label: what the classes are is the sources' word alone")
        return Known(classes, labels.numbers), notes
    if not extra:
        return Known(own, labels.numbers), notes
    texts = np.array([*own.tolist(), *(_like(own, c) for c in extra)])
    classes = np.unique(texts)
    place = np.searchsorted(classes, texts[: len(own)])
    numbers = np.where(labels.numbers >= 0, place[np.maximum(labels.numbers, 0)], -1)
    return Known(classes, numbers), notes


def _like(own: npt.NDArray[Any], label: Any) -> Any:
    """A source's label in the type of the adopter's labels."""
    if own.dtype.kind == "U":
        return as_text(label)
    try:
        return own.dtype.type(label)
    except (TypeError, ValueError):
        raise DataError(
            f"your labels are numbers, and a source knows the class {label!r}: give your labels as "
            "texts"
        ) from None


def _listed(classes: Sequence[Any]) -> str:
    shown = ", ".join(as_text(c) for c in classes[:8])
    return shown + ", …" * (len(classes) > 8)


def learn_domains(
    X: Array,
    known: Known,
    releases: Sequence[Release],
    settings: Settings,
    seed: int,
    ready: Sequence[Domain] = (),
) -> Lesson:
    """One domain for each way in which rows are aligned, with the sources that share it.

    ``ready`` may hold domains of the same rows and labels: a target classifier among them whose
    alignment is the same is not learned again.
    """
    if not releases:
        return Lesson([learn_target(X, known, as_given(), settings, seed, ready)], [])
    notes = []
    names = different_names([release.name for release in releases])
    together: list[tuple[Alignment, list[tuple[str, Release]]]] = []
    for name, release in zip(names, releases, strict=True):
        alignment = align(release, X, known.columns)
        if alignment.kind == "subspace":
            notes.append(
                f"{name!r} has {release.n_features} features and your table {X.shape[1]}, which "
                "are not the same columns: they are aligned by their principal directions, which "
                "presumes that these correspond"
            )
        for other, sharing in together:
            if other.same_as(alignment):
                sharing.append((name, release))
                break
        else:
            together.append((alignment, [(name, release)]))
    domains = [
        _domain(alignment, X, known, sharing, settings, seed, ready)
        for alignment, sharing in together
    ]
    if len(domains) > 1:
        domains = [domain._replace(unit=_mean_square(domain.alignment(X))) for domain in domains]
    return Lesson(domains, notes)


def learn_target(
    X: Array,
    known: Known,
    alignment: Alignment,
    settings: Settings,
    seed: int,
    ready: Sequence[Domain] = (),
) -> Domain:
    """The domain of the target alone, in the space to which its rows are aligned."""
    return _domain(alignment, X, known, [], settings, seed, ready)


def different_names(names: Sequence[str]) -> list[str]:
    """The names, those that come again with a number.

    >>> different_names(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    told: list[str] = []
    for name in names:
        number, different = 1, name
        while different in told:
            number += 1
            different = f"{name} ({number})"
        told.append(different)
    return told


def _mean_square(rows: Array) -> float:
    square = float(np.einsum("ij,ij->", rows, rows, dtype=np.float64)) / len(rows)
    return square if square > 0 else 1.0


def _domain(
    alignment: Alignment,
    X: Array,
    known: Known,
    releases: Sequence[tuple[str, Release]],
    settings: Settings,
    seed: int,
    ready: Sequence[Domain],
) -> Domain:
    rows = alignment(X)
    twin = next((domain for domain in ready if domain.alignment.same_as(alignment)), None)
    if twin is None:
        target, numbers = self_train(rows, known.numbers, settings, seed)
    else:
        target = twin.target
        numbers = known.numbers.copy()
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            numbers[unknown] = target.predict(rows[unknown])
    sources = []
    for number, (name, release) in enumerate(releases):
        report("learning the source's language", number, len(releases))
        source = Source(name, release.model, same_classes_of(release, known))
        sources.append(learn_source2target(source, rows, numbers, seed))
    return Domain(alignment, target, tuple(sources))


def same_classes_of(release: Release, known: Known) -> Numbers:
    """The adopter's number of each of a release's classes."""
    return same_classes(np.array(release.classes), known.classes.tolist())
