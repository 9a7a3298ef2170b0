"""How the budget of a record-level release is cut, and how many directions it looks in.

Everything here follows from what is declared, for shares are fixed before anything is released.
The numbers were tuned on MNIST's training images, ten thousand of them held out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["LARGEST_WIDTH", "PARTS", "Plan", "plan_for"]

SHARES = {
    "counts": 0.02,
    "lengths": 0.01,
    "sums": 0.12,
    "subspace": 0.25,
    "offsets": 0.06,
    "moments": 0.54,
}
PARTS = tuple(SHARES)
"""What is released, in this order; see :mod:`dptransfer.transfer.moment_summary`."""

MOST_DIRECTIONS = 60

LARGEST_WIDTH = 2048
"""Features; their products are that many squared."""

NEARER, NEAREST = 0.5, 0.4
"""Rows about their class's centre are brought within √(0.5 times their mean squared length), and
what is seen of them in the subspace within √(0.4 times): less noise is worth more than long rows.
"""


class Plan(NamedTuple):
    """What a release does with its budget."""

    shares: Mapping[str, float]
    """Of PARTS; without "subspace" where the features themselves are few enough."""
    n_directions: int


def plan_for(n_features: int) -> Plan:
    """The plan for so many features.

    >>> plan_for(784).n_directions, plan_for(13).n_directions
    (60, 13)
    >>> "subspace" in plan_for(13).shares
    False
    """
    parts = dict(SHARES)
    if n_features <= MOST_DIRECTIONS:
        del parts["subspace"]
    whole = math.fsum(parts.values()) * (1 + 2.0**-50)  # so that rounding takes none above 1
    shares = {name: share / whole for name, share in parts.items()}
    return Plan(shares, min(n_features, MOST_DIRECTIONS))
