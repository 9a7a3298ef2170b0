"""The twelve tables of Office+Caltech256 (table_amazon_2_caltech and those after it).

Every ordered pair of the four domains, over the 20 published splits: 8 source rows of a class (20
where amazon is the source), 3 labelled target rows of a class; all other target rows are unlabelled
and tested on. Rows have length 1, as is the custom with this data, so their values lie in [0, 1].

The paper's features (VGG-FC6) cannot be downloaded. Ours are those of another network and the SURF
histograms; the paper's figures stand beside them as context and are not compared. Whoever has the
MATLAB files of the paper's features puts them into a folder ``office_caltech_vgg`` where data are
looked for, and has the tables on these too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import OfficeCaltech, load_office_caltech
from dptransfer.data.office_caltech import PAIRS, mat_folder
from dptransfer.experiments.ablation import Target, ablate, look_at, rule_figures
from dptransfer.experiments.baselines import Neighbours, baselines, svm
from dptransfer.experiments.experiment import Column, Experiment, Row, Table
from dptransfer.experiments.images import CLASSES, COLUMNS
from dptransfer.experiments.published import OFFICE_CALTECH
from dptransfer.experiments.sources import EPSILONS, NOISE, PAPER, Sources
from dptransfer.experiments.store import Figures, Trial
from dptransfer.experiments.summary import Results
from dptransfer.experiments.words import BASELINES, judged, points
from dptransfer.transfer.self_training import Settings

__all__ = ["PAIRS", "OfficeCaltechPairs", "unit_features"]

Array = npt.NDArray[np.float64]

FEATURES = {"cnn": "EfficientNet-Lite2", "surf": "SURF"}
PAPERS = {"vgg": "VGG-FC6"}  # only where somebody has the files
GRID_RUNS = 3

RULE, SVM = f"rule@{PAPER}", "svm"
PROPOSED, PRINTED_SVM = ("proposed, (0.1, 1e-5)", "VGG-FC6"), ("SVM-t", "VGG-FC6")


class OfficeCaltechPairs(Experiment):
    """Twelve pairs of domains, two or three kinds of features, 20 splits."""

    name = "office-caltech"
    title = "Office+Caltech256, 12 pairs of domains"
    runs = 20
    across = True

    notes: ClassVar[Mapping[str, str]] = {
        f"office-caltech-{features}": (
            "What the source contributed: nothing, at any ε. At ε ≤ 1 the target's own error is "
            "the least for all rows but a handful. Without noise source2target decides a good "
            "part of the rows, and no accuracy changes with it, though a linear model of the raw "
            "rows of both domains shows that for some pairs there is much to be told: the least of "
            "three errors does not hear it."
        )
        for features in FEATURES
    }

    @property
    def tasks(self) -> Sequence[str]:
        """Every pair, with the features of either kind."""
        return [task_of(features, *pair) for features in _features() for pair in PAIRS]

    def get_ready(self) -> None:
        """See that all files are there, before an hour of other work."""
        for features in _features():
            unit_features(features)

    def run(self, trial: Trial, n_jobs: int) -> Figures:
        """One split of one pair."""
        features, pair = trial.task.split(" ")
        source_domain, target_domain = pair.split("→")
        data = unit_features(features)
        (X_sr, y_sr), (X_tg, y_tg) = data.domains[source_domain], data.domains[target_domain]
        of_source, known, test = data.split(source_domain, target_domain, trial.draw)
        sources = Sources(X_sr[of_source], y_sr[of_source], CLASSES, n_jobs, seed=trial.draw)
        rows = np.concatenate([known, test])
        numbers = np.where(np.arange(len(rows)) < len(known), y_tg[rows], -1)
        target = Target(X_tg[rows], X_tg[test], y_tg[test], CLASSES)
        everything = trial.draw < GRID_RUNS and not self.quick
        names = [e for e in (*EPSILONS, NOISE) if everything or e in {PAPER, NOISE}]
        views = {name: look_at(sources[name], target.X, target.x_test) for name in names}
        settings = Settings(n_jobs=n_jobs)
        _, errors = ablate(target, views, numbers, settings, trial.draw)
        figures = rule_figures(errors, target.y_test)
        figures |= baselines(target, numbers, Neighbours(target))
        both = svm(
            np.concatenate([sources.X, X_tg[known]]),
            np.concatenate([sources.y, y_tg[known]]),
            target.x_test,
        )
        return figures | {"svm on both": 100 * float((both == target.y_test).mean())}

    def tables(self) -> Sequence[Table]:
        """One for each kind of features."""
        return [
            Table(
                _table_name(features),
                f"Office+Caltech256 on {words} features: 3 labelled target rows a class",
                [
                    Row(f"{source}→{target}", task_of(features, source, target))
                    for source, target in PAIRS
                ],
                (*COLUMNS, Column("SVM on both, not private", "svm on both")),
                averaged=True,
                context=[
                    (f"{method}, {theirs}", [f"{value:.1f}" for value in values])
                    for (method, theirs), values in OFFICE_CALTECH.items()
                    if features == "cnn" or theirs == words
                ],
            )
            for features, words in _features().items()
        ]

    def text(self, table: Table, results: Results) -> str:
        """What the paper's own rows say, beside what ours say of the same two methods."""
        tasks = [row.task for row in table.rows]
        ours = results.difference(tasks, RULE, SVM)
        said = [super().text(table, results)]
        if ours is not None:
            printed = OFFICE_CALTECH[PROPOSED]
            margins = [a - b for a, b in zip(printed, OFFICE_CALTECH[PRINTED_SVM], strict=True)]
            best = sum(
                value == max(all_of)
                for value, all_of in zip(
                    printed, zip(*OFFICE_CALTECH.values(), strict=True), strict=True
                )
            )
            first = sum(_leads(task, results) for task in tasks)
            printed_margin = points(sum(margins) / len(margins), 1)
            the_same = table.name in map(_table_name, PAPERS)
            said.append(
                f"On {'the same features' if the_same else 'features that cannot be downloaded'}, "
                "the paper prints the proposed method "
                f"{printed_margin} points from a linear SVM on the target's labels, in the mean "
                f"over the pairs, and at the head of its tables in {best} of them. On these "
                f"features the rule is {judged(ours)} from that SVM, and at or above all plain "
                f"baselines in {first} of {len(PAIRS)} pairs."
            )
        return "\n\n".join(filter(None, said))

    def seconds(self, trial: Trial) -> float:
        """By the number of the target's rows."""
        target = trial.task.split("→")[1]
        grid = 2 if trial.draw < GRID_RUNS and not self.quick else 1
        return grid * {"caltech": 6.0, "amazon": 4.5}.get(target, 1.0)

    def grids(self) -> Mapping[str, Sequence[str]]:
        """All pairs together, for each kind of features."""
        return {
            f"Office+Caltech, {words}": [task_of(features, *pair) for pair in PAIRS]
            for features, words in _features().items()
        }


def _leads(task: str, results: Results) -> bool:
    """Whether the rule's mean is at or above those of all plain baselines."""
    rule, *others = (results.over([task], key) for key in (RULE, *BASELINES))
    return rule is not None and all(rule.mean >= other.mean for other in others if other)


def task_of(features: str, source: str, target: str) -> str:
    """The name of a pair's task."""
    return f"{features} {source}→{target}"


def _table_name(features: str) -> str:
    return f"office-caltech-{features}"


def _features() -> dict[str, str]:
    """The kinds of features that there are files of."""
    return FEATURES | {name: words for name, words in PAPERS.items() if mat_folder(name)}


@cache
def unit_features(features: str) -> OfficeCaltech:
    """The pictures' features as rows of length 1, and the splits."""
    data = load_office_caltech(features)
    return OfficeCaltech(
        {name: (unit_rows(X), y.astype(np.intp)) for name, (X, y) in data.domains.items()},
        data.splits,
    )


def unit_rows(X: Array) -> Array:
    """Rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit: Array = X / np.where(lengths > 0, lengths, 1.0)
    return unit
