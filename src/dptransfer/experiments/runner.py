"""Run what is not yet kept, keep what is done, and say how far along it is.

Trials go round by round: every experiment has its first two draws before any has its third, so that
a run that is stopped leaves tables with something in every row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from joblib import Parallel, delayed

from dptransfer.experiments.experiment import Experiment
from dptransfer.experiments.store import Kept, Store, Trial
from dptransfer.models.threads import one_blas_thread

__all__ = ["Step", "perform", "plan"]

FIRST_ROUND = 2

Step = tuple[Experiment, list[Trial]]
"""An experiment and some trials of it that are still to be run."""


def plan(experiments: Sequence[Experiment], store: Store, runs: int | None) -> list[Step]:
    """What is still to be done, in the order in which to do it.

    Parameters
    ----------
    runs : int or None
        Draws of every task; by default what each experiment says.
    """
    first, then = [], []
    for experiment in experiments:
        done = store.read(experiment.name, experiment.protocol)
        wanted = 1 if experiment.quick else (experiment.runs if runs is None else runs)
        missing = [trial for trial in experiment.trials(wanted) if trial not in done]
        first.append((experiment, [t for t in missing if t.draw < FIRST_ROUND]))
        then.append((experiment, [t for t in missing if t.draw >= FIRST_ROUND]))
    return [step for step in first + then if step[1]]


def perform(
    steps: Sequence[Step], store: Store, jobs: int
) -> Iterator[tuple[Experiment, Trial, float]]:
    """Run the steps; after every trial say whose it was and how long it took.

    The figures are the same for every number of jobs.
    """
    for experiment, trials in steps:
        workers, inside = (jobs, 1) if experiment.across and len(trials) > 1 else (1, jobs)
        run = Parallel(n_jobs=workers, return_as="generator_unordered")
        work = (delayed(_perform)(experiment, trial, store, inside) for trial in trials)
        with closing(run(work)) as done:
            for trial, seconds in done:
                yield experiment, trial, seconds


def _perform(
    experiment: Experiment, trial: Trial, store: Store, n_jobs: int
) -> tuple[Trial, float]:
    # another process may have been here since the plan was made
    if trial in store.read(experiment.name, experiment.protocol):
        return trial, 0.0
    start = time.perf_counter()
    with one_blas_thread():  # so that figures are those of one thread however many there are
        figures = experiment.run(trial, n_jobs)
    seconds = time.perf_counter() - start
    store.add(experiment.name, experiment.protocol, trial, Kept(figures, seconds))
    return trial, seconds
