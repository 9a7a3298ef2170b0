import json

import pytest
from guarantees import element
from typer.testing import CliRunner

from dptransfer.cli.app import app, main
from dptransfer.errors import BudgetExceeded, DeclarationError, LedgerError, ParameterError
from dptransfer.privacy import Ledger


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "book.ledger")


def run(*arguments):
    return CliRunner().invoke(app, ["ledger", *map(str, arguments)])


def budget(path, epsilon, *more):
    return run(
        "budget", path, "digits", "--unit", "element", "--epsilon", epsilon, "--delta", 1e-5, *more
    )


def test_from_making_it_to_reading_it(path):
    assert run("init", path).exit_code == 0
    assert budget(path, 1.0, "--distance", 1).exit_code == 0
    Ledger(path).spend("digits", element(0.25))
    table = run("show", path).stdout
    for word in ("digits", "one element (d-adjacency)", "(1, 1e-05)", "0.25", "0.75"):
        assert word in table
    history = run("show", path, "digits").stdout
    assert "release 1" in history
    assert "optimal noise" in history
    told = json.loads(run("show", path, "digits", "--json").stdout)
    assert told["balances"][0]["releases"] == 1
    assert [entry["release"] for entry in told["entries"]] == [None, 1]
    assert "entries" not in json.loads(run("show", path, "--json").stdout)


def test_the_table_is_not_cut_in_a_pipe(path):
    run("init", path)
    name = "a data set with a name of quite some length " * 2
    run("budget", path, name, "--unit", "record", "--epsilon", 1, "--delta", 1e-5)
    assert name.strip() in run("show", path).stdout


def test_budgets_for_records(path):
    run("init", path)
    arguments = ["budget", path, "digits", "--unit", "record", "--epsilon", 1, "--delta", 0]
    assert run(*arguments).exit_code == 0
    assert run(*arguments, "--adjacency", "replace-values", "--distance", "1,0.5").exit_code == 0
    kept = Ledger(path).remaining("digits")["record"].budget
    assert (kept.adjacency, kept.distance) == ("replace-values", (1.0, 0.5))
    assert "0.5 to 1" in run("show", path, "digits").stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["show", "{}/nowhere"], LedgerError),
        (["init", "{}/no/folder"], LedgerError),
        (["show", "{}/book.ledger", "unknown"], ParameterError),
        (
            ["budget", "{}/book.ledger", "digits", "--epsilon=1", "--delta=0", "--unit=pixel"],
            ParameterError,
        ),
        (
            ["budget", "{}/book.ledger", "digits", "--epsilon=-1", "--delta=0", "--unit=record"],
            ParameterError,
        ),
        (
            ["budget", "{}/book.ledger", "digits", "--epsilon=1", "--delta=0", "--unit=element"],
            DeclarationError,
        ),
        (
            [
                "budget",
                "{}/book.ledger",
                "digits",
                "--epsilon=1",
                "--delta=0",
                "--unit=element",
                "--distance=far",
            ],
            DeclarationError,
        ),
        (
            [
                "budget",
                "{}/book.ledger",
                "spent",
                "--epsilon=.1",
                "--delta=0",
                "--unit=element",
                "--distance=1",
            ],
            BudgetExceeded,
        ),
    ],
)
def test_what_goes_wrong_is_an_error_of_ours(tmp_path, arguments, error):
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("spent", element(1.0))
    book.spend("spent", element(1.0))
    result = run(*[argument.format(tmp_path) for argument in arguments])
    assert type(result.exception) is error
    assert "\n" not in str(result.exception)


def test_a_budget_below_what_is_spent_is_exit_code_3_and_one_line(path, monkeypatch, capsys):
    run("init", path)
    budget(path, 1.0, "--distance", 1)
    Ledger(path).spend("digits", element(0.5))
    lower = ["ledger", "budget", path, "digits", "--unit=element", "--epsilon=.1", "--delta=1e-5"]
    monkeypatch.setattr("sys.argv", ["dptransfer", *lower, "--distance=1"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == BudgetExceeded.exit_code == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
