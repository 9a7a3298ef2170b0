"""Was the source worth having? Accuracy with it, without it, and with a release of pure noise.

Labelled rows are held out by cross-validation, stratified and repeated, and labelled three times:
by what was learned with the source, by what was learned without, and by the same steps fed a
release of the same shape in which there is nothing but noise. Whatever a method gains from the
noise it would gain from anything.

Intervals are Wilson's for one accuracy, and Newcombe's for the difference of two on the same rows,
which do not collapse to a point where no row differs. Repetitions are averaged, not counted as new
rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

__all__ = ["Interval", "TransferGain", "folds", "measure_gain", "paired_difference", "wilson"]

Numbers = npt.NDArray[np.intp]

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A share or a difference of shares, and between which values it lies with confidence."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


def wilson(right: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval for `right` of `n`.

    >>> print(wilson(90, 100))
    90.0 % [82.6, 94.5]
    """
    z2 = float(ndtri(0.5 + confidence / 2)) ** 2
    share = right / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2) / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def paired_difference(
    both: float, first: float, second: float, neither: float, confidence: float = CONFIDENCE
) -> Interval:
    """Newcombe's interval for the difference of two shares on the same rows (1998, method 10).

    Of all rows `both` were right both times, `first` only the first time, and so on; averages over
    repetitions may be fractions.

    >>> print(paired_difference(80, 10, 4, 6))
    6.0 % [-1.4, 13.8]
    """
    n = both + first + second + neither
    one, other = wilson(both + first, n, confidence), wilson(both + second, n, confidence)
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    phi = (both * neither - first * second) / math.sqrt(margins) if margins > 0 else 0.0
    value = (first - second) / n

    def half(a: float, b: float) -> float:
        return math.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))

    return Interval(
        value,
        value - half(one.value - one.low, other.high - other.value),
        value + half(one.high - one.value, other.value - other.low),
    )


@dataclass(frozen=True)
class TransferGain:
    """What the source was worth to the labelled rows that were held out.

    All shares are between 0 and 1, with 95 % intervals. Where nothing could be held out
    (``rows == 0``) there are none.
    """

    rows: int
    """Labelled rows that were held out at some time."""
    folds: int
    repeats: int
    unlabelled: int
    """Unlabelled rows that took part."""
    with_source: Interval | None = None
    without_source: Interval | None = None
    with_noise: Interval | None = None
    gain: Interval | None = None
    """Accuracy with the source, less that without."""
    gain_over_noise: Interval | None = None
    """Accuracy with the source, less that with pure noise."""

    @property
    def helped(self) -> bool:
        """Whether more than chance speaks for the source: the gain's interval lies above zero."""
        return self.gain is not None and self.gain.low > 0

    @property
    def hurt(self) -> bool:
        """Whether more than chance speaks against it."""
        return self.gain is not None and self.gain.high < 0

    def verdict(self) -> str:
        """In a sentence."""
        if self.gain is None or self.gain_over_noise is None:
            return (
                "Whether the source helped cannot be said: no class has two labelled rows, so none "
                "could be held out."
            )
        if self.helped and self.gain_over_noise.low > 0:
            return "The source helped."
        if self.helped:
            return (
                "Accuracy was higher with the source, but not clearly higher than with pure noise "
                "in its place, so it is not what the source knows that helped."
            )
        if self.hurt:
            return "The source did harm."
        return "The source did not help: there is no clear difference."

    def summary(self) -> str:
        """The verdict, and the figures that it rests on."""
        if self.gain is None:
            return self.verdict()
        return (
            f"{self.verdict()} Of {self.rows} labelled rows, held out in {self.folds} folds, "
            f"{self.with_source} were right with it, {self.without_source} without it, "
            f"{self.with_noise} with pure noise in its place; the difference to doing without is "
            f"{self.gain} (95 % intervals; {self.unlabelled} unlabelled rows took part)."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        plain = asdict(self)
        for name, value in plain.items():
            if isinstance(getattr(self, name), Interval):
                plain[name] = dict(zip(Interval._fields, value, strict=True))
        return plain | {"helped": self.helped, "hurt": self.hurt}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> TransferGain:
        """Read what `to_dict` wrote."""
        counts = {name: int(plain[name]) for name in ("rows", "folds", "repeats", "unlabelled")}
        shares = {
            field.name: Interval(*(float(plain[field.name][name]) for name in Interval._fields))
            for field in fields(cls)
            if field.name not in counts and plain[field.name] is not None
        }
        return cls(**counts, **shares)  # type: ignore[arg-type] # the shares are intervals


def folds(numbers: Numbers, wanted: int, rng: np.random.Generator) -> list[Numbers]:
    """Rows to hold out, fold by fold: stratified, and never the last labelled row of a class.

    A class of one labelled row is never held out; a class of fewer rows than folds is missing from
    some of them.

    >>> [fold.tolist() for fold in folds(np.array([0, 0, 1, -1, 1]), 5, np.random.default_rng(0))]
    [[0, 2], [1, 4]]
    """
    shuffled = []
    for c in np.unique(numbers[numbers >= 0]):
        rows = np.flatnonzero(numbers == c)
        if len(rows) > 1:
            shuffled.append(rng.permutation(rows))
    if not shuffled:
        return []
    count = min(wanted, max(map(len, shuffled)))
    held: list[list[int]] = [[] for _ in range(count)]
    for rows in shuffled:
        for k, row in enumerate(rows.tolist()):
            held[k % count].append(row)
    return [np.sort(np.array(fold)) for fold in held if fold]


def measure_gain(right: npt.NDArray[np.bool_], n_folds: int, unlabelled: int) -> TransferGain:
    """From which rows were right, shape (repeats, rows, 3): with source, without, with noise."""
    repeats, rows, _ = right.shape
    if not rows:
        return TransferGain(0, 0, 0, unlabelled)

    def difference(a: int, b: int) -> Interval:
        x, y = right[:, :, a], right[:, :, b]
        cells = (x & y, x & ~y, ~x & y, ~x & ~y)
        return paired_difference(*(float(cell.sum()) / repeats for cell in cells))

    with_source, without, with_noise = (
        wilson(float(right[:, :, arm].sum()) / repeats, rows) for arm in range(3)
    )
    return TransferGain(
        rows,
        n_folds,
        repeats,
        unlabelled,
        with_source,
        without,
        with_noise,
        difference(0, 1),
        difference(0, 2),
    )
