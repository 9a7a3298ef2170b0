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


def rows_under(page, heading):
    """The cells of the Markdown table that begins with this heading, without stars and spaces."""
    lines = (ROOT / page).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip().replace("−", "-") for cell in line.strip("|").split("|")]


def results(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def numbers(cell):
    return [float(number) for number in re.findall(r"-?\d[\d.]*(?:e-?\d+)?", cell)]


def test_what_a_record_comes_to_is_as_computed():
    table = {(r["times"], r["epsilon"]): r for r in results("per_record")["table"]}
    found = list(rows_under("docs/privacy.md", "record"))
    assert len(found) == 6
    for _, cells, epsilon, together, guess, basic, least in found:
        r = table[int(cells), float(epsilon)]
        assert numbers(together) == pytest.approx(r["composed"], rel=6e-3)
        assert numbers(basic) == pytest.approx(r["basic"], rel=6e-3)
        assert 0 <= float(guess) - r["best_guess"] <= 1e-3  # rounded up: nothing is promised away
        assert float(least) == pytest.approx(r["no_epsilon_below_delta"], rel=6e-3)


def test_attacks_are_as_measured():
    table = results("privacy_attacks")["table"]
    found = list(rows_under("docs/privacy.md", "ε of a pixel"))
    for cells, r in zip(found, table, strict=True):
        assert float(cells[0]) == r["epsilon"]
        told = [r["element"], r["member_others_known"], r["member_from_rows"]]
        told.append(r["member_from_mean"])
        for cell, measured in zip([cells[1], *cells[3:6]], told, strict=True):
            expected = [measured["value"], measured["low"], measured["high"]]
            assert numbers(cell) == pytest.approx(expected, abs=5.1e-4)


def test_audits_are_as_measured():
    audits = results("privacy_audit")["audits"]
    found = list(rows_under("docs/privacy.md", "mechanism"))
    for name, *cells in found:
        measured = [a for a in audits if a["mechanism"].replace("delta", "δ") == name]
        for cell, a in zip(cells, measured, strict=True):
            assert cell.startswith("**") == a["violated"]
            bound = max(a["epsilon_lower"], a["one_run"])
            assert numbers(cell) == pytest.approx([bound], abs=5.1e-3)
    assert len(found) * 4 == len(audits)


def test_noise_is_as_computed_and_measured():
    table = results("mechanisms")["one element"]
    found = list(rows_under("docs/noise.md", "ε"))
    names = ["optimal", "optimal released", "laplace", "laplace released", "gaussian"]
    for (epsilon, delta, *cells), r in zip(found, table, strict=True):
        assert (float(epsilon), float(delta)) == (r["epsilon"], r["delta"])
        for cell, name in zip(cells, names, strict=True):
            assert numbers(cell) == pytest.approx([r[name]], rel=6e-4)
