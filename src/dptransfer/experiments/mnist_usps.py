"""Table "Results of 10 independent MNIST→USPS experiments" (table_results_MNIST_USPS_2).

The source is MNIST's 60,000 training images, 784 pixels; the target USPS's 7,291, 256 pixels, of
which ten of each digit are labelled; tested on USPS's 2,007 test images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import load_usps_split
from dptransfer.experiments.ablation import Target, accuracy
from dptransfer.experiments.experiment import Column, Row, Table
from dptransfer.experiments.images import CLASSES, COLUMNS, ImageExperiment, mnist_sources
from dptransfer.experiments.sources import NOISE, Sources
from dptransfer.experiments.store import Figures, Trial
from dptransfer.experiments.summary import Measured
from dptransfer.transfer.self_training import Settings, self_train

__all__ = ["MnistUsps"]

Numbers = npt.NDArray[np.intp]

TASK = "100 labels"


class MnistUsps(ImageExperiment):
    """MNIST to USPS."""

    name = "mnist-usps"
    title = "MNIST→USPS, 100 labels"
    runs = 10
    always = ("0.1", "1", "inf", NOISE)

    notes: ClassVar[Mapping[str, str]] = {
        "mnist-usps": (
            "What the source contributed: nothing, and here not even without noise. Subspace "
            "alignment takes the k-th principal direction of one table for the k-th of the other; "
            "nothing makes their order or sign agree, and without noise the source's autoencoders, "
            "seen through it, are right hardly more often than a guess. The figures of the three "
            "rows are the same because the target decides nearly all images. The target in its own "
            "pixels, which never sees the source's space, is as good, so that what is missing from "
            "the printed figures is not a matter of the source."
        )
    }

    @property
    def tasks(self) -> Sequence[str]:
        """The paper's only one."""
        return (TASK,)

    def sources(self, n_jobs: int, draw: int) -> Sources:
        """MNIST's training images."""
        return mnist_sources(n_jobs, draw)

    def names(self, trial: Trial) -> list[str]:
        """The sources of a trial."""
        return ["0.1", NOISE] if self.quick else super().names(trial)

    def load(self) -> tuple[Target, Numbers]:
        """USPS."""
        usps = load_usps_split()
        target = Target(
            usps.x_train.astype(np.float32),
            usps.x_test.astype(np.float32),
            usps.y_test.astype(np.intp),
            CLASSES,
        )
        self._own = target
        return target, usps.y_train.astype(np.intp)

    def more(self, trial: Trial, numbers: Numbers, n_jobs: int) -> Figures:
        """The target in its own pixels, never brought to a source's space."""
        model = self_train(self._own.X, numbers, Settings(n_jobs=n_jobs), trial.draw).classifier
        return {"no source": accuracy(model.residuals(self._own.x_test), self._own.y_test)}

    def tables(self) -> Sequence[Table]:
        """The paper's table."""
        rows = [
            Row("(0.1, 1e-5), one pixel", TASK, "0.1", Measured(92.23, 0.87, 10)),
            Row("(1, 1e-5), one pixel", TASK, "1", Measured(92.28, 0.62, 10)),
            Row("not private", TASK, "inf", Measured(92.37, 0.70, 10)),
        ]
        shown = rows[:1] if self.quick else rows
        return [
            Table(
                "mnist-usps",
                "MNIST→USPS: 7,291 target images of which 100 labelled, tested on 2,007",
                shown,
                (Column("no source, own pixels", "no source"), *COLUMNS),
                context=[("Deep Variational Transfer, not private", ["92.0 ± 0.4"] * len(shown))],
            )
        ]

    def grids(self) -> Mapping[str, Sequence[str]]:
        """One panel."""
        return {self.title: (TASK,)}
