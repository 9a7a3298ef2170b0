import json
import re
from pathlib import Path

import pytest
from adopter import make_quick
from typer.testing import CliRunner

from dptransfer import Release, TransferClassifier
from dptransfer.cli import demo as command
from dptransfer.cli.app import app
from dptransfer.data.tables import open_table
from dptransfer.errors import DataError
from dptransfer.privacy import Ledger

ROOT = Path(__file__).parents[2]
FILES = {
    *("owner.csv", "bounds.json", "releases.ledger", "digits.release"),
    *("ours.csv", "checked.csv", "ours.model", "alone.model", "labels.csv"),
}
PLAYED = (("person", ()), ("program", ("--json",)))


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def command_lines(text):
    """What is shown as typed, lines that go on joined; where it is typed left out."""
    joined = re.sub(r" \\\n +", " ", text)
    return [line for line in re.findall(r"^\$ (.+)$", joined, re.M) if not line.startswith("cd ")]


def heads(text):
    """The shape of what is printed: rows of tables and facts by their first words."""
    return re.findall(r"^  (\S+(?: \S+)*)  +\S", text, re.M)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The demo as a person sees it, and as a program does."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        read, plain = (run("demo", "--out", folder / n, *more) for n, more in PLAYED)
    assert read.exit_code == plain.exit_code == 0, read.output + plain.output
    return folder, read.stdout, json.loads(plain.stdout)


@pytest.mark.parametrize("name", ["person", "program"])
def test_every_file_lies_where_it_is_said(played, name):
    folder = played[0] / name
    assert {path.name for path in folder.iterdir()} == FILES
    assert played[2]["folder"] == str(played[0] / "program")
    assert f"cd {played[0] / 'person'}" in played[1]
    release = Release.load(folder / "digits.release")
    assert (release.guarantee.unit, release.guarantee.epsilon) == ("element", 1)
    assert not release.manifest["noise"]["insecure_seed"]
    assert len(Ledger(folder / "releases.ledger").entries("digits")) == 1
    model = TransferClassifier.load(folder / "ours.model")
    assert [told.name for told in model.sources_] in (["digits"], [])
    assert not TransferClassifier.load(folder / "alone.model").sources_


def test_no_row_is_in_two_tables(played):
    seen = []
    for name, rows in (("owner.csv", 1000), ("ours.csv", 497), ("checked.csv", 300)):
        (block,) = open_table(played[0] / "person" / name).blocks(["image"])
        assert len(block) == rows
        seen += block.cells["image"].tolist()
    assert len(set(seen)) == len(seen) == 1797


def test_what_is_shown_is_what_was_run(played):
    assert command_lines(played[1]) == played[2]["commands"]
    assert len(played[2]["commands"]) == 9


def test_it_says_what_is_protected_and_what_not(played):
    said = " ".join(played[1].split())
    assert "one cell of one row" in said
    assert "(epsilon, delta) = (1, 1e-05)" in said
    assert "What is not: the labels; the class sizes" in said
    assert played[2]["per_record"]["unit"] == "record"


def test_what_it_says_of_the_source_is_what_was_measured(played):
    model = TransferClassifier.load(played[0] / "person" / "ours.model")
    gain = model.transfer_gain_
    said = " ".join(played[1].split())
    for words in (gain.verdict(), gain.with_source, gain.without_source, gain.with_noise):
        assert str(words) in said
    told = played[2]
    assert told["gain"]["rows"] == told["labelled"] == 50
    assert told["verdict"].startswith(
        TransferClassifier.load(played[0] / "program" / "ours.model").transfer_gain_.verdict()
    )
    for accuracy in told["held_out"].values():
        assert 0.5 < accuracy["low"] < accuracy["value"] < accuracy["high"]


def test_it_repeats_where_it_says(played, monkeypatch):
    monkeypatch.chdir(played[0] / "person")
    line = next(line for line in command_lines(played[1]) if " evaluate ours" in line)
    result = run(*line.split()[1:], "--json")
    right = json.loads(result.stdout)["accuracy"]["value"]
    assert f"{100 * right:.1f} %" in played[1]


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    result = run("demo", "--out", tmp_path / "mine")
    assert isinstance(result.exception, DataError)
    assert "is there already" in str(result.exception)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, DataError("no")])
def test_nothing_half_done_is_left(tmp_path, monkeypatch, end):
    def stop(line):
        raise end

    monkeypatch.setattr(command, "_run", stop)
    assert run("demo", "--out", tmp_path / "new").exit_code != 0
    assert not list(tmp_path.iterdir())


def test_without_a_place_it_makes_one_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(command, "_play", lambda sites, *, quiet: {})
    said = json.loads(run("demo", "--json").stdout)
    assert Path(said["folder"]).parent == tmp_path
    assert (Path(said["folder"]) / "owner.csv").exists()


def test_the_readme_shows_what_it_prints(played):
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = shown.split("```text\n")[1].split("```")[0]
    assert command_lines(shown) == command_lines(played[1])
    assert heads(shown) == heads(played[1])


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
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    (tmp_path / "file").write_text("")
    result = run("reproduce", "figures", "--out", str(tmp_path / "file"))
    assert isinstance(result.exception, DataError)
    assert "cannot write" in str(result.exception)
