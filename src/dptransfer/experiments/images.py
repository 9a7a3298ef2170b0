"""What the three tables of digits share: the target, its draws, and the sources in place of one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import MNIST, USPS, load_mnist_split, load_usps_split
from dptransfer.data.published import Published
from dptransfer.experiments.ablation import (
    Target,
    View,
    ablate,
    accuracy,
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
def mnist_sources(n_jobs: int) -> Sources:
    """MNIST's 60,000 training images; the same releases serve every draw and experiment."""
    mnist = load_mnist_split()
    return Sources(mnist.x_train, mnist.y_train.astype(np.intp), CLASSES, n_jobs, seed=0)


@cache
def usps_sources(n_jobs: int) -> Sources:
    """USPS's 7,291 training images."""
    usps = load_usps_split()
    return Sources(usps.x_train, usps.y_train.astype(np.intp), CLASSES, n_jobs, seed=0)


class ImageExperiment(Experiment):
    """A target of digits of which a few of every class are labelled."""

    data: ClassVar[Sequence[Published]] = (MNIST, USPS)
    grid_runs = 2
    """Draws for which every ε is tried; later draws have those of ``always`` only."""
    self_training_runs = 2
    """Draws for which scikit-learn's self-training is run; it takes longer than all else."""
    always: Sequence[str] = (PAPER, NOISE)

    def __init__(self, *, quick: bool = False) -> None:
        super().__init__(quick=quick)
        self._views: dict[str, View] = {}
        self._seen: Target | None = None
        self._near: Neighbours | None = None

    @abstractmethod
    def sources(self, n_jobs: int) -> Sources:
        """What the source is."""

    @abstractmethod
    def load(self) -> tuple[Target, Numbers]:
        """The target's rows, and the true classes of those to learn from."""

    def run(self, trial: Trial, n_jobs: int) -> Figures:
        """Learn from the labels of this draw, with every source in turn."""
        if self._seen is None:
            target, self._y = self.load()
            self._turn = turn(target, self.sources(n_jobs).X.shape[1])
            self._seen = self._turn.target
        numbers = labelled(self._y, labels_each(trial.task), np.random.default_rng(trial.draw))
        settings = Settings(n_jobs=n_jobs)
        views = {name: self._view(name, n_jobs) for name in self.names(trial)}
        trained, errors = ablate(self._seen, views, numbers, settings, trial.draw)
        unknown = numbers < 0
        figures = rule_figures(errors, self._seen.y_test)
        right = trained.numbers[unknown] == self._y[unknown]
        figures["unlabelled rows"] = 100 * float(right.mean())
        if not figures.get("target"):
            own = trained.classifier.residuals(self._seen.x_test)
            figures["target"] = accuracy(own, self._seen.y_test)
        if views:
            if self._near is None:
                self._near = Neighbours(self._seen, n_jobs)
            self_training = trial.draw < self.self_training_runs and not self.quick
            figures |= baselines(self._seen, numbers, self._near, self_training=self_training)
        return figures | self.more(trial, numbers, n_jobs)

    def names(self, trial: Trial) -> list[str]:
        """The sources of a trial."""
        everything = trial.draw < self.grid_runs and not self.quick
        return [e for e in (*EPSILONS, NOISE) if everything or e in self.always]

    def more(self, trial: Trial, numbers: Numbers, n_jobs: int) -> Figures:
        """Figures of this experiment alone."""
        return {}

    def _view(self, name: str, n_jobs: int) -> View:
        if name not in self._views:
            release = self.sources(n_jobs)[name]
            self._views[name] = look_at(release, *self._turn.towards(release))
        return self._views[name]


def labels_each(task: str) -> int:
    """How many labels of every class: "300 labels" are 30 of each of ten classes.

    >>> labels_each("300 labels")
    30
    """
    return int(task.split(maxsplit=1)[0]) // CLASSES
