import doctest
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "privacy.md"


def test_the_examples_of_the_page_run():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0
