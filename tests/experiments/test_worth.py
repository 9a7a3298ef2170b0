"""The table of a source's worth: every arm measured, and words that say what the figures do."""

import math
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest
from digits import NEW, OWN, THEIRS, X, element, few, record, y
from sklearn.datasets import load_digits

from dptransfer import Release, TransferClassifier
from dptransfer.data.at_hand import file_at_hand
from dptransfer.data.datasets import Split
from dptransfer.errors import DataError
from dptransfer.experiments import arms, worth_pairs
from dptransfer.experiments.arms import Adopter, Answer, alone, told_by
from dptransfer.experiments.bounds import by_all, by_means
from dptransfer.experiments.pages import MISSING, REFUSED, digest, markdown, to_csv, two_tables
from dptransfer.experiments.report_page import results_page
from dptransfer.experiments.runner import perform, plan
from dptransfer.experiments.sources import Sources
from dptransfer.experiments.store import Kept, Store, Trial
from dptransfer.experiments.summary import Results
from dptransfer.experiments.worth import HOSTILE, PAIRED, Worth
from dptransfer.experiments.worth_words import NOT_PRIVATE, NOTHING_TOLD
from dptransfer.privacy import OptimalNoise
from dptransfer.transfer.noise_twin import noise_twin

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
    assert {"by few and geometry", "by many and geometry", "geometry off many"} <= set(figures)


def test_the_source_alone_has_noise_beside_it():
    figures = Small().run(Trial("mnist record 0.5, alone", 0), 1)
    assert figures["auto"] == figures["source"] > figures["noise"]


# The arms ----------------------------------------------------------------------------------------

LOTS = np.random.default_rng(0).permutation(y[THEIRS])
MIXED_UP = y[THEIRS] ^ 1


@pytest.fixture
def quick(monkeypatch):
    learn = partial(TransferClassifier, schedule=(5,), n_layers=1)
    monkeypatch.setattr(arms, "TransferClassifier", learn)


def adopter(labels=60):
    return Adopter(X[OWN], few(labels), y[NEW], X[NEW])


def twin(release):
    return noise_twin(release, None, np.random.default_rng(0))


LEFT_OUT = {
    "other columns": lambda: record(10.0, columns=slice(0, 40)),
    "noise for elements": lambda: twin(element()),
    "noise for records": lambda: twin(record()),
    "labels by lot": lambda: element(1.0, labels=LOTS),
}


@pytest.mark.parametrize("source", LEFT_OUT)
@pytest.mark.usefixtures("quick")
def test_a_source_that_is_left_out_is_not_learned_again(source, monkeypatch):
    release, owner = LEFT_OUT[source](), adopter()
    without = alone(owner)
    for strategy in ("auto", "noise-aware"):  # and would have changed nothing
        np.testing.assert_array_equal(owner.answer(release, strategy).labels, without)
    monkeypatch.setattr(arms, "TransferClassifier", None)
    figures = told_by(owner, release, twin(record()), without)
    right = 100 * np.mean(without == y[NEW])
    arms_of = ("auto", "noise", "noise-aware", "target")
    assert figures == dict.fromkeys(arms_of, right) | dict.fromkeys(
        ("auto refused", "noise refused", "changed"), 0.0
    )


@pytest.mark.usefixtures("quick")
def test_in_an_owners_units_what_is_left_out_is_learned_nevertheless():
    """Rows are looked at in the units that the owner declares, and may be labelled otherwise."""
    owner = adopter()
    given = {"epsilon": 0.3, "delta": 1e-5, "classes": range(10), "insecure_seed": 1}
    release = Release.from_moments(X[THEIRS], LOTS, bounds=(-1, 2), **given)
    without = alone(owner)
    figures = told_by(owner, release, None, without)
    said = owner.answer(release, "auto").labels
    assert figures["auto"] == 100 * np.mean(said == y[NEW])
    assert figures["changed"] == 100 * np.mean(said != without)


def answers(monkeypatch, said):
    """Arms that are asked for nothing but what they say; who was asked, in turn."""
    asked = []

    def answer(_, release, strategy):
        asked.append((release.name, strategy))
        return said[release.name, strategy]

    monkeypatch.setattr(Adopter, "answer", answer)
    return asked


def test_noise_aware_is_auto_where_nothing_was_refused(monkeypatch):
    asked = answers(monkeypatch, {("owner", "auto"): Answer(y[NEW])})
    figures = told_by(adopter(), record(10.0), None, 1 - y[NEW])
    assert figures["auto"] == figures["noise-aware"] == 100
    assert asked == [("owner", "auto")]


def test_noise_aware_is_measured_by_itself_where_auto_refused(monkeypatch):
    half = np.where(np.arange(len(y[NEW])) % 2, y[NEW], -1)
    given = {
        ("owner", "auto"): Answer(y[NEW], refused=True),
        ("owner", "noise-aware"): Answer(half),
    }
    asked = answers(monkeypatch, given)
    figures = told_by(adopter(), record(10.0), None, y[NEW])
    assert figures["auto"] == 100
    assert figures["noise-aware"] == 100 * np.mean(half == y[NEW])
    assert asked == [("owner", "auto"), ("owner", "noise-aware")]


def test_what_noise_was_refused_for_is_not_the_sources(monkeypatch):
    other = record(10.0, name="noise")
    given = {("owner", "auto"): Answer(y[NEW]), ("noise", "auto"): Answer(y[NEW], refused=True)}
    asked = answers(monkeypatch, given)
    figures = told_by(adopter(), record(10.0), other, y[NEW])
    assert figures["noise-aware"] == 100
    assert asked == [("owner", "auto"), ("noise", "auto")]


def test_where_it_must_be_quick_noise_aware_is_no_figure(monkeypatch):
    for refused in (True, False):
        answers(monkeypatch, {("owner", "auto"): Answer(y[NEW], refused)})
        figures = told_by(adopter(), record(10.0), None, y[NEW], noise_aware=False)
        assert set(figures) == {"auto", "auto refused", "changed", "target"}


@pytest.mark.usefixtures("quick")
def test_a_source_that_is_refused_is_seen_to_be():
    owner, release = adopter(), element(10.0, labels=MIXED_UP)
    figures = told_by(owner, release, None, alone(owner))
    assert owner.answer(release, "auto").refused
    assert not owner.answer(release, "noise-aware").refused
    assert figures["auto"] == figures["target"]
    assert figures["changed"] == 0
    assert figures["noise-aware"] < figures["auto"] - 20


@pytest.mark.usefixtures("quick")
def test_where_there_is_nothing_to_learn_from_that_is_the_figure():
    owner = adopter(0)
    assert alone(owner) is None
    assert told_by(owner, twin(record()), twin(element()), None) == {
        "auto refused": 100.0,
        "noise refused": 100.0,
    }
    figures = told_by(owner, record(10.0), None, None)
    assert set(figures) == {"auto", "auto refused", "noise-aware"}
    assert figures["auto"] == figures["noise-aware"] > 60


@pytest.mark.usefixtures("quick")
def test_what_else_is_wrong_is_not_taken_for_a_refusal():
    for without in (None, y[NEW]):
        with pytest.raises(DataError, match="far outside"):
            told_by(Adopter(100 * X[OWN], few(60), y[NEW], X[NEW]), record(), None, without)


def test_where_it_is_balanced_every_class_counts_alike():
    truth = np.repeat([0, 1], [9, 1])
    one = Adopter(X[OWN], few(60), truth)
    nobody_is_ill = np.zeros(10, dtype=int)
    assert one.right(nobody_is_ill) == pytest.approx(90)
    assert one._replace(balanced=True).right(nobody_is_ill) == pytest.approx(50)


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
    assert bars[1][0][1:] == ["96.0", "91.5 ± 0.7", "−4.50", "2", "95.1, the paper; one pixel"]
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
    assert "MNIST, one pixel (0.1, 1e-5), 0 labels (+0.20)" in text
    assert "MNIST, one pixel (0.1, 1e-5), 100 labels (−4.50)" in text
    assert (
        "four hospitals, 12 pairs, one record (1, 1e-5), 3 labels a class, balanced (−4.00)" in text
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
    assert "(−0.50)" in text
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


def test_a_linear_model_of_the_raw_rows_stands_beside_the_release():
    text = said(changes={"office": {NOT_PRIVATE: 95.0}}, runs=1, quick=True)
    assert (
        "Office+Caltech, 12 pairs, one feature (0.1, 1e-5), 3 labels a class: a linear model of "
        "the source's rows as they are, without any protection, and the labelled rows is +5.00 "
        "points in one draw beside target only; the release is +1.00 points in one draw."
    ) in text
    assert text.count("without any protection") == 1  # where it was not measured, nothing is said
    worse = said(changes={"hospitals": {NOT_PRIVATE: 80.0}})
    assert "four hospitals, 12 pairs" in worse.split("a linear model")[0].split("\n\n")[-1]
    assert "is −13.50 ± 0.87 points beside target only; the release is +1.00 ± 0.00" in worse
    assert "without any protection" not in said()
    assert "without any protection" not in said(changes={"mnist 0.1, 0": {NOT_PRIVATE: 95.0}})


ACROSS = {
    "by few": 70.0,
    "by few and geometry": 72.0,
    "by many": 85.0,
    "by many and geometry": 84.5,
    "geometry off few": 110.0,
    "geometry off many": 62.4,
}


def test_what_geometry_adds_where_columns_differ():
    text = said(changes={"mnist→usps": ACROSS}, runs=1, quick=True)
    assert text.count("Where the columns differ") == text.count("what is told so") == 1
    assert "would be wrong by 123 %" in text
    assert (
        "MNIST→USPS, one pixel (0.1, 1e-5), 100 labels: what is told so is wrong by 62 % and adds "
        "+2.00 points in one draw to the nearest mean of the labelled rows and −0.50 points in one "
        "draw to the nearest mean of the test's rows as the target labels them."
    ) in text
    both = said(changes={"mnist→usps": ACROSS, "usps→mnist": ACROSS})
    assert both.count("Where the columns differ") == 1
    assert both.count("what is told so is wrong by 62 %") == 2
    assert "columns differ" not in said()


def test_of_geometry_that_was_measured_by_few_rows_only_no_more_is_said():
    few_only = {name: value for name, value in ACROSS.items() if not name.endswith("many")}
    few_only.pop("by many and geometry")
    text = said(changes={"mnist→usps": few_only}, runs=1, quick=True)
    assert (
        "100 labels: what is told so adds +2.00 points in one draw to the nearest mean of the "
        "labelled rows."
    ) in text


def test_who_takes_the_middle_of_the_others_is_wrong_by_so_much():
    T = np.random.default_rng(0).standard_normal((10, 30))
    others = (T.sum(axis=0) - T) / 9
    off = np.mean((others - T) ** 2) / np.mean((T - T.mean(axis=0)) ** 2)
    assert 100 * off == pytest.approx(NOTHING_TOLD)


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


# The pairs -------------------------------------------------------------------------------------


def need(*names):
    for name in names:
        if file_at_hand(name) is None:
            pytest.skip(f"{name} is not in DPTRANSFER_DATA or the cache")


@pytest.fixture
def no_arms(monkeypatch):
    """What is left of a trial of the pairs without what takes long."""
    monkeypatch.setattr(worth_pairs, "alone", lambda adopter: None)
    monkeypatch.setattr(worth_pairs, "told_by", lambda *_, **__: {"auto": 61.0, "target": 60.0})


@pytest.mark.usefixtures("no_arms")
def test_raw_rows_of_hospitals_are_worth_something():
    need("heart.npz")
    figures = worth_pairs.hospitals(0, 1, full=False)
    assert 60 < figures[NOT_PRIVATE] < 80  # chance is 50
    assert sum(name.startswith(worth_pairs.WORTH_IN) for name in figures) == 12


@pytest.mark.usefixtures("no_arms")
def test_the_linear_model_of_hospitals_learns_from_no_row_of_the_test(monkeypatch):
    need("heart.npz")
    learned = []

    class Noted:
        def __init__(self, **_):
            pass

        def fit(self, X, y):
            learned.append((X, y))
            return self

        def predict(self, X):
            learned.append(X)
            return np.arange(len(X)) % 2

    monkeypatch.setattr(worth_pairs, "LogisticRegression", Noted)
    worth_pairs._hospital("cleveland", "hungarian", 0, False)
    (rows, ill), test = learned
    theirs, ours = (worth_pairs.patients()[name][1] for name in ("cleveland", "hungarian"))
    few = 2 * worth_pairs.HEART_LABELS
    assert len(rows) == len(theirs) + few
    np.testing.assert_array_equal(ill[:-few], theirs)
    assert sorted(ill[-few:]) == [0, 0, 0, 1, 1, 1]
    assert len(test) == len(ours) - few


@pytest.mark.usefixtures("no_arms")
def test_the_linear_model_of_pictures_learns_from_no_row_of_the_test(monkeypatch):
    need("office_caltech_cnn.npz", "office_caltech_splits.npz")
    given, svm = [], worth_pairs.svm

    def noted(*arrays):
        given.append(arrays)
        return svm(*arrays)

    monkeypatch.setattr(worth_pairs, "svm", noted)
    figures = worth_pairs._office("webcam", "dslr", 0, False)
    assert figures[NOT_PRIVATE] > 85
    ((rows, labels, test),) = given
    data = worth_pairs.unit_features("cnn")
    of_source, known, tested = data.split("webcam", "dslr", 0)
    assert len(rows) == len(labels) == len(of_source) + len(known)
    np.testing.assert_array_equal(labels[-len(known) :], data.domains["dslr"][1][known])
    np.testing.assert_array_equal(test, data.domains["dslr"][0][tested])
    assert not set(known) & set(tested)


def test_an_owner_and_an_adopter_have_every_figure_of_a_pair():
    need("heart.npz")
    figures = worth_pairs._hospital("cleveland", "hungarian", 0, False)
    assert set(figures) == {"auto refused", "auto", "changed", "target", "source", NOT_PRIVATE}


def test_what_hospitals_declare_fits_all_of_them():
    need("heart.npz")
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
