"""The table of a source's worth: every arm measured, and words that say what the figures do."""

import math
from types import MappingProxyType

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dptransfer.data.at_hand import file_at_hand
from dptransfer.data.datasets import Split
from dptransfer.experiments import worth_pairs
from dptransfer.experiments.bounds import by_all, by_means
from dptransfer.experiments.pages import MISSING, REFUSED, digest, markdown, to_csv, two_tables
from dptransfer.experiments.report_page import results_page
from dptransfer.experiments.runner import perform, plan
from dptransfer.experiments.sources import Sources
from dptransfer.experiments.store import Kept, Store, Trial
from dptransfer.experiments.summary import Results
from dptransfer.experiments.worth import HOSTILE, PAIRED, Worth
from dptransfer.privacy import OptimalNoise

FEW_LABELS, NO_LABELS, OF_RECORDS = "mnist 0.1, 100", "mnist 1, 0", "mnist record 1, 100"


class Loud(Sources):
    """So few rows as scikit-learn's digits need a larger ε."""

    louder = MappingProxyType(
        {"0.1": "20", "1": "20", "record 1": "record 20", "record 0.5": "record 20"}
    )

    def __getitem__(self, name):
        before, noise, told = name.rpartition("noise for ")
        return super().__getitem__(before + noise + self.louder.get(told, told))


class Small(Worth):
    """Scikit-learn's digits in MNIST's place."""

    name = "small-worth"
    runs = 1
    held_out = 97
    chosen = (FEW_LABELS, NO_LABELS)

    @property
    def tasks(self):
        return self.chosen

    def get_ready(self):
        pass

    def digits(self):
        X, y = load_digits(return_X_y=True)
        X = X / 16
        return Split(X[:900], y[:900], X[1200:], y[1200:])

    def usps(self):
        split = self.digits()
        return Split(*(each[:, :48] if each.ndim == 2 else each for each in split))

    def sources(self, n_jobs, draw):
        split = self.digits()
        return Loud(split.x_train, split.y_train.astype(np.intp), 10, n_jobs, draw)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("worth"))
    list(perform(plan([Small()], store, 1), store, 1))
    return store


def test_every_arm_of_a_trial_is_measured(kept):
    found = kept.read("small-worth", 1)
    few = found[Trial(FEW_LABELS, 0)].figures
    assert {"auto", "target", "noise", "noise-aware", "source", "changed"} <= set(few)
    assert few["noise refused"] == 0
    assert few["auto"] > 80


def test_without_labels_there_is_no_target_only_and_noise_is_refused(kept):
    none = kept.read("small-worth", 1)[Trial(NO_LABELS, 0)].figures
    assert none["auto"] > 60
    assert none["noise refused"] == 100
    assert not {"target", "noise", "changed"} & set(none)


def test_what_is_kept_is_not_run_again(kept):
    assert plan([Small()], kept, 1) == []
    todo = plan([Small()], kept, 2)
    assert {trial.draw for _, trials in todo for trial in trials} == {1}


def test_a_source_of_another_problem_costs_little():
    hostile = Small().run(Trial(HOSTILE[1], 0), 1)
    assert hostile["auto"] >= hostile["target"] - 0.5
    assert hostile["source"] < 50


def test_other_columns_have_no_figure_of_the_source_alone():
    figures = Small().run(Trial("mnist→usps", 0), 1)
    assert "source" not in figures
    assert figures["auto"] == figures["target"]
    assert figures["changed"] == 0


def test_the_source_alone_has_noise_beside_it():
    figures = Small().run(Trial("mnist record 0.5, alone", 0), 1)
    assert figures["auto"] == figures["source"] > figures["noise"]


# The tables ------------------------------------------------------------------------------------


def made(changes=None, runs=2, quick=False, leave_out=()):
    """Trials as they could have been: auto a point above target only everywhere."""
    kept = {}
    for trial in Worth(quick=quick).trials(runs):
        if trial.task in leave_out:
            continue
        own = 90 + trial.draw
        figures = {"auto": own + 1.0, "target": own, "noise": own, "changed": 2.0, "source": 70.0}
        figures["noise refused"] = 0.0
        if trial.task.endswith(", 0"):
            figures = {"auto": own + 1.0, "noise refused": 100.0, "source": 70.0}
        kept[trial] = Kept(figures | (changes or {}).get(trial.task, {}), 1.0)
    return kept


def said(place=0, **how):
    experiment = Worth(quick=how.get("quick", False))
    return experiment.text(experiment.tables()[place], Results(made(**how)))


def written(tmp_path, **how):
    store = Store(tmp_path)
    for trial, each in made(**how).items():
        store.add("worth", 1, trial, each)
    return digest([Worth()], store)


def test_all_trials_are_counted_and_the_pairs_have_every_split():
    trials = Worth().trials(5)
    assert len(set(trials)) == len(trials)
    per_task = {task: [t.draw for t in trials if t.task == task] for task in Worth().tasks}
    assert all(per_task[task] == list(range(20)) for task in PAIRED)
    assert all(draws == list(range(5)) for task, draws in per_task.items() if task not in PAIRED)
    assert [t.draw for t in trials] == sorted(t.draw for t in trials)
    quick = Worth(quick=True).trials(1)
    assert {t.draw for t in quick} == {0}
    assert "usps→mnist" not in {t.task for t in quick}
    assert all(Worth().seconds(trial) > 0 for trial in trials)


def test_ten_rows_and_three_hostile_ones():
    worth, hostile = Worth().tables()
    assert len(worth.rows) == 10
    assert len(hostile.rows) == 3
    for row in (*worth.rows, *hostile.rows):
        assert row.bar is not None
        assert "one pixel" in row.heading or "one record" in row.heading or "one f" in row.heading
        # an unlike promise is never beside ours without being named
        assert not row.others or "one " in row.others or "no source" in row.others


def test_bars_and_refusals_are_seen(tmp_path):
    table = written(tmp_path)[0]["tables"][0]
    bars, arms = two_tables(table)
    assert bars[0] == ["", "must reach", "auto", "over it", "runs", "others, for what"]
    assert bars[1][0][1:] == ["96.0", "91.5 ± 0.7", "−4.5", "2", "95.1, the paper; one pixel"]
    place = {heading: number for number, heading in enumerate(arms[0])}
    assert [row[place["noise for source"]] for row in arms[1]].count(REFUSED) == 3
    assert [row[place["target only"]] for row in arms[1]].count(MISSING) == 3
    # five over target only, whatever that is; over eight draws of the pairs
    assert bars[1][-1][1] == "98.5"
    text = markdown(written(tmp_path))
    assert all(line.count("|") == 7 for line in text.splitlines() if "must reach" in line)
    assert 'worth,"MNIST, one pixel (0.1, 1e-5), 100 labels",0.1,must reach,96.0' in to_csv(
        written(tmp_path)
    )


def test_the_report_has_the_table(tmp_path):
    page = results_page(written(tmp_path), {})
    captions = [table.caption for part in page.parts for table in part.tables]
    assert len(set(captions)) == len(captions)
    assert any("beside what must be reached" in caption for caption in captions)


# The words -------------------------------------------------------------------------------------


def test_bars_are_met_or_missed_by_so_much():
    text = said(changes={"mnist 0.1, 0": {"auto": 95.3}})
    assert "Of 10 bars, 3 are met." in text
    assert "MNIST, one pixel (0.1, 1e-5), 0 labels (+0.2)" in text
    assert "MNIST, one pixel (0.1, 1e-5), 100 labels (−4.5)" in text
    assert (
        "four hospitals, 12 pairs, one record (1, 1e-5), 3 labels a class, balanced (−4.0)" in text
    )


def test_where_the_source_helped_and_where_it_was_left_out():
    text = said(
        changes={
            "office": {"auto": 90.0, "target": 90.0, "changed": 0.0},
            "mnist→usps": {"auto": 80.0, "target": 83.0},
        }
    )
    left_out = text.split("differs from those of target only: ")[1].split(".\n")[0]
    assert left_out.startswith("Office+Caltech")
    assert "where the source helped: MNIST, one pixel (0.1, 1e-5), 100 labels, +1.00" in text
    worse = text.split("Where it did not: ")[1]
    assert worse.startswith("MNIST→USPS, one pixel (0.1, 1e-5), 100 labels, −3.00")
    assert "The least of these means is −3.00." in text
    assert "answered nothing, in every such row" in text


def test_hostile_sources_have_words_of_their_own():
    text = said(1, changes={HOSTILE[0]: {"auto": 80.0, "target": 81.0}})
    assert "Of 3 bars, 2 are met." in text
    assert "(−0.5)" in text
    assert "information is not there" not in text


def test_of_nothing_nothing_is_said_and_of_one_draw_no_chance():
    assert Worth().text(Worth().tables()[0], Results({})) == ""
    text = said(runs=1, quick=True)
    assert "in one draw" in text
    assert "±" not in text.split("With 8 records")[0]


def test_the_words_quote_the_bound():
    noise = math.sqrt(float(OptimalNoise(0.1, 1e-5, 1.0).variance))
    text = said()
    assert f"would be right {by_means(math.sqrt(2), noise, 8):.0f} times" in text
    assert f"at most {by_all(math.sqrt(2), 0.1, 8):.0f} (a coin" in text


def test_the_bounds_hold_where_the_truth_is_tried():
    """Two classes of n rows; who knows both means asks the noisy ones which is which."""
    rng, n, p, epsilon = np.random.default_rng(0), 8, 50, 0.5
    means = np.zeros((2, p))
    means[0, 0] = means[1, 1] = 1.0
    trials = 4000
    noise = rng.laplace(scale=1 / epsilon, size=(trials, 2, n, p)).mean(axis=2)
    apart = means[0] - means[1]
    right = (apart + noise[:, 0] - noise[:, 1]) @ apart > 0
    bound = by_means(math.sqrt(2), math.sqrt(2) / epsilon, n)
    assert 100 * right.mean() == pytest.approx(bound, abs=2)
    assert bound < by_all(math.sqrt(2), epsilon, n)


# The hospitals ---------------------------------------------------------------------------------


def test_what_hospitals_declare_fits_all_of_them():
    if file_at_hand("heart.npz") is None:
        pytest.skip("heart.npz is not in DPTRANSFER_DATA or the cache")
    for cells, ill in worth_pairs.patients().values():
        rows = worth_pairs.HEART_TABLE.encode_array(cells)  # refuses what lies outside the bounds
        assert rows.shape == (len(ill), 13)
        assert np.isfinite(rows).all()
        assert np.linalg.norm(rows - 0.5, axis=1).max() < worth_pairs.HEART_RADIUS
        for name in worth_pairs.ZERO_IS_MISSING:
            assert not np.any(cells[:, worth_pairs.HEART_TABLE.names.index(name)] == 0)


def test_pairs_count_alike_and_keep_what_each_was_worth():
    def run(source, target, draw, full):
        return {"auto": 60.0 + len(source) + (source == "b"), "target": 60.0}

    assert worth_pairs._means(run, (("a", "b"), ("b", "a")), 0, 1, full=True) == {
        **{"auto": 61.5, "target": 60.0},
        **{"worth in a→b": 1.0, "worth in b→a": 2.0},
    }
