"""`dptransfer release --unit record`, and what `inspect` says of its file."""

import json

import numpy as np
import pytest
from clinic import clinic, command, rows, write_csv
from guarantees import element, record
from typer.testing import CliRunner

from dptransfer import Release
from dptransfer.cli.app import app
from dptransfer.errors import BudgetExceeded, DataError, DeclarationError, ParameterError
from dptransfer.privacy import Ledger
from dptransfer.privacy.gaussian_budget import ShareNoise
from dptransfer.transfer.moment_release import MomentRelease

UNIT = {"--unit": "record"}


def run(folder, *flags, **changes):
    options = {f"--{name}": value for name, value in changes.items()}
    arguments = clinic(folder, **UNIT | options)
    words = command(folder / "clinic.csv", arguments, *flags)
    return CliRunner().invoke(app, list(map(str, words)))


def done(folder, *flags, **changes):
    result = run(folder, *flags, **changes)
    assert result.exit_code == 0, result.exception or result.output
    return result.stdout


def test_a_table_is_released_for_records(tmp_path):
    said = done(tmp_path)
    made = Release.load(tmp_path / "clinic.release")
    assert type(made) is MomentRelease
    assert made.guarantee.unit == "record"
    assert "protects one whole row" in said
    assert "one whole row with its label" in said
    assert "one cell" not in said
    assert "rows                    about" in said
    inspected = CliRunner().invoke(app, ["inspect", str(tmp_path / "clinic.release")]).stdout
    for line in said.splitlines()[2:10]:
        assert line in inspected
    assert inspected.count("What is protected is") == 1
    told = CliRunner().invoke(app, ["inspect", str(tmp_path / "clinic.release"), "--json"]).stdout
    manifest = json.loads(told)["manifest"]
    assert manifest["kind"] == "moments"
    assert manifest["guarantee"]["unit"] == "record"
    assert manifest["noise"]["radius"] == pytest.approx(5**0.5 / 2)


def test_how_many_rows_there_are_is_not_told(tmp_path, monkeypatch):
    """A table and one with a row more print alike, once their noise is."""
    released = []

    def perturb(self, X, *, progress=None):
        released.append(X)
        return np.zeros(X.shape)

    monkeypatch.setattr(ShareNoise, "perturb", perturb)
    first = done(tmp_path, "--json")
    arguments = clinic(tmp_path, **UNIT)
    arguments["--out"].unlink()
    write_csv(tmp_path / "clinic.csv", rows(201))
    words = command(tmp_path / "clinic.csv", arguments, "--json")
    second = CliRunner().invoke(app, list(map(str, words))).stdout
    assert first == second
    assert released[0].sum() == 200
    assert released[len(released) // 2].sum() == 201


def test_radius_and_centre_are_declared(tmp_path):
    done(tmp_path, radius=0.75, centre=0.25)
    made = Release.load(tmp_path / "clinic.release")
    assert (made.radius, made.centre) == (0.75, 0.25)


@pytest.mark.parametrize(
    ("flags", "changes", "error", "said"),
    [
        (["--samples"], {}, ParameterError, "--samples goes with --unit element"),
        ([], {"mechanism": "laplace"}, ParameterError, "--mechanism goes with --unit element"),
        ([], {"distance": 1}, ParameterError, "--distance goes with --unit element"),
        ([], {"unit": "element", "radius": 1}, ParameterError, "--radius goes with --unit record"),
        ([], {"unit": "element", "centre": 0}, ParameterError, "--centre goes with --unit record"),
        ([], {"radius": 0}, DeclarationError, "above 0"),
        ([], {"delta": 0}, ParameterError, "delta"),
    ],
)
def test_what_is_refused(tmp_path, flags, changes, error, said):
    result = run(tmp_path, *flags, **changes)
    assert isinstance(result.exception, error)
    assert said in str(result.exception)
    assert not (tmp_path / "clinic.release").exists()


def test_a_row_that_breaks_the_bounds_is_named(tmp_path):
    arguments = clinic(tmp_path, **UNIT)
    table = rows()
    table["age"][41] = "old"
    write_csv(tmp_path / "clinic.csv", table)
    words = command(tmp_path / "clinic.csv", arguments)
    result = CliRunner().invoke(app, list(map(str, words)))
    assert isinstance(result.exception, DataError)
    assert "row 42" in str(result.exception)


def test_it_is_entered_for_a_record_before_there_is_a_file(tmp_path):
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("clinic", record(1.0, 1e-4))
    done(tmp_path, ledger=tmp_path / "book.ledger")
    assert [entry.guarantee.unit for entry in book.entries("clinic")] == ["record"]
    result = run(tmp_path, ledger=tmp_path / "book.ledger", out=tmp_path / "second", name="clinic")
    assert isinstance(result.exception, BudgetExceeded)
    assert not (tmp_path / "second").exists()


def test_both_budgets_are_spent_from(tmp_path):
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("clinic", record(1.0, 1e-4))
    book.set_budget("clinic", element(2.0, 1e-4, (120.0, 1.0, 1.0)))
    done(tmp_path, ledger=tmp_path / "book.ledger")
    assert {e.guarantee.unit for e in book.entries("clinic")} == {"element", "record"}


def test_interrupted_it_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ShareNoise, "perturb", interrupt)
    clinic(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert run(tmp_path).exit_code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == before
