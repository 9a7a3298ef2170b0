"""The guide tells the truth: all that it shows is run, and prints what it shows."""

import re
import shutil
from contextlib import chdir

import pytest
from adopter import make_quick
from docs.pages import DOCS, Shown, renewed, run

from dptransfer.cli.app import ORDER

GUIDE = (DOCS / "guide.md").read_text(encoding="utf-8")
FROM_NOISE = ("adapt", "predict", "evaluate", "labels.csv", "python")
CHANGES_WITH_EVERY_RUN = (
    (r"about \d[\d,]*(?!\.)\b", "about N"),  # the counts of a release for records are noisy
    (r"\b[0-9a-f]{64}\b", "HEX"),
    (r"size  +[\d,]+ bytes", "size BYTES"),
)
LEFT_OUT = (  # whether a source is heard is up to the noise too
    r"Note: [^\n]*(?:told apart through its noise|labelled worse with it|speaks of something else)"
    r"[^\n]*\n\n?"
)
CHANGES_WITH_THE_NOISE = (
    (LEFT_OUT, ""),
    (r"(?m)^(P\d+),(?:ill|well),(?:ill|well),\S+,(?:target|source|source2target)$", "A ROW"),
    (r"-?\b\d[\d.,]*(?:e-?\d+)?\b", "0"),
    (r"The source (?:helped\.|did .+?\.(?= Of))|Accuracy was higher.+?\.(?= Of)", "VERDICT"),
    (r"strategy  +\S+", "strategy STRATEGY"),
    (r"decided by  +.+", "decided by SOMEBODY"),
)


def shape(one, text):
    """What must be the same whatever the noise was."""
    masks = CHANGES_WITH_EVERY_RUN
    if any(word in one.command for word in FROM_NOISE):
        masks += CHANGES_WITH_THE_NOISE
    for pattern, instead in masks:
        text = re.sub(pattern, instead, text)
    return [" ".join(line.split()) for line in text.strip().split("\n")]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("the guide makes keys with openssl, which is not here")
    pytest.importorskip("jinja2", reason="the guide writes a report (extra: report)")
    folder = tmp_path_factory.mktemp("guide")
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        make_quick(patch)
        found = list(run(GUIDE))
    made = {"clinic.release", "ours.model", "ours.html", "labels.csv", "python.model"}
    assert made <= {path.name for path in folder.iterdir()}
    return found


def test_it_prints_what_it_shows(shown):
    for one in shown:
        if one.shown.strip():
            assert shape(one, one.new) == shape(one, one.shown), one.command


def test_it_goes_through_every_command_of_the_two_people(shown):
    run_here = {one.command.split()[1] for one in shown if one.command.startswith("dptransfer ")}
    assert run_here == set(ORDER) - {"demo", "audit", "reproduce"}


def test_what_is_renewed_is_what_is_shown(shown):
    again = renewed(GUIDE, shown)
    assert re.sub(r"(?s)```.*?```", "", again) == re.sub(r"(?s)```.*?```", "", GUIDE)
    lines = [re.sub(LEFT_OUT, "", text).count("\n") for text in (again, GUIDE)]
    assert lines[0] == lines[1]


def test_a_page_that_shows_something_else_is_found_out():
    one = Shown("dptransfer ledger init x", "made the ledger y\n", "made the ledger x\n", slice(0))
    assert shape(one, one.new) != shape(one, one.shown)
    one = Shown("dptransfer adapt x", "The source helped. Of 30\n", "Nothing. Of 30\n", slice(0))
    assert shape(one, one.new) != shape(one, one.shown)
