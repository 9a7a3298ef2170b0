"""The events by which an audit tries to tell two neighbouring inputs apart.

A broken mechanism can give itself away in its values (too little noise), in a value that comes too
often (an atom), in the lowest bits of its floating-point numbers (no grid), in what remains modulo
a grid (data off the grid), or in noise that repeats from one cell or one call to the next. Each is
a *statistic* of the output; an event is a statistic being at most, above, or exactly some number.
Which event to use is chosen on one half of the runs, and only ever counted on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dptransfer.privacy.confidence import epsilon_from_counts

__all__ = ["Choice", "Event", "choose", "statistics"]

Array = NDArray[np.float64]

THRESHOLDS = 128
FREQUENT = 8
BUCKETS = 16
CHOOSING = 0.9999  # stricter than any report: else the luckiest of many rare events is chosen
MANTISSA = 53
ALL_ZERO = 2000.0  # "lowest bit" of the number 0, above that of any float


@dataclass(frozen=True)
class Event:
    """A question with yes or no for every row of outputs."""

    statistic: str
    relation: Literal["<=", ">", "=="]
    value: float

    def seen(self, values: Array) -> int:
        """In how many rows it happened, given the statistic's values."""
        if self.relation == "==":
            return int(np.count_nonzero(values == self.value))
        below = int(np.count_nonzero(values <= self.value))
        return below if self.relation == "<=" else len(values) - below

    def __str__(self) -> str:
        return f"{self.statistic} {self.relation} {self.value:.6g}"


@dataclass(frozen=True)
class Choice:
    """An event, which of the two inputs makes it likelier, and the bound it seems to promise."""

    event: Event
    likelier_on_first: bool
    promise: float


def lowest_bit(outputs: Array) -> Array:
    """Exponent of the lowest set bit of each float: 0 for odd integers, −1 for halves, ...

    >>> lowest_bit(np.array([3.0, 0.5, 12.0, 0.1]))
    array([  0.,  -1.,   2., -55.])
    """
    mantissa, exponent = np.frexp(outputs)
    whole = np.abs(np.ldexp(mantissa, MANTISSA)).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.where(whole == 0, ALL_ZERO, exponent - MANTISSA + lowest)


def _remainder(modulus: float) -> Callable[[Array], Array]:
    def bucket(outputs: Array) -> Array:
        steps = outputs[:, 0] / modulus
        # Rounded, so that what is on the grid stays in bucket 0 from either side.
        buckets: Array = np.rint((steps - np.floor(steps)) * BUCKETS)
        buckets[buckets == BUCKETS] = 0
        return buckets

    return bucket


def statistics(distance: float) -> dict[str, Callable[[Array], Array]]:
    """Every statistic, of rows of outputs whose first cell is the one that differed."""
    unit = 2.0 ** np.floor(np.log2(distance))
    every: dict[str, Callable[[Array], Array]] = {
        "output": lambda outputs: outputs[:, 0],
        "lowest bit": lambda outputs: lowest_bit(outputs[:, 0]),
        "output minus its neighbour": lambda outputs: outputs[:, 0] - outputs[:, -1],
    }
    for k in range(0, 41, 4):
        name = f"output modulo 2^-{k} of the distance, in {BUCKETS}ths"
        every[name] = _remainder(unit * 2.0**-k)
    return every


def _candidates(name: str, first: Array, second: Array) -> Iterator[tuple[Event, int, int]]:
    """Events of one statistic, with how often each was seen on either input."""
    sides = np.sort(first), np.sort(second)
    quantiles = [side[np.linspace(0, len(side) - 1, THRESHOLDS).astype(int)] for side in sides]
    for t in np.unique(np.concatenate(quantiles)):
        p, q = (int(np.searchsorted(side, t, side="right")) for side in sides)
        yield Event(name, "<=", float(t)), p, q
        yield Event(name, ">", float(t)), len(first) - p, len(second) - q
    for value in {value for side in sides for value in _most_frequent(side)}:
        p, q = (
            int(np.searchsorted(side, value, "right") - np.searchsorted(side, value, "left"))
            for side in sides
        )
        yield Event(name, "==", value), p, q


def _most_frequent(ordered: Array) -> list[float]:
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.append(starts, len(ordered)))
    kept = min(FREQUENT, len(counts))
    return [float(v) for v in ordered[starts[np.argpartition(-counts, kept - 1)[:kept]]]]


def choose(name: str, first: Array, second: Array, delta: float) -> Choice:
    """The event of one statistic that promises the largest ε on these, the choosing runs."""
    events = list(_candidates(name, first, second))
    p = np.array([counts for _, counts, _ in events])
    q = np.array([counts for _, _, counts in events])
    promises = np.stack(
        [
            epsilon_from_counts(p, q, len(first), delta, CHOOSING),
            epsilon_from_counts(q, p, len(first), delta, CHOOSING),
        ]
    )
    side, best = np.unravel_index(int(np.argmax(promises)), promises.shape)
    return Choice(events[best][0], bool(side == 0), float(promises[side, best]))
