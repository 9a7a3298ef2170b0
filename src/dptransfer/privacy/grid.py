"""The grid that data and noise share.

A sum of two floating-point numbers remembers both of them: which low bits can occur depends on the
value that the noise was added to, and a careful reader can tell (Mironov, 2012). So values are
first brought to whole steps of a grid, the noise is a whole number of steps, and only the sum is
turned back into a float. The step is a power of two, so every multiple in range is a float exactly,
and dividing by it changes no digit. The grid follows from ε and the declared distance alone, never
from the data.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dptransfer.errors import ParameterError
from dptransfer.privacy.sampler import Integers

__all__ = ["LIMIT", "choose_grid", "distance_in_steps", "is_grid", "to_steps", "to_values"]

LIMIT = 2**52
"""Released values lie within ±LIMIT steps; up to there a float64 holds every multiple exactly."""

FINEST, COARSEST = 10, 5
SMALLEST, LARGEST = -900, 900
HIDDEN = 16


def is_grid(step: float) -> bool:
    """Whether `step` is a power of two that leaves room on both sides."""
    mantissa, exponent = math.frexp(step)
    return mantissa == 0.5 and SMALLEST <= exponent - 1 <= LARGEST


def choose_grid(distance: float, scale: float, atom: float = 0.0) -> float:
    """A power of two well below both the distance and the noise scale.

    A thousandth of them (2⁻¹⁰ at most), so that rounding costs next to nothing: the sensitivity
    grows by one part in 1024 at most, and not at all when the distance is a multiple of the step.
    But a value that is released at its very own grid point should not thereby be known as one that
    the atom left untouched: noise must bring values there too, with probability about step/(2s).
    So the grid grows coarser, up to 2⁻⁵, until that is 16 times the atom.

    Examples
    --------
    >>> choose_grid(1.0, 10.0) == 2**-10, choose_grid(1.0, 10.0, atom=1e-5) == 2**-8
    (True, True)
    """
    _, exponent = math.frexp(min(distance, scale))
    for fineness in range(FINEST, COARSEST - 1, -1):
        step = math.ldexp(1.0, exponent - 1 - fineness)
        if step > 0 and 2 * HIDDEN * atom <= step / scale:
            break
    if not is_grid(step):
        raise ParameterError(
            "the distance or the noise scale is too large or too small for float64 to carry; "
            "declare the distance in another unit"
        )
    return step


def distance_in_steps(distance: float, step: float) -> int:
    """Δ = ⌈d/g⌉: how many steps two values at most d apart may be apart on the grid.

    Examples
    --------
    >>> distance_in_steps(1.0, 0.25), distance_in_steps(0.3, 0.25)
    (4, 2)
    """
    return math.ceil(Fraction(distance) / Fraction(step))


def to_steps(values: npt.NDArray[np.number], step: float | npt.NDArray[np.float64]) -> Integers:
    """⌊x/g + ½⌋, exactly: the nearest grid point, in steps, halves upwards.

    Rounding halves to even, or adding ½ in floating point, would let two values at distance d be
    one step further apart than Δ; ⌊(⌊2x/g⌋ + 1)/2⌋ is the same number and every operation in it is
    exact for |x| < 2⁵² g.
    """
    doubled = np.multiply(values, 2.0 / step, dtype=np.float64)
    np.floor(doubled, out=doubled)
    steps: Integers = doubled.astype(np.int64)
    steps += 1
    steps >>= 1
    return steps


def to_values(
    steps: Integers,
    step: float | npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """Write k·g for every k, held within ±LIMIT; depends on nothing but the sum k."""
    np.clip(steps, -LIMIT, LIMIT, out=steps)
    np.multiply(steps, step, out=out)
