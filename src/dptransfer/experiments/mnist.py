"""Table "Privacy and utility results on MNIST dataset" (table_results_MNIST).

The source is MNIST's 60,000 training images. The target is the first 9,000 test images, ten of each
digit labelled; the last 1,000 are held out to test on. The paper does not say over how many draws
its figure is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import MNIST, load_mnist_split
from dptransfer.experiments.ablation import Target
from dptransfer.experiments.baselines import svm
from dptransfer.experiments.experiment import Column, Row, Table
from dptransfer.experiments.images import CLASSES, COLUMNS, ImageExperiment, mnist_sources
from dptransfer.experiments.sources import PAPER, Sources
from dptransfer.experiments.store import Figures, Trial
from dptransfer.experiments.summary import Measured, Results

__all__ = ["Mnist"]

Numbers = npt.NDArray[np.intp]

HELD_OUT = 1000
CEILING_ROWS = 10_000
PAPER_FIGURE = Measured(95.1)
TASK = "100 labels"
LABELS = "mnist-labels"
MORE_LABELS = ("200 labels", "300 labels", "500 labels")


class Mnist(ImageExperiment):
    """MNIST to MNIST."""

    name = "mnist"
    title = "MNIST, 100 labels"
    runs = 5
    data = (MNIST,)

    notes: ClassVar[Mapping[str, str]] = {
        "mnist": (
            "What the source contributed: nothing. Autoencoders of rows that are nearly all noise "
            "reconstruct noise, so the target's own come nearer to every digit, and the figure is "
            "that of learning from 100 labels and 8,900 rows without. It does not move when pure "
            "noise stands in the source's place. That source2target taken alone is right far more "
            "often than the source is no merit of the source either: the mapping is learned from "
            "the target's rows and the labels they were given, and is nearly as good behind noise. "
            "The source begins to decide at ε = 10, where a pixel is hardly protected."
        ),
        LABELS: (
            "Under this reading of the paper the printed figure is one of three times as many "
            "labels. We know of no other reading under which 100 are enough, and of none under "
            "which a source at ε = 0.1 could bring what is missing."
        ),
    }

    @property
    def tasks(self) -> Sequence[str]:
        """The paper's, and with more labels to see how many its figure would take."""
        return (TASK,) if self.quick else (TASK, *MORE_LABELS)

    def sources(self, n_jobs: int, draw: int) -> Sources:
        """MNIST's training images."""
        return mnist_sources(n_jobs, draw)

    def load(self) -> tuple[Target, Numbers]:
        """The test images, of which the last 1,000 are held out."""
        mnist = load_mnist_split()
        x, y = mnist.x_test.astype(np.float32), mnist.y_test.astype(np.intp)
        split = len(x) - HELD_OUT
        return Target(x[:split], x[split:], y[split:], CLASSES), y[:split]

    def names(self, trial: Trial) -> list[str]:
        """The sources of a trial; with more labels, the paper's alone."""
        return super().names(trial) if trial.task == TASK else [PAPER]

    def more(self, trial: Trial, numbers: Numbers, n_jobs: int) -> Figures:
        """The ceiling: a linear SVM on raw source rows and the labelled target rows."""
        if trial.task != TASK or self._seen is None:
            return {}
        source = self.sources(n_jobs, trial.draw)
        known = np.flatnonzero(numbers >= 0)
        some = np.random.default_rng(trial.draw).choice(len(source.X), CEILING_ROWS, replace=False)
        found = svm(
            np.concatenate([source.X[some], self._seen.X[known]]),
            np.concatenate([source.y[some], numbers[known]]),
            self._seen.x_test,
        )
        return {"svm on both": 100 * float((found == self._seen.y_test).mean())}

    def tables(self) -> Sequence[Table]:
        """The paper's table, and what its figure would take."""
        ours = Table(
            "mnist",
            "MNIST: 9,000 target images of which 100 labelled, tested on the last 1,000",
            [Row("(0.1, 1e-5), one pixel", TASK, "0.1", PAPER_FIGURE)],
            (
                *COLUMNS,
                Column(f"SVM on both ({CEILING_ROWS:,} source rows), not private", "svm on both"),
            ),
        )
        if self.quick:
            return [ours]
        return [
            ours,
            Table(
                LABELS,
                "MNIST: how many labels the printed figure would take, target only",
                [Row(task, task, "0.1", PAPER_FIGURE) for task in (TASK, *MORE_LABELS)],
                [
                    Column("on the unlabelled rows", "unlabelled rows"),
                    Column("the paper's rule", f"rule@{PAPER}"),
                ],
                ours="target",
                measured="target only",
            ),
        ]

    def text(self, table: Table, results: Results) -> str:
        """How many labels the printed figure would take, under the table of labels."""
        said = super().text(table, results)
        found = [(task, results.get(task, "target")) for task in (TASK, *MORE_LABELS)]
        if table.name != LABELS or None in dict(found).values():
            return said
        enough = [
            task
            for task, ours in found
            if ours is not None and ours.mean + 2 * (ours.error or 0.0) >= PAPER_FIGURE.mean
        ]
        printed = f"The printed {PAPER_FIGURE} is more than two standard errors above the target"
        told = (
            f"{printed} alone with fewer than {enough[0]}, and not with {enough[0]}."
            if enough and enough[0] != TASK
            else f"{printed} alone with none of these numbers of labels."
            if enough
            else f"{printed} alone with each of these numbers of labels."
        )
        return f"{said}\n\n{told}"

    def grids(self) -> Mapping[str, Sequence[str]]:
        """One panel."""
        return {self.title: (TASK,)}

    def by_labels(self) -> Mapping[int, str]:
        """All numbers of labels."""
        return {int(task.split(maxsplit=1)[0]): task for task in self.tasks}
