import json

import pytest
from typer.testing import CliRunner

from dptransfer.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_the_demo_learns_from_digits_without_labels():
    result = run("demo", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    accuracy = [step["accuracy"] for step in found["accuracy"]]
    assert found["labelled"] == 100
    assert len(accuracy) == 5
    assert max(accuracy[1:]) > accuracy[0] > 0.8


def test_the_demo_is_readable():
    result = run("demo")
    assert "100 with a label" in result.stdout
    assert "%" in result.stdout
    assert "seconds" in result.stdout


@pytest.mark.parametrize("command", [(), ("demo",), ("reproduce",), ("reproduce", "figures")])
def test_help_is_there(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_figures_are_drawn_without_mnist(tmp_path, monkeypatch):
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    result = run(
        *("reproduce", "figures", "--out", str(tmp_path / "figures")),
        *("--results", str(tmp_path / "none")),
    )
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {"layers.png", "components.png", "inducing.png", "noise.png"}


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    from dptransfer.errors import DataError

    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    (tmp_path / "file").write_text("")
    result = run("reproduce", "figures", "--out", str(tmp_path / "file"))
    assert isinstance(result.exception, DataError)
    assert "cannot write" in str(result.exception)
