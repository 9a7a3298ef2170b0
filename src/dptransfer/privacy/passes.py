"""Totals of a table that is read in blocks, and more than once, with nothing lost to rounding.

A total must not depend on where a table is cut into blocks: floats that are added in another order
come out otherwise, and a record more moves every cut after it. So blocks are added up in whole
steps of the grid of :mod:`dptransfer.privacy.clipping`. A later pass may look at the rows through
directions that an earlier one released; a product with these is computed without rounding at all,
for a matrix product gives a row other last digits in another block. ``PROOF.md``, section 10.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError, ParameterError
from dptransfer.privacy.clipping import EXACT_ROWS, MOST_ROWS, step_of
from dptransfer.privacy.perturbation import Floats

__all__ = ["BlockTotal", "directions", "project"]

DIGITS = 36
"""Directions are multiples of 2⁻³⁶: times rows of whole numbers up to 2¹⁶, sums stay below 2⁵³."""

LONGEST = 1 + 2.0**-10


class BlockTotal:
    """A total of clipped rows, of blocks: the same for every order and every cut.

    Parameters
    ----------
    radius : float
        The rows', as given to :func:`~dptransfer.privacy.clipping.clip`.
    degree : int
        0 for counts, 1 for sums of rows, 2 for sums of their products.

    Formal guarantees
    -----------------
    - `value` is the exact total of the blocks, rounded once to floats.

    Examples
    --------
    >>> total = BlockTotal(radius=1.0, degree=1)
    >>> total.add(np.array([0.5, 0.25]), 1)
    >>> total.add(np.array([0.5, -1.0]), 3)
    >>> total.value
    array([ 1.  , -0.75])
    """

    def __init__(self, radius: float, degree: int) -> None:
        self._unit = step_of(radius) ** degree
        self._whole: npt.NDArray[np.int64] | None = None
        self._rows = 0

    def add(self, total: npt.ArrayLike, n_rows: int) -> None:
        """Take the total of a block of so many rows, at most 2²⁰."""
        whole = np.asarray(total, dtype=np.float64) / self._unit
        if n_rows > EXACT_ROWS or np.any(np.abs(whole) > 2.0**53) or np.any(whole % 1):
            raise ParameterError("a block's total must be one of at most 2**20 clipped rows")
        self._rows += n_rows
        if self._rows > MOST_ROWS:
            raise DataError("a release is made of at most 2**26 rows")
        steps = whole.astype(np.int64)
        self._whole = steps if self._whole is None else self._whole + steps

    @property
    def value(self) -> Floats:
        """The total of all blocks."""
        if self._whole is None:
            raise DataError("there are no rows")
        value: Floats = self._whole.astype(np.float64) * self._unit
        return value


def directions(V: npt.ArrayLike) -> Floats:
    """Directions as :func:`project` takes them: every number a multiple of 2⁻³⁶."""
    rounded: Floats = np.ldexp(np.rint(np.ldexp(np.asarray(V, dtype=np.float64), DIGITS)), -DIGITS)
    return rounded


def project(rows: Floats, V: Floats, radius: float) -> Floats:
    """V z for every row z, without any rounding.

    Parameters
    ----------
    rows : array
        As :func:`~dptransfer.privacy.clipping.clip` gives them for this `radius`.
    V : array of shape (k, p)
        Of :func:`directions`, each of length 1 (or a thousandth more).

    Formal guarantees
    -----------------
    - Each row of the result is the exact product of its own row: the rows about it, and the order
      in which a matrix product adds, change no digit.
    """
    if np.any(directions(V) != V) or np.any(np.einsum("ij,ij->i", V, V) > LONGEST**2):
        raise ParameterError("rows are projected on directions(V), none of them longer than 1")
    whole = rows / step_of(radius)
    if np.any(whole != np.rint(whole)) or np.any(np.einsum("ij,ij->i", whole, whole) > 2.0**32):
        raise ParameterError("rows must be as clip(X, centre, radius) gives them")
    projected: Floats = rows @ V.T
    return projected
