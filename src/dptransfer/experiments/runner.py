"""Run what is not yet kept, keep what is done, and say how far along it is.

Trials go draw by draw: every experiment has its first before any has its second, so that a run that
is stopped leaves tables with something in every row, and experiments on the same data share the
sources of a draw. Only where workers take a trial each do all later draws come in one go, so that
no worker waits for the last trial of every draw.
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

Step = tuple[Experiment, list[Trial]]
"""An experiment and some trials of it that are still to be run."""


def plan(experiments: Sequence[Experiment], store: Store, runs: int | None) -> list[Step]:
    """What is still to be done, in the order in which to do it.

    Parameters
    ----------
    runs : int or None
        Draws of every task; by default what each experiment says.
    """
    rounds: dict[tuple[int, int], Step] = {}
    for number, experiment in enumerate(experiments):
        done = store.read(experiment.name, experiment.protocol)
        wanted = 1 if experiment.quick else (experiment.runs if runs is None else runs)
        for trial in experiment.trials(wanted):
            if trial not in done:
                place = min(trial.draw, 1) if experiment.across else trial.draw
                rounds.setdefault((place, number), (experiment, []))[1].append(trial)
    return [rounds[place] for place in sorted(rounds)]


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
