"""What is done stays done, in whatever way a run ends, and workers change nothing."""

import os
import signal
import subprocess
import sys
import time
from types import MappingProxyType

import numpy as np
import pytest

from dptransfer.experiments.experiment import Column, Experiment, Row, Table
from dptransfer.experiments.pages import digest, markdown, to_csv, whole_page
from dptransfer.experiments.runner import perform, plan
from dptransfer.experiments.store import Kept, Store, Trial
from dptransfer.experiments.summary import Measured


class Coin(Experiment):
    name = "coin"
    title = "A coin"
    runs = 3

    def __init__(self, *, quick=False, stop_at=None):
        super().__init__(quick=quick)
        self.stop_at = stop_at

    @property
    def tasks(self):
        return ("heads", "tails")

    def run(self, trial, n_jobs):
        if trial == self.stop_at:
            raise KeyboardInterrupt
        seed = [self.tasks.index(trial.task), trial.draw]
        value = 50 + float(np.random.default_rng(seed).normal())
        return {"rule@0.1": value, "target": value - 1}

    def tables(self):
        rows = [Row("heads up", "heads", "0.1", Measured(60.0)), Row("tails up", "tails")]
        return [Table("coin", "Coins", rows, [Column("target only", "target")])]

    notes = MappingProxyType({"coin": "A person says that coins are fair."})


class ManyCoins(Coin):
    across = True


def run(experiment, folder, runs=None, jobs=1):
    store = Store(folder)
    return list(perform(plan([experiment], store, runs), store, jobs))


def test_a_draw_of_everything_comes_before_the_next(tmp_path):
    steps = plan([Coin(), ManyCoins(), Coin()], Store(tmp_path), None)
    assert [[t.draw for t in trials] for _, trials in steps] == [
        *([[0, 0]] * 3),
        *([1, 1], [1, 1, 2, 2], [1, 1]),
        *([[2, 2]] * 2),
    ]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Coin(stop_at=Trial("tails", 1)), tmp_path)
    done = Store(tmp_path).read("coin", 1)
    assert len(done) == 3
    assert [trial for _, trial, _ in run(Coin(), tmp_path)] == [
        Trial("tails", 1),
        Trial("heads", 2),
        Trial("tails", 2),
    ]
    assert run(Coin(), tmp_path) == []


def test_what_another_process_did_meanwhile_is_not_done_again(tmp_path):
    store = Store(tmp_path)
    steps = plan([Coin()], store, 1)
    store.add("coin", 1, Trial("heads", 0), Kept({"rule@0.1": 1.0}, 1.0))
    list(perform(steps, store, 1))
    assert store.read("coin", 1)[Trial("heads", 0)].figures == {"rule@0.1": 1.0}
    assert len(store.path("coin").read_text().splitlines()) == 2


def test_a_new_protocol_begins_anew(tmp_path):
    run(Coin(), tmp_path, 1)

    class Changed(Coin):
        protocol = 2

    assert len(run(Changed(), tmp_path, 1)) == 2


@pytest.mark.parametrize("kind", [Coin, ManyCoins])
def test_two_workers_find_the_same(tmp_path, kind):
    run(kind(), tmp_path / "one", jobs=1)
    run(kind(), tmp_path / "two", jobs=2)
    one, two = (Store(tmp_path / name).read("coin", 1) for name in ("one", "two"))
    assert {t: k.figures for t, k in one.items()} == {t: k.figures for t, k in two.items()}
    assert len(one) == 6


def test_the_table_tells_the_difference_and_marks_it(tmp_path):
    run(Coin(), tmp_path)
    found = digest([Coin()], Store(tmp_path))
    row = found[0]["tables"][0]["rows"][0]
    assert row["outside"] is True
    assert row["difference"] == pytest.approx(row["ours"]["mean"] - 60)
    assert row["columns"]["target only"]["mean"] == pytest.approx(row["ours"]["mean"] - 1)
    text = markdown(found)
    assert "| heads up | 60.0 |" in text
    assert " * |" in text
    assert "The rule's accuracy less that of the target alone is +1.00 ± 0.00 points." in text
    assert text.rstrip().endswith("A person says that coins are fair.")
    assert "do not edit" in whole_page(found).lower()
    lines = to_csv(found).splitlines()
    assert lines[1] == "coin,heads up,0.1,paper,60.0,,1"
    assert len(lines) == 1 + 3 + 2


def test_no_figure_no_row_of_figures(tmp_path):
    assert digest([Coin()], Store(tmp_path)) == []
    Store(tmp_path).add("coin", 1, Trial("tails", 0), Kept({"rule@0.1": 50.0}, 1.0))
    rows = digest([Coin()], Store(tmp_path))[0]["tables"][0]["rows"]
    assert rows[0]["ours"] is None
    assert rows[1]["columns"]["target only"] is None


def test_a_killed_run_loses_one_trial_at_most(tmp_path):
    code = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from experiments.test_runner import Coin, run
class Slow(Coin):
    def run(self, trial, n_jobs):
        time.sleep(0.05)
        return super().run(trial, n_jobs)
run(Slow(), Path(sys.argv[1]), 1000)
"""
    tests = os.path.dirname(os.path.dirname(__file__))
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), tests])
    store = Store(tmp_path)
    while len(store.read("coin", 1)) < 5:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(store.read("coin", 1))
    assert done >= 5
    assert len(run(Coin(), tmp_path, 20)) == 40 - done
