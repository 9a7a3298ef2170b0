"""The strategy that counts on what survives the noise.

The paper lets a model that was learned from noise compete with the target's own, and loses. But
averages beat the noise, and its size is known. So the source is asked for what it knows well, class
means and second moments, with their errors; the target's rows say where its classes can lie; and
the paper's autoencoders learn from the labels that follow (:mod:`~dptransfer.transfer.labelling`).
Without a source that tells anything, the same steps start from the labelled rows alone: that is
strategy "target-only".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError
from dptransfer.models import MembershipClassifier
from dptransfer.transfer.alignment import Alignment, align, as_given
from dptransfer.transfer.cross_labelling import learn_classes
from dptransfer.transfer.decision import Domain
from dptransfer.transfer.field import Field
from dptransfer.transfer.labelling import Evidence, label_all, surest
from dptransfer.transfer.learning import Known, different_names, same_classes_of
from dptransfer.transfer.lesson import Lesson
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings
from dptransfer.transfer.source_laws import source_laws
from dptransfer.transfer.source_means import ClassMeans, source_means

__all__ = ["View", "evidence_of", "learn_from_views", "learn_noise_aware", "views_of"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

PARTITION = 250
"""Rows to a part of the last autoencoders: labels are not certain, and smaller parts take less harm
from each other's."""

TAUGHT = 0.95
"""The part of each class's rows, the surest, that the last autoencoders learn from."""

NOT_HEARD = (
    "autoencoders find your labelled rows hardly more often than luck would: they were not asked "
    "about the rows that were learned from, and what they say of new rows is to be read with care"
)


class View(NamedTuple):
    """A source that speaks of the target's columns, and what it says of the rows."""

    name: str
    alignment: Alignment
    graph: Neighbourhood
    """Of the rows in the source's space."""
    field: Field
    laws: Array | None
    shares: Array | None
    """Of all classes, where the source knows all."""
    means: ClassMeans


def learn_noise_aware(
    X: Array,
    known: Known,
    releases: Sequence[Release],
    settings: Settings,
    seed: int,
    ready: Sequence[Domain] = (),
) -> Lesson:
    """Label all rows by everything that is known, and learn the classifier from the surest.

    See :func:`~dptransfer.transfer.learning.learn_domains` for the parameters. ``ready`` may hold
    what was learned of the same rows and labels without a source: where every source is left out,
    it is not learned again.
    """
    alignment, views, notes = views_of(X, known, releases)
    return learn_from_views(X, known, alignment, views, notes, settings, seed, ready)


def learn_from_views(
    X: Array,
    known: Known,
    alignment: Alignment,
    views: Sequence[View],
    notes: list[str],
    settings: Settings,
    seed: int,
    ready: Sequence[Domain] = (),
) -> Lesson:
    """The same, from what some sources say."""
    for domain in ready if not views else ():
        if domain.alignment.same_as(alignment):
            return Lesson([domain], notes)
    n_classes = len(known.classes)
    rows = alignment(X)
    if not views and not np.any(known.numbers >= 0):
        raise DataError(
            "no row has a label, and there is no source whose classes can be told apart through "
            "its noise in your columns: label some rows"
        )
    models = [
        MembershipClassifier(
            n,
            settings.n_layers,
            settings.max_inducing,
            n_jobs=settings.n_jobs,
            random_state=seed,
        )
        for n in sorted({min(n, rows.shape[1]) for n in settings.schedule})
    ]
    if np.all(known.numbers >= 0) or len(rows) < 3:
        numbers, taught = known.numbers, known.numbers >= 0
        models = models[-1:]
    else:
        graph = views[0].graph if views else Neighbourhood(rows)
        scores, best, heard = label_all(
            rows, known.numbers, n_classes, graph, evidence_of(views), models, seed
        )
        models = list(best)
        if not heard:
            notes = [*notes, NOT_HEARD]
        numbers = scores.argmax(axis=1)
        taught = surest(scores, TAUGHT) | (known.numbers >= 0)
    for model in models:
        learn_classes(model.set_params(partition_size=PARTITION), rows, numbers, taught)
    return Lesson([Domain(alignment, models[0], others=tuple(models[1:]))], notes, numbers)


def evidence_of(views: Sequence[View]) -> Evidence:
    """What all sources say together."""
    shares = [view.shares for view in views if view.shares is not None]
    return Evidence(
        [view.field for view in views],
        [view.laws for view in views if view.laws is not None],
        np.mean(shares, axis=0) if shares else None,
        [view.means for view in views if view.graph is views[0].graph],
    )


def views_of(
    X: Array, known: Known, releases: Sequence[Release]
) -> tuple[Alignment, list[View], list[str]]:
    """The sources that can be understood, the space to work in, and why the others cannot."""
    views: list[View] = []
    notes = []
    working: Alignment | None = None
    graphs: list[tuple[Alignment, Neighbourhood]] = []
    for name, release in zip(
        different_names([release.name for release in releases]), releases, strict=True
    ):
        alignment = align(release, X, known.columns)
        if alignment.kind == "subspace":
            notes.append(
                f"{name!r} has {release.n_features} features and your table {X.shape[1]}, which "
                "are not the same columns: through its noise nothing ties the one to the other, "
                "and it was left out"
            )
            continue
        working = working or alignment
        graph = next((graph for other, graph in graphs if other.same_as(alignment)), None)
        rows = alignment(X)
        if graph is None:
            if len(rows) < 3 or np.all(rows[0] == rows):
                continue
            graph = Neighbourhood(rows)
            graphs.append((alignment, graph))
        told = source_means(release, graph)
        if not told.tell_apart(graph.directions):
            notes.append(
                f"the classes of {name!r} cannot be told apart through its noise: it was left out"
            )
            continue
        if told.lie_elsewhere(graph.directions):
            notes.append(
                f"your rows lie farther from those of {name!r} than its classes do from each "
                "other: it speaks of something else, and was left out"
            )
            continue
        classes = same_classes_of(release, known)
        every = len(set(classes.tolist())) == len(known.classes)
        laws = source_laws(release, rows, graph) if every else None
        if laws is not None:
            laws = laws[:, np.argsort(classes)]
        if not every:
            told = told._replace(shares=told.shares * _part_of(classes, known))
        field = Field(graph, told, classes)
        shares = told.shares[np.argsort(classes)] if every else None
        means = told.seen(graph.directions, classes, len(known.classes))
        views.append(View(name, alignment, graph, field, laws, shares, means))
    return working or as_given(), views, notes


def _part_of(classes: Numbers, known: Known) -> float:
    """The part of all rows that are of these classes, by the labels; without any, all count alike.

    The rest of the rows are of the other classes.
    """
    labelled = known.numbers[known.numbers >= 0]
    of_all = labelled if len(labelled) else np.arange(len(known.classes))
    return float(np.mean(np.isin(of_all, classes)))
