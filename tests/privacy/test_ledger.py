import json
import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from guarantees import element, record

from dptransfer.errors import BudgetExceeded, DPTransferError, LedgerError, ParameterError
from dptransfer.privacy import Guarantee, Ledger
from dptransfer.privacy.accounting import compose_epsilon

CHILD = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from guarantees import element
from dptransfer.errors import BudgetExceeded, LedgerError
from dptransfer.privacy import Ledger
path = sys.argv[1]
"""


def child(code, *arguments, **options):
    command = [sys.executable, "-c", CHILD + textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a book of releases.ledger"


@pytest.fixture
def book(path):
    return Ledger.create(path)


def until_refused(book, *guarantees):
    """How many releases the book holds when it refuses the next."""
    for _ in range(200):
        try:
            book.spend("clinic", *guarantees)
        except BudgetExceeded:
            return len({entry.release for entry in book.entries("clinic")})
    raise AssertionError("never refused")


# The rules


def test_a_release_is_entered_and_the_next_refused(book):
    book.set_budget("clinic", element(0.25, 1e-4))
    assert [book.spend("clinic", element()) for _ in range(2)] == [1, 2]
    with pytest.raises(
        BudgetExceeded, match=r"'clinic'.*\(0.25, 0.0001\); 2 .*epsilon 0.199.*\(0.1, "
    ):
        book.spend("clinic", element())
    assert [entry.guarantee for entry in book.entries("clinic")] == [element(), element()]
    balance = book.remaining("clinic")["element"]
    assert balance.epsilon_spent == pytest.approx(0.2, abs=1e-3)
    assert balance.epsilon_left == pytest.approx(0.05, abs=1e-3)
    assert balance.delta_spent == pytest.approx(2e-5)
    book.spend("clinic", element(0.05, 0.0))


def test_delta_is_a_budget_too(book):
    book.set_budget("clinic", element(10.0, 1e-5))
    book.spend("clinic", element(0.1, 1e-5))
    with pytest.raises(BudgetExceeded):
        book.spend("clinic", element(0.1, 1e-9))


def test_many_releases_cost_less_than_their_sum(book):
    """Basic composition would stop at 10; privacy-loss distributions go further, and stop too."""
    book.set_budget("clinic", element(1.0, 1e-2))
    entered = until_refused(book, element())
    assert entered > 12
    assert compose_epsilon([(0.1, 1e-5)] * entered, 1e-2) <= 1.0
    assert compose_epsilon([(0.1, 1e-5)] * (entered + 1), 1e-2) > 1.0


def test_ten_tenths_are_one(book):
    book.set_budget("clinic", element(1.0, 0.0))
    for _ in range(10):
        book.spend("clinic", element(0.1, 0.0))
    with pytest.raises(BudgetExceeded):
        book.spend("clinic", element(1e-6, 0.0))


def test_no_budget_no_release(book):
    with pytest.raises(LedgerError, match=r"no budget is declared for 'clinic'.*ledger budget"):
        book.spend("clinic", element())
    with pytest.raises(LedgerError, match="no budget"):
        book.remaining("clinic")
    assert book.entries("clinic") == []


def test_data_sets_do_not_share(book):
    for name in ("clinic", "ward"):
        book.set_budget(name, element(0.1, 1e-5))
        book.spend(name, element(0.1, 1e-5))
    assert book.names() == ["clinic", "ward"]


def test_one_spelling_one_account(book):
    book.set_budget("Zürich", element(0.1, 1e-5))
    book.spend(" Zu\u0308rich ", element(0.1, 1e-5))
    with pytest.raises(BudgetExceeded):
        book.spend("Zürich", element(0.1, 1e-5))


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a" * 201, 3, None])
def test_a_name_is_a_name(book, name):
    with pytest.raises(ParameterError, match="name"):
        book.set_budget(name, element())


def test_units_are_counted_apart_and_never_left_out(book):
    cells = element().per_record(4)
    book.set_budget("clinic", element(1.0, 1e-3))
    book.set_budget("clinic", replace(cells, epsilon=2.0, delta=1e-3))
    with pytest.raises(LedgerError, match=r"budget for one record.*per_record"):
        book.spend("clinic", element())
    book.spend("clinic", element(), cells)
    assert {unit: b.releases for unit, b in book.remaining("clinic").items()} == {
        "element": 1,
        "record": 1,
    }
    assert until_refused(book, element(), cells) < 9
    with pytest.raises(ParameterError, match="once for each unit"):
        book.spend("clinic", element(), element())
    with pytest.raises(ParameterError, match="once for each unit"):
        book.spend("clinic")


def test_the_units_that_a_release_must_state(book):
    assert book.units("clinic") == ()
    book.set_budget("clinic", element().per_record(4))
    assert book.units("clinic") == ("record",)
    book.set_budget("clinic", element())
    assert book.units(" clinic") == ("element", "record")


def test_to_check_is_not_to_spend(book):
    book.set_budget("clinic", element(0.25, 1e-4))
    before = book.path.read_bytes()
    for _ in range(5):
        book.check("clinic", element())
    assert book.path.read_bytes() == before
    assert book.entries("clinic") == []
    assert book.spend("clinic", element()) == 1


@pytest.mark.parametrize(
    ("name", "guarantees", "error"),
    [
        ("clinic", [element(0.2)], BudgetExceeded),
        ("clinic", [element(0.1, 1e-4)], BudgetExceeded),
        ("clinic", [element(distance=2.0)], ParameterError),
        ("clinic", [record()], LedgerError),
        ("clinic", [element(), element()], ParameterError),
        ("clinic", [], ParameterError),
        ("unknown", [element()], LedgerError),
        ("", [element()], ParameterError),
    ],
)
def test_a_check_refuses_what_spend_refuses_in_the_same_words(book, name, guarantees, error):
    book.set_budget("clinic", element(0.15, 1e-5))
    said = []
    for attempt in (book.check, book.spend):
        with pytest.raises(error) as refused:
            attempt(name, *guarantees)
        assert type(refused.value) is error
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_neighbours_must_agree(book):
    book.set_budget("clinic", element(1.0, 1e-3))
    with pytest.raises(ParameterError, match="distance"):
        book.spend("clinic", element(distance=0.5))
    book.set_budget("ward", record())
    with pytest.raises(LedgerError, match="one record"):
        book.spend("ward", element())
    with pytest.raises(ParameterError, match="adjacency"):
        book.spend("ward", element(), element().per_record(3))
    assert book.entries("clinic") == book.entries("ward") == []


def test_a_budget_moves_but_not_under_what_is_spent(book):
    book.set_budget("clinic", element(0.1, 1e-5))
    book.spend("clinic", element(0.1, 1e-5))
    book.set_budget("clinic", element(0.2, 1e-4))
    with pytest.raises(BudgetExceeded, match="set the budget to what is spent"):
        book.set_budget("clinic", element(0.05, 1e-5))
    with pytest.raises(ParameterError, match="distance"):
        book.set_budget("clinic", element(0.2, 1e-4, distance=2.0))
    book.set_budget("clinic", element(0.1, 1e-5))
    with pytest.raises(BudgetExceeded):
        book.spend("clinic", element(0.001, 0.0))
    told = [(e.release, e.guarantee.epsilon) for e in book.history("clinic")]
    assert told == [(None, 0.1), (1, 0.1), (None, 0.2), (None, 0.1)]


def test_a_unit_that_was_not_counted_gets_no_budget(book):
    book.set_budget("clinic", element(1.0, 1e-3))
    book.spend("clinic", element())
    with pytest.raises(LedgerError, match="1 releases of 'clinic' were entered without"):
        book.set_budget("clinic", element(9.0, 1e-3).per_record(2))


def test_a_budget_is_finite(book):
    with pytest.raises(ParameterError, match="finite"):
        book.set_budget("clinic", element(float("inf"), 1e-3))


# The file


def test_only_the_owner_reads_it(book):
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600


def test_a_mistyped_path_makes_nothing(path):
    with pytest.raises(LedgerError, match=r"no ledger at.*ledger init"):
        Ledger(path)
    assert not path.exists()


def test_nothing_is_overwritten(book, tmp_path):
    book.set_budget("clinic", element())
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    for taken in (book.path, other):
        before = taken.read_bytes()
        with pytest.raises(LedgerError, match="never overwrites"):
            Ledger.create(taken)
        assert taken.read_bytes() == before


def test_creation_goes_on_where_it_was_killed(path):
    path.touch()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)
    assert Ledger.create(path).names() == []


def test_what_is_not_a_ledger(tmp_path):
    text, other, folder = tmp_path / "text", tmp_path / "other.db", tmp_path / "folder"
    text.write_text("x" * 5000)
    sqlite3.connect(other).execute("CREATE TABLE entries (a)")
    folder.mkdir()
    for wrong in (text, other, folder):
        with pytest.raises(LedgerError, match="ledger"):
            Ledger(wrong)


def test_a_ledger_of_another_version(book):
    with sqlite3.connect(book.path) as raw:
        raw.execute("PRAGMA user_version = 7")
    with pytest.raises(LedgerError, match="version 7"):
        book.names()


def test_rows_are_only_added(book):
    book.set_budget("clinic", element())
    raw = sqlite3.connect(book.path)
    for command in ("DELETE FROM entries", "UPDATE entries SET name = 'x'"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
            raw.execute(command)


def test_cut_off_or_scrambled_at_any_place(book, tmp_path):
    """Cut off, it is refused; scrambled, it is refused or (in unused bytes) says the same."""
    book.set_budget("clinic", element(5.0, 1e-2))
    for _ in range(30):
        book.spend("clinic", element())
    entries, whole = book.entries("clinic"), book.path.read_bytes()
    random, spoilt, refused = Random(0), tmp_path / "spoilt.ledger", 0
    for _ in range(30):
        at = random.randrange(len(whole))
        spoilt.write_bytes(whole[:at])
        with pytest.raises(LedgerError):
            Ledger(spoilt).entries("clinic")
        spoilt.write_bytes(whole[:at] + random.randbytes(64) + whole[at + 64 :])
        try:
            assert Ledger(spoilt).entries("clinic") == entries
        except DPTransferError:
            refused += 1
    assert refused > 5


def test_a_row_that_makes_no_sense_is_not_skipped(book):
    book.set_budget("clinic", element())
    with sqlite3.connect(book.path) as raw:
        raw.execute("INSERT INTO entries VALUES (9, 1, '', 'clinic', 'element', '{}')")
    with pytest.raises(LedgerError, match="damaged"):
        book.spend("clinic", element())


def test_a_folder_that_may_not_be_written(book):
    """As another user where the tests run as root, for root may write anywhere."""
    book.set_budget("clinic", element())
    code = """
        import os
        if os.geteuid() == 0:
            os.setuid(65534)
        book = Ledger(path)
        print(len(book.history("clinic")))
        for attempt in (lambda: book.spend("clinic", element(0.1, 1e-5)),
                        lambda: book.check("clinic", element(0.1, 1e-5)),
                        lambda: Ledger.create(path + ".new")):
            try:
                attempt()
            except LedgerError as error:
                print(error)
    """
    os.chmod(book.path, 0o444)
    os.chmod(book.path.parent, 0o555)
    place = book.path
    if os.geteuid() == 0:  # pytest's own folders are closed to other users
        place = place.__class__("/tmp") / f"dptransfer-{os.getpid()}" / book.path.name
        place.parent.mkdir()
        shutil.copy2(book.path, place)
        os.chmod(place.parent, 0o555)
    try:
        said, wrong = child(code, place).communicate()
    finally:
        os.chmod(book.path.parent, 0o755)
        if place != book.path:
            os.chmod(place.parent, 0o755)
            shutil.rmtree(place.parent)
    lines = said.splitlines()
    assert lines[0] == "1", wrong
    assert "may not be written; nothing was entered" in lines[1]
    assert lines[2] == lines[1]
    assert "cannot make a ledger" in lines[3]


def test_a_full_disk(book):
    book.set_budget("clinic", element(50.0, 1e-2))
    size = book.path.stat().st_size
    process = child(
        """
        book, entered = Ledger(path), 0
        try:
            while True:
                book.spend("clinic", element(0.01, 1e-6))
                entered += 1
        except LedgerError as error:
            print(entered, error)
        """,
        book.path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8192, size + 8192)),
    )
    said, wrong = process.communicate()
    entered, words = said.split(" ", 1)
    assert "nothing was entered" in words, wrong
    assert int(entered) > 1
    assert len(book.entries("clinic")) == int(entered)
    book.spend("clinic", element(0.01, 1e-6))


# Many processes, and those that die. Forked, so that what is heavy is imported only once.

FORK = multiprocessing.get_context("fork")


def at_once(run, count=16):
    """What `run(i)` returns in so many processes that start together; None where it raised."""
    start, said = FORK.Barrier(count), FORK.SimpleQueue()

    def one(i):
        found = None
        start.wait(60)
        try:
            found = run(i)
        finally:
            said.put(found)

    processes = [FORK.Process(target=one, args=(i,)) for i in range(count)]
    for process in processes:
        process.start()
    found = [said.get() for _ in processes]
    for process in processes:
        process.join()
    return found


def test_sixteen_at_once_never_pass_the_budget(book):
    book.set_budget("clinic", element(1.0, 1e-3))

    def spend_until_refused(_):
        entered = []
        try:
            for _ in range(4):
                entered.append(Ledger(book.path).spend("clinic", element(0.05, 1e-5)))
        except BudgetExceeded:
            return entered, True
        return entered, False

    compose_epsilon([(0.05, 1e-5)] * 30, 1e-3)
    said = at_once(spend_until_refused)
    numbers = sorted(number for entered, _ in said for number in entered)
    entries = book.entries("clinic")
    assert numbers == [e.release for e in entries] == list(range(1, len(entries) + 1))
    assert 20 <= len(entries) < 64
    assert any(refused for _, refused in said)
    assert compose_epsilon([(0.05, 1e-5)] * len(entries), 1e-3) <= 1.0


def test_sixteen_make_one_book(path):
    def make(i):
        Ledger.create(path).set_budget(f"data set {i}", element(0.1, 0.0))
        return i

    made = [i for i in at_once(make) if i is not None]
    assert made
    assert Ledger(path).names() == sorted(f"data set {i}" for i in made)


def test_killed_at_any_moment_it_counts_no_less_than_was_released(book):
    """A release is a byte that a process writes after `spend`; each must be in the book."""
    book.set_budget("clinic", element(100.0, 1e-1))
    random, released = Random(1), 0
    for _ in range(30):
        read, write = os.pipe()

        def release(write=write):
            while True:
                Ledger(book.path).spend("clinic", element(1e-4, 1e-9))
                os.write(write, b".")

        process = FORK.Process(target=release)
        process.start()
        os.close(write)
        time.sleep(random.uniform(0, 0.08))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with open(read, "rb") as pipe:
            released += len(pipe.read())
        entered = len(book.entries("clinic"))
        assert released <= entered <= released + 1
        released = entered  # what was entered and not seen stays counted
        raw = sqlite3.connect(book.path)
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        raw.close()
    assert released > 20


def test_the_rows_are_plain_json(book):
    book.set_budget("clinic", element())
    with sqlite3.connect(book.path) as raw:
        [(plain,)] = raw.execute("SELECT guarantee FROM entries")
    assert Guarantee.from_dict(json.loads(plain)) == element()
