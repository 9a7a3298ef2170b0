"""The noise of a release, feature by feature, and what it promises for one cell of the table.

A number is one feature: a change of its cell by the declared distance moves the feature by distance
/ (high − low), and the noise is made for that. A category is one-hot: another category moves two
features by 1, each of them perturbed under (ε/2, δ/2), which compose to (ε, δ) for the cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DeclarationError, ParameterError
from dptransfer.privacy import Guarantee, LaplaceNoise, OptimalNoise
from dptransfer.privacy.perturbation import check_privacy
from dptransfer.transfer.columns import Columns

__all__ = ["MECHANISMS", "CellNoise"]

Array = npt.NDArray[np.float64]

MECHANISMS: Mapping[str, type[OptimalNoise] | type[LaplaceNoise]] = {
    "optimal": OptimalNoise,
    "laplace": LaplaceNoise,
}

ROUNDING = 2.0**-40
"""Scaling rounds: two cells at the distance may come out farther apart by less than this."""


class _Group(NamedTuple):
    """Features that share a noise."""

    features: npt.NDArray[np.intp]
    epsilon: float
    delta: float
    distance: float | Array


class CellNoise:
    """Noise for the features of declared columns.

    Parameters
    ----------
    columns : Columns
    epsilon, delta : float
        What is promised for one cell.
    distance : float, sequence of float or None
        By how much a cell may differ, in the units of the table: one for all columns or one a
        column. None takes the whole width of the bounds, and protects whatever a cell may be.
    mechanism : {"optimal", "laplace"}
    insecure_seed : int, optional
        For tests and experiments only.

    Formal guarantees
    -----------------
    - What `perturb` gives out over all blocks of one table is (ε, δ)-differentially private for
      one cell: a number that differs by at most its distance, or another category.
    - Labels and the number of rows are not protected.
    """

    def __init__(
        self,
        columns: Columns,
        epsilon: float,
        delta: float,
        distance: Any = None,
        *,
        mechanism: str = "optimal",
        insecure_seed: int | None = None,
    ) -> None:
        if mechanism not in MECHANISMS:
            raise ParameterError(
                f"the mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}"
            )
        self.columns = columns
        self.epsilon, self.delta = check_privacy(epsilon, delta)
        self.mechanism = mechanism
        self.insecure_seed = insecure_seed
        self.distances = _distances(columns, distance)
        self._groups = _groups(columns, epsilon, delta, self.distances)
        self._noises = self._make(insecure_seed)
        self._blocks = 0

    def _make(self, seed: int | None) -> list[OptimalNoise | LaplaceNoise]:
        kind = MECHANISMS[self.mechanism]
        return [kind(g.epsilon, g.delta, g.distance, insecure_seed=seed) for g in self._groups]

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one cell, in the units of the table."""
        made = self._noises[0].guarantee
        distances = self.distances
        alike = len(set(distances)) == 1
        return replace(
            made,
            epsilon=self.epsilon,
            delta=self.delta,
            distance=distances[0] if alike else distances,
            mechanism=made.mechanism + ", in units of the declared bounds",
        )

    @property
    def variance(self) -> Array:
        """The variance of every feature's noise."""
        return self._of_features("variance")

    @property
    def grid(self) -> Array:
        """The grid of every feature's released values."""
        return self._of_features("grid")

    def _of_features(self, name: str) -> Array:
        values = np.empty(self.columns.width)
        for group, noise in zip(self._groups, self._noises, strict=True):
            values[group.features] = getattr(noise, name)
        return values

    def perturb(self, features: Array) -> Array:
        """The next block of rows, in [0, 1], made private."""
        noises = self._noises
        if self.insecure_seed is not None:  # a seed of its own for every block
            noises = self._make(self.insecure_seed + self._blocks)
        self._blocks += 1
        if len(noises) == 1:
            return noises[0].perturb(features, bounds=(0.0, 1.0))
        released = np.empty(features.shape)
        for group, noise in zip(self._groups, noises, strict=True):
            block = np.ascontiguousarray(features[:, group.features])
            released[:, group.features] = noise.perturb(block, bounds=(0.0, 1.0))
        return released

    def draw(self, n_rows: int, rng: np.random.Generator) -> Array:
        """Noise of the same law in floating point, for a control; never to be added to data."""
        noise = np.empty((n_rows, self.columns.width))
        for group, law in zip(self._groups, self._noises, strict=True):
            size = (n_rows, len(group.features))
            noise[:, group.features] = law.sample_continuous(size, rng)
        return noise


def _distances(columns: Columns, distance: Any) -> tuple[float, ...]:
    if distance is None:
        return columns.distances
    try:
        declared = np.asarray(distance, dtype=np.float64)
    except (TypeError, ValueError):
        declared = np.empty(0)
    if declared.shape not in {(), (len(columns),)} or not np.all(
        np.isfinite(declared) & (declared > 0)
    ):
        raise DeclarationError(
            "distance must be a number above 0, in the units of the table, or one for each of the "
            f"{len(columns)} columns"
        )
    return tuple(
        1.0 if column.categories else float(d)
        for column, d in zip(columns, np.broadcast_to(declared, len(columns)), strict=True)
    )


def _groups(
    columns: Columns, epsilon: float, delta: float, distances: tuple[float, ...]
) -> list[_Group]:
    single: list[int] = []
    moved: list[float] = []
    one_hot: list[int] = []
    at = 0
    for column, distance in zip(columns, distances, strict=True):
        if column.width > 1:
            one_hot += range(at, at + column.width)
        else:
            single.append(at)
            whole = distance == column.distance  # the two ends of the bounds become 0 and 1 exactly
            moved.append(1.0 if whole else distance / column.distance * (1 + ROUNDING) + ROUNDING)
        at += column.width
    groups = []
    if single:
        each: float | Array = moved[0] if len(set(moved)) == 1 else np.array(moved)
        groups.append(_Group(np.array(single), epsilon, delta, each))
    if one_hot:
        groups.append(_Group(np.array(one_hot), epsilon / 2, delta / 2, 1.0))
    return groups
