"""What the three tables of digits share: the target, its draws, and the sources in place of one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import MNIST, USPS, Split, load_mnist_split, load_usps_split
from dptransfer.data.published import Published
from dptransfer.experiments.ablation import (
    Target,
    View,
    ablate,
    labelled,
    look_at,
    rule_figures,
    turn,
)
from dptransfer.experiments.baselines import Neighbours, baselines
from dptransfer.experiments.experiment import Column, Experiment
from dptransfer.experiments.sources import EPSILONS, NOISE, PAPER, Sources
from dptransfer.experiments.store import Figures, Trial
from dptransfer.transfer.self_training import Settings

__all__ = ["CLASSES", "COLUMNS", "ImageExperiment", "mnist_sources", "usps_sources"]

Numbers = npt.NDArray[np.intp]

CLASSES = 10

COLUMNS = (
    Column("target only", "target"),
    Column("noise for source", f"rule@{NOISE}"),
    Column("source2target alone", "source2target@{e}"),
    Column("source alone", "source@{e}"),
    *(Column("no noise" if e == "inf" else f"ε = {e}", f"rule@{e}") for e in EPSILONS),
    Column("SVM", "svm"),
    Column("label spreading", "label spreading"),
    Column("self-training", "self-training"),
    Column("sphere k-means", "sphere k-means"),
)


@cache
def _mnist() -> Split:
    return load_mnist_split()


@cache
def _usps() -> Split:
    return load_usps_split()


@lru_cache(maxsize=1)
def mnist_sources(n_jobs: int, draw: int) -> Sources:
    """MNIST's 60,000 training images, under the noise of this draw."""
    mnist = _mnist()
    return Sources(mnist.x_train, mnist.y_train.astype(np.intp), CLASSES, n_jobs, seed=draw)


@lru_cache(maxsize=1)
def usps_sources(n_jobs: int, draw: int) -> Sources:
    """USPS's 7,291 training images, under the noise of this draw."""
    usps = _usps()
    return Sources(usps.x_train, usps.y_train.astype(np.intp), CLASSES, n_jobs, seed=draw)


class ImageExperiment(Experiment):
    """A target of digits of which a few of every class are labelled."""

    data: ClassVar[Sequence[Published]] = (MNIST, USPS)
    grid_runs = 3
    """Draws for which every ε is tried; later draws have those of ``always`` only."""
    self_training_runs = 2
    """Draws of the first task for which scikit-learn's self-training is run: it is slow."""
    always: Sequence[str] = (PAPER, NOISE)
    of_trial: float = 5.0
    """Seconds of one core, about, without the sources."""
    of_source: float = 10.0
    """Seconds that each source adds."""

    def __init__(self, *, quick: bool = False) -> None:
        super().__init__(quick=quick)
        self._views: dict[str, View] = {}
        self._draw = -1
        self._seen: Target | None = None
        self._near: Neighbours | None = None

    @abstractmethod
    def sources(self, n_jobs: int, draw: int) -> Sources:
        """What the source is, and under which noise."""

    @abstractmethod
    def load(self) -> tuple[Target, Numbers]:
        """The target's rows, and the true classes of those to learn from."""

    def run(self, trial: Trial, n_jobs: int) -> Figures:
        """Learn from the labels of this draw, with every source in turn."""
        if self._seen is None:
            target, self._y = self.load()
            self._turn = turn(target, self.sources(n_jobs, trial.draw).X.shape[1])
            self._seen = self._turn.target
        numbers = labelled(self._y, labels_each(trial.task), np.random.default_rng(trial.draw))
        settings = Settings(n_jobs=n_jobs)
        views = {name: self._view(name, trial.draw, n_jobs) for name in self.names(trial)}
        trained, errors = ablate(self._seen, views, numbers, settings, trial.draw)
        unknown = numbers < 0
        figures = rule_figures(errors, self._seen.y_test)
        right = trained.numbers[unknown] == self._y[unknown]
        figures["unlabelled rows"] = 100 * float(right.mean())
        if self._near is None:
            self._near = Neighbours(self._seen, n_jobs)
        slowly = trial.task == self.tasks[0] and trial.draw < self.self_training_runs
        figures |= baselines(
            self._seen, numbers, self._near, self_training=slowly and not self.quick
        )
        return figures | self.more(trial, numbers, n_jobs)

    def names(self, trial: Trial) -> list[str]:
        """The sources of a trial."""
        everything = trial.draw < self.grid_runs and not self.quick
        return [e for e in (*EPSILONS, NOISE) if everything or e in self.always]

    def seconds(self, trial: Trial) -> float:
        """By the number of its sources."""
        return self.of_trial + self.of_source * len(self.names(trial))

    def more(self, trial: Trial, numbers: Numbers, n_jobs: int) -> Figures:
        """Figures of this experiment alone."""
        return {}

    def _view(self, name: str, draw: int, n_jobs: int) -> View:
        """A source of this draw, which all tasks of the draw share."""
        if draw != self._draw:
            self._draw, self._views = draw, {}
        if name not in self._views:
            release = self.sources(n_jobs, draw)[name]
            self._views[name] = look_at(release, *self._turn.towards(release))
        return self._views[name]


def labels_each(task: str) -> int:
    """How many labels of every class: "300 labels" are 30 of each of ten classes.

    >>> labels_each("300 labels")
    30
    """
    return int(task.split(maxsplit=1)[0]) // CLASSES
