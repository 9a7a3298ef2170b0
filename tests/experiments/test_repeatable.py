"""The same seeds give the same figures, however many workers and threads there are."""

import pytest
from threadpoolctl import threadpool_limits
from tiny_experiment import Tiny, TinyAcross

from dptransfer.experiments.runner import perform
from dptransfer.experiments.store import Store, Trial


def measured(kind, folder, jobs, threads=1):
    store, experiment = Store(folder), kind()
    with threadpool_limits(threads):
        list(perform([(experiment, experiment.trials(experiment.runs))], store, jobs))
    found = store.read(experiment.name, experiment.protocol)
    return {trial: kept.figures for trial, kept in found.items()}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return measured(Tiny, tmp_path_factory.mktemp("alone"), 1)


@pytest.mark.parametrize(("kind", "jobs", "threads"), [(Tiny, 2, 2), (TinyAcross, 2, 1)])
def test_two_workers_and_two_threads_find_the_same(alone, tmp_path, kind, jobs, threads):
    assert measured(kind, tmp_path, jobs, threads) == alone


def test_a_run_that_goes_on_finds_the_same(alone):
    last = Trial("50 labels", 1)
    assert Tiny().run(last, 1) == pytest.approx(alone[last], abs=1e-4)


def test_every_draw_has_a_source_of_its_own(alone):
    one, other = (kept["source@0.1"] for kept in alone.values())
    assert one != other


def test_all_that_a_table_shows_is_measured(alone):
    first = alone[Trial("50 labels", 0)]
    for column in Tiny().tables()[0].columns:
        assert (
            "ε" in column.heading
            or column.heading == "no noise"
            or column.key.format(e="0.1") in first
        )
