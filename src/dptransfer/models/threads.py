"""Work is shared among rows and parts, so linear algebra itself stays on one thread.

Many small products gain nothing from threads of their own, and two levels of them would contend for
the same cores. One thread also makes results independent of the number of workers, to the bit.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

_lock = threading.Lock()
_inside = 0
_first: Any = None


@cache
def _controller() -> Any:
    return ThreadpoolController()  # walks the loaded libraries, which takes a while: once


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the linear algebra libraries use one thread within the block.

    The limit is the process's, and blocks in several threads may overlap: every block sets it, and
    the last to end brings back what was there before the first began. So does each that ends in
    the main thread, for OpenBLAS may not listen to another thread once the main one has spoken.
    """
    global _inside, _first  # noqa: PLW0603 - as global as the limit itself
    with _lock:
        limit = _controller().limit(limits=1, user_api="blas")
        if _inside == 0:
            _first = limit
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 or threading.current_thread() is threading.main_thread():
                _first.restore_original_limits()
