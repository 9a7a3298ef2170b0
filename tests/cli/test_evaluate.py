import json

import numpy as np
import pytest
from adopter import WRITERS, adopter, done, make_quick, ours, run
from clinic import process, write_csv
from sklearn import metrics
from sklearn.datasets import load_digits

from dptransfer import TransferClassifier
from dptransfer.cli import adopted
from dptransfer.errors import DataError, ReleaseError
from dptransfer.transfer.gain import wilson

X, Y = load_digits(n_class=4, return_X_y=True)
TESTED = slice(100, 300)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A model of four digits, so few labels that it errs, and a table to test it on."""
    folder = tmp_path_factory.mktemp("digits")
    judge = TransferClassifier(schedule=(2,), n_layers=1, random_state=0).fit(X[:12], Y[:12])
    judge.save(folder / "d.model")
    np.savez(folder / "t.npz", X=X[TESTED], digit=Y[TESTED])
    return folder


def told(*words):
    return json.loads(done("evaluate", *words, "--json").stdout)


def figures(said):
    return [
        [one[name] for one in said["classes"]] for name in ("precision", "recall", "f1", "rows")
    ]


def test_the_usual_figures(digits):
    said = told(digits / "d.model", digits / "t.npz", "--label", "digit")
    answers, truth = TransferClassifier.load(digits / "d.model").predict(X[TESTED]), Y[TESTED]
    right = int((answers == truth).sum())
    assert 0 < right < len(truth)
    assert said["accuracy"] == wilson(right, len(truth))._asdict()
    balanced = metrics.balanced_accuracy_score(truth, answers)
    assert said["balanced_accuracy"] == pytest.approx(balanced)
    expected = metrics.precision_recall_fscore_support(truth, answers)
    np.testing.assert_allclose(figures(said), expected)
    np.testing.assert_array_equal(
        said["confusion"]["rows"], metrics.confusion_matrix(truth, answers)
    )
    assert (said["rows"], said["unlabelled"], said["of_unknown_classes"]) == (200, 0, 0)


def test_block_by_block_it_is_the_same(digits, monkeypatch):
    words = digits / "d.model", digits / "t.npz", "--label", "digit"
    whole = told(*words)
    monkeypatch.setattr(adopted, "BLOCK_ROWS", 7)
    assert told(*words) == whole


def test_rows_without_a_label_are_left_out(digits, tmp_path):
    labels = np.where(np.arange(200) % 3, Y[TESTED], -1)
    np.savez(tmp_path / "t.npz", X=X[TESTED], digit=labels)
    said = told(digits / "d.model", tmp_path / "t.npz", "--label", "digit")
    assert (said["rows"], said["unlabelled"]) == (133, 67)
    answers = TransferClassifier.load(digits / "d.model").predict(X[TESTED])[labels >= 0]
    assert said["accuracy"]["value"] == pytest.approx((answers == labels[labels >= 0]).mean())


def test_a_class_that_the_model_does_not_know_is_wrong(digits, tmp_path):
    labels = Y[TESTED].copy()
    labels[150:] = 7  # in the last blocks only
    np.savez(tmp_path / "t.npz", X=X[TESTED], digit=labels)
    words = digits / "d.model", tmp_path / "t.npz", "--label", "digit"
    said = told(*words)
    answers = TransferClassifier.load(digits / "d.model").predict(X[TESTED])
    assert said["accuracy"] == wilson(int((answers == labels).sum()), 200)._asdict()
    assert said["of_unknown_classes"] == 50
    assert said["confusion"]["true"] == ["0", "1", "2", "3", "7"]
    assert sum(said["confusion"]["rows"][4]) == 50
    seven = said["classes"][4]
    assert (seven["known"], seven["recall"], seven["precision"], seven["f1"]) == (False, 0, None, 0)
    balanced = metrics.balanced_accuracy_score(labels, answers)
    assert said["balanced_accuracy"] == pytest.approx(balanced)
    shown = done("evaluate", *words).stdout
    assert "50 rows of 1 classes that the model does not know: 7" in shown


def test_for_a_person(digits):
    words = "evaluate", digits / "d.model", digits / "t.npz", "--label", "digit"
    shown, said = done(*words).stdout, told(*words[1:])
    accuracy = said["accuracy"]
    assert f"{100 * accuracy['value']:.1f} % [{100 * accuracy['low']:.1f}, " in shown
    assert "200 with a label; 0 without are left out" in shown
    assert f"{100 * said['balanced_accuracy']:.1f} %" in shown
    for one in said["classes"]:
        assert f"{100 * one['recall']:.1f} %" in shown
    assert "Confusions: a row for each true class" in shown


def test_a_class_without_rows(digits, tmp_path):
    only = Y[TESTED] < 3
    np.savez(tmp_path / "t.npz", X=X[TESTED][only], digit=Y[TESTED][only])
    words = digits / "d.model", tmp_path / "t.npz", "--label", "digit"
    three = told(*words)["classes"][3]
    assert (three["rows"], three["recall"]) == (0, None)
    done("evaluate", *words)


def test_many_classes_are_not_all_shown(tmp_path, digits):
    labels = np.r_[Y[TESTED][:150], np.arange(50, 100)]
    np.savez(tmp_path / "t.npz", X=X[TESTED], digit=labels)
    shown = done("evaluate", digits / "d.model", tmp_path / "t.npz", "--label", "digit").stdout
    assert "--json has it" in shown
    assert "57, …" in shown


@pytest.fixture(scope="module")
def clinic_model(tmp_path_factory):
    with pytest.MonkeyPatch.context() as quick:
        make_quick(quick)
        return adopter(tmp_path_factory.mktemp("adopter")) / "ours.model"


def test_tables_of_any_kind(tmp_path, clinic_model):
    said = []
    for kind, write in WRITERS.items():
        path = write(tmp_path / f"new.{kind}", ours(50, 40, seed=2))
        said.append(told(clinic_model, path, "--label", "diagnosis"))
        assert said[-1].pop("table") == str(path)
    assert said[0] == said[1] == said[2]
    assert (said[0]["rows"], said[0]["unlabelled"]) == (40, 10)


def test_one_line_where_it_goes_wrong(tmp_path, clinic_model):
    columns = ours(50, 50, seed=2)
    path = tmp_path / "new.csv"
    for change, label, words in (
        ({}, "diagnoses", "did you mean 'diagnosis'"),
        ({"age": [*columns["age"][:-1], "old"]}, "diagnosis", "new.csv, row 50, column 'age': not"),
        ({}, "patient", "no label in the column 'patient' is a class that the model knows"),
        ({"diagnosis": [""] * 50}, "diagnosis", "new.csv: no row has a label in the column"),
    ):
        write_csv(path, columns | change)
        refused = run("evaluate", clinic_model, path, "--label", label).exception
        assert isinstance(refused, DataError)
        assert words in str(refused)
        assert "\n" not in str(refused)
    assert isinstance(run("evaluate", path, path, "--label", "sex").exception, ReleaseError)


def test_as_a_process(tmp_path, clinic_model):
    path = write_csv(tmp_path / "new.csv", ours(50, 50, seed=2))
    running = process("evaluate", clinic_model, path, "--label", "diagnosis", "--json")
    said, err = running.communicate()
    assert (running.returncode, err) == (0, "")
    assert json.loads(said)["rows"] == 50
