import json

import pytest
from typer.testing import CliRunner

from dptransfer.cli.app import app
from dptransfer.cli.audit import VIOLATED
from dptransfer.errors import ParameterError

SMALL = ["--cells", "4000", "--calls", "10"]


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments, *SMALL])


@pytest.mark.parametrize("noise", ["optimal", "laplace"])
def test_ours_for_a_person(noise):
    result = run("--epsilon", "2", "--delta", "1e-3", "--noise", noise, "--confidence", "0.999999")
    assert result.exit_code == 0
    assert "(2, 0.001)" in result.stdout
    assert "no proof of safety" in result.stdout
    assert not result.stderr


def test_ones_own_for_a_program(tmp_path, monkeypatch):
    (tmp_path / "my_noise.py").write_text("def nothing_at_all(values):\n    return values\n")
    monkeypatch.chdir(tmp_path)
    result = run(
        "--epsilon", "1", "--delta", "0", "--mechanism", "my_noise:nothing_at_all", "--json"
    )
    assert result.exit_code == VIOLATED
    assert json.loads(result.stdout)["violated"] is True


@pytest.mark.parametrize("place", ["nowhere:f", "json", "json:nothing", ":", "json:__name__", ""])
def test_what_is_not_a_function(place):
    result = run("--epsilon", "1", "--delta", "0", f"--mechanism={place}x")
    assert isinstance(result.exception, ParameterError)
