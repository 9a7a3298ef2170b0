"""`dptransfer reproduce`: trials that are kept, tables for a person and for a program, one page."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from coins import Coins
from typer.testing import CliRunner

from dptransfer.cli import reproduce as command
from dptransfer.cli.app import app
from dptransfer.errors import DataError
from dptransfer.experiments import catalogue
from dptransfer.experiments.store import Store, Trial

KEPT = Path(__file__).parents[2] / "benchmarks" / "results" / "reproduce"
PAGE = Path(__file__).parents[2] / "docs" / "results.md"


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture
def coins(monkeypatch):
    monkeypatch.setattr(catalogue, "EXPERIMENTS", {"coins": Coins})
    return Coins


@pytest.fixture
def measured(coins, tmp_path):
    assert run("all", "--out", tmp_path, "--jobs", 1).exit_code == 0
    return tmp_path


def test_every_experiment_has_its_command():
    assert set(command.NAMES) == {*catalogue.EXPERIMENTS, command.ALL}


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
