"""Adding noise to the elements of a table, so that the result may be released.

This is Algorithm 5 of the paper made safe: every element is brought to a grid, given a whole number
of steps of noise, and only the sum becomes a float again. What differs between mechanisms is the
law of those steps; :class:`ElementNoise` is the part that they share. It works through the table in
blocks of rows, so that it needs little memory besides the result and can follow a stream.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DeclarationError, ParameterError
from dptransfer.privacy.discrete_laplace import DiscreteLaplace
from dptransfer.privacy.grid import (
    LIMIT,
    choose_grid,
    distance_in_steps,
    is_grid,
    to_steps,
    to_values,
)
from dptransfer.privacy.guarantee import NOT_COVERED, Guarantee
from dptransfer.privacy.sampler import Keystream
from dptransfer.privacy.table import (
    Bounds,
    as_table,
    check_bounds,
    check_out,
    check_values,
    row_blocks,
)

__all__ = ["INSECURE", "ElementNoise", "Progress", "check_privacy", "check_seed"]

Progress = Callable[[int, int], None]
"""Called with the number of rows done and the number of rows."""

Floats = npt.NDArray[np.float64]

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e3
INSECURE = "INSECURE: seeded noise; "


def check_privacy(epsilon: object, delta: object) -> tuple[float, float]:
    """The two numbers, if they are any."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ParameterError(f"{name} must be a number, not {type(value).__name__}")
    eps, dlt = float(epsilon), float(delta)  # type: ignore[arg-type]
    if not SMALLEST_EPSILON <= eps <= LARGEST_EPSILON:
        raise ParameterError(f"epsilon must be between 1e-6 and 1000, not {eps}")
    if not 0 <= dlt < 1:
        raise ParameterError(f"delta must be at least 0 and below 1, not {dlt}")
    return eps, dlt


def check_seed(insecure_seed: object) -> int | None:
    """A whole number, or none, which is what should be released with."""
    if insecure_seed is None:
        return None
    if isinstance(insecure_seed, bool) or not isinstance(insecure_seed, Integral):
        raise ParameterError("insecure_seed must be a whole number, or None for safe noise")
    return int(insecure_seed)


def _check_distance(distance: Any) -> float | Floats:
    if distance is None:
        raise DeclarationError(
            "distance is not declared: by how much may an element differ and still be protected? "
            "It is not read off the data, because a column's width is made of private values"
        )
    try:
        declared = np.array(distance, dtype=np.float64)
    except (TypeError, ValueError):
        declared = np.empty(0)
    if declared.ndim > 1 or declared.size == 0:
        raise DeclarationError("distance must be one number for all columns, or one a column")
    if not np.all(np.isfinite(declared) & (declared > 0)):
        raise DeclarationError("every distance must be finite and above 0")
    if declared.ndim == 0:
        return float(declared)
    declared.setflags(write=False)
    return declared


class ElementNoise(ABC):
    """Noise that protects one element of a table; see its subclasses for the shapes.

    Parameters
    ----------
    epsilon, delta : float
        What is promised for one element.
    distance : float or sequence of float
        d of the d-adjacency: by how much one element may differ, for all columns or one a column.
    grid : float, optional
        The step of the grid, a power of two, for all columns; by default
        :func:`~dptransfer.privacy.grid.choose_grid` chooses one a column.
    insecure_seed : int, optional
        For tests and experiments only: the same noise at every call. Whoever knows the seed can
        take the noise off again, and `guarantee` says so.
    """

    name: str

    def __init__(
        self,
        epsilon: float,
        delta: float,
        distance: float | Sequence[float] | Floats = 1.0,
        *,
        grid: float | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon, self.delta = check_privacy(epsilon, delta)
        self.distance = _check_distance(distance)
        self.insecure_seed = check_seed(insecure_seed)
        if grid is not None and not (isinstance(grid, Real) and is_grid(float(grid))):
            raise ParameterError("grid must be a power of two, such as 2**-10")
        distances = np.atleast_1d(self.distance)
        grids = np.array(
            [
                choose_grid(d, d / self.epsilon, self.atom) if grid is None else float(grid)
                for d in distances
            ]
        )
        grids.setflags(write=False)
        self.grid: float | Floats = float(grids[0]) if np.ndim(self.distance) == 0 else grids
        self._steps = [distance_in_steps(*pair) for pair in zip(distances, grids, strict=True)]
        for steps in set(self._steps):
            self._law(steps)  # refuse now what has no exact tables

    def __repr__(self) -> str:
        distance = self.distance if isinstance(self.distance, float) else self.distance.tolist()
        return f"{type(self).__name__}({self.epsilon}, {self.delta}, distance={distance})"

    @property
    @abstractmethod
    def atom(self) -> float:
        """The chance that an element is left untouched on purpose."""

    @abstractmethod
    def _law(self, steps: int) -> DiscreteLaplace:
        """The law of the noise, in grid steps, when the distance is `steps` of them."""

    @property
    def guarantee(self) -> Guarantee:
        """What `perturb` promises for one element of what it is given."""
        d = self.distance
        coarse = np.max(self.grid)
        seeded = self.insecure_seed is not None
        caveats = NOT_COVERED["d-adjacency"]
        return Guarantee(
            "element",
            self.epsilon,
            self.delta,
            d if isinstance(d, float) else tuple(d.tolist()),
            mechanism=f"{INSECURE if seeded else ''}{self.name}, discrete on a grid of "
            f"{'' if np.ndim(self.grid) == 0 else 'at most '}2^{math.frexp(coarse)[1] - 1}",
            adjacency="d-adjacency",
            not_covered=(*caveats, "anything, from whoever knows or guesses the seed")
            if seeded
            else caveats,
        )

    def perturb(
        self,
        X: Any,
        *,
        bounds: Any = None,
        clip: bool = False,
        out: Floats | None = None,
        progress: Progress | None = None,
    ) -> Floats:
        """A private version of `X`, safe to release under `guarantee`.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns) or (n_rows,)
            The private values; left as they are, unless `out` is `X` itself.
        bounds : (low, high) or array of shape (n_columns, 2)
            Between which values each column can lie; must be declared. The noise goes beyond
            them: what comes out is not held within the bounds.
        clip : bool
            Bring values outside the bounds to the nearest bound, instead of refusing them.
        out : float64 array of X's shape, optional
            Where to write, `X` itself allowed. A call that does not return may leave it half
            done: with ``out=X``, partly private still.
        progress : callable, optional
            Called after each block with the number of rows done and the number of rows.

        Returns
        -------
        array of float64, of the shape of `X`
            Multiples of `grid`.

        Raises
        ------
        DeclarationError
            If bounds are missing, malformed, or too wide for the grid.
        OutsideBoundsError
            If values lie outside the bounds; its attribute `count` says how many, to the owner.
        DataError
            If `X` is not a table of finite numbers.

        Notes
        -----
        That a call was refused says something of the data: it is for the owner's eyes. Where the
        distance is smaller than the width of the bounds, only changes by at most the distance are
        protected at (ε, δ); a change by m distances is protected m times less, that is at
        (mε, δ·(e^{mε} − 1)/(e^ε − 1)).

        Formal guarantees
        -----------------
        - For every X, X′ of one shape that differ in one element, by at most its column's
          distance, and that are not refused: Pr{out ∈ O} ≤ exp(ε) Pr{out′ ∈ O} + δ for every O,
          δ including whatever the tables of the sampler round off; proven in ``PROOF.md``.
        - Every value released is a whole multiple of the grid's step and depends on its element
          through that element's nearest grid point alone.
        - No seed, state or entropy is shared between calls (unless `insecure_seed` is given).
        - Not promised: that the time taken, or the memory touched, is independent of the values.
        """
        table, clip_to = self._checked(X, bounds, clip)
        released = check_out(out, table, X)
        keystream = Keystream(self.insecure_seed)
        self._release(table, released, keystream, clip_to=clip_to, progress=progress)
        return released.reshape(np.shape(X)) if out is None else out

    def perturb_blocks(
        self, blocks: Iterable[Any], *, bounds: Any = None, clip: bool = False
    ) -> Iterator[Floats]:
        """A private version of each block of rows in turn, for tables that do not fit in memory.

        The same promise as `perturb` for the table that the blocks make up. A block with values
        outside the bounds is refused when it comes, after earlier blocks were released.
        """
        keystream = Keystream(self.insecure_seed)
        for block in blocks:
            table, clip_to = self._checked(block, bounds, clip)
            released = np.empty(table.shape)
            self._release(table, released, keystream, clip_to=clip_to)
            yield released.reshape(np.shape(block))

    def _checked(self, X: Any, bounds: Any, clip: bool) -> tuple[npt.NDArray[Any], Bounds | None]:
        """The table, and the bounds to clip it to if that was asked for."""
        table = as_table(X)
        if not isinstance(self.distance, float) and len(self._steps) != table.shape[1]:
            raise DeclarationError(
                f"{len(self._steps)} distances are declared, one a column, "
                f"but X has {table.shape[1]} columns"
            )
        # Half of LIMIT leaves the noise as much room again; whole numbers must be exact floats.
        widest = np.atleast_1d(self.grid) * (LIMIT / 2)
        if table.dtype.kind in "iu":
            widest = np.minimum(widest, 2.0**53)
        declared = check_bounds(bounds, table.shape[1], widest)
        check_values(table, declared, clip=clip)
        return table, declared if clip else None

    def _release(
        self,
        table: npt.NDArray[Any],
        released: Floats,
        keystream: Keystream,
        *,
        clip_to: Bounds | None,
        progress: Progress | None = None,
    ) -> None:
        steps_of = np.array(self._steps)
        kinds: list[tuple[int, Any]] = [(self._steps[0], slice(None))]
        together = table.shape[1]
        if len(set(self._steps)) > 1:
            kinds = [(s, np.flatnonzero(steps_of == s)) for s in sorted(set(self._steps))]
            together = max(len(columns) for _, columns in kinds)
        for rows in row_blocks(len(table), together):
            for steps, columns in kinds:
                block = table[rows, columns]
                if clip_to is not None:
                    low, high = clip_to if clip_to.shape[1] == 1 else clip_to[:, columns]
                    block = np.clip(block.astype(np.float64), low, high)
                grid = self.grid if isinstance(self.grid, float) else self.grid[columns]
                sums = to_steps(block, grid)
                noise = self._law(steps).draw(sums.size, keystream)
                sums += noise.reshape(sums.shape)
                values = np.empty(sums.shape)
                to_values(sums, grid, values)
                released[rows, columns] = values
            if progress is not None:
                progress(rows.stop, len(table))
