"""The figures of speed that pages quote are those of the results, to the letter."""

import json
import re

import pytest
from benchmarks.page import ROOT, TASKS, between, pages


@pytest.mark.parametrize("page", ["README.md", "docs/noise.md", "docs/speed.md"])
def test_a_page_says_what_was_measured(page):
    assert (ROOT / page).read_text() == pages()[ROOT / page], "run python -m benchmarks.page"


def test_every_figure_in_the_readme_is_in_the_results():
    """Read back by another way than they were written."""
    runs = json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text())["runs"]
    readme = (ROOT / "README.md").read_text()
    for task, name in TASKS.items():
        line = re.search(rf"^\| {name} \|.*$", readme, re.MULTILINE).group()
        found = re.findall(r"([\d.]+) s → ([\d.]+) s, \*\*([\d.]+)×\*\*", line)
        assert len(found) == len(runs)
        for (literal, ours, times), run in zip(found, runs, strict=True):
            assert float(literal) == pytest.approx(run[task]["literal"], abs=0.051)
            assert float(ours) == pytest.approx(run[task]["dptransfer"], abs=0.0051)
            assert float(times) == pytest.approx(float(literal) / float(ours), rel=0.02)


def test_no_figure_of_speed_stands_outside_the_marks():
    readme = (ROOT / "README.md").read_text()
    assert not re.search(r"\*\*[\d.]+×|\d times (as fast|faster)", between(readme, "speed", []))


def test_marks_that_are_missing_are_said():
    with pytest.raises(SystemExit, match="missing"):
        between("a page without marks", "speed", [])


def test_every_benchmark_is_run_by_make_bench():
    named = set(re.findall(r'^    "(\w+)",', (ROOT / "benchmarks/__main__.py").read_text(), re.M))
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert scripts - {"__init__", "__main__", "common"} == named
