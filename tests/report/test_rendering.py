"""The page as text: whole, closed, escaped, and the same each time."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest
import report_pages
from guarantees import record

from dptransfer.errors import DataError, DPTransferError
from dptransfer.privacy import Guarantee
from dptransfer.report.page import Answers, Promise
from dptransfer.report.rendering import Scale, render, write_page
from dptransfer.report.svg import inline_svg
from dptransfer.transfer.gain import Interval, TransferGain


def words(html):
    body = html[html.index("<body") : html.index("<script>")]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_the_guarantee_comes_first_and_in_words():
    page = report_pages.adaptation()
    said = words(render(page))
    protected = "What is protected is one element"
    places = [said.index(each) for each in (protected, "The source helped.", "labelled rows were")]
    assert places == sorted(places)
    statement = page.promises[0].guarantee.statement()
    for sentence in re.split(r"(?<=\.) (?=[A-Z])", statement.split(" Not covered: ")[0]):
        assert sentence.replace("<", "&lt;") in said
    for each in page.promises[0].guarantee.not_covered:
        assert each in said


def test_nothing_that_comes_from_data_is_markup():
    for page in (report_pages.adaptation(), report_pages.results()):
        html = render(page)
        assert html.count("<script") == 1
        assert "onerror=alert(1)>" not in html
        assert "http" not in re.sub(r'http-equiv|xmlns[^"]*"[^"]*"', "", html)


def test_the_same_page_is_the_same_text():
    assert render(report_pages.adaptation()) == render(report_pages.adaptation())


def test_a_record_has_one_promise_only():
    page = report_pages.adaptation(promises=(Promise("sums", record()),))
    said = words(render(page))
    assert "What is protected is one record" in said
    assert "One cell of one row" not in said


def test_what_is_not_protected_at_all_is_said():
    cell = Guarantee(
        "element", 1.0, 0.5, 1.0, mechanism="x", adjacency="d-adjacency", not_covered=()
    )
    loose = Promise(
        "loose", cell, {"One whole row": cell.per_record(20, delta=0.5)}, repeatable=True
    )
    said = words(render(report_pages.adaptation(promises=(loose,))))
    assert "Nothing is protected here." in said
    assert "One whole row infinite 0.5 1.0000" in said
    assert "nothing was declared" in said


def test_several_releases_have_their_names():
    two = [Promise(name, record()) for name in ("first owner", "second owner")]
    html = render(report_pages.adaptation(promises=tuple(two)))
    assert "<h3>first owner</h3>" in html
    assert "<h3>second owner</h3>" in html


def test_a_page_with_nothing_to_say_says_so():
    page = report_pages.adaptation(
        promises=(), gain=None, answers=None, hard=(), decided={}, notes=(), parameters={}
    )
    said = words(render(page))
    for each in (
        "no release here",
        "no source",
        "nothing honest can be said",
        "No row is in doubt",
    ):
        assert each in said


def test_a_gain_that_could_not_be_measured():
    said = words(render(report_pages.adaptation(gain=TransferGain(0, 0, 0, 10))))
    assert "cannot be said" in said


def test_a_class_that_no_row_has_is_no_division_by_nothing():
    answers = Answers(("a", "b"), ((3, 1), (0, 0)))
    assert answers.by_class[1].found is None
    assert answers.by_class[1].trusted == 0
    assert answers.by_class[0].rows == 4
    assert "–" in words(render(report_pages.adaptation(answers=answers)))


def test_many_classes_are_listed_by_their_confusions():
    html = render(report_pages.adaptation(classes=tuple(f"class {n}" for n in range(40))))
    assert 'id="confusion"' not in html
    assert "Most frequent" in html


def test_answers_count_rows_once_however_often_they_were_held_out():
    once, twice = Answers(("a", "b"), ((9, 1), (4, 6))), Answers(("a", "b"), ((18, 2), (8, 12)), 2)
    assert once.accuracy == twice.accuracy
    assert once.by_class == twice.by_class


def test_a_scale_leaves_nothing_out():
    scale = Scale.of_shares([Interval(0.5, 0.31, 0.7), None])
    assert scale.low <= 0.31
    assert Scale.of_shares([None]).high == 1
    assert Scale.of_differences([Interval(-0.4, -0.62, 0.1)]).low <= -0.62
    assert Scale(0.0, 1.0).place(7.0) == 100


def test_a_failed_write_leaves_the_old_page(tmp_path):
    old = tmp_path / "page.html"
    old.write_text("old")
    with pytest.raises(DataError, match="cannot be written"):
        write_page(report_pages.adaptation(), tmp_path / "nowhere" / "page.html")
    broken = replace(report_pages.adaptation(), answers=3)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whichever
        write_page(broken, old)
    assert old.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_without_jinja2_it_says_what_to_install():
    script = (
        "import sys; sys.path.insert(0, 'tests'); sys.modules['jinja2'] = None\n"
        "import report_pages\nfrom dptransfer.report.rendering import render\n"
        "from dptransfer.errors import DPTransferError\n"
        "try: render(report_pages.adaptation())\n"
        "except DPTransferError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "dptransfer[report]" in done.stdout
    assert issubclass(DataError, DPTransferError)


# Drawings ----------------------------------------------------------------------------------------


def test_only_what_draws_is_left_of_a_drawing():
    drawn = inline_svg(report_pages.DRAWING, "f", "what it shows")
    for harm in ("script", "alert", "elsewhere", "image", "style", "onclick"):
        assert harm not in drawn
    assert 'aria-label="what it shows"' in drawn
    assert 'stroke="currentColor"' in drawn
    assert "#ffffff" not in drawn
    assert 'href="#f-a"' in drawn
    assert 'id="f-a"' in drawn
    assert "url(#f-a)" in drawn
    assert "ε &lt; <tspan>1</tspan> or so" in drawn


@pytest.mark.parametrize("text", ["", "no drawing", "<svg>", "<html></html>"])
def test_what_is_no_drawing_is_refused(text):
    with pytest.raises(DataError, match="is not SVG"):
        inline_svg(text, "f", "")


def test_a_drawing_without_a_box_gets_one():
    assert 'viewBox="0 0 20 10"' in inline_svg('<svg width="20pt" height="10pt"/>', "f", "")


def test_a_drawing_may_hold_pixels_of_its_own():
    pixels = "data:image/png;base64,iVBORw0KGgo="
    image = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{pixels}" width="3"/></svg>'
    assert f'href="{pixels}"' in inline_svg(image, "f", "")
    assert "<image" not in inline_svg(image.replace("data:", "http://x.test/"), "f", "")


def test_matplotlibs_drawings_stay_whole():
    figure_module = pytest.importorskip("matplotlib.figure")
    import io

    figure = figure_module.Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([1, 2, 3], label="line")
    axes.legend()
    text = io.StringIO()
    figure.savefig(text, format="svg")
    drawn = inline_svg(text.getvalue(), "f", "a line")
    uses = set(re.findall(r'href="#([^"]+)"', drawn)) | set(re.findall(r"url\(#([^)]+)\)", drawn))
    assert uses <= set(re.findall(r'id="([^"]+)"', drawn))
    assert len(uses) > 5
    assert "ns0:" not in drawn
