"""The SQLite file under the ledger: made, opened, locked, and its failures told in one line each.

SQLite's rollback journal is what makes an entry all or nothing: a process killed in the middle of
one leaves a journal, with which the next that opens the file undoes the half-written pages. What
this module adds is the marks by which a ledger is known, one kind of transaction, and words.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dptransfer.errors import LedgerError

__all__ = ["create", "damaged", "opened", "writing"]

APPLICATION_ID = 0x64705472  # "dpTr": tells a ledger from any other SQLite file
SCHEMA_VERSION = 1
BUSY_SECONDS = 120.0

SCHEMA = """
CREATE TABLE entries (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    release   INTEGER,                -- NULL where the row declares a budget
    at        TEXT NOT NULL,          -- UTC
    name      TEXT NOT NULL,
    unit      TEXT NOT NULL CHECK (unit IN ('element', 'record')),
    guarantee TEXT NOT NULL           -- JSON of Guarantee.to_dict
);
CREATE INDEX by_name ON entries (name, unit);
CREATE TRIGGER no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END;
"""


def create(path: Path) -> None:
    """Make an empty book, readable by its owner alone; never over an existing file."""
    taken = f"{path} is there already; a ledger never overwrites a file"
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        size = path.stat().st_size
    except OSError as error:
        raise LedgerError(f"cannot make a ledger at {path}: {error.strerror}") from error
    if size > 0:
        raise LedgerError(taken)
    # An empty file may be one that is being made by another process, or was left by one killed at
    # it; the schema goes in as one transaction, so whoever comes first makes the book.
    with _connected(path) as book, writing(book):
        if _pragma(book, "application_id") != 0:
            raise LedgerError(taken)
        for command in SCHEMA.split(";\n"):  # a trigger's body ends in "; END"
            book.execute(command)
        book.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        book.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """An existing book, its marks and its structure checked; open for one operation only."""
    with _connected(path) as book:
        if _pragma(book, "application_id") != APPLICATION_ID:
            raise LedgerError(f"{path} is not a ledger of dptransfer")
        version = _pragma(book, "user_version")
        if version != SCHEMA_VERSION:
            raise LedgerError(
                f"{path} is a ledger of version {version}, this dptransfer reads version "
                f"{SCHEMA_VERSION}; use the dptransfer that wrote it"
            )
        if book.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise LedgerError(damaged(path))
        yield book


@contextmanager
def writing(book: sqlite3.Connection, *, keep: bool = True) -> Iterator[None]:
    """One transaction that nobody else writes beside: what is read in it still holds at its end.

    Without `keep`, everything is tried and then undone.
    """
    book.execute("BEGIN IMMEDIATE")
    try:
        yield
        book.execute("COMMIT" if keep else "ROLLBACK")
    except BaseException:
        if book.in_transaction:
            book.execute("ROLLBACK")
        raise


def damaged(path: Path) -> str:
    """What to say, and to do, when the file's content cannot be right."""
    return (
        f"the ledger {path} is damaged and cannot be trusted; restore it from a copy, and enter "
        "what was released since"
    )


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    book: sqlite3.Connection | None = None
    try:
        book = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,  # transactions are written out, see `writing`
        )
        # EXTRA, not FULL: the folder is flushed too once the journal is gone, without which a
        # power cut could bring the journal back and take the last release out of the book.
        book.execute("PRAGMA synchronous = EXTRA")
        yield book
    except UnicodeDecodeError as error:  # from the driver itself, where the schema is scrambled
        raise LedgerError(damaged(path)) from error
    except sqlite3.Error as error:
        raise LedgerError(_explained(path, error)) from error
    finally:
        if book is not None:
            book.close()


def _pragma(book: sqlite3.Connection, name: str) -> int:
    return int(book.execute(f"PRAGMA {name}").fetchone()[0])


def _explained(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorname", None) or ""
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another process holds the ledger {path}; nothing was entered, try again"
    if code.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH")):
        return f"the ledger {path} or its folder may not be written; nothing was entered"
    if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return f"the disk refused to write the ledger {path} (full?); nothing was entered"
    if code.startswith("SQLITE_NOTADB"):
        return f"{path} is not a ledger of dptransfer"
    if code.startswith("SQLITE_CORRUPT"):
        return damaged(path)
    return f"the ledger {path} cannot be used ({code or type(error).__name__}); nothing was entered"
