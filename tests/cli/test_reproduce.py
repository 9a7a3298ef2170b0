"""`dptransfer reproduce`: trials that are kept, tables for a person and for a program, one page."""

import csv
import io
import json
import re
import sys
import time
from pathlib import Path

import pytest
from coins import Coins
from typer.testing import CliRunner

from dptransfer.cli.app import app
from dptransfer.cli.output import long_work
from dptransfer.errors import DataError
from dptransfer.experiments import catalogue
from dptransfer.experiments.store import Store, Trial

command = sys.modules["dptransfer.cli.reproduce"]  # the room gives out its function under the name
KEPT = Path(__file__).parents[2] / "benchmarks" / "results" / "reproduce"
PAGE = Path(__file__).parents[2] / "docs" / "results.md"


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture
def coins(monkeypatch):
    monkeypatch.setattr(command, "make", lambda name=None, quick=False: [Coins(quick=quick)])
    return Coins


@pytest.fixture
def measured(coins, tmp_path):
    assert run("all", "--out", tmp_path, "--jobs", 1).exit_code == 0
    return tmp_path


def test_every_experiment_has_its_name_and_its_command():
    assert [each.name for each in catalogue.make()] == list(catalogue.EXPERIMENTS)
    for name in catalogue.EXPERIMENTS:
        assert [each.name for each in catalogue.make(name)] == [name]
        assert "Example:" in run(name, "--help").output


def test_all_is_all_of_the_paper():
    assert [each.name for each in catalogue.make("all")] == [
        "mnist",
        "mnist-usps",
        "usps-mnist",
        "office-caltech",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mnist", "Put mnist.npz"),
        ("usps-mnist", "Put mnist.npz"),
        ("office-caltech", "put office_caltech_cnn.npz"),
    ],
)
def test_data_that_are_missing_are_named_before_the_work(tmp_path, monkeypatch, name, words):
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told = run(name, "--quick", "--out", tmp_path / "out")
    assert isinstance(told.exception, DataError)
    assert words in str(told.exception)
    assert not (tmp_path / "out").exists()


def test_all_is_run_and_shown(coins, tmp_path):
    told = run("all", "--out", tmp_path)
    assert told.exit_code == 0
    assert "Coins: two of them" in told.output
    assert "the source decides none" in told.output
    assert len(Store(tmp_path).read("coins", 1)) == 6


def test_an_interrupted_run_goes_on(coins, tmp_path, monkeypatch):
    monkeypatch.setattr(Coins, "stop_at", Trial("20 labels", 1))
    assert run("all", "--out", tmp_path, "--jobs", 1).exit_code == 130
    assert len(Store(tmp_path).read("coins", 1)) == 3
    monkeypatch.setattr(Coins, "stop_at", Trial("10 labels", 0))  # done: it is not asked again
    assert run("all", "--out", tmp_path, "--jobs", 1).exit_code == 0
    assert len(Store(tmp_path).path("coins").read_text().splitlines()) == 6


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_how_far_it_is_and_how_long_it_will_take(monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with long_work(4.0, 1200.0) as done:
        time.sleep(0.2)
        assert "about 20 min left" in terminal.getvalue()
        done(1.0, "1 of 2 trials, coins")
        time.sleep(0.2)
    assert "1 of 2 trials, coins" in terminal.getvalue()
    assert "about 0 min left" in terminal.getvalue()  # a quarter took a moment


def test_a_pipe_sees_nothing_lively(monkeypatch):
    monkeypatch.setattr("sys.stderr", pipe := io.StringIO())
    with long_work(4.0, 1200.0) as done:
        done(4.0, "done")
    assert pipe.getvalue().strip() == ""


def test_what_is_quick_is_kept_apart(coins, tmp_path):
    assert run("all", "--quick", "--out", tmp_path).exit_code == 0
    assert len(Store(tmp_path / "quick").read("coins", 1)) == 1
    assert not Store(tmp_path).path("coins").exists()
    assert isinstance(run("show", "--out", tmp_path).exception, DataError)


def test_the_forms_hold_the_same_figures(measured):
    told = {form: run("show", "--out", measured, "--format", form).output for form in command.Form}
    row = json.loads(told["json"])[0]["tables"][0]["rows"][0]
    mean, sd = row["ours"]["mean"], row["ours"]["sd"]
    assert f"| {mean:.1f} ± {sd:.1f} | −" in told["markdown"]
    lines = list(csv.DictReader(io.StringIO(told["csv"])))
    ours = next(line for line in lines if line["figure"] == "ours" and line["row"] == "10 labels")
    assert float(ours["mean"]) == mean
    assert f"{mean:.1f} ± {sd:.1f}" in re.sub(r"\s+", " ", told["table"])


@pytest.mark.parametrize("quick", [False, True])
def test_every_row_has_its_context(quick):
    for experiment in catalogue.make(quick=quick):
        for table in experiment.tables():
            assert all(len(values) == len(table.rows) for _, values in table.context)
            assert {row.task for row in table.rows} <= set(experiment.tasks)


def test_the_page_is_written_beside_what_is_printed(measured):
    told = run("show", "--out", measured, "--report", measured / "results.html", "--format", "csv")
    assert told.exit_code == 0
    assert told.output.startswith("table,row")
    html = (measured / "results.html").read_text(encoding="utf-8")
    assert "Coins: two of them" in html
    assert "the source decides none" in html
    assert html.count("<figure>") == 3
    assert html.count("<svg") >= 3


def test_a_page_that_cannot_be_written_is_said(measured):
    told = run("show", "--out", measured, "--report", measured / "none" / "results.html")
    assert isinstance(told.exception, DataError)


def test_nothing_measured_writes_no_page(tmp_path):
    told = run("show", "--out", tmp_path, "--report", tmp_path / "results.html")
    assert isinstance(told.exception, DataError)
    assert not (tmp_path / "results.html").exists()
    assert isinstance(run("page", tmp_path / "results.md", "--out", tmp_path).exception, DataError)
    assert not (tmp_path / "results.md").exists()


def test_the_markdown_page_is_the_same_each_time(measured):
    for name in ("one.md", "two.md"):
        assert run("page", measured / name, "--out", measured).exit_code == 0
    text = (measured / "one.md").read_text(encoding="utf-8")
    assert text == (measured / "two.md").read_text(encoding="utf-8")
    assert "Do not edit" in text
    assert "**Coins: two of them**" in text


def test_figures_take_the_curves_from_finished_trials(measured, monkeypatch):
    from dptransfer.experiments import figures

    monkeypatch.setattr(figures, "draw_figures", lambda images, folder: iter([folder / "a.png"]))
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    told = run("figures", "--out", measured / "drawn", "--results", measured)
    assert told.exit_code == 0, told.output
    names = {path.name for path in (measured / "drawn").iterdir()}
    assert names == {"accuracy-epsilon.png", "accuracy-labels.png", "decided-epsilon.png"}
    told = run("figures", "--out", measured / "drawn", "--results", measured / "nothing")
    assert "not drawn for want of finished trials" in told.output


@pytest.mark.skipif(not KEPT.exists(), reason="no trials are kept in benchmarks/results/reproduce")
def test_the_page_of_results_is_what_the_command_makes(tmp_path):
    assert run("page", tmp_path / "results.md", "--out", KEPT).exit_code == 0
    made = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert made == PAGE.read_text(encoding="utf-8"), "run dptransfer reproduce page; see its head"
