"""What stands in the source's place: releases at several ε, one without noise, one of noise alone.

A bare number is ε for one cell; "record 1" is a release of moments that promises ε = 1 for a whole
record. "inf" is the paper's non-private version: the same model learned from the rows as they are.
"noise" is a release at the paper's ε of rows that all were the middle of their bounds: it has the
source's shape and knows nothing; "noise for 1" is the same for the release at ε = 1. Releases are
seeded here, through the argument that says what that costs.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dptransfer.models import MembershipClassifier
from dptransfer.transfer.noise_twin import noise_twin
from dptransfer.transfer.release import Release
from dptransfer.transfer.sample_release import SampleRelease
from dptransfer.transfer.summary import summarise

__all__ = ["DELTA", "EPSILONS", "NOISE", "NOISE_FOR", "PAPER", "RECORD", "Sources"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

DELTA = 1e-5
PAPER = "0.1"
EPSILONS = ("0.01", "0.1", "1", "10", "inf")
NOISE = "noise"
NOISE_FOR = "noise for "
RECORD = "record "


class Sources:
    """Releases of the rows of X, in [0, 1], each made when it is first asked for and then kept.

    Parameters
    ----------
    X, y : arrays of shape (N, p) and (N,)
        The source's rows and their class numbers.
    n_classes : int
    n_jobs : int
    seed : int
        Of the noise and of the clusters.
    """

    def __init__(self, X: Array, y: Numbers, n_classes: int, n_jobs: int, seed: int) -> None:
        self.X, self.y = X, y
        self._n_classes, self._n_jobs, self._seed = n_classes, n_jobs, seed
        self._made: dict[str, Release] = {}

    def __getitem__(self, name: str) -> Release:
        """The release of this name."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Release:
        if name == "inf":
            return self._unprotected(self[PAPER])
        if name == NOISE or name.startswith(NOISE_FOR):
            like = self[PAPER if name == NOISE else name.removeprefix(NOISE_FOR)]
            return noise_twin(like, self._n_jobs, np.random.default_rng([self._seed, 1]))
        if name.startswith(RECORD):
            return Release.from_moments(
                self.X,
                self.y,
                epsilon=float(name.removeprefix(RECORD)),
                delta=DELTA,
                bounds=(0, 1),
                classes=range(self._n_classes),
                name=name,
                insecure_seed=self._seed,
            )
        with warnings.catch_warnings():
            # what a large ε comes to for a whole row overflows on its way to infinity
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="dp_accounting")
            return Release.from_samples(
                self.X,
                self.y,
                epsilon=float(name),
                delta=DELTA,
                bounds=(0, 1),
                classes=range(self._n_classes),
                name=name,
                n_components=min(20, self.X.shape[1]),
                n_jobs=self._n_jobs,
                random_state=self._seed,
                insecure_seed=self._seed,
            )

    def _unprotected(self, like: Release) -> Release:
        """The same model without noise: it promises nothing, and says so."""
        rows = self.X.astype(np.float32)
        model = MembershipClassifier(
            **like.manifest["parameters"], n_jobs=self._n_jobs, random_state=self._seed
        )
        groups = [np.flatnonzero(self.y == c) for c in range(self._n_classes)]
        model.learn(rows, groups, np.array(like.classes))
        nothing = {
            "name": "inf",
            "guarantee": replace(like.guarantee, epsilon=math.inf).to_dict(),
            "per_record": replace(like.per_record, epsilon=math.inf).to_dict(),
        }
        summary = summarise(rows, self.y, self._n_classes, np.zeros(self.X.shape[1]))
        return SampleRelease(like.manifest | nothing, model, summary)
