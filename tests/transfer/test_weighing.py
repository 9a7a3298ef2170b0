"""Strategy "auto": a source is heard, left out or refused, and which is said."""

import numpy as np
import pytest
from digits import MAKERS, NEW, OWN, QUICK, X, element, few, record, y

from dptransfer import TransferClassifier

LOTS = np.random.default_rng(0).permutation(y[:1000])
CROSSED = y[:1000] ^ 1
REFUSED = "was refused: labelled rows, hidden in turn"


def learn(source, labels=60, strategy="auto", **options):
    return TransferClassifier(source, strategy=strategy, **QUICK | options).fit(X[OWN], few(labels))


def assert_same_labels(found, expected):
    np.testing.assert_array_equal(found.transduction_, expected.transduction_)
    np.testing.assert_array_equal(found.predict(X[NEW]), expected.predict(X[NEW]))
    np.testing.assert_array_equal(
        found.decision_function(X[NEW]), expected.decision_function(X[NEW])
    )


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_labels_in_disorder_change_nothing(kind, epsilon):
    """To the last bit as "target-only", be it that noise hides them or that they say nothing."""
    source = MAKERS[kind](epsilon, labels=LOTS)
    model = learn(source)
    assert any("left out" in note or "refused" in note for note in model.notes_)
    assert_same_labels(model, learn(source, strategy="target-only"))
    assert_same_labels(model, learn(None))


@pytest.mark.parametrize("kind", MAKERS)
def test_classes_that_were_mixed_up_are_refused_by_the_labelled_rows(kind):
    source = MAKERS[kind](10.0, labels=CROSSED)
    model = learn(source)
    assert any(REFUSED in note and "'owner'" in note for note in model.notes_)
    assert_same_labels(model, learn(source, strategy="target-only"))
    believed = learn(source, strategy="noise-aware")
    assert np.mean(believed.transduction_ == y[OWN]) < 0.5  # it would have done harm


@pytest.mark.parametrize("kind", MAKERS)
def test_a_source_that_helps_is_heard(kind):
    source = MAKERS[kind](3.0, insecure_seed=2)
    model = learn(source, 15)
    assert not any("refused" in note or "left out" in note for note in model.notes_)
    assert_same_labels(model, learn(source, 15, strategy="noise-aware"))
    alone = learn(None, 15)
    assert np.mean(model.transduction_ == y[OWN]) > np.mean(alone.transduction_ == y[OWN])


def test_each_of_several_is_weighed_on_its_own():
    good, bad = record(10.0, name="good"), element(10.0, labels=CROSSED, name="bad")
    model = learn([bad, good], 15)
    assert [note for note in model.notes_ if REFUSED in note] == [
        "'bad' was refused: labelled rows, hidden in turn, are labelled worse with it than without"
    ]
    assert_same_labels(model, learn(good, 15, strategy="noise-aware"))
    assert [told.name for told in model.sources_] == ["bad", "good"]


def test_without_labels_to_weigh_by_it_is_believed():
    source = record(10.0)
    assert_same_labels(learn(source, 0), learn(source, 0, strategy="noise-aware"))


def test_with_one_label_a_class_nothing_is_hidden():
    labels = np.full(300, -1)
    first = np.unique(y[OWN], return_index=True)[1]
    labels[first] = y[OWN][first]
    model = TransferClassifier(record(10.0), **QUICK).fit(X[OWN], labels)
    assert model.notes_ == []
    assert "cannot be said" in model.transfer_gain_.verdict()


def test_it_is_the_default_and_without_a_source_it_is_target_only():
    assert TransferClassifier().strategy == "auto"
    model = learn(None, 20)
    assert model.strategy_ == "target-only"
    assert model.transfer_gain_ is None
    assert_same_labels(model, learn(None, 20, strategy="target-only"))


def test_workers_and_seeds_repeat():
    source = [record(10.0), element(10.0, labels=CROSSED)]
    first = learn(source, 30)
    for again in (learn(source, 30), learn(source, 30, n_jobs=2)):
        assert_same_labels(again, first)
        assert again.notes_ == first.notes_
