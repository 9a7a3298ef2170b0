import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from adopter import LABELLED, ROWS, WRITERS, adapt, done, make_quick, names, ours, release, run
from clinic import key_files, process, write_csv

from dptransfer import Release, TransferClassifier
from dptransfer.cli import adapt as command
from dptransfer.data import writing as data_writing
from dptransfer.errors import (
    DataError,
    DeclarationError,
    DPTransferError,
    ParameterError,
    ReleaseError,
)
from dptransfer.transfer import adapter, model_file, writing
from dptransfer.transfer.columns import Column
from dptransfer.transfer.strategies import STRATEGIES


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    make_quick(monkeypatch)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return release(tmp_path_factory.mktemp("clinic"))


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "ours.csv", ours())


@pytest.fixture
def out(tmp_path):
    return tmp_path / "ours.model"


def told(*words):
    return json.loads(done(*words, "--json").stdout)


def test_for_a_person(table, source, out):
    said = done(*adapt(table, source, out)).stdout
    model = TransferClassifier.load(out)
    for words in (
        f"wrote {out}",
        f"rows      {ROWS}, {LABELLED} of them labelled",
        "columns   3 (5 features)",
        "ill, well",
        "clinic: What is protected is one element",
        "at (epsilon, delta) = (1, 1e-05); one whole row at (epsilon, delta) = (3, ",
        model.transfer_gain_.summary(),
        "keep it as private as they are",
    ):
        assert words in said


def test_for_a_program(table, source, out):
    said = told(*adapt(table, source, out))
    model, given = TransferClassifier.load(out), Release.load(source)
    assert (said["file"], said["bytes"]) == (str(out), out.stat().st_size)
    assert (said["rows"], said["labelled"], said["classes"]) == (ROWS, LABELLED, ["ill", "well"])
    assert said["columns"] == model.columns_.names == ["age", "sex", "pain"]
    assert said["gain"] == json.loads(json.dumps(model.transfer_gain_.to_dict()))
    assert said["accuracy"] == said["gain"]["with_source"]
    assert said["verdict"] == model.transfer_gain_.summary()
    assert said["notes"] == model.notes_
    assert said["strategy"] == "auto"
    [one] = said["sources"]
    assert (one["file"], one["name"]) == (str(source), "clinic")
    assert one["guarantee"] == given.guarantee.to_dict()
    assert one["per_record"] == given.per_record.to_dict()


def test_it_is_the_estimator_that_learns(table, source, out):
    done(*adapt(table, source, out, "--seed", 3))
    given = Release.load(source)
    cells = {k: np.array(v, dtype=object) for k, v in ours().items()}
    X = given.columns.encode(cells, bounded=False)
    model = TransferClassifier(given, random_state=3).learn(X, ours()["diagnosis"], given.columns)
    loaded = TransferClassifier.load(out)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_without_a_source_it_says_so(table, out):
    own = table.with_name("bounds.json")
    own.write_text(json.dumps({"sex": {"categories": ["f", "m"]}, "age": {"low": 0, "high": 99,
        "fill": 50}}))  # fmt: skip
    words = adapt(table, None, out, "--drop", "pain", "--bounds", own)
    said = told(*words)
    assert (said["sources"], said["gain"], said["strategy"]) == ([], None, "target-only")
    assert said["accuracy"]["low"] < said["accuracy"]["value"] < said["accuracy"]["high"]
    assert said["verdict"].startswith("It was learned from your rows alone, without a release. Of ")
    assert "sources   none" in done(*words, "--overwrite").stdout


def test_a_source_that_the_strategy_does_not_use(table, source, out):
    said = told(*adapt(table, source, out, "--strategy", "target-only"))
    assert (said["sources"], said["gain"]) == ([], None)
    assert "target-only takes nothing from the sources but their columns" in said["notes"]


def test_every_kind_of_table_is_learned_alike(tmp_path, source):
    written = []
    for kind, write in WRITERS.items():
        path = write(tmp_path / f"ours.{kind}", ours())
        done(*adapt(path, source, tmp_path / f"{kind}.model"))
        written.append((tmp_path / f"{kind}.model").read_bytes())
    assert written[0] == written[1] == written[2]


def test_two_sources(tmp_path, table, source, out):
    other = release(tmp_path, **{"--name": "clinic-b"})
    said = told(*adapt(table, source, out, "--source", other))
    assert [one["name"] for one in said["sources"]] == ["clinic", "clinic-b"]


# Columns -----------------------------------------------------------------------------------------


def columns_of(out):
    return TransferClassifier.load(out).columns_


def test_what_the_release_does_not_know_is_left_out_with_a_note(tmp_path, source, out):
    more = {"note": ["free text"] * ROWS, "weight": ["70"] * ROWS}
    said = told(*adapt(write_csv(tmp_path / "more.csv", ours() | more), source, out))
    assert said["columns"] == ["age", "sex", "pain"]
    assert said["left_out"] == ["note", "weight"]
    assert any("not learned from" in n and "note, weight" in n for n in said["notes"])
    assert columns_of(out) == Release.load(source).columns


def test_without_all_of_its_columns_every_column_counts(tmp_path, source, out):
    columns = ours()
    del columns["pain"]
    columns["weight"] = [str(50 + row) for row in range(ROWS)]
    path = write_csv(tmp_path / "other.csv", columns)
    said = told(*adapt(path, source, out))
    assert said["columns"] == ["age", "sex", "weight"]
    assert any("columns of 'clinic' that are not there: pain" in note for note in said["notes"])
    assert any("it was left out" in note for note in said["notes"])
    papers = told(*adapt(path, source, out, "--strategy", "paper", "--overwrite"))
    assert any("principal directions" in note for note in papers["notes"])
    assert columns_of(out)[2] == Column("weight", 50, 50 + ROWS - 1)


def test_names_that_only_count_say_little(tmp_path, out):
    """x1 of two columns is not x1 of three; but beside other columns they are what they are."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    given = Release.from_samples(
        rng.random((40, 2)), y, epsilon=1, delta=0, bounds=(0, 1), classes=[0, 1]
    )
    given.save(tmp_path / "two.release")
    for width, more, kept in ((2, {"age": y}, 2), (3, {}, 3)):
        np.savez(tmp_path / "t.npz", X=rng.random((40, width)), diagnosis=y, patient=y, **more)
        words = adapt(tmp_path / "t.npz", tmp_path / "two.release", out, "--overwrite")
        assert told(*words)["columns"] == [f"x{k}" for k in range(kept)]


def test_a_constant_and_own_bounds(tmp_path, out):
    own = tmp_path / "own.json"
    own.write_text('{"b": [0, 10]}')
    cells = {
        "a": ["7"] * 12,
        "b": list(map(str, [*range(10), 1, 2])),
        "diagnosis": ["u", "v"] * 6,
    }
    path = write_csv(tmp_path / "t.csv", cells | {"patient": ["p"] * 12})
    done(*adapt(path, None, out, "--bounds", own))
    assert list(columns_of(out)) == [Column("a", 7, 8), Column("b", 0, 10)]


def test_own_declarations_come_first(tmp_path, table, source, out):
    own = tmp_path / "own.json"
    own.write_text('{"age": {"low": 10, "high": 100, "fill": 30}}')
    said = told(*adapt(table, source, out, "--bounds", own))
    assert columns_of(out)[0] == Column("age", 10, 100, fill=30)
    assert not any("principal directions" in note for note in said["notes"])


def test_columns_are_taken_and_left_out(table, source, out):
    for more, kept in (
        (["--drop", "pain"], ["age", "sex"]),
        (["--columns", "pain,age"], ["age", "pain"]),
    ):
        assert told(*adapt(table, source, out, *more, "--overwrite"))["columns"] == kept


def test_other_units_are_pointed_out(tmp_path, source, out):
    columns = ours()
    columns["age"] = [cell and str(365 * float(cell)) for cell in columns["age"]]
    said = told(*adapt(write_csv(tmp_path / "days.csv", columns), source, out))
    assert any("'age' has values far outside the 0 to 120" in note for note in said["notes"])


# Labels ------------------------------------------------------------------------------------------


def numbered(n=24):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return {"a": (y + rng.normal(0, 0.3, n)).round(3), "b": rng.random(n).round(3)}, y


@pytest.mark.parametrize(
    ("labels", "classes", "labelled"),
    [
        (["0", "1"] * 6 + [""] * 12, [0, 1], 12),
        (["0", "1"] * 6 + ["-1"] * 12, [0, 1], 12),
        (["0.0", "1.0"] * 6 + ["-1"] * 6 + ["NA"] * 6, [0, 1], 12),
        (["no", "yes"] * 6 + [""] * 12, ["no", "yes"], 12),
        (["01", "02"] * 6 + [""] * 12, ["01", "02"], 12),
        (["-1", "yes"] * 12, ["-1", "yes"], 24),
    ],
)
def test_labels(tmp_path, out, labels, classes, labelled):
    columns, _ = numbered()
    path = write_csv(tmp_path / "t.csv", columns | {"diagnosis": labels, "patient": labels})
    said = told(*adapt(path, None, out))
    assert (said["classes"], said["labelled"]) == (classes, labelled)
    loaded = TransferClassifier.load(out).classes_
    assert loaded.dtype.kind == ("i" if classes == [0, 1] else "U")


@pytest.mark.parametrize("classes", [[0, 1], ["0", "1"], ["0", "1", "none"]])
def test_labels_are_of_the_sources_type(tmp_path, out, classes):
    columns, y = numbered()
    labels = np.array(classes, dtype=object)[np.arange(24) % len(classes)]
    given = Release.from_samples(
        {k: np.asarray(v) for k, v in columns.items()}, labels, epsilon=5, delta=0,
        bounds={"a": [-2, 3], "b": [0, 1]}, classes=classes,
    )  # fmt: skip
    given.save(tmp_path / "t.release")
    few = [*map(str, y[:12].tolist()), *["-1"] * 11, ""]
    path = write_csv(tmp_path / "t.csv", columns | {"diagnosis": few, "patient": few})
    said = told(*adapt(path, tmp_path / "t.release", out))
    assert (said["classes"], said["labelled"]) == (classes, 12)


def test_one_label_a_class_and_nothing_to_hold_out(tmp_path, source, out):
    columns = ours(30, 30)
    first = {label: columns["diagnosis"].index(label) for label in ("ill", "well")}
    columns["diagnosis"] = [
        label if row == first[label] else "" for row, label in enumerate(columns["diagnosis"])
    ]
    path = write_csv(tmp_path / "few.csv", columns)
    page = tmp_path / "page.html"
    words = adapt(path, source, out, "--report", page)
    said = told(*words)
    assert (said["accuracy"], said["gain"]["rows"]) == (None, 0)
    assert "cannot be said" in said["verdict"]
    assert "cannot be said" in done(*words, "--overwrite").stdout
    alone = adapt(path, None, out, "--overwrite", "--columns", "age", "--bounds", _age(tmp_path))
    assert "How good it is cannot be said" in done(*alone).stdout


def _age(folder):
    path = folder / "age.json"
    path.write_text('{"age": {"low": 0, "high": 120, "fill": 50}}')
    return path


def test_no_label_at_all(tmp_path, source, out):
    """Whether the estimator learns without any label is its own affair; here it is one line."""
    path = write_csv(tmp_path / "none.csv", ours(30, 0))
    bare = ["adapt", path, "--source", source, "--out", out, "--drop", "patient,diagnosis"]
    for words in (adapt(path, source, out, "--overwrite"), [*bare, "--overwrite"]):
        result = run(*words)
        assert result.exit_code == 0 or isinstance(result.exception, DataError)
        if result.exception is not None:
            assert str(result.exception).startswith(f"{path}: ")
            assert "\n" not in str(result.exception)


# The page, signatures, strategies -----------------------------------------------------------------


def test_a_page_is_written(tmp_path, table, source, out):
    page = tmp_path / "ours.html"
    said = done(*adapt(table, source, out, "--report", page)).stdout
    assert f"wrote {out} and {page}" in said
    html = page.read_text(encoding="utf-8")
    assert "ours.csv" in html
    assert ">003<" in html, "rows are called by their identifier"
    again = run(*adapt(table, source, tmp_path / "b.model", "--report", page))
    assert "is there already" in str(again.exception)
    assert not (tmp_path / "b.model").exists()
    assert page.read_text(encoding="utf-8") == html


def test_signatures(tmp_path, table, source, out):
    private, public = key_files(tmp_path)
    signed = release(tmp_path, **{"--sign": private})
    _, other = key_files(tmp_path, "other")
    done(*adapt(table, signed, out, "--verify", other, "--verify", public))
    before = names(tmp_path)
    for given, key, words in ((signed, other, "another key"), (source, public, "not signed")):
        refused = run(*adapt(table, given, tmp_path / "b.model", "--verify", key)).exception
        assert isinstance(refused, ReleaseError)
        assert words in str(refused)
    assert names(tmp_path) == before


def test_help_names_every_strategy(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = " ".join(done("adapt", "--help").stdout.split())
    for name in STRATEGIES:
        assert name in said.split("How to learn:")[1].split("│")[0]


# What goes wrong ---------------------------------------------------------------------------------


def spoilt(column, row, cell):
    def columns():
        changed = ours()
        changed[column] = [cell if k == row else c for k, c in enumerate(changed[column])]
        return changed

    return columns


def without(column):
    return lambda: {name: cells for name, cells in ours().items() if name != column}


def noted():
    return without("pain")() | {"note": ["5"] * (ROWS - 1) + ["free text"]}


AWRY = {
    "a missing cell": (
        spoilt("sex", 40, ""),
        [],
        DataError,
        "ours.csv, row 41, column 'sex': missing, and no fill is declared; declare",
    ),
    "a word for a number": (spoilt("age", 4, "old"), [], DataError, "row 5, column 'age': not a"),
    "an unknown category": (spoilt("pain", 0, "dire"), [], DataError, "row 1, column 'pain': none"),
    "an infinite number": (spoilt("age", 4, "inf"), [], DataError, "row 5, column 'age': infinite"),
    "text of which nothing is known": (
        noted,
        [],
        DataError,
        f"ours.csv, row {ROWS}, column 'note': not a number, and no categories are declared; "
        "declare them in --bounds, or leave the column out with --drop",
    ),
    "no such label": (without("diagnosis"), [], DataError, "has no column 'diagnosis'"),
    "no such identifier": (ours, ["--id", "patent"], DataError, "did you mean 'patient'"),
    "dropped what is not there": (ours, ["--drop", "pian"], DataError, "did you mean 'pain'"),
    "everything dropped": (ours, ["--drop", "age,sex,pain"], DataError, "no column left"),
    "the label learned from": (ours, ["--columns", "diagnosis"], ParameterError, "holds labels"),
    "no rows": (lambda: ours(0, 0), [], DataError, "has no rows"),
    "an unknown strategy": (ours, ["--strategy", "best"], ParameterError, "must be one of auto"),
    "a release that is not there": (ours, ["--source", "no.release"], ReleaseError, "no.release"),
    "a folder that is not there": (
        ours,
        ["--report", "/no/page.html"],
        DPTransferError,
        "no folder",
    ),
    "other classes": (
        lambda: ours() | {"diagnosis": ["a", "b"] * (ROWS // 2)},
        [],
        DataError,
        "ours.csv: the release 'clinic' has the classes ill, well, and your labels are a, b",
    ),
}


@pytest.mark.parametrize("wrong", AWRY)
def test_one_line_and_nothing_is_left(tmp_path, source, out, wrong):
    columns, more, kind, words = AWRY[wrong]
    path = write_csv(tmp_path / "ours.csv", columns())
    result = run(*adapt(path, source, out, *more))
    assert isinstance(result.exception, kind), result.exception
    assert words in str(result.exception)
    assert "\n" not in str(result.exception)
    assert names(tmp_path) == ["ours.csv"]


def test_bounds_that_are_wrong(tmp_path, table, source, out):
    own = tmp_path / "own.json"
    for text, kind, words in (
        ("[]", DeclarationError, "own.json"),
        ('{"agee": [0, 1]}', DataError, "did you mean 'age'"),
    ):
        own.write_text(text)
        refused = run(*adapt(table, source, out, "--bounds", own)).exception
        assert isinstance(refused, kind)
        assert words in str(refused)


def test_what_is_read_is_not_written_over(tmp_path, table, source, out):
    before = table.read_bytes()
    own = write_csv(tmp_path / "own.json", {})
    for words in (
        adapt(table, source, table),
        adapt(table, source, out, "--report", table),
        adapt(table, source, out, "--report", source),
        adapt(table, source, own, "--bounds", own),
    ):
        assert "written over" in str(run(*words, "--overwrite").exception)
    both = run(*adapt(table, source, out, "--report", out))
    assert "both name" in str(both.exception)
    assert table.read_bytes() == before
    assert names(tmp_path) == ["ours.csv", "own.json"]


def test_a_strategy_without_its_source(table, out):
    refused = run(*adapt(table, None, out, "--strategy", "paper")).exception
    assert isinstance(refused, ParameterError)
    assert "--source" in str(refused)


def test_exit_codes_and_nothing_on_standard_output(tmp_path, source, out):
    damaged = tmp_path / "damaged.release"
    damaged.write_bytes(source.read_bytes()[:-1])
    path = write_csv(tmp_path / "ours.csv", spoilt("age", 4, "old")())
    for given, code in ((source, 6), (damaged, 4)):
        running = process(*adapt(path, given, out))
        said, err = running.communicate()
        assert (running.returncode, said) == (code, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1


def test_a_file_that_is_there_is_kept(table, source, out):
    out.write_text("mine")
    assert "is there already" in str(run(*adapt(table, source, out)).exception)
    assert out.read_text() == "mine"
    done(*adapt(table, source, out, "--overwrite"))
    TransferClassifier.load(out)


STAGES = {
    "reading": (command, "_read"),
    "learning": (adapter.TransferClassifier, "learn"),
    "weighing": (adapter, "run_trial"),
    "packing": (model_file, "pack_parts"),
    "writing": (writing, "_write_all"),
    "the name": (writing.os, "link"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_interrupted_anywhere_it_leaves_nothing(tmp_path, table, source, out, monkeypatch, stage):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(*STAGES[stage], interrupt)
    result = run(*adapt(table, source, out, "--report", tmp_path / "page.html"))
    assert result.exit_code == 130
    assert names(tmp_path) == ["ours.csv"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at /proc")
def test_ctrl_c(tmp_path, source, out):
    path = write_csv(tmp_path / "ours.csv", ours(4000, 400))
    code = (
        "import sys; from dptransfer.transfer import adapter; weigh = adapter.run_trial\n"
        "def told(*a, **k): print('weighing', flush=True); return weigh(*a, **k)\n"
        "adapter.run_trial = told\nfrom dptransfer.cli import main; main()"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, adapt(path, source, out))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout.readline() == "weighing\n"
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    said, err = running.communicate()
    assert (running.returncode, said) == (130, "")
    assert err.strip() == "interrupted; nothing was left half-written"
    assert names(tmp_path) == ["ours.csv"]


def test_a_full_disk(tmp_path, table, source, out):
    resource = pytest.importorskip("resource")
    running = process(
        *adapt(table, source, out, "--report", tmp_path / "page.html"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)),
    )
    said, err = running.communicate()
    assert (running.returncode, said) == (1, "")
    assert err.startswith("error: cannot write ")
    assert err.count("\n") == 1
    assert names(tmp_path) == ["ours.csv"]


def test_a_disk_that_is_full_when_the_page_is_due(tmp_path, table, source, out, monkeypatch):
    """The model is whole already, and stays."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(data_writing, "_give_name", full)
    refused = run(*adapt(table, source, out, "--report", tmp_path / "page.html")).exception
    assert isinstance(refused, DataError)
    assert "page.html cannot be written: No space left" in str(refused)
    assert names(tmp_path) == ["ours.csv", "ours.model"]
    TransferClassifier.load(out)


def test_two_at_once_do_not_both_get_the_name(tmp_path, table, source, out):
    running = [process(*adapt(table, source, out, "--seed", seed)) for seed in (0, 1)]
    ended = [each.communicate() for each in running]
    assert sorted(each.returncode for each in running) == [0, 1], ended
    assert sorted(err.count("\n") for _, err in ended) == [0, 1], "quiet in a pipe"
    assert names(tmp_path) == ["ours.csv", "ours.model"]
    TransferClassifier.load(out)


def test_a_bar_on_a_terminal(table, source, out):
    pty = pytest.importorskip("pty")
    terminal, end = pty.openpty()
    code = (
        "from dptransfer.transfer import trial; trial.FOLDS, trial.REPEATS = 2, 1\n"
        "from dptransfer.cli import main, output; output.PATIENCE = 0; main()"
    )
    words = adapt(table, source, out, "--overwrite")
    running = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stderr=end, stdout=subprocess.DEVNULL
    )
    os.close(end)
    shown = b""
    try:
        while piece := os.read(terminal, 2**16):
            shown += piece
    except OSError:  # the other end is closed
        pass
    assert running.wait() == 0
    assert b"weighing the source" in shown
