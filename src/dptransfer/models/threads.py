"""Work is shared among rows and parts, so linear algebra itself stays on one thread.

Many small products gain nothing from threads of their own, and two levels of them would contend for
the same cores. One thread also makes results independent of the number of workers, to the bit.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@cache
def _controller() -> Any:
    return ThreadpoolController()  # walks the loaded libraries, which takes a while: once


def one_blas_thread() -> Any:
    """A context in which the linear algebra libraries use one thread."""
    return _controller().limit(limits=1, user_api="blas")
