"""The page of commands and every help text stay true."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

import dptransfer
from dptransfer import errors
from dptransfer.cli.app import INTERRUPTED, ORDER, app
from dptransfer.cli.audit import VIOLATED

PAGE = Path(dptransfer.__file__).parents[2] / "docs" / "commands.md"
ROOT = typer.main.get_command(app)
OTHERS = {"(done)": 0, "(usage)": 2, "(audit)": VIOLATED, "(interrupted)": INTERRUPTED}


def table(text):
    """The rows of the table of exit codes."""
    rows = re.findall(r"^\| (\S+) +\| (\d+) +\| (.+?) +\|$", text, re.MULTILINE)
    return [(name.strip("`"), int(code), when) for name, code, when in rows]


def commands(command=ROOT, name=()):
    """Every command and group of commands, by the words that call it."""
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*name, word))


COMMANDS = dict(commands())


def examples(text):
    """The command lines in a text, those that go on over lines in one."""
    joined = re.sub(r"\\\n\s*", "", text)
    found = re.findall(r"^\s*(?:Example: )?dptransfer (.+)$", joined, re.MULTILINE)
    return [shlex.split(line.split(" | ")[0]) for line in found]


def test_exit_codes():
    told = {name: code for name, code, _ in table(errors.__doc__)}
    assert told == OTHERS | {
        name: getattr(errors, name).exit_code
        for name in errors.__all__
        if "exit_code" in vars(getattr(errors, name))
    }
    assert len(set(told.values())) == len(told)
    assert table(PAGE.read_text(encoding="utf-8")) == table(errors.__doc__)


def test_every_command_is_on_the_page_in_the_order_of_use():
    page = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"^\*\*`dptransfer (\S+)`\*\*", page, re.MULTILINE)
    assert named == list(ORDER) == ROOT.list_commands(None)
    assert set(ROOT.commands) == set(ORDER)
    assert {words[0] for words in examples(page)} == set(ORDER)


def test_help_lists_commands_in_the_order_of_use():
    said = CliRunner().invoke(app, ["--help"]).stdout
    places = [re.search(rf"^│ {name} ", said, re.MULTILINE).start() for name in ORDER]
    assert places == sorted(places)


@pytest.mark.parametrize("words", list(COMMANDS), ids=" ".join)
def test_every_help_has_an_example_that_is_understood(words):
    lines = examples(COMMANDS[words].help)
    assert lines or not words
    for line in lines:
        understand(line)


def test_every_example_on_the_page_is_understood():
    lines = examples(PAGE.read_text(encoding="utf-8"))
    assert len(lines) >= len(ORDER)
    for line in lines:
        understand(line)


def understand(line):
    """Parse a command line as far as running it."""
    command = ROOT
    while hasattr(command, "commands"):
        command, line = command.commands[line[0]], line[1:]
    command.make_context("example", list(line))


def test_an_example_that_is_wrong_is_not_understood():
    with pytest.raises(Exception, match=r"(?i)no such option"):
        understand(["inspect", "a.release", "--verily", "pub.pem"])
