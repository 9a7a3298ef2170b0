import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from dptransfer import Release, TransferClassifier
from dptransfer.errors import DataError, ParameterError

X, y = load_digits(n_class=4, return_X_y=True)
X = X / 16.0
QUICK = {"schedule": (5,), "n_layers": 1, "random_state": 0}
PAPER = {"strategy": "paper"} | QUICK
NEW = slice(500, 700)


def released(rows=slice(0, 250), columns=slice(None), labels=None, classes=range(4), **options):
    options = {"epsilon": 100.0, "name": "owner"} | options
    return Release.from_samples(
        X[rows, columns],
        y[rows] if labels is None else labels,
        delta=1e-5,
        bounds=(0, 1),
        classes=classes,
        insecure_seed=1,
        random_state=0,
        **options,
    )


@pytest.fixture(scope="module")
def owner():
    return released()


def few(labels=24, rows=slice(250, 400)):
    known = np.arange(rows.stop - rows.start) < labels
    return X[rows], np.where(known, y[rows], -1)


def test_scikit_learns_checks():
    found = check_estimator(
        TransferClassifier(schedule=(2,), n_layers=1),
        on_skip=None,
        expected_failed_checks={
            "check_classifiers_classes": "it teaches with the label -1, which here is no label"
        },
    )
    assert {check["status"] for check in found} <= {"passed", "skipped", "xfail"}


@pytest.mark.parametrize(
    "name",
    [
        lambda c: np.where(c < 0, "", np.array(["a", "b", "c", "d"])[c]),
        lambda c: [None if k < 0 else "abcd"[k] for k in c],
        lambda c: np.where(c < 0, np.nan, c),
        lambda c: c.astype(np.int8),
    ],
    ids=["empty text", "None", "NaN", "int8"],
)
def test_labels_of_all_kinds_teach_the_same(name):
    rows, labels = few()
    expected = TransferClassifier(**QUICK).fit(rows, labels)
    found = TransferClassifier(**QUICK).fit(rows, name(labels))
    assert len(found.classes_) == 4
    np.testing.assert_array_equal(found.predict(X[NEW]), found.classes_[expected.predict(X[NEW])])


def test_every_row_given_to_fit_gets_a_label():
    rows, labels = few()
    model = TransferClassifier(**QUICK).fit(rows, labels)
    assert model.transduction_.shape == labels.shape
    np.testing.assert_array_equal(model.transduction_[:24], labels[:24])
    again = model.predict(rows[24:])  # the neighbours had a say as well
    assert np.mean(model.transduction_[24:] == again) > 0.9
    papers = TransferClassifier(released(), **PAPER).fit(rows, labels)
    np.testing.assert_array_equal(papers.transduction_[24:], papers.predict(rows[24:]))
    assert np.mean(model.transduction_ == y[250:400]) > 0.9


def test_a_source_beside_few_labels(owner):
    rows, labels = few()
    model = TransferClassifier(owner, **PAPER).fit(rows, labels)
    assert model.strategy_ == "paper"
    assert model.score(X[NEW], y[NEW]) > 0.9
    deciders = set(model.contributions(X[NEW]))
    assert deciders <= {"target", "source2target", "source"}
    assert len(deciders) > 1
    said = model.opinions(X[NEW])
    np.testing.assert_array_equal(model.predict(X[NEW]), said.least.argmin(axis=1))
    np.testing.assert_allclose(model.decision_function(X[NEW]), -said.least)
    target_only = TransferClassifier(owner, strategy="target-only", **QUICK).fit(rows, labels)
    assert target_only.strategy_ == "target-only"
    assert target_only.sources_ == []
    assert set(target_only.contributions(X[NEW])) == {"target"}
    assert target_only.transfer_gain_ is None


def test_what_the_source_was_worth_and_how_sure_the_labels_are(owner):
    rows, labels = few()
    model = TransferClassifier(owner, **QUICK).fit(rows, labels)
    gain = model.transfer_gain_
    assert gain is model.transfer_gain_
    assert (gain.rows, gain.unlabelled, gain.repeats) == (24, 126, 2)
    shares = model.predict_proba(X[NEW])
    assert shares.shape == (200, 4)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X[NEW]))
    assert model.temperature_ > 0
    assert "24 labelled rows" in model.calibration_
    assert "did not see its label" in model.calibration_


def test_two_classes(owner):
    rows, labels = few()
    two = np.isin(y[250:400], [0, 1])
    model = TransferClassifier(released(np.flatnonzero(y[:250] < 2), classes=[0, 1]), **QUICK).fit(
        rows[two], labels[two]
    )
    decision = model.decision_function(X[NEW])
    assert decision.shape == (200,)
    np.testing.assert_array_equal(model.predict(X[NEW]), (decision > 0).astype(int))
    assert model.predict_proba(X[NEW]).shape == (200, 2)


def test_a_class_without_a_label_is_left_to_the_source(owner):
    rows, labels = few(40)
    labels[labels == 3] = -1
    model = TransferClassifier(owner, **PAPER).fit(rows, labels)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert any("no row of yours is labelled 3" in note for note in model.notes_)
    said = model.opinions(X[NEW])
    assert np.isinf(said.errors[:, 3, said.advisers.index("target")]).all()
    threes = X[NEW][y[NEW] == 3]
    assert np.mean(model.predict(threes) == 3) > 0.5
    assert set(model.contributions(threes[model.predict(threes) == 3])) <= {
        "source",
        "source2target",
    }
    assert np.isfinite(model.predict_proba(threes)).all()


def test_a_class_that_the_owner_does_not_know():
    owner = released(np.flatnonzero(y[:250] < 3), classes=[0, 1, 2])
    rows, labels = few(40)
    model = TransferClassifier(owner, **PAPER).fit(rows, labels)
    assert any("knows nothing of 3" in note for note in model.notes_)
    said = model.opinions(X[NEW])
    assert np.isinf(said.errors[:, 3, 1:]).all()
    threes = X[NEW][y[NEW] == 3]
    assert set(model.contributions(threes[model.predict(threes) == 3])) == {"target"}


def test_classes_are_the_same_however_they_are_written(owner):
    rows, labels = few()
    texts = [None if k < 0 else str(k) for k in labels]
    model = TransferClassifier(owner, **QUICK).fit(rows, texts)
    assert model.classes_.tolist() == ["0", "1", "2", "3"]
    expected = TransferClassifier(owner, **QUICK).fit(rows, labels)
    assert model.notes_ == expected.notes_
    np.testing.assert_array_equal(model.transduction_.astype(int), expected.transduction_)


@pytest.mark.parametrize(
    ("labels", "fault"),
    [(["a", "b", None], "they have none in common"), ([7, 8, -1], "they have none in common")],
)
def test_nothing_in_common(owner, labels, fault):
    with pytest.raises(DataError, match=fault):
        TransferClassifier(owner, **QUICK).fit(X[:3], labels)


def test_numbers_here_and_names_there():
    owner = released(
        labels=np.array(["0", "1", "2", "pear"])[y[:250]], classes=["0", "1", "2", "pear"]
    )
    rows, labels = few()
    with pytest.raises(DataError, match="give your labels as texts"):
        TransferClassifier(owner, **QUICK).fit(rows, labels)


def test_several_sources_each_aligned_on_its_own(owner):
    other = released(
        slice(700, 900) if len(X) > 900 else slice(400, 600), slice(0, 40), name="narrow"
    )
    again = released(slice(400, 500), name="owner")
    rows, labels = few()
    model = TransferClassifier([owner, other, again], **PAPER).fit(rows, labels)
    names = [adviser for adviser in model.opinions(rows).advisers if adviser.startswith("source:")]
    assert sorted(names) == ["source:narrow", "source:owner", "source:owner (2)"]
    assert any("'narrow'" in note and "principal directions" in note for note in model.notes_)
    assert model.score(X[500:600], y[500:600]) > 0.85
    assert [source.name for source in model.sources_] == ["owner", "narrow", "owner"]


def test_of_several_spaces_none_wins_by_being_small(owner):
    """A space of a tenth of the length has a hundredth of the errors, and no merit by that."""
    from dptransfer.transfer.decision import opinions

    other = released(slice(400, 600), slice(0, 40), name="narrow")
    rows, labels = few()
    model = TransferClassifier([owner, other], **PAPER).fit(rows, labels)
    for domain in model._domains:
        assert domain.unit == pytest.approx(np.mean(np.sum(domain.alignment(rows) ** 2, axis=1)))
    one = [model._domains[0]._replace(unit=1.0)]
    two = opinions(one, rows, 4).errors / model._domains[0].unit
    both = opinions(model._domains, rows, 4)
    at = [both.advisers.index(f"{kind}:owner") for kind in ("source2target", "source")]
    np.testing.assert_allclose(both.errors[:, :, at], two[:, :, 1:])


def test_other_columns_are_aligned_and_that_is_said(owner):
    model = TransferClassifier(owner, **PAPER).fit(X[250:400, :40], few()[1])
    assert "principal directions" in model.notes_[0]
    assert model.score(X[NEW, :40], y[NEW]) > 0.8


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_for_every_number_of_workers(owner, n_jobs):
    rows, labels = few()
    model = TransferClassifier(owner, **QUICK, n_jobs=n_jobs).fit(rows, labels)
    np.testing.assert_array_equal(
        model.decision_function(X[NEW]),
        TransferClassifier(owner, **QUICK).fit(rows, labels).decision_function(X[NEW]),
    )


def test_all_labelled_one_row_each_and_only_one_class(owner):
    rows = X[250:300]
    assert TransferClassifier(owner, **QUICK).fit(rows, y[250:300]).score(rows, y[250:300]) > 0.9
    places = [int(np.flatnonzero(y[250:300] == c)[0]) for c in range(4)]
    one_each = np.full(50, -1)
    one_each[places] = range(4)
    model = TransferClassifier(owner, **QUICK).fit(rows, one_each)
    assert "cannot be said" in model.transfer_gain_.summary()
    assert "too sure" in model.calibration_
    assert np.isfinite(model.predict_proba(rows)).all()
    only_zero = np.where(y[250:300] == 0, 0, -1)
    model = TransferClassifier(owner, **QUICK).fit(rows, only_zero)
    assert "no row of yours is labelled 1, 2, 3" in model.notes_[0]
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_single_precision_and_flat_columns(owner):
    rows, labels = few()
    model = TransferClassifier(owner, **QUICK).fit(rows.astype(np.float32), labels)
    assert model.score(X[NEW].astype(np.float32), y[NEW]) > 0.9
    assert np.isfinite(model.decision_function(np.zeros((3, 64)))).all()
    same = np.repeat(rows[:1], 150, axis=0)
    model = TransferClassifier(owner, **QUICK).fit(same, labels)
    assert np.isfinite(model.decision_function(rows)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_refused(owner, bad):
    rows, labels = few()
    broken = rows.copy()
    broken[3, 3] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        TransferClassifier(owner, **QUICK).fit(broken, labels)
    model = TransferClassifier(owner, **QUICK).fit(rows, labels)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(broken)


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"strategy": "magic"}, "strategy must be one of auto, paper"),
        ({"source": "clinic.release"}, "source must be a Release"),
        ({"source": 3}, "source must be a Release"),
        ({"schedule": ()}, "at least one subspace"),
        ({"schedule": (10, 5)}, "must not fall"),
        ({"schedule": (0,)}, "every n of schedule"),
        ({"n_layers": 0}, "n_layers"),
        ({"max_inducing": 1.5}, "max_inducing"),
    ],
)
def test_parameters_out_of_range(parameters, fault):
    rows, labels = few()
    with pytest.raises(ParameterError, match=fault):
        TransferClassifier(**parameters).fit(rows, labels)


def test_the_papers_strategy_without_a_source_warns():
    rows, labels = few()
    with pytest.warns(UserWarning, match="without a source"):
        TransferClassifier(strategy="paper", **QUICK).fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TransferClassifier(**QUICK).fit(rows, labels)


def test_nothing_is_answered_before_it_is_learned(owner):
    for ask in ("transduction_", "transfer_gain_", "calibration_", "held_out_"):
        with pytest.raises(NotFittedError):
            getattr(TransferClassifier(owner), ask)
    assert clone(TransferClassifier(owner)).source is owner or clone(TransferClassifier(owner))
