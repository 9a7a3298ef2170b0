"""How far long work has come, told to whoever asked to be told.

Code that takes long calls :func:`report`; a command line wraps its work in :func:`reporting_to`.
Nobody listens otherwise. Only counts of rows, parts, rounds and downloaded bytes are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "report", "reporting_to"]

Listener = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and out of how much (if known)."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def reporting_to(listener: Listener | None) -> Iterator[None]:
    """Tell ``listener`` of all progress within the block.

    >>> with reporting_to(print):
    ...     report("learning", 3, 10)
    learning 3 10
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(doing: str, done: int, total: int | None = None) -> None:
    """Say how far the work has come."""
    listener = _listener.get()
    if listener is not None:
        listener(doing, done, total)
