"""Owners and adopters in pairs: the domains of Office+Caltech256, and four hospitals.

In every draw all twelve pairs are taken, each with its own release; the figures are their means,
and what the source was worth in each pair stands beside them. Where it must be quick, noise in the
source's place and strategy "noise-aware" are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import permutations

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

from dptransfer.data.datasets import HEART_COLUMNS, HOSPITALS, load_heart
from dptransfer.data.office_caltech import PAIRS
from dptransfer.experiments.ablation import labelled
from dptransfer.experiments.arms import Adopter, alone, told_by
from dptransfer.experiments.baselines import svm
from dptransfer.experiments.images import CLASSES
from dptransfer.experiments.office_caltech import unit_features
from dptransfer.experiments.sources import DELTA, NOISE, PAPER, Sources
from dptransfer.experiments.store import Figures
from dptransfer.experiments.worth_words import NOT_PRIVATE
from dptransfer.models.threads import one_blas_thread
from dptransfer.transfer.columns import Column, Columns
from dptransfer.transfer.noise_twin import noise_twin
from dptransfer.transfer.release import Release

__all__ = ["HEART_TABLE", "WORTH_IN", "hospitals", "office"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

WORTH_IN = "worth in "
"""Before the name of a pair: auto less target only."""

# Codes in two halves, as clinics sum them up. Every feature is paid for in noise, and one code in
# four features would be paid for four times.
HALVES: Mapping[str, float] = {"cp": 4, "restecg": 1, "thal": 6}
"""No pain of the chest, any abnormality, any defect: the least code of the second half."""
YES_NO = ("sex", "fbs", "exang", *HALVES)
# A cell that is missing becomes what a healthy adult has: from textbooks, not from these patients.
ORDINARY: Mapping[str, float | str] = {
    "age": 55,
    "sex": "1",
    "cp": "1",
    "trestbps": 120,
    "chol": 200,
    "fbs": "0",
    "restecg": "0",
    "thalach": 150,
    "exang": "0",
    "oldpeak": 0,
    "slope": 1,
    "ca": 0,
    "thal": "0",
}
# Once a zero means missing, the bounds need not reach it.
NARROWER: Mapping[str, tuple[float, float]] = {
    "trestbps": (60, 260),
    "chol": (80, 700),
    "oldpeak": (-5, 10),
}
ZERO_IS_MISSING = ("trestbps", "chol")
HEART_LABELS = 3
HEART_RADIUS = 1.6
"""Declared: of a row's 13 features eight can lie half a unit from the middle, which is 1.41, and
the other five, measurements within wide bounds, seldom lie a third of a unit from it."""


def _declared(name: str, low: float, high: float) -> Column:
    if name in YES_NO:
        return Column(name, categories=("0", "1"), fill=ORDINARY[name])
    low, high = NARROWER.get(name, (low, high))
    return Column(name, low, high, fill=ORDINARY[name])


HEART_TABLE = Columns(_declared(each.name, each.lowest, each.highest) for each in HEART_COLUMNS)
"""What all four hospitals declare of their measurements."""


def office(draw: int, n_jobs: int, full: bool) -> Figures:
    """The split of this number, on the network's features, tested on the split's test rows."""
    return _means(_office, PAIRS, draw, n_jobs, full)


def hospitals(draw: int, n_jobs: int, full: bool) -> Figures:
    """Every hospital learns from every other, with three labels of the ill and of the healthy."""
    return _means(_hospital, tuple(permutations(HOSPITALS, 2)), draw, n_jobs, full)


Pair = Callable[[str, str, int, bool], Figures]


def _means(
    run: Pair, pairs: tuple[tuple[str, str], ...], draw: int, n_jobs: int, full: bool
) -> Figures:
    work = (delayed(_on_one_thread)(run, *pair, draw, full) for pair in pairs)
    each = Parallel(n_jobs=n_jobs)(work)
    means = {key: float(np.mean([figures[key] for figures in each])) for key in each[0]}
    return means | {
        f"{WORTH_IN}{source}→{target}": figures["auto"] - figures["target"]
        for (source, target), figures in zip(pairs, each, strict=True)
    }


def _on_one_thread(run: Pair, source: str, target: str, draw: int, full: bool) -> Figures:
    with one_blas_thread():  # a worker is a process of its own
        return run(source, target, draw, full)


def _office(source: str, target: str, draw: int, full: bool) -> Figures:
    data = unit_features("cnn")
    (X_sr, y_sr), (X_tg, y_tg) = data.domains[source], data.domains[target]
    of_source, known, test = data.split(source, target, draw)
    sources = Sources(X_sr[of_source], y_sr[of_source], CLASSES, n_jobs=1, seed=draw)
    rows = np.concatenate([known, test])
    labels = np.where(np.arange(len(rows)) < len(known), y_tg[rows], -1)
    adopter = Adopter(X_tg[rows], labels, y_tg[test], seed=draw)
    release = sources[PAPER]
    figures = told_by(
        adopter, release, sources[NOISE] if full else None, alone(adopter), noise_aware=full
    )
    raw = svm(
        np.concatenate([X_sr[of_source], X_tg[known]]),
        np.concatenate([y_sr[of_source], y_tg[known]]),
        X_tg[test],
    )
    return figures | {
        "source": adopter.right(release.model.predict(X_tg[test])),
        NOT_PRIVATE: adopter.right(raw),
    }


def _hospital(source: str, target: str, draw: int, full: bool) -> Figures:
    (cells, ill), (X, y) = patients()[source], patients()[target]
    release = Release.from_moments(
        cells,
        ill,
        epsilon=1.0,
        delta=DELTA,
        bounds=HEART_TABLE,
        classes=(0, 1),
        radius=HEART_RADIUS,
        name=source,
        insecure_seed=draw,
    )
    noise = noise_twin(release, 1, np.random.default_rng([draw, 1])) if full else None
    rows = release.encode(X)
    labels = labelled(y, HEART_LABELS, np.random.default_rng(draw))
    adopter = Adopter(rows, labels, y[labels < 0], balanced=True, seed=draw)
    figures = told_by(adopter, release, noise, alone(adopter), noise_aware=full)
    raw = LogisticRegression(class_weight="balanced", max_iter=1000).fit(
        np.concatenate([release.encode(cells), rows[labels >= 0]]),
        np.concatenate([ill, labels[labels >= 0]]),
    )
    return figures | {
        "source": adopter.right(release.model.predict(rows[labels < 0])),
        NOT_PRIVATE: adopter.right(raw.predict(rows[labels < 0])),
    }


@cache
def patients() -> dict[str, tuple[Array, Numbers]]:
    """The four hospitals' patients; a measurement that was not taken is NaN, not 0."""
    found = {}
    for hospital, (table, ill) in load_heart().items():
        cells = table.copy()
        for number, name in enumerate(HEART_TABLE.names):
            column = table[:, number]
            if name in HALVES:
                column = np.where(np.isnan(column), np.nan, column >= HALVES[name])
            if name in ZERO_IS_MISSING:
                column = np.where(column == 0, np.nan, column)
            cells[:, number] = column
        found[hospital] = (cells, ill.astype(np.intp))
    return found
