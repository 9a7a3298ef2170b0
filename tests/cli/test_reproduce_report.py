"""`dptransfer reproduce show --report`: what has been measured, as one page."""

from typer.testing import CliRunner

from dptransfer.cli.app import app
from dptransfer.errors import DataError
from dptransfer.experiments.mnist_usps import TASK, MnistUsps
from dptransfer.experiments.store import Kept, Store, Trial


def show(*arguments):
    return CliRunner().invoke(app, ["reproduce", "show", *map(str, arguments)])


def test_the_page_is_written_beside_what_is_printed(tmp_path):
    for draw, value in enumerate([91.0, 93.0]):
        figures = {"rule@0.1": value, "target": value - 1, "rule@noise": value}
        Store(tmp_path).add("mnist-usps", MnistUsps.protocol, Trial(TASK, draw), Kept(figures, 1.0))
    page = tmp_path / "results.html"
    told = show("--out", tmp_path, "--report", page, "--format", "csv")
    assert told.exit_code == 0
    assert told.output.startswith("table,row")
    html = page.read_text(encoding="utf-8")
    assert "MNIST→USPS" in html
    assert "92.0 ± 1.4" in html
    assert "+1.0" in html


def test_a_page_that_cannot_be_written_is_said(tmp_path):
    Store(tmp_path).add(
        "mnist-usps", MnistUsps.protocol, Trial(TASK, 0), Kept({"rule@0.1": 91.0}, 1.0)
    )
    told = show("--out", tmp_path, "--report", tmp_path / "none" / "results.html")
    assert isinstance(told.exception, DataError)


def test_nothing_measured_writes_no_page(tmp_path):
    told = show("--out", tmp_path, "--report", tmp_path / "results.html")
    assert isinstance(told.exception, DataError)
    assert not (tmp_path / "results.html").exists()
