"""Strategy "noise-aware", from releases and rows to labels: what it promises an adopter."""

import numpy as np
import pytest
from digits import MAKERS, NEW, OWN, QUICK, X, element, few, record, y

from dptransfer import Release, TransferClassifier
from dptransfer.errors import DataError
from dptransfer.transfer import labelling, trial
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.noise_aware import NOT_HEARD
from dptransfer.transfer.noise_twin import noise_twin


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(trial, "FOLDS", 2)
    monkeypatch.setattr(trial, "REPEATS", 1)


def learn(source, labels=0, strategy="noise-aware", rows=X[OWN], **options):
    given = few(labels) if isinstance(labels, int) else labels
    return TransferClassifier(source, strategy=strategy, **QUICK | options).fit(rows, given)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("strategy", ["noise-aware", "auto"])
def test_it_labels_without_a_single_label(kind, strategy):
    """Where chance is 0.1."""
    release = MAKERS[kind](3.0)
    model = learn(release, strategy=strategy)
    assert np.mean(model.transduction_ == y[OWN]) > 0.7
    assert model.score(X[NEW], y[NEW]) > 0.7
    assert model.strategy_ == strategy
    assert model.classes_.tolist() == list(range(10))
    assert any("the sources' word alone" in note for note in model.notes_)


def test_where_the_papers_strategy_is_lost_in_the_noise():
    release = element(1.0)
    ours = learn(release, 20)
    papers = learn(release, 20, strategy="paper")
    assert ours.score(X[NEW], y[NEW]) > papers.score(X[NEW], y[NEW]) + 0.1


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("strategy", ["noise-aware", "auto"])
def test_noise_alone_and_no_label_is_refused(kind, strategy):
    twin = noise_twin(MAKERS[kind](3.0), None, np.random.default_rng(0))
    with pytest.raises(DataError, match="no row has a label, and there is no source whose classes"):
        learn(twin, strategy=strategy)


@pytest.mark.parametrize("kind", MAKERS)
def test_noise_alone_changes_no_label(kind):
    twin = noise_twin(MAKERS[kind](3.0), None, np.random.default_rng(0))
    model, alone = learn(twin, 40), learn(None, 40)
    assert any("cannot be told apart through its noise" in note for note in model.notes_)
    np.testing.assert_array_equal(model.transduction_, alone.transduction_)
    np.testing.assert_array_equal(model.decision_function(X[NEW]), alone.decision_function(X[NEW]))


def test_without_a_source_or_a_label_there_is_nothing_to_learn_from():
    for strategy in ("noise-aware", "auto", "target-only"):
        with pytest.raises(DataError, match="no row has a label"):
            learn(None, strategy=strategy)
    with pytest.raises(DataError, match="no row has a label"):
        learn(element(), strategy="target-only")
    with pytest.raises(DataError, match="no row has a label"):
        learn(element(), strategy="paper")


def test_probabilities_without_labels_say_that_they_are_not_calibrated():
    model = learn(element())
    shares = model.predict_proba(X[NEW])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X[NEW]))
    assert 0.2 < np.median(shares.max(axis=1)) < 0.999
    assert model.calibration_ == "not at all: no row has a label"
    assert model.held_out_ is None
    gain = model.transfer_gain_
    assert (gain.rows, gain.folds, gain.unlabelled) == (0, 0, 300)
    assert not gain.helped
    assert "cannot be said" in gain.verdict()


def test_autoencoders_that_find_labels_by_luck_are_told_of(monkeypatch):
    assert NOT_HEARD not in learn(None, 60).notes_
    lots = np.random.default_rng(0).random((300, 10))
    monkeypatch.setattr(labelling, "cross_residuals", lambda *_: lots)
    for source in (None, element()):
        assert learn(source, 60).notes_.count(NOT_HEARD) == 1


def test_what_is_learned_speaks_with_one_voice():
    model = learn(element(), 20)
    assert set(model.contributions(X[NEW])) == {"target"}
    assert model.opinions(X[NEW]).advisers == ["target"]
    assert model.transduction_.shape == (300,)
    np.testing.assert_array_equal(model.transduction_[:20], y[OWN][:20])


def test_the_gain_is_measured_against_doing_without_and_against_noise():
    gain = learn(record(), 40).transfer_gain_
    assert gain.rows == 40
    assert gain.with_source.value > 0.7
    assert gain.with_noise.value == gain.without_source.value  # noise is left out, not learned from


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("labels", [0, 20])
def test_workers_and_seeds_repeat(kind, labels):
    release = MAKERS[kind](3.0)
    first = learn(release, labels)
    for again in (learn(release, labels), learn(release, labels, n_jobs=2)):
        np.testing.assert_array_equal(again.transduction_, first.transduction_)
        np.testing.assert_array_equal(
            again.decision_function(X[NEW]), first.decision_function(X[NEW])
        )


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(("strategy", "labels"), [("noise-aware", 0), ("auto", 20)])
def test_a_model_comes_back_from_its_file(kind, strategy, labels, tmp_path):
    model = learn(MAKERS[kind](3.0), labels, strategy=strategy)
    model.save(tmp_path / "model")
    found = TransferClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(found.opinions(X[NEW]).errors, model.opinions(X[NEW]).errors)
    np.testing.assert_array_equal(found.predict_proba(X[NEW]), model.predict_proba(X[NEW]))
    for name in ("sources_", "strategy_", "notes_", "calibration_", "transfer_gain_"):
        assert getattr(found, name) == getattr(model, name), name
    told = found.sources_[0]
    assert (told.guarantee.unit, told.per_record.unit) == (kind, "record")
    if kind == "record":
        assert told.guarantee == told.per_record


# Classes and columns -----------------------------------------------------------------------------


def of_classes(make, classes, **options):
    rows = np.flatnonzero(np.isin(y[:1000], list(classes)))
    return make(10.0, rows=rows, classes=list(classes), **options)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_source_that_knows_fewer_classes(kind):
    model = learn(of_classes(MAKERS[kind], range(6)), 60)
    assert any("knows nothing of 6, 7, 8, 9" in note for note in model.notes_)
    assert model.score(X[NEW], y[NEW]) > 0.7
    assert set(model.predict(X[NEW])) == set(range(10))


@pytest.mark.parametrize("kind", MAKERS)
def test_a_source_that_knows_more_classes(kind):
    labels = few(100)
    labels[labels == 7] = -1
    model = learn(MAKERS[kind](10.0), labels)
    assert any("no row of yours is labelled 7" in note for note in model.notes_)
    sevens = y[NEW] == 7
    assert np.mean(model.predict(X[NEW][sevens]) == 7) > 0.6


def test_a_class_that_only_a_useless_source_knows_is_nobodys():
    labels = few(100)
    labels[labels == 7] = -1
    twin = noise_twin(record(), None, np.random.default_rng(0))
    model = learn(twin, labels)
    assert model.classes_.tolist() == list(range(10))
    assert 7 not in model.predict(X[NEW])
    assert np.isfinite(model.predict_proba(X[NEW])).all()


def test_classes_of_which_each_source_knows_some_and_no_label():
    """How many rows are of whose classes nobody says; all classes count alike then."""
    one = of_classes(record, range(6), name="a")
    two = of_classes(element, range(4, 10), name="b")
    model = learn([one, two])
    assert model.classes_.tolist() == list(range(10))
    assert np.mean(model.transduction_ == y[OWN]) > 0.6


def test_several_sources_say_more_than_one():
    halves = [element(2.0, rows=slice(k * 500, (k + 1) * 500), name="ab"[k]) for k in range(2)]
    model = learn([*halves, record(name="a")])
    assert [told.name for told in model.sources_] == ["a", "b", "a"]
    assert np.mean(model.transduction_ == y[OWN]) > 0.8
    assert set(model.contributions(X[NEW])) == {"target"}


def test_two_classes():
    rows = np.flatnonzero(y[:1000] < 2)
    two = np.flatnonzero(y[1000:] < 2) + 1000
    for make, epsilon in ((element, 1.0), (record, 10.0)):
        model = learn(make(epsilon, rows=rows, classes=[0, 1]), np.full(len(two), -1), rows=X[two])
        assert np.mean(model.transduction_ == y[two]) > 0.9
        decision = model.decision_function(X[two])
        np.testing.assert_array_equal(model.predict(X[two]), (decision > 0).astype(int))
        assert model.predict_proba(X[two]).shape == (len(two), 2)


@pytest.mark.parametrize("strategy", ["noise-aware", "auto"])
@pytest.mark.parametrize("kind", MAKERS)
def test_other_columns_are_left_out_with_a_note(kind, strategy):
    narrow = MAKERS[kind](10.0, columns=slice(0, 40))
    model, alone = learn(narrow, 40, strategy=strategy), learn(None, 40)
    assert any("has 40 features and your table 64" in note for note in model.notes_)
    np.testing.assert_array_equal(model.transduction_, alone.transduction_)
    np.testing.assert_array_equal(model.decision_function(X[NEW]), alone.decision_function(X[NEW]))
    with pytest.raises(DataError, match="no row has a label"):
        learn(narrow, strategy=strategy)


def test_rows_of_something_else_are_said_to_be():
    model = learn(element(), few(40), rows=1 - X[OWN])
    assert any("it speaks of something else" in note for note in model.notes_)


def test_the_owners_units():
    """The same rows in sixteenths, of an owner who declares bounds of 0 and 16."""
    release = Release.from_moments(
        X[:1000] * 16,
        y[:1000],
        epsilon=3.0,
        delta=1e-5,
        bounds=(0, 16),
        classes=range(10),
        insecure_seed=1,
    )
    model = learn(release, rows=X[OWN] * 16)
    np.testing.assert_array_equal(model.transduction_, learn(record()).transduction_)


def test_columns_by_name():
    release = record()
    columns = Columns(list(release.columns)[::-1])
    model = TransferClassifier(release, strategy="noise-aware", **QUICK).learn(
        np.ascontiguousarray(X[OWN, ::-1]), few(0), columns
    )
    np.testing.assert_array_equal(model.transduction_, learn(release).transduction_)


# Small and odd tables ----------------------------------------------------------------------------

SURE = record(10.0)
TABLES = {
    "3 rows": (X[1000:1003], y[1000:1003]),
    "fewer rows than neighbours": (X[1000:1004], y[1000:1004]),
    "copies": (np.repeat(X[1000:1010], 5, axis=0), np.repeat(y[1000:1010], 5)),
    "single precision": (X[1000:1040].astype(np.float32), y[1000:1040]),
    "flat columns": (np.where(np.arange(64) % 3, X[1000:1040], X.mean(axis=0)), y[1000:1040]),
    "all equal": (np.repeat(X[1000:1001], 12, axis=0), y[1000:1012]),
    "one row": (X[1000:1001], y[1000:1001]),
    "two rows": (X[1000:1002], y[1000:1002]),
}


@pytest.mark.parametrize("strategy", ["noise-aware", "auto", "target-only"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("known", ["one", "half", "all"])
def test_small_and_odd_tables(strategy, table, known):
    rows, labels = TABLES[table]
    n = {"one": 1, "half": -(-len(rows) // 2), "all": len(rows)}[known]
    given = np.where(np.arange(len(rows)) < n, labels, -1)
    for source in (None, SURE):
        model = learn(source, given, strategy=strategy, rows=rows)
        assert model.transduction_.shape == labels.shape
        np.testing.assert_array_equal(model.transduction_[:n], labels[:n])
        # a class that only a source knows may be nobody's: infinitely far, but never all of them
        assert not np.isinf(model.opinions(rows).least).all(axis=1).any()
        if table != "single precision" or strategy == "auto":  # what follows takes a trial
            assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize("table", TABLES)
def test_small_and_odd_tables_without_a_label(table):
    rows, labels = TABLES[table]
    none = np.full(len(rows), -1)
    if table in ("one row", "two rows", "all equal"):  # nothing to compare
        with pytest.raises(DataError, match="label some rows"):
            learn(SURE, none, rows=rows)
        return
    model = learn(SURE, none, rows=rows)
    assert model.transduction_.shape == labels.shape
    assert np.isfinite(model.predict_proba(rows)).all()


def test_one_class_of_ones_own():
    only = np.where(np.arange(300) < 20, 5, -1)
    model = learn(None, only)
    assert set(model.transduction_) == {5}
    assert model.predict_proba(X[NEW]).shape == (497, 1)
