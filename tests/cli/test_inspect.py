import json

import pytest
from clinic import clinic, command, key_files, process
from typer.testing import CliRunner

from dptransfer.cli.app import app
from dptransfer.errors import DPTransferError, ReleaseError
from dptransfer.transfer import container


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clinic")


@pytest.fixture(scope="module")
def released(folder):
    arguments = clinic(folder)
    assert run(*command(folder / "clinic.csv", arguments)).exit_code == 0
    return arguments["--out"]


@pytest.fixture(scope="module")
def signed(folder):
    private, public = key_files(folder)
    arguments = clinic(folder, **{"--sign": private, "--out": folder / "signed.release"})
    assert run(*command(folder / "clinic.csv", arguments)).exit_code == 0
    return arguments["--out"], public


def test_for_a_person(released):
    said = run("inspect", released).stdout
    for words in (
        "data set           clinic",
        "rows               200",
        "columns            3 (5 features)",
        "protects one cell  (epsilon, delta) = (1, 1e-05)",
        "so one whole row   (epsilon, delta) = (3, ",
        "perturbed rows     not in the file",
        "signed             no",
        container.read(released, "release").digest,
        "0 to 120",
        "count as 50",
        "one of none, some, much",
        "refused",
        "What is protected is one element",
        "What is protected is the values of one record",
    ):
        assert words in said


def test_for_a_program(released):
    told = json.loads(run("inspect", released, "--json").stdout)
    assert told["manifest"] == container.read(released, "release").manifest
    assert told["bytes"] == released.stat().st_size
    assert (told["signed"], told["public_key"], told["verified"]) == (False, None, False)


def test_a_signature_is_verified(signed, folder):
    path, public = signed
    assert "NOT verified" in run("inspect", path).stdout
    assert ", verified" in run("inspect", path, "--verify", public).stdout
    assert json.loads(run("inspect", path, "--verify", public, "--json").stdout)["verified"]
    other = key_files(folder, "other")[1]
    refused = run("inspect", path, "--verify", other).exception
    assert isinstance(refused, ReleaseError)
    assert "another key" in str(refused)


def test_what_is_not_signed_is_not_verified(released, signed):
    refused = run("inspect", released, "--verify", signed[1]).exception
    assert isinstance(refused, ReleaseError)
    assert "not signed" in str(refused)


def test_no_file_and_no_key(released, tmp_path):
    assert isinstance(run("inspect", tmp_path / "nowhere").exception, ReleaseError)
    refused = run("inspect", released, "--verify", tmp_path / "nowhere").exception
    assert type(refused) is DPTransferError
    model = tmp_path / "model"
    container.write(model, "model", {}, {})
    assert isinstance(run("inspect", model).exception, ReleaseError)


def test_a_damaged_file_is_exit_code_4(released, tmp_path):
    damaged = tmp_path / "damaged.release"
    damaged.write_bytes(released.read_bytes()[:-1])
    running = process("inspect", damaged)
    out, err = running.communicate()
    assert (running.returncode, out) == (4, "")
    assert err.startswith(f"error: {damaged} ")
    assert err.count("\n") == 1


def test_many_columns_are_not_all_shown(tmp_path):
    import numpy as np

    from dptransfer import Release

    rng = np.random.default_rng(0)
    release = Release.from_samples(
        rng.random((20, 30)), np.arange(20) % 2, epsilon=1, delta=0, bounds=(0, 1), classes=[0, 1]
    )
    release.save(tmp_path / "wide.release")
    said = run("inspect", tmp_path / "wide.release").stdout
    assert "x19" in said
    assert "x20" not in said
    assert "and 10 more" in said
