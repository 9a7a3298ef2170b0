"""What comes of learning, by any strategy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.transfer.decision import Domain

__all__ = ["Lesson"]


class Lesson(NamedTuple):
    """Everybody who has a say in a label, and what should be known."""

    domains: list[Domain]
    notes: list[str]
    numbers: npt.NDArray[np.intp] | None = None
    """The class number of every row that was learned from, where learning came to one; None if the
    domains are to be asked."""
