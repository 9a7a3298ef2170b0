"""The page in a real browser: every control works, nothing complains, everybody can read it."""

from itertools import pairwise

import pytest
import report_pages
from browser import CHROMIUM, Browser

from dptransfer.report.rendering import write_page

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the path")

PART = "[aria-labelledby=part-1] table"

CONTRAST = """
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
      if (c[3] > 0) throw new Error("half transparent");
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  let looked = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("script, svg, option")) continue;
    looked += 1;
    const style = getComputedStyle(element);
    const [a, b] = [light(rgba(style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([walker.currentNode.data.trim(), ratio]);
  }
  return { looked, poor };
})()
"""

STRUCTURE = """
({
  headings: [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => +h.tagName[1]),
  language: document.documentElement.lang,
  title: document.title,
  bare: [...document.querySelectorAll("table")]
    .filter((t) => !t.caption?.textContent.trim()).length,
  unscoped: [...document.querySelectorAll("th")].filter((th) => !th.scope).length,
  nameless: [...document.querySelectorAll("section, nav, [role=region], [role=img]")]
    .map((e) => e.ariaLabel || document.getElementById(e.getAttribute("aria-labelledby")))
    .filter((name) => !name).length,
  twice: [...document.querySelectorAll("[id]")].map((e) => e.id)
    .filter((id, n, all) => all.indexOf(id) !== n),
  broken: [...document.querySelectorAll("a[href^='#']")]
    .filter((a) => !document.getElementById(a.hash.slice(1))).length,
})
"""

FOCUSED = """
(() => {
  const e = document.activeElement;
  const shown = e.type === "radio" ? e.nextElementSibling : e;
  const style = getComputedStyle(shown);
  return [e.tagName, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
          e.id || e.textContent || e.value];
})()
"""


@pytest.fixture(scope="module")
def browser():
    started = Browser()
    yield started
    started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        "adaptation": write_page(report_pages.adaptation(), folder / "adaptation.html"),
        "results": write_page(report_pages.results(), folder / "results.html"),
    }


@pytest.fixture(params=["adaptation", "results"])
def page(request, browser, files):
    return opened(browser, files[request.param])


@pytest.fixture
def adaptation(browser, files):
    return opened(browser, files["adaptation"])


@pytest.fixture
def results(browser, files):
    return opened(browser, files["results"])


def opened(browser, path):
    browser.scripts(True)
    browser.emulate()
    browser.resize(900, 1200)
    browser.open(path.as_uri())
    return browser


def column(browser, table, n):
    return browser.run(
        f"[...document.querySelectorAll('{table} tbody tr')].filter(r => !r.hidden)"
        f".map(r => r.cells[{n}].innerText.trim())"
    )


def is_dark(browser):
    colour = browser.run("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")) < 3 * 128


def test_every_control_can_be_clicked_and_nothing_complains(page):
    page.run("window.print = () => { window.printed = (window.printed ?? 0) + 1 }")
    count = page.run(
        "[...document.querySelectorAll('button, input, select, summary, a')].filter("
        "e => e.checkVisibility()).map((e, n) => e.dataset.n = n).length"
    )
    assert count >= 8
    for n in range(count):
        page.click(f"[data-n='{n}']")
    assert page.run("window.printed") == 1
    assert page.complaints() == []


def test_the_complaints_of_a_page_that_has_some_are_heard(browser, tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text("<script>console.error('no'); fetch('http://localhost:9/x'); gone()</script>")
    browser.open(broken.as_uri())
    browser.run("new Promise(r => setTimeout(r, 200))")
    said = " ".join(browser.complaints())
    assert "no" in said
    assert "localhost:9" in said
    assert "gone" in said


def test_nothing_is_fetched(page):
    urls = [event["request"]["url"] for event in page.seen("Network.requestWillBeSent")]
    assert {url.split(":")[0] for url in urls} <= {"file", "data"}
    assert len([url for url in urls if url.startswith("file")]) == 1


def test_what_means_harm_is_only_read(page):
    assert page.run("document.body.textContent").count(report_pages.EVIL) >= 3
    assert page.run("document.querySelectorAll('script').length") == 1
    assert page.run("document.querySelectorAll('img, iframe, object, image').length") == 0
    assert page.complaints() == []


def test_a_foreign_script_would_not_run(adaptation):
    adaptation.run(
        "document.body.append(Object.assign(document.createElement('script'),"
        "{textContent: 'window.harmed = true'})); document.body.insertAdjacentHTML('beforeend',"
        "'<b onclick=\"window.harmed = true\" id=bait>x</b>');"
        "document.getElementById('bait').click()"
    )
    assert adaptation.run("window.harmed") is None
    assert any("Content Security Policy" in said for said in adaptation.complaints())


def test_light_and_dark_follow_the_system_until_the_reader_chooses(page):
    assert not is_dark(page)
    page.emulate(dark=True)
    assert is_dark(page)
    page.click("[value=light]")
    assert not is_dark(page)
    page.emulate()
    page.click("[value=dark]")
    assert is_dark(page)
    page.emulate(dark=True)
    page.click("[value=auto]")
    assert is_dark(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_can_be_told_from_its_background(page, dark):
    page.emulate(dark=dark)
    seen = page.run(CONTRAST)
    assert seen["looked"] > 40
    assert seen["poor"] == []


def test_the_structure_can_be_read_aloud(page):
    seen = page.run(STRUCTURE)
    headings = seen.pop("headings")
    assert headings.count(1) == 1
    assert headings[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(headings))
    assert seen.pop("language") == "en"
    assert seen.pop("title")
    assert seen == {"bare": 0, "unscoped": 0, "nameless": 0, "twice": [], "broken": 0}
    controls = page.controls()
    assert len(controls) >= 8
    assert all(name.strip() for _, name in controls)


def test_everything_is_reached_by_the_tab_key_and_seen_to_be(page):
    wanted = page.run(
        "[...document.querySelectorAll('a, button, select, summary, [tabindex], [type=search],"
        " [type=checkbox], [type=radio]:checked')].filter(e => e.checkVisibility()).length"
    )
    reached = set()
    for _ in range(wanted):
        page.press("Tab")
        tag, visible, name = page.run(FOCUSED)
        assert tag != "BODY"
        assert visible, (tag, name)
        reached.add(page.run("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    assert len(reached) == wanted


def test_a_table_is_sorted_by_the_keyboard(adaptation):
    adaptation.run("document.querySelectorAll('#hardest .sort')[0].focus()")
    adaptation.press("Enter")
    assert column(adaptation, "#hardest", 0) == [str(n) for n in range(1, 13)]
    adaptation.press(" ")
    assert column(adaptation, "#hardest", 0) == [str(n) for n in range(12, 0, -1)]
    sorts = "[...document.querySelectorAll('#hardest th')].map(h => h.ariaSort).filter(Boolean)"
    assert adaptation.run(sorts) == ["descending"]
    adaptation.click("#hardest th:nth-child(4) .sort")
    shares = [int(cell) for cell in column(adaptation, "#hardest", 3)]
    assert shares == sorted(shares)
    assert adaptation.run(sorts) == ["ascending"]


def test_classes_are_sorted_by_what_their_cells_are_worth(adaptation):
    first = column(adaptation, "#classes", 0)
    adaptation.click("#classes th:nth-child(3) .sort")
    found = [float(cell.split()[0]) for cell in column(adaptation, "#classes", 2)]
    assert found == sorted(found)
    adaptation.click("#classes th:nth-child(1) .sort")
    assert sorted(column(adaptation, "#classes", 0)) == sorted(first)


def test_results_are_sorted_as_numbers_with_what_is_missing_last(results):
    results.click(f"{PART} th:nth-child(4) .sort")
    assert column(results, PART, 3)[:3] == ["−0.6", "+0.1", "–"]
    results.click(f"{PART} th:nth-child(4) .sort")
    assert column(results, PART, 3)[:3] == ["+0.1", "−0.6", "–"]


def test_the_confusions_are_shown_as_counts_or_as_shares(adaptation):
    counts = column(adaptation, "#confusion", 1)
    assert counts == ["16", "1", "0"]
    adaptation.run("document.querySelector('#unit input').focus()")
    adaptation.press("ArrowRight")
    assert column(adaptation, "#confusion", 1) == ["94 %", "6 %", "0 %"]
    adaptation.click("#unit [value=count]")
    assert column(adaptation, "#confusion", 1) == counts


def test_the_hardest_rows_are_filtered(adaptation):
    assert len(column(adaptation, "#hardest", 0)) == 12
    adaptation.run("document.getElementById('kind').focus()")
    adaptation.press("ArrowDown", 3)
    assert column(adaptation, "#hardest", 1) == ["none"] * 4
    assert adaptation.run("document.getElementById('shown').textContent") == "4 of 12 rows"
    adaptation.run("document.getElementById('search').focus()")
    adaptation.write("<SCRIPT>")
    assert len(column(adaptation, "#hardest", 0)) == 4
    adaptation.write(" nowhere")
    assert column(adaptation, "#hardest", 0) == []
    assert adaptation.run("document.getElementById('shown').textContent") == "0 of 12 rows"


def test_only_marked_lines_are_shown(results):
    assert len(column(results, PART, 0)) == 3
    results.run("document.getElementById('marked').focus()")
    results.press(" ")
    marked = column(results, PART, 0)
    assert marked == [report_pages.EVIL]


def test_without_a_script_everything_is_said(page):
    def said():
        return page.run(
            "[...document.querySelectorAll('h1, h2, h3, p:not(.status), li, caption, th, td,"
            " figcaption')].filter(e => !e.closest('.controls')).map(e => e.textContent.trim())"
        )

    with_script = said()
    page.scripts(False)
    page.call("Page.reload")
    page.events.clear()
    while not page.seen("Page.loadEventFired"):
        page.events.append(page._read())
    assert said() == with_script
    assert page.run("document.querySelectorAll('.sort').length") == 0
    visible = "[...document.querySelectorAll('{}')].filter(e => e.checkVisibility()).length"
    assert page.run(visible.format("button, input, select")) == 0
    assert page.run(visible.format("tbody tr")) == page.run(
        "document.querySelectorAll('tbody tr').length"
    )


def test_a_telephone_is_wide_enough(page):
    page.resize(320, 640)
    assert page.run("document.documentElement.scrollWidth") <= 320


def test_on_paper_it_is_light_and_without_controls(page):
    page.emulate(media="print", dark=True)
    page.run("document.documentElement.dataset.colours = 'dark'")
    assert not is_dark(page)
    assert (
        page.run(
            "[...document.querySelectorAll('input, select, nav')]"
            ".filter(e => e.checkVisibility()).length"
        )
        == 0
    )
    assert page.run(CONTRAST)["poor"] == []
    page.emulate()
    assert page.pdf().startswith(b"%PDF")
