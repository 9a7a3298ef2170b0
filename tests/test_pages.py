"""Every snippet on every page runs, and every link to a file leads somewhere."""

import doctest
import importlib
import operator
import re
import tomllib
from pathlib import Path

import pytest

import dptransfer

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_function_that_theory_names_is_there():
    """`numerics.kernel.kernel`, `MembershipMapping.learn`; `.lloyd` is of what was named before."""
    owner, found = None, 0
    for name in re.findall(r"`([\w.]+)`", (ROOT / "docs/theory.md").read_text()):
        module = re.match(r"(numerics|models|transfer|experiments)\.\w+", name)
        first, _, rest = name.partition(".")
        if module:
            owner = importlib.import_module(f"dptransfer.{module.group()}")
            rest = name.removeprefix(module.group()).strip(".")
        elif first and hasattr(dptransfer, first):
            owner = getattr(dptransfer, first)
        elif first:
            continue
        if rest:
            assert operator.attrgetter(rest)(owner) is not None, name
        found += 1
    assert found > 20


def test_every_dependency_is_named_with_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(each for extra in extras for each in extra)]
    page = (ROOT / "docs/architecture.md").read_text().lower()
    for name in {re.match(r"[\w-]+", each).group() for each in wanted} - {"dptransfer"}:
        assert re.search(rf"\b{name}\b", page), name
