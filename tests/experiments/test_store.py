import json
import multiprocessing
import os

import pytest

from dptransfer.errors import DataError
from dptransfer.experiments.store import Kept, Store, Trial


def kept(value=90.0):
    return Kept({"target": value}, 1.0)


def test_what_is_added_is_read_in_the_order_of_draws(tmp_path):
    store = Store(tmp_path / "made" / "on the way")
    for draw in (2, 0, 1):
        store.add("digits", 1, Trial("few", draw), kept(draw))
    assert [trial.draw for trial in store.read("digits", 1)] == [0, 1, 2]


def test_another_protocol_is_passed_over(tmp_path):
    store = Store(tmp_path)
    store.add("digits", 1, Trial("few", 0), kept())
    assert store.read("digits", 2) == {}


def test_the_first_line_of_a_trial_counts(tmp_path):
    store = Store(tmp_path)
    for value in (1.0, 2.0):
        store.add("digits", 1, Trial("few", 0), kept(value))
    assert store.read("digits", 1)[Trial("few", 0)].figures == {"target": 1.0}


@pytest.mark.parametrize("cut", range(1, 90, 8))
def test_half_a_line_costs_that_line_alone(tmp_path, cut):
    store = Store(tmp_path)
    store.add("digits", 1, Trial("few", 0), kept())
    store.add("digits", 1, Trial("few", 1), kept())
    path = store.path("digits")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 + cut])
    before = set(store.read("digits", 1))
    assert before in ({Trial("few", 0)}, {Trial("few", 0), Trial("few", 1)})
    store.add("digits", 1, Trial("few", 2), kept())
    assert set(store.read("digits", 1)) == before | {Trial("few", 2)}


@pytest.mark.parametrize("line", ["[]", "3", "{}", '{"task": 1}', "\x00\x01", "null", ""])
def test_what_is_no_trial_is_passed_over(tmp_path, line):
    store = Store(tmp_path)
    store.path("digits").write_text(line + "\n")
    store.add("digits", 1, Trial("few", 0), kept())
    assert len(store.read("digits", 1)) == 1


def test_figures_that_are_no_numbers_are_not_kept(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        Store(tmp_path).add("digits", 1, Trial("few", 0), kept(float("nan")))


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot keep a trial"):
        Store(tmp_path / "file").add("digits", 1, Trial("few", 0), kept())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_said(tmp_path):
    store = Store(tmp_path)
    store.path("digits").symlink_to("/dev/full")
    with pytest.raises(DataError, match="No space left"):
        store.add("digits", 1, Trial("few", 0), kept())


def add_many(folder, first):
    for draw in range(first, first + 50):
        Store(folder).add("digits", 1, Trial("few", draw), kept(draw))


def test_two_processes_do_not_mix_their_lines(tmp_path):
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=add_many, args=(tmp_path, 50 * k)) for k in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    found = Store(tmp_path).read("digits", 1)
    assert {t.draw: k.figures["target"] for t, k in found.items()} == {d: d for d in range(100)}
    # who saw the other's line when it was half written began a new one: an empty line is no harm
    lines = [line for line in Store(tmp_path).path("digits").read_text().splitlines() if line]
    assert len(lines) == 100
    for line in lines:
        json.loads(line)
