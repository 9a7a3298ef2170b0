"""Three opinions on every row, and the one that fits best decides.

For every class: how badly the target's own autoencoder reconstructs the row, how badly the source's
does, and how badly the source2target model does from what the source's made of it. The class of the
least of all is the label (eq. predicted_target_label_multitask). Several sources have a say each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from dptransfer.models import MembershipClassifier
from dptransfer.models.threads import one_blas_thread
from dptransfer.transfer.alignment import Alignment
from dptransfer.transfer.progress import report
from dptransfer.transfer.source2target import Source

__all__ = ["Domain", "Opinions", "opinions"]

Array = npt.NDArray[np.floating]

BLOCK = 2048
KINDS = ("target", "source2target", "source")


class Domain(NamedTuple):
    """A space in which the target's rows are looked at: how they get there, and who knows it."""

    alignment: Alignment
    target: MembershipClassifier
    """The target's own classifier; its classes are class numbers."""
    sources: tuple[Source, ...] = ()
    unit: float = 1.0
    """Errors are told in it. Where there are several spaces, it is the mean squared length of the
    target's rows there: a space of fewer or shorter columns has smaller errors for no merit."""
    others: tuple[MembershipClassifier, ...] = ()
    """The target's further classifiers, of the same classes with another n: what they and the first
    miss is averaged."""


class Opinions(NamedTuple):
    """Squared errors of every row, class and adviser; infinite where one knows nothing of a class.

    Attributes
    ----------
    errors : array of shape (N, C, A)
    advisers : list of str
        "target", "source2target", "source"; with the source's name after a colon where there are
        several sources.
    """

    errors: Array
    advisers: list[str]

    @property
    def least(self) -> Array:
        """The least error of every row and class, (N, C)."""
        least: Array = self.errors.min(axis=2)
        return least

    def of(self, kinds: Sequence[str]) -> Opinions:
        """Those of some kinds of adviser only."""
        kept = [a for a, adviser in enumerate(self.advisers) if adviser.split(":")[0] in kinds]
        return Opinions(self.errors[:, :, kept], [self.advisers[a] for a in kept])

    def deciders(self) -> npt.NDArray[np.str_]:
        """Which adviser had the least error of a row."""
        flat = self.errors.reshape(len(self.errors), -1).argmin(axis=1)
        decided: npt.NDArray[np.str_] = np.array(self.advisers)[flat % len(self.advisers)]
        return decided


def opinions(
    domains: Sequence[Domain], X: Array, n_classes: int, n_jobs: int | None = None
) -> Opinions:
    """Ask everybody about every row, a block of rows at a time."""
    names = [source.name for domain in domains for source in domain.sources]
    called = [f":{name}" if len(names) > 1 else "" for name in names]
    advisers = ["target", *(f"{kind}{name}" for name in called for kind in KINDS[1:])]
    blocks = [X[start : start + BLOCK] for start in range(0, len(X), BLOCK)]
    found = []
    with one_blas_thread():
        asked = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(_ask)(domains, block, n_classes) for block in blocks
        )
        for number, errors in enumerate(asked):
            report("labelling", number + 1, len(blocks))
            found.append(errors)
    return Opinions(np.concatenate(found), advisers)


def _ask(domains: Sequence[Domain], X: Array, n_classes: int) -> Array:
    own = np.full((len(X), n_classes), np.inf)
    columns = []
    with one_blas_thread():
        for domain in domains:
            rows = domain.alignment(X)
            classes = domain.target.classes_.astype(np.intp)
            # spaces of several sources: the target speaks in each, and its best word counts
            judges = (domain.target, *domain.others)
            missed = [judge.residuals(rows) for judge in judges]
            errors = np.mean(missed, axis=0, dtype=missed[0].dtype) / domain.unit
            own[:, classes] = np.minimum(own[:, classes], errors)
            for source in domain.sources:
                columns += [each / domain.unit for each in _ask_source(source, rows, n_classes)]
    return np.stack([own, *columns], axis=2)


def _ask_source(source: Source, X: Array, n_classes: int) -> list[Array]:
    through = np.full((len(X), n_classes), np.inf)
    direct = np.full((len(X), n_classes), np.inf)
    for autoencoder, c in zip(source.model.autoencoders_, source.classes.tolist(), strict=True):
        if c < 0:
            continue
        filtered = autoencoder.transform(X)
        direct[:, c] = _squares(X - filtered)
        if source.mapping is not None:
            through[:, c] = _squares(X - source.mapping.predict(filtered))
    return [through, direct]


def _squares(missed: Array) -> Array:
    squares: Array = np.einsum("ij,ij->i", missed, missed)
    return squares
