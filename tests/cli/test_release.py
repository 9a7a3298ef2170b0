import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from clinic import BOUNDS, clinic, command, process, rows, write_csv
from typer.testing import CliRunner

from dptransfer import Release
from dptransfer.cli.app import app
from dptransfer.errors import (
    BudgetExceeded,
    DataError,
    DeclarationError,
    DPTransferError,
    LedgerError,
    OutsideBoundsError,
    ParameterError,
)
from dptransfer.privacy import Ledger
from dptransfer.transfer import making, release_file, writing
from dptransfer.transfer.columns import Columns


def run(table, arguments, *flags):
    return CliRunner().invoke(app, list(map(str, command(table, arguments, *flags))))


def done(table, arguments, *flags):
    result = run(table, arguments, *flags)
    assert result.exit_code == 0, result.exception or result.output
    return result


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write_parquet(path, columns):
    import pyarrow as pa
    import pyarrow.parquet

    age = [float(cell) if cell else None for cell in columns["age"]]
    pa.parquet.write_table(pa.table(columns | {"age": age}), path)


def write_npz(path, columns):
    age = np.array([float(cell or "nan") for cell in columns["age"]])
    np.savez(path, **columns | {"age": age})


WRITERS = {
    "clinic.csv": write_csv,
    "clinic.parquet": write_parquet,
    "clinic.npz": write_npz,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_of_any_kind_is_released(tmp_path, name):
    arguments = clinic(tmp_path)
    WRITERS[name](tmp_path / name, rows())
    done(tmp_path / name, arguments)
    release = Release.load(arguments["--out"])
    labels = rows()["diagnosis"]
    assert release.name == "clinic"
    assert release.classes == ["ill", "well"]
    assert release.manifest["class_sizes"] == [labels.count("ill"), labels.count("well")]
    assert release.columns == Columns.parse_bounds(BOUNDS)
    assert release.columns.features == ["age", "sex=m", "pain=none", "pain=some", "pain=much"]
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1, 1e-5)
    assert release.guarantee.distance == (120.0, 1.0, 1.0)
    assert release.samples is None
    assert release.manifest["noise"]["insecure_seed"] is False


def test_every_kind_of_table_says_the_same(tmp_path, monkeypatch):
    """With the noise away, and only then, one sees that it is the same rows that are read."""
    monkeypatch.setattr(making.CellNoise, "perturb", lambda self, features: features)
    arguments, seen = clinic(tmp_path), []
    for name, write in WRITERS.items():
        write(tmp_path / name, rows())
        done(tmp_path / name, arguments, "--samples", "--overwrite")
        seen.append(Release.load(arguments["--out"]).samples)
    for samples in seen[1:]:
        np.testing.assert_array_equal(samples[0], seen[0][0])
        np.testing.assert_array_equal(samples[1], seen[0][1])
    encoded, labels = seen[0]
    assert encoded[0, 0] == np.float32(50 / 120), "the first age is missing and counts as 50"
    assert encoded[:, 2].tolist() == [cell == "none" for cell in rows()["pain"]]
    assert labels.tolist() == [label == "well" for label in rows()["diagnosis"]]


def test_what_it_prints(tmp_path):
    arguments = clinic(tmp_path)
    said = done(tmp_path / "clinic.csv", arguments).stdout
    for words in ("wrote", "clinic.release", "200", "3 (5 features)", "(1, 1e-05)", "Not covered"):
        assert words in said
    told = json.loads(done(tmp_path / "clinic.csv", arguments, "--json", "--overwrite").stdout)
    assert told["bytes"] == arguments["--out"].stat().st_size
    assert told["manifest"] == Release.load(arguments["--out"]).manifest
    assert told["signed"] is False


def test_options_reach_the_release(tmp_path):
    more = {"--mechanism": "laplace", "--distance": "12,1,1", "--name": "ward 3"}
    arguments = clinic(tmp_path, **more)
    done(tmp_path / "clinic.csv", arguments, "--samples")
    release = Release.load(arguments["--out"])
    assert release.name == "ward 3"
    assert release.manifest["noise"]["mechanism"] == "laplace"
    assert release.guarantee.distance == (12.0, 1.0, 1.0)
    assert release.samples[0].shape == (200, 5)


def test_columns_are_taken_and_left_out(tmp_path):
    arguments = clinic(tmp_path)
    write_csv(tmp_path / "clinic.csv", rows() | {"id": list(map(str, range(200)))})
    for more, kept in (
        ({"--drop": "id"}, ["age", "sex", "pain"]),
        ({"--drop": "id,sex"}, ["age", "pain"]),
        ({"--columns": "pain"}, ["pain"]),
        ({"--columns": "pain,age", "--drop": "age"}, ["pain"]),
    ):
        done(tmp_path / "clinic.csv", arguments | more, "--overwrite")
        assert Release.load(arguments["--out"]).columns.names == kept


def test_whole_numbers_that_became_floats_are_the_same_labels(tmp_path):
    arguments = clinic(tmp_path, **{"--classes": "0,1"})
    table = rows() | {"diagnosis": ["1.0", "0"] * 100}
    done(write_csv(tmp_path / "clinic.csv", table), arguments)
    assert Release.load(arguments["--out"]).classes == [0, 1]


def test_a_class_may_be_called_none(tmp_path):
    arguments = clinic(tmp_path, **{"--classes": "none,NA"})
    table = rows() | {"diagnosis": ["none", "NA"] * 100}
    done(write_csv(tmp_path / "clinic.csv", table), arguments)
    assert Release.load(arguments["--out"]).manifest["class_sizes"] == [100, 100]


def test_values_are_clipped_if_asked(tmp_path):
    arguments = clinic(tmp_path)
    table = rows()
    table["age"][3] = "940"
    write_csv(tmp_path / "clinic.csv", table)
    assert isinstance(run(tmp_path / "clinic.csv", arguments).exception, OutsideBoundsError)
    done(tmp_path / "clinic.csv", arguments, "--clip")


# What goes wrong ----------------------------------------------------------------------------------


def spoilt(column, row, cell):
    def change(folder):
        table = rows()
        table[column][row] = cell
        write_csv(folder / "clinic.csv", table)

    return change


def nothing(folder):
    pass


def declared(text):
    return lambda folder: (folder / "bounds.json").write_text(text)


MARKED = "739.18264"

WRONG = {
    "not a number": (
        spoilt("age", 7, MARKED + "x"),
        {},
        DataError,
        r"clinic.csv, row 8, column 'age': not a number",
    ),
    "a number of Python's": (
        spoilt("age", 7, "1_0"),
        {},
        DataError,
        r"clinic.csv, row 8, column 'age': not a number",
    ),
    "outside the bounds": (
        spoilt("age", 7, MARKED),
        {},
        OutsideBoundsError,
        r"clinic.csv, row 8, column 'age': outside the declared bounds \[0, 120\]",
    ),
    "infinite": (spoilt("age", 7, "inf"), {}, DataError, r"row 8, column 'age': infinite"),
    "missing, without a fill": (
        spoilt("sex", 7, ""),
        {},
        DataError,
        r"clinic.csv, row 8, column 'sex': missing, and no fill is declared",
    ),
    "no category": (
        spoilt("pain", 7, MARKED),
        {},
        DataError,
        r"row 8, column 'pain': none of the declared categories \(none, some, much\)",
    ),
    "no class": (
        spoilt("diagnosis", 7, MARKED),
        {},
        DataError,
        r"clinic.csv, row 8, column of the labels: missing, or none of the declared .*ill, well",
    ),
    "no label": (spoilt("diagnosis", 7, "NA"), {}, DataError, "row 8, column of the labels"),
    "a class without rows": (nothing, {"--classes": "ill,well,dead"}, DataError, "'dead'"),
    "one class": (nothing, {"--classes": "ill"}, DeclarationError, "at least two classes"),
    "a class twice": (nothing, {"--classes": "ill,ill"}, DeclarationError, "each of them once"),
    "no words": (nothing, {"--classes": "ill,,well"}, ParameterError, "--classes takes words"),
    "no such label": (nothing, {"--label": "diagnose"}, DeclarationError, "column 'diagnosis'"),
    "the label as a value": (
        declared(json.dumps(BOUNDS | {"diagnosis": {"categories": ["ill", "well"]}})),
        {},
        DeclarationError,
        "'diagnosis' is that of the labels",
    ),
    "a column undeclared": (
        declared(json.dumps({"age": [0, 120], "sex": {"categories": ["f", "m"]}})),
        {},
        DeclarationError,
        "nothing is declared of the column 'pain' of .*clinic.csv",
    ),
    "a declared column that is not there": (
        declared(json.dumps(BOUNDS | {"wight": [0, 300]})),
        {},
        DataError,
        "no column 'wight'",
    ),
    "a column that nobody knows": (nothing, {"--drop": "sez"}, DataError, "--drop: neither"),
    "bounds that are no JSON": (
        declared('{"age": [0, 120],\n "sex": }'),
        {},
        DeclarationError,
        "bounds.json, line 2, character 9: this is not JSON",
    ),
    "a column declared twice": (
        declared('{"age": [0, 120], "age": [0, 12]}'),
        {},
        DeclarationError,
        "'age' stands twice",
    ),
    "bounds of NaN": (declared('{"age": [0, NaN]}'), {}, DeclarationError, "NaN is no bound"),
    "bounds of nothing": (declared("{}"), {}, DeclarationError, "no columns are declared"),
    "bounds that are a list": (declared("[]"), {}, DeclarationError, "must name every column"),
    "no bounds": (nothing, {"--bounds": "nowhere.json"}, DataError, "cannot read nowhere.json"),
    "bounds the wrong way round": (
        declared('{"age": [120, 0]}'),
        {},
        DeclarationError,
        "bounds.json: the lower bound of column 'age' must be below",
    ),
    "an epsilon of nothing": (nothing, {"--epsilon": 0}, ParameterError, "epsilon must be"),
    "a delta of one": (nothing, {"--delta": 1}, ParameterError, "delta must be"),
    "a distance in words": (nothing, {"--distance": "far"}, DeclarationError, "--distance"),
    "too few distances": (nothing, {"--distance": "1,2"}, DeclarationError, "distance must be"),
    "no folder": (nothing, {"--out": "nowhere/x.release"}, DPTransferError, "no folder"),
    "no key": (nothing, {"--sign": "nowhere.pem"}, DPTransferError, "no key at nowhere.pem"),
    "no ledger": (nothing, {"--ledger": "nowhere.ledger"}, LedgerError, "no ledger at"),
    "a name on two lines": (nothing, {"--name": "a\nb"}, ParameterError, "can be printed"),
    "a short row": (
        lambda folder: (folder / "clinic.csv").write_text("age,sex,pain,diagnosis\n1,f\n"),
        {},
        DataError,
        r"clinic.csv, row 1 \(line 2\) has 2 cells",
    ),
    "a table without rows": (
        lambda folder: (folder / "clinic.csv").write_text("age,sex,pain,diagnosis\n"),
        {},
        DataError,
        "has no rows",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_goes_wrong_is_one_line(tmp_path, wrong):
    change, more, kind, words = WRONG[wrong]
    arguments = clinic(tmp_path) | more
    change(tmp_path)
    before = names(tmp_path)
    result = run(tmp_path / "clinic.csv", arguments)
    assert isinstance(result.exception, kind), result.exception
    with pytest.raises(kind, match=words):
        raise result.exception
    assert "\n" not in str(result.exception)
    assert MARKED not in str(result.exception) + result.output
    assert names(tmp_path) == before


def test_exit_codes_and_nothing_on_standard_output(tmp_path):
    arguments = clinic(tmp_path)
    for change, code in ((spoilt("age", 7, MARKED), 6), (declared("[]"), 5)):
        change(tmp_path)
        running = process(*command(tmp_path / "clinic.csv", arguments))
        out, err = running.communicate()
        assert running.returncode == code
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
    running = process("release", "clinic.csv")
    assert "Traceback" not in running.communicate()[1]
    assert running.returncode == 2


def test_quiet_in_a_pipe_and_a_bar_on_a_terminal(tmp_path):
    arguments = clinic(tmp_path)
    running = process(*command(tmp_path / "clinic.csv", arguments, "--overwrite"))
    assert running.communicate()[1] == ""
    assert running.returncode == 0
    pty = pytest.importorskip("pty")
    terminal, end = pty.openpty()
    code = "from dptransfer.cli import main, output; output.PATIENCE = 0; main()"
    words = command(tmp_path / "clinic.csv", arguments, "--overwrite")
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
    assert b"learning" in shown
    assert "━".encode() in shown


# The ledger ---------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    arguments = clinic(tmp_path)
    path = tmp_path / "book.ledger"
    Ledger.create(path)
    words = ["ledger", "budget", path, "clinic", "--unit", "element", "--epsilon", 1.5]
    words += ["--delta", 1e-4, "--bounds", arguments["--bounds"]]
    assert CliRunner().invoke(app, list(map(str, words))).exit_code == 0
    return path


def test_a_release_is_entered_once(tmp_path, book):
    arguments = clinic(tmp_path, **{"--ledger": book})
    done(tmp_path / "clinic.csv", arguments)
    assert len(Ledger(book).entries("clinic")) == 1
    arguments |= {"--out": tmp_path / "again.release", "--name": "clinic"}
    assert isinstance(run(tmp_path / "clinic.csv", arguments).exception, BudgetExceeded)
    assert not arguments["--out"].exists()
    assert len(Ledger(book).entries("clinic")) == 1
    arguments |= {"--name": "a new name"}
    assert isinstance(run(tmp_path / "clinic.csv", arguments).exception, LedgerError)


def test_bounds_that_are_all_alike_are_one_distance(tmp_path, book):
    """The budget and the release must name the same distance, or none could be entered."""
    bounds = tmp_path / "alike.json"
    bounds.write_text('{"a": [0, 1], "b": [1, 2]}')
    write_csv(tmp_path / "t.csv", {"a": ["0", "1"] * 9, "b": ["1", "2"] * 9, "y": ["p", "q"] * 9})
    words = f"ledger budget {book} t --unit element --epsilon 2 --delta 1e-4 --bounds {bounds}"
    assert CliRunner().invoke(app, words.split()).exit_code == 0
    arguments = clinic(tmp_path, **{"--ledger": book, "--bounds": bounds, "--name": "t"})
    done(tmp_path / "t.csv", arguments | {"--label": "y", "--classes": "p,q"})


def test_two_at_once_and_a_budget_for_one(tmp_path, book):
    arguments = clinic(tmp_path, **{"--ledger": book, "--name": "clinic"})
    running = [
        process(*command(tmp_path / "clinic.csv", arguments | {"--out": tmp_path / f"{k}.release"}))
        for k in range(2)
    ]
    said = [each.communicate() for each in running]
    assert sorted(each.returncode for each in running) == [0, 3], said
    assert len(Ledger(book).entries("clinic")) == 1
    assert len(list(tmp_path.glob("*.release"))) == 1


def test_two_that_want_one_name_do_not_both_get_it(tmp_path, monkeypatch):
    """The second becomes visible after the first was looked for and not found."""
    arguments = clinic(tmp_path)
    done(tmp_path / "clinic.csv", arguments)
    first = arguments["--out"].read_bytes()
    for place in (release_file, writing, making):
        monkeypatch.setattr(place, "check_target", lambda *_: None, raising=False)
    monkeypatch.setattr("dptransfer.transfer.release.check_target", lambda *_: None)
    before = names(tmp_path)
    result = run(tmp_path / "clinic.csv", arguments)
    assert isinstance(result.exception, DPTransferError)
    assert arguments["--out"].read_bytes() == first
    assert names(tmp_path) == before


# Interrupted, and a full disk ---------------------------------------------------------------------

STAGES = {
    "perturbing": (making.CellNoise, "perturb"),
    "summing": (making, "summarise"),
    "packing": (release_file, "arrays_of"),
    "writing": (writing, "_write_all"),
    "the ledger": (Ledger, "spend"),
    "the name": (writing.os, "link"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_interrupted_anywhere_it_leaves_nothing(tmp_path, book, monkeypatch, stage):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    before = names(tmp_path)
    monkeypatch.setattr(*STAGES[stage], interrupt)
    result = run(tmp_path / "clinic.csv", clinic(tmp_path, **{"--ledger": book}))
    assert result.exit_code != 0
    assert names(tmp_path) == before
    monkeypatch.undo()
    assert len(Ledger(book).entries("clinic")) == (stage == "the name")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at /proc")
def test_ctrl_c(tmp_path):
    arguments = clinic(tmp_path, **{"--bounds": tmp_path / "wide.json", "--classes": "0,1"})
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "wide.npz", X=rng.random((6000, 150)), diagnosis=rng.integers(0, 2, 6000))
    arguments["--bounds"].write_text(json.dumps({f"x{k}": [0, 1] for k in range(150)}))
    before = names(tmp_path)
    running = process(*command(tmp_path / "wide.npz", arguments))
    held = Path(f"/proc/{running.pid}/fd")

    def perturbing():  # the perturbed rows go to a file without a name
        return any("(deleted)" in os.readlink(link) for link in list(held.iterdir()))

    while running.poll() is None:
        try:
            if perturbing():
                break
        except OSError:
            continue
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert running.returncode == 130
    assert out == ""
    assert err.strip() == "interrupted; nothing was left half-written"
    assert names(tmp_path) == before


DISKS = {
    "for temporary files": (2_000, False, 1, "cannot write temporary files .* TMPDIR"),
    "for the release": (12_000, False, 1, "cannot write .*clinic.release.*nothing was written"),
    "for the ledger": (
        12_000,
        True,
        8,
        "the disk refused to write the ledger .*nothing was entered",
    ),
}


@pytest.mark.parametrize("disk", DISKS)
def test_a_full_disk(tmp_path, book, disk):
    resource = pytest.importorskip("resource")
    limit, entered, code, words = DISKS[disk]
    arguments = clinic(tmp_path, **{"--ledger": book} if entered else {})
    write_csv(tmp_path / "clinic.csv", {name: cells * 2 for name, cells in rows().items()})
    before = names(tmp_path)
    running = process(
        *command(tmp_path / "clinic.csv", arguments, "--samples"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    out, err = running.communicate()
    assert (running.returncode, out) == (code, ""), err
    assert re.fullmatch(f"error: {words}.*\n", err), err
    assert names(tmp_path) == before
    assert not Ledger(book).entries("clinic")
