"""What the page says of a fitted classifier is what the classifier says of itself."""

from datetime import date

import numpy as np
import pytest
import report_pages
from sklearn.datasets import load_digits

from dptransfer import Release, TransferClassifier
from dptransfer.report.adaptation import HARDEST, adaptation_page
from dptransfer.report.rendering import render

X, y = load_digits(n_class=3, return_X_y=True)
ROWS = slice(300, 500)
FEW = np.where(np.arange(200) < 30, y[ROWS], -1)


def owner(**options):
    return Release.from_samples(
        X[:300],
        y[:300],
        epsilon=1.0,
        delta=1e-5,
        bounds=(0, 16),
        classes=range(3),
        random_state=0,
        **options,
    )


def learned(source=None, labels=FEW, rows=X[ROWS]):
    classifier = TransferClassifier(source, schedule=(5,), n_layers=1, random_state=0)
    return classifier.fit(rows, labels)


def page_of(model, labels=FEW, rows=X[ROWS], **options):
    return adaptation_page(model, rows, labels, title="digits", **options)


@pytest.fixture(scope="module")
def with_source():
    model = learned(owner(name="the <owner>", insecure_seed=1))
    return model, page_of(model, made=date(2030, 1, 2), facts={"table": "digits.csv"})


def test_its_figures_are_the_classifiers(with_source):
    model, page = with_source
    assert page.gain == model.transfer_gain_
    assert page.answers.accuracy == model.transfer_gain_.with_source
    assert page.answers.rows == 30
    assert sum(page.decided.values()) == 170
    deciders = model.contributions(X[ROWS][FEW < 0])
    assert page.decided == dict(zip(*np.unique(deciders, return_counts=True), strict=True))
    [promise] = page.promises
    assert promise.guarantee == model.source.guarantee
    assert list(promise.records.values()) == [model.source.per_record]
    assert promise.repeatable
    assert page.parameters["schedule"] == "5"
    assert page.parameters["table"] == "digits.csv"
    assert page.lead.endswith("30 of them labelled, in 3 classes, on 2 January 2030.")


def test_the_hardest_rows_are_those_of_the_least_margin(with_source):
    model, page = with_source
    unlabelled = [row for row in page.hard if row.kind == "unlabelled"]
    assert len(unlabelled) == HARDEST
    shares = np.sort(model.predict_proba(X[ROWS][FEW < 0]), axis=1)
    margins = np.sort(shares[:, -1] - shares[:, -2])
    np.testing.assert_allclose([row.margin for row in unlabelled], margins[:HARDEST])
    first = unlabelled[0]
    row = X[ROWS][[int(first.row) - 1]]
    assert str(model.predict(row)[0]) == first.said
    assert model.contributions(row)[0] == first.decided_by


def test_labelled_rows_are_shown_with_their_labels_the_wrong_ones_first(with_source):
    _, page = with_source
    labelled = [row for row in page.hard if row.label is not None]
    assert len(labelled) == HARDEST
    assert [row.label for row in labelled] == [str(FEW[int(row.row) - 1]) for row in labelled]
    kinds = [row.kind for row in labelled]
    assert kinds == sorted(kinds, reverse=True)


def test_it_renders(with_source):
    html = render(with_source[1])
    assert "the &lt;owner&gt;" in html
    assert "Nothing is protected here." in html


def test_without_a_source():
    page = page_of(learned())
    assert page.gain is None
    assert page.promises == ()
    assert page.answers.rows == 30
    assert "There was no source" in render(page)


def test_nothing_held_out_and_nothing_left_to_label():
    one_each = np.full(200, -1)
    places = np.unique(y[ROWS], return_index=True)[1]
    one_each[places] = y[ROWS][places]
    page = page_of(learned(labels=one_each), one_each)
    assert page.answers is None
    assert {row.kind for row in page.hard} == {"unlabelled"}
    render(page)
    all_of_it = page_of(learned(labels=y[ROWS]), y[ROWS])
    assert all_of_it.decided == {}
    render(all_of_it)


def test_one_class_alone_is_never_in_doubt():
    zeros = np.flatnonzero(y == 0)[:40]
    labels = np.where(np.arange(40) < 10, 0, -1)
    page = page_of(learned(labels=labels, rows=X[zeros]), labels, X[zeros])
    assert page.hard == ()
    assert page.answers.accuracy.value == 1
    render(page)


def test_names_of_rows_and_classes_may_be_anything():
    names = np.array(["zero", report_pages.EVIL, report_pages.EVIL_TOO])
    labels = np.where(FEW >= 0, names[FEW], "")
    page = page_of(learned(labels=labels), labels, row_names=[f"<{n}>" for n in range(200)])
    assert {row.said for row in page.hard} <= set(names)
    html = render(page)
    assert report_pages.EVIL not in html
    assert "&lt;1" in html
