"""Table "Effect of labelled target sample size" (table_effect_labelled_sample_size).

The source is USPS's 7,291 training images, 256 pixels; the target MNIST's 60,000, 784 pixels, of
which 100 to 500 are labelled; tested on MNIST's 10,000 test images. The paper does not say over how
many draws its figures are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import load_mnist_split
from dptransfer.experiments.ablation import Target
from dptransfer.experiments.experiment import Row, Table
from dptransfer.experiments.images import CLASSES, COLUMNS, ImageExperiment, usps_sources
from dptransfer.experiments.sources import EPSILONS, NOISE, PAPER, Sources
from dptransfer.experiments.store import Trial
from dptransfer.experiments.summary import Measured

__all__ = ["UspsMnist"]

Numbers = npt.NDArray[np.intp]

PAPER_FIGURES = {100: 92.29, 200: 95.86, 300: 97.31, 400: 97.63, 500: 97.99}
QUICK_ROWS = 20_000


class UspsMnist(ImageExperiment):
    """USPS to MNIST, with ever more labels."""

    name = "usps-mnist"
    title = "USPS→MNIST, 100 to 500 labels"
    runs = 3
    self_training_runs = 0
    of_trial = 50.0

    notes: ClassVar[Mapping[str, str]] = {
        "usps-mnist": (
            "What the source contributed: nothing. The accuracy grows with the labels just as that "
            "of the target alone does, and with noise for source it is the same. The paper reads "
            "this growth as one of the combination of classifiers; it is one of the labels."
        )
    }

    @property
    def tasks(self) -> Sequence[str]:
        """The numbers of labels."""
        numbers = list(PAPER_FIGURES)[:1] if self.quick else list(PAPER_FIGURES)
        return [f"{labels} labels" for labels in numbers]

    def sources(self, n_jobs: int, draw: int) -> Sources:
        """USPS's training images."""
        return usps_sources(n_jobs, draw)

    def names(self, trial: Trial) -> list[str]:
        """Every ε with the fewest labels, which is where a source could help most."""
        everything = trial.task == self.tasks[0] and not self.quick
        return [*EPSILONS, NOISE] if everything else [PAPER, NOISE]

    def load(self) -> tuple[Target, Numbers]:
        """MNIST; 20,000 of its images where it must be quick."""
        mnist = load_mnist_split()
        some = slice(QUICK_ROWS if self.quick else None)
        target = Target(
            mnist.x_train[some].astype(np.float32),
            mnist.x_test.astype(np.float32),
            mnist.y_test.astype(np.intp),
            CLASSES,
        )
        return target, mnist.y_train[some].astype(np.intp)

    def tables(self) -> Sequence[Table]:
        """The paper's table."""
        size = f"{QUICK_ROWS:,}" if self.quick else "60,000"
        return [
            Table(
                "usps-mnist",
                f"USPS→MNIST: {size} target images, tested on 10,000",
                [
                    Row(task, task, "0.1", Measured(PAPER_FIGURES[int(task.split(maxsplit=1)[0])]))
                    for task in self.tasks
                ],
                [column for column in COLUMNS if column.key != "self-training"],
            )
        ]

    def grids(self) -> Mapping[str, Sequence[str]]:
        """One panel."""
        return {f"USPS→MNIST, {self.tasks[0]}": self.tasks[:1]}

    def by_labels(self) -> Mapping[int, str]:
        """All numbers of labels."""
        return {int(task.split(maxsplit=1)[0]): task for task in self.tasks}
