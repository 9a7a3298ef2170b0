import csv
import errno
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from adopter import WRITERS, adopter, done, make_quick, names, ours, run
from clinic import process, write_csv
from sklearn.datasets import load_digits

from dptransfer import TransferClassifier
from dptransfer.cli import adopted
from dptransfer.cli.predict import SAID
from dptransfer.data import writing
from dptransfer.data.tables import open_table
from dptransfer.errors import DataError, ParameterError, ReleaseError
from dptransfer.transfer.columns import Columns

ROWS = 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as quick:
        make_quick(quick)
        return adopter(tmp_path_factory.mktemp("adopter"))


@pytest.fixture(scope="module")
def model(folder):
    return folder / "ours.model"


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "new.csv", ours(ROWS, ROWS, seed=2))


def read(path):
    text = path.read_text() if hasattr(path, "read_text") else path
    return list(csv.DictReader(io.StringIO(text)))


def test_what_it_writes_is_what_the_model_says(tmp_path, model, table):
    out = tmp_path / "said.csv"
    done("predict", model, table, "--out", out)
    said = read(out)
    judge = TransferClassifier.load(model)
    cells = {name: np.array(c, dtype=object) for name, c in ours(ROWS, ROWS, seed=2).items()}
    X = judge.columns_.encode(cells, bounded=False)
    assert list(said[0]) == ["row", *SAID]
    assert [row["row"] for row in said] == [str(k + 1) for k in range(ROWS)]
    assert [row["label"] for row in said] == judge.predict(X).tolist()
    assert [row["decided_by"] for row in said] == judge.contributions(X).tolist()
    shares = judge.predict_proba(X).max(axis=1)
    np.testing.assert_allclose([float(row["probability"]) for row in said], shares, rtol=1e-12)
    least = np.sort(judge.opinions(X).least, axis=1)
    margins = 1 - least[:, 0] / least[:, 1]
    np.testing.assert_allclose([float(row["margin"]) for row in said], margins, rtol=1e-9)
    assert all(row["runner_up"] != row["label"] for row in said)


def test_of_several_classes_the_second(tmp_path):
    """On digits, by a model that was learned in Python and never told of columns."""
    X, y = load_digits(n_class=4, return_X_y=True)
    judge = TransferClassifier(schedule=(5,), n_layers=1, random_state=0).fit(X[:80], y[:80])
    judge.save(tmp_path / "m.model")
    np.savez(tmp_path / "t.npz", X=X[80:120])
    done("predict", tmp_path / "m.model", tmp_path / "t.npz", "--out", tmp_path / "said.csv")
    order = np.argsort(judge.opinions(X[80:120]).least, axis=1)
    said = read(tmp_path / "said.csv")
    assert [int(row["label"]) for row in said] == order[:, 0].tolist()
    assert [int(row["runner_up"]) for row in said] == order[:, 1].tolist()


def test_a_model_of_one_class_has_no_second(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((20, 3))
    judge = TransferClassifier(schedule=(2,), n_layers=1).fit(X, ["only"] * 20)
    judge.save(tmp_path / "m.model")
    np.savez(tmp_path / "t.npz", X=X)
    for name in ("said.csv", "said.parquet"):
        done("predict", tmp_path / "m.model", tmp_path / "t.npz", "--out", tmp_path / name)
        [block] = open_table(tmp_path / name).blocks(["label", "runner_up"], text=["runner_up"])
        assert set(block.cells["runner_up"].tolist()) == {None}


def test_identifiers_stay_to_the_letter(tmp_path, model):
    columns = ours(ROWS, ROWS, seed=2)
    columns["country"] = ["NA", "na", "1.0", "", "x,y"] * (ROWS // 5)
    path = write_csv(tmp_path / "new.csv", columns)
    out = tmp_path / "said.csv"
    done("predict", model, path, "--id", "patient", "--id", "country", "--out", out)
    said = read(out)
    assert list(said[0]) == ["patient", "country", *SAID]
    assert [row["patient"] for row in said] == columns["patient"]
    assert [row["country"] for row in said] == columns["country"]


def test_an_identifier_that_is_learned_from_too(tmp_path, model):
    columns = ours(ROWS, ROWS, seed=2)
    columns["age"] = [cell or "NA" for cell in columns["age"]]
    path = write_csv(tmp_path / "new.csv", columns)
    for name in ("age", "sex"):
        done("predict", model, path, "--id", name, "--out", tmp_path / f"{name}.csv")
        kept = [row[name] for row in read(tmp_path / f"{name}.csv")]
        assert kept == ["" if cell == "NA" else cell for cell in columns[name]]


@pytest.mark.parametrize("kind", WRITERS)
def test_tables_of_any_kind_in_and_out(tmp_path, model, kind):
    path = WRITERS[kind](tmp_path / f"new.{kind}", ours(ROWS, ROWS, seed=2))
    done("predict", model, path, "--id", "patient", "--out", tmp_path / "a.csv")
    done("predict", model, path, "--id", "patient", "--out", tmp_path / "a.parquet")
    text, table = read(tmp_path / "a.csv"), open_table(tmp_path / "a.parquet")
    assert table.columns == ["patient", *SAID]
    [block] = table.blocks(table.columns, text=["patient"])
    assert block.cells["patient"].tolist() == [row["patient"] for row in text]
    assert block.cells["label"].tolist() == [row["label"] for row in text]
    assert block.cells["margin"].tolist() == [float(row["margin"]) for row in text]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_stream_a_block_at_a_time(tmp_path, model, table, monkeypatch, ending):
    done("predict", model, table, "--out", tmp_path / f"whole.{ending}")
    sizes, encode = [], Columns.encode

    def watched(self, block, *arguments, **options):
        sizes.append(len(next(iter(block.values()))))
        return encode(self, block, *arguments, **options)

    monkeypatch.setattr(adopted, "BLOCK_ROWS", 7)
    monkeypatch.setattr(Columns, "encode", watched)
    done("predict", model, table, "--out", tmp_path / f"blocks.{ending}")
    assert sizes == [7] * 7 + [1]
    whole, blocks = (open_table(tmp_path / f"{name}.{ending}") for name in ("whole", "blocks"))
    for one, other in zip(whole.blocks(whole.columns), blocks.blocks(whole.columns), strict=True):
        for name in whole.columns:
            mine, others = one.cells[name], other.cells[name]
            if mine.dtype == object:
                assert mine.tolist() == others.tolist()
            else:  # sums over a block of one row are rounded in another order
                np.testing.assert_allclose(mine, others, rtol=1e-6)


def test_more_rows_do_not_need_more_memory(tmp_path, model, monkeypatch):
    """What a block needs is given back before the next: the peak does not grow with the rows."""
    import tracemalloc

    monkeypatch.setattr(adopted, "BLOCK_ROWS", 32)
    peaks = []
    for n in (320, 3200):
        path = write_csv(tmp_path / f"{n}.csv", ours(n, n, seed=2))
        tracemalloc.start()
        done("predict", model, path, "--out", tmp_path / f"{n}.said.csv")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_on_standard_output(model, table):
    running = process("predict", model, table, "--out", "-")
    said, err = running.communicate()
    assert (running.returncode, err) == (0, "")
    assert len(read(said)) == ROWS
    assert said.startswith("row,label,")
    refused = run("predict", model, table, "--out", "-", "--json").exception
    assert isinstance(refused, ParameterError)


def test_for_a_person_and_for_a_program(tmp_path, model, table):
    out = tmp_path / "said.csv"
    words = "predict", model, table, "--out", out
    told = json.loads(done(*words, "--json").stdout)
    said = [row["label"] for row in read(out)]
    assert told["labels"] == {name: said.count(name) for name in ("ill", "well")}
    assert (told["rows"], told["bytes"]) == (ROWS, out.stat().st_size)
    assert sum(told["decided_by"].values()) == ROWS
    shown = done(*words, "--overwrite").stdout
    assert f"wrote {out}" in shown
    assert f"ill ({said.count('ill')})" in shown


def test_no_rows_in_no_rows_out(tmp_path, model):
    path = write_csv(tmp_path / "none.csv", ours(0, 0))
    done("predict", model, path, "--out", tmp_path / "said.csv")
    assert (tmp_path / "said.csv").read_text() == ",".join(["row", *SAID]) + "\n"
    done("predict", model, path, "--out", tmp_path / "said.parquet")
    assert open_table(tmp_path / "said.parquet").columns == ["row", *SAID]


# What goes wrong ---------------------------------------------------------------------------------


def spoilt(column, row, cell):
    columns = ours(ROWS, ROWS, seed=2)
    columns[column][row] = cell
    return columns


AWRY = {
    "a missing cell": (
        lambda: spoilt("sex", 40, ""),
        [],
        DataError,
        "new.csv, row 41, column 'sex': missing, and no fill is declared; mend the cell",
    ),
    "an unknown category": (
        lambda: spoilt("pain", 40, "dire"),
        [],
        DataError,
        "row 41, column 'pain': none of the declared categories (none, some, much)",
    ),
    "no number": (lambda: spoilt("age", 49, "old"), [], DataError, "row 50, column 'age': not a"),
    "a column is missing": (lambda: {"age": ["1"]}, [], DataError, "has no column 'sex'"),
    "no such identifier": (ours, ["--id", "patent"], DataError, "did you mean 'patient'"),
    "an identifier called label": (ours, ["--id", "label"], ParameterError, "of that name already"),
}


@pytest.mark.parametrize("wrong", AWRY)
def test_one_line_and_nothing_is_left(tmp_path, model, monkeypatch, wrong):
    """Also where the fault lies many blocks behind the first."""
    columns, more, kind, words = AWRY[wrong]
    monkeypatch.setattr(adopted, "BLOCK_ROWS", 7)
    path = write_csv(tmp_path / "new.csv", columns())
    result = run("predict", model, path, "--out", tmp_path / "said.csv", *more)
    assert isinstance(result.exception, kind), result.exception
    assert words in str(result.exception)
    assert "\n" not in str(result.exception)
    assert names(tmp_path) == ["new.csv"]


def test_what_was_there_is_kept_until_all_is_done(tmp_path, model):
    out = tmp_path / "said.csv"
    out.write_text("mine")
    path = write_csv(tmp_path / "new.csv", spoilt("age", 49, "old"))
    assert isinstance(run("predict", model, path, "--out", out, "--overwrite").exception, DataError)
    assert out.read_text() == "mine"
    write_csv(path, ours())
    assert "is there already" in str(run("predict", model, path, "--out", out).exception)
    assert out.read_text() == "mine"
    for mine in (path, model):
        refused = run("predict", model, path, "--out", mine, "--overwrite").exception
        assert "written over" in str(refused)
    assert names(tmp_path) == ["new.csv", "said.csv"]


def test_one_that_came_in_the_meantime_keeps_its_name(tmp_path, model, table, monkeypatch):
    monkeypatch.setattr(adopted, "check_target", lambda *_: None)
    out = tmp_path / "said.csv"
    out.write_text("first")
    refused = run("predict", model, table, "--out", out).exception
    assert isinstance(refused, DataError)
    assert (out.read_text(), names(tmp_path)) == ("first", ["new.csv", "said.csv"])

    def no_links(*_):
        raise PermissionError

    monkeypatch.setattr(writing.os, "link", no_links)
    assert isinstance(run("predict", model, table, "--out", out).exception, DataError)
    assert out.read_text() == "first"
    done("predict", model, table, "--out", tmp_path / "other.csv")
    assert len(read(tmp_path / "other.csv")) == ROWS


def test_endings(tmp_path, model, table):
    for name in ("said.txt", "said.npz"):
        refused = run("predict", model, table, "--out", tmp_path / name).exception
        assert "ends in .csv" in str(refused)
    assert names(tmp_path) == ["new.csv"]


def test_only_a_model_is_a_model(folder, tmp_path, model, table):
    damaged = tmp_path / "damaged.model"
    damaged.write_bytes(model.read_bytes()[:-1])
    for wrong in (damaged, folder / "clinic.release", tmp_path / "none.model", table):
        refused = run("predict", wrong, table, "--out", tmp_path / "said.csv").exception
        assert isinstance(refused, ReleaseError)
        assert "\n" not in str(refused)


@pytest.mark.parametrize("stage", ["labelling", "the name", "flushing"])
def test_interrupted_it_leaves_nothing(tmp_path, model, table, monkeypatch, stage):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    place = {
        "labelling": (TransferClassifier, "opinions"),
        "the name": (writing.os, "link"),
        "flushing": (writing.os, "fsync"),
    }[stage]
    monkeypatch.setattr(*place, interrupt)
    assert run("predict", model, table, "--out", tmp_path / "said.csv").exit_code == 130
    assert names(tmp_path) == ["new.csv"]


def test_ctrl_c(tmp_path, model):
    path = write_csv(tmp_path / "new.csv", ours(3000, 3000, seed=2))
    code = (
        "from dptransfer.cli import adopted; adopted.BLOCK_ROWS = 10\n"
        "from dptransfer.data import writing; write = writing.TableWriter.write\n"
        "def told(*a): write(*a); print('writing', flush=True)\n"
        "writing.TableWriter.write = told\nfrom dptransfer.cli import main; main()"
    )
    words = "predict", model, path, "--out", tmp_path / "said.csv"
    running = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout.readline() == "writing\n"
    running.send_signal(signal.SIGINT)
    _, err = running.communicate()
    assert running.returncode == 130
    assert err.strip() == "interrupted; nothing was left half-written"
    assert names(tmp_path) == ["new.csv"]


def test_a_full_disk(tmp_path, model, table):
    resource = pytest.importorskip("resource")
    running = process(
        *("predict", model, table, "--out", tmp_path / "said.parquet"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
    )
    said, err = running.communicate()
    assert (running.returncode, said) == (6, "")
    assert err == f"error: {tmp_path}/said.parquet cannot be written: File too large\n"
    assert names(tmp_path) == ["new.csv"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_disk_that_is_full_at_the_end(tmp_path, model, table, monkeypatch, ending):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    refused = run("predict", model, table, "--out", tmp_path / f"said.{ending}").exception
    assert isinstance(refused, DataError)
    assert "No space left" in str(refused)
    assert names(tmp_path) == ["new.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full(model, table):
    refused = run("predict", model, table, "--out", "/dev/full").exception
    assert "no ordinary file" in str(refused)
    with open("/dev/full", "w") as full:
        running = subprocess.Popen(
            [sys.executable, "-c", "from dptransfer.cli import main; main()",
             *map(str, ("predict", model, table, "--out", "-"))],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        err = running.communicate()[1]
    assert err == "error: standard output cannot be written: No space left on device\n"
    assert running.returncode == 6


def test_two_at_once_do_not_both_get_the_name(tmp_path, model, table):
    running = [process("predict", model, table, "--out", tmp_path / "said.csv") for _ in range(2)]
    ended = [each.communicate() for each in running]
    codes = sorted(each.returncode for each in running)
    assert codes in ([0, 1], [0, 6]), ended
    assert names(tmp_path) == ["new.csv", "said.csv"]
    assert len(read(tmp_path / "said.csv")) == ROWS
