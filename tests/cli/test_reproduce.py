"""`dptransfer reproduce mnist` and its like: what is said before any work is done."""

import pytest
from typer.testing import CliRunner

from dptransfer.cli.app import app
from dptransfer.errors import DataError


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mnist", "Put mnist.npz"),
        ("usps-mnist", "Put mnist.npz"),
        ("office-caltech", "put office_caltech_cnn.npz"),
    ],
)
def test_data_that_are_missing_are_named_before_the_work(tmp_path, monkeypatch, name, words):
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    arguments = ["reproduce", name, "--quick", "--out", str(tmp_path / "out")]
    told = CliRunner().invoke(app, arguments)
    assert isinstance(told.exception, DataError)
    assert words in str(told.exception)
    assert not (tmp_path / "out").exists()
