"""One draw of the paper's method, taken apart.

The method's rule takes the least of three errors: the target's own, the source's, and that of the
source2target model. Here all three are worked out for every source that stands in the source's
place, on the same rows with the same labels, so that figures differ by the source alone.

The target's classifier is learned once for all sources. Where the spaces differ the paper maps the
target's rows into the source's by (V⁺)ᵀ V, and (V⁺)ᵀ is an isometry: distances, principal
directions and hence the target's autoencoders are those of V y, padded with zeros to the source's
width, turned. Which source it is does not matter to them but for rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from dptransfer.experiments.store import Figures
from dptransfer.models.threads import one_blas_thread
from dptransfer.numerics.subspace import principal_subspace
from dptransfer.transfer.decision import KINDS
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings, Trained, self_train
from dptransfer.transfer.source2target import Source, learn_source2target

__all__ = [
    "Errors",
    "Target",
    "Turn",
    "View",
    "ablate",
    "accuracy",
    "labelled",
    "look_at",
    "rule_figures",
    "turn",
]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]


class Target(NamedTuple):
    """The adopter's rows: to learn from, and to be tested on."""

    X: Array
    x_test: Array
    y_test: Numbers
    n_classes: int


class View(NamedTuple):
    """The target's rows in a source's space, and what the source makes of the test rows.

    None of it depends on the target's labels, so it serves all draws.
    """

    release: Release
    X: Array
    x_test: Array
    filtered: Array
    """ŴD(y; P_c^{+sr}) of every class and test row, (C, N, p)."""
    direct: Array
    """‖y − ŴD(y; P_c^{+sr})‖², (N, C)."""


class Errors(NamedTuple):
    """Squared errors of every test row and class, (N, C)."""

    target: Array
    source2target: Array
    source: Array


class Turn(NamedTuple):
    """The way from the target's rows to a source's space, up to which source it is."""

    target: Target
    """The target as its own classifier sees it."""
    low: tuple[Array, Array] | None
    """V y of its rows and its test rows; None where the spaces are the same."""

    def towards(self, release: Release) -> tuple[Array, Array]:
        """The target's rows and test rows in the space of a release."""
        if self.low is None:
            return self.target.X, self.target.x_test
        rows, test = self.low
        V_sr = release.summary.subspace[: rows.shape[1]].astype(rows.dtype)
        return rows @ V_sr, test @ V_sr


def turn(target: Target, width: int) -> Turn:
    """Subspace alignment with a source of so many columns, without the source.

    n_st = min(⌈p_sr/2⌉, p_tg); one release is aligned at a time in
    :mod:`~dptransfer.transfer.alignment`.
    """
    N, p = target.X.shape
    if width == p:
        return Turn(target, None)
    n_st = min(-(-width // 2), p, N - 1)
    V = principal_subspace(target.X.astype(np.float64), n_st).astype(target.X.dtype)
    low = target.X @ V.T, target.x_test @ V.T
    X, x_test = (np.pad(rows, ((0, 0), (0, width - len(V)))) for rows in low)
    return Turn(target._replace(X=X, x_test=x_test), low)


def look_at(release: Release, X: Array, x_test: Array) -> View:
    """Filter the test rows through every class of a source."""
    filtered = np.stack([each.transform(x_test) for each in release.model.autoencoders_])
    direct = np.stack([_squares(x_test - rows) for rows in filtered], axis=1)
    return View(release, X, x_test, filtered, direct)


def ablate(
    target: Target, seen: Mapping[str, View], numbers: Numbers, settings: Settings, seed: int
) -> tuple[Trained, dict[str, Errors]]:
    """Learn from the labelled rows of one draw, and work out the three errors for every source.

    Parameters
    ----------
    target : Target
        As its own classifier sees it.
    seen : mapping of View
    numbers : array of int, shape (N,)
        The class number of every row, −1 where it is not known.
    settings, seed
        As for :func:`~dptransfer.transfer.self_training.self_train`.
    """
    trained = self_train(target.X, numbers, settings, seed)
    own = np.full((len(target.x_test), target.n_classes), np.inf)
    own[:, trained.classifier.classes_.astype(np.intp)] = trained.classifier.residuals(
        target.x_test
    )
    # a source2target model is learned on one thread: workers share the sources
    through = Parallel(n_jobs=settings.n_jobs, prefer="threads")(
        delayed(_through)(view, trained.numbers, seed) for view in seen.values()
    )
    return trained, {
        name: Errors(own, error, view.direct)
        for (name, view), error in zip(seen.items(), through, strict=True)
    }


def _through(view: View, numbers: Numbers, seed: int) -> Array:
    """‖y − ŷ(ŴD(y; P_c^{+sr}); 𝕄^{sr→tg})‖², (N, C)."""
    model = view.release.model
    source = Source(view.release.name, model, np.arange(len(model.autoencoders_)))
    with one_blas_thread():
        mapping = learn_source2target(source, view.X, numbers, seed).mapping
        if mapping is None:
            return np.full_like(view.direct, np.inf)
        return np.stack(
            [_squares(view.x_test - mapping.predict(rows)) for rows in view.filtered], axis=1
        )


def rule_figures(errors: Mapping[str, Errors], y: Numbers) -> Figures:
    """Accuracy of the rule and of each error alone, and how often each of them decided."""
    figures: Figures = {}
    for name, three in errors.items():
        figures["target"] = accuracy(three.target, y)
        figures[f"source2target@{name}"] = accuracy(three.source2target, y)
        figures[f"source@{name}"] = accuracy(three.source, y)
        figures[f"rule@{name}"] = accuracy(np.minimum.reduce(three), y)
        decided = np.argmin([error.min(axis=1) for error in three], axis=0)
        for number, kind in enumerate(KINDS):
            figures[f"decided by {kind}@{name}"] = 100 * float((decided == number).mean())
    return figures


def accuracy(errors: Array, y: Numbers) -> float:
    """How many rows in a hundred have their least error at their class."""
    return 100 * float((errors.argmin(axis=1) == y).mean())


def _squares(missed: Array) -> Array:
    squares: Array = np.einsum("ij,ij->i", missed, missed)
    return squares


def labelled(y: Numbers, each: int, rng: np.random.Generator) -> Numbers:
    """Class numbers of which ``each`` of every class are known, and the others −1."""
    numbers = np.full(len(y), -1, dtype=np.intp)
    for c in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == c), each, replace=False)
        numbers[chosen] = c
    return numbers
