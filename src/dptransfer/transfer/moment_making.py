"""How a record-level release is made: totals of private rows, and noise on nothing else.

Rows are read three times, or twice where features are few, for each pass looks at them in the light
of what the one before released. None is kept. Every total is exact and the same for every cut into
blocks (:mod:`dptransfer.privacy.passes`), so that a record more moves it by no more than itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError, ParameterError
from dptransfer.privacy import GaussianBudget, Guarantee
from dptransfer.privacy.clipping import (
    class_counts,
    class_sums,
    distance_of_record,
    pack_symmetric,
    second_moment,
    squared_lengths,
    unpack_symmetric,
)
from dptransfer.privacy.clipping import clip as within
from dptransfer.privacy.passes import BlockTotal, project
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.making import Maker
from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.moment_steps import (
    centres_of,
    mean_square_about,
    near_radius,
    sizes_of,
    subspace_of,
)
from dptransfer.transfer.moment_summary import MomentSummary
from dptransfer.transfer.moments_plan import LARGEST_WIDTH, NEARER, NEAREST, PARTS, plan_for

__all__ = ["MomentMaker"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


class MomentMaker(Maker[MomentRelease]):
    """Makes a record-level release.

    Parameters
    ----------
    columns, classes, name, clip
        See :class:`~dptransfer.transfer.making.Maker`.
    epsilon, delta : float
        What is promised for one record, of all that is released together.
    radius, centre
        See :meth:`~dptransfer.transfer.release.Release.from_moments`.
    insecure_seed : int, optional
        For tests and experiments only.

    Formal guarantees
    -----------------
    - The release is a function of what was declared and of what one
      :class:`~dptransfer.privacy.GaussianBudget` gave out. Each of its totals moves by at most the
      distance that its noise was drawn for when one record, label included, is added or removed,
      given what was released before: ``privacy/PROOF.md``, section 10.
    - If a class has more or fewer rows in one pass than in another there is no release.
    """

    def __init__(
        self,
        columns: Columns,
        classes: Sequence[Any],
        epsilon: float,
        delta: float,
        *,
        name: str,
        radius: float | None = None,
        centre: float | Sequence[float] | None = None,
        clip: bool = False,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(columns, classes, name, clip)
        p = columns.width
        if p > LARGEST_WIDTH:
            raise ParameterError(
                f"the columns become {p} features, and a release of moments takes {LARGEST_WIDTH} "
                "at most, for it sums their products; take fewer columns"
            )
        self.plan = plan_for(p)
        self.budget = GaussianBudget(epsilon, delta, self.plan.shares, insecure_seed=insecure_seed)
        k, C = self.plan.n_directions, len(self.classes)
        if max(C * p, C * k * (k + 1) // 2, p * (p + 1) // 2) > self.budget.max_values:
            raise ParameterError(
                f"{p} features and {C} classes come to more numbers than noise of this epsilon and "
                "delta was proven for; take fewer columns, or a larger epsilon or delta"
            )
        self.radius = math.sqrt(p) / 2 if radius is None else radius
        self.centre = 0.5 if centre is None else centre
        within(np.empty((0, p)), self.centre, self.radius)  # refused now, if it must be
        self._deviations = dict.fromkeys(PARTS, 0.0)
        self._before: npt.NDArray[np.int64] | None = None
        self._summary: MomentSummary | None = None

    @property
    def guarantees(self) -> tuple[Guarantee, Guarantee]:
        """One and the same: it is a record that is protected."""
        return self.budget.guarantee, self.budget.guarantee

    def take(self, features: Array, numbers: Numbers) -> None:
        """Add a block to the totals of this pass."""
        self._seen += np.bincount(numbers, minlength=len(self.classes))
        self._take(features, numbers)

    def passes(self) -> Iterator[str]:
        """Where classes lie, in which directions rows spread about them, and those of each how."""
        yield from self._read("summing", self.radius, self._sum)
        counts = self._release("counts", counts=1.0)
        lengths = self._release("lengths", moments=1.0)
        sums = self._release("sums", sums=1.0)
        sizes = sizes_of(counts, self._deviations["counts"])
        n_rows = float(sizes.sum())
        self._centres = centres_of(sums, sizes, self._deviations["sums"])
        square = mean_square_about(self._centres, sizes, float(lengths[0]))
        unsure = self._deviations["lengths"] / n_rows
        self._near = nearest = near_radius(square, NEARER, unsure, self.radius)

        self._directions = np.eye(self.columns.width)
        if "subspace" in self.plan.shares:
            yield from self._read("looking for directions", self._near, self._scatter)
            scatter = unpack_symmetric(self._release("subspace", moments=1.0))
            self._directions = subspace_of(scatter, self._centres, sizes, self.plan.n_directions)
            square = float(np.vdot(self._directions @ scatter, self._directions)) / n_rows
            unsure = self._deviations["subspace"] * math.sqrt(self.plan.n_directions) / n_rows
            nearest = near_radius(square, NEAREST, unsure, self._near)

        yield from self._read("summing products", nearest, self._within)
        offsets = self._release("offsets", sums=1.0)
        moments = unpack_symmetric(self._release("moments", moments=1.0))
        self._summary = MomentSummary(
            counts,
            lengths,
            sums,
            self._centres,
            self._directions,
            offsets,
            moments,
            np.array(list(self._deviations.values())),
            np.array([self.radius, self._near, nearest]),
        )

    def finish(self) -> MomentRelease:
        """Put the totals together; nothing private is left to be seen."""
        if self._summary is None:
            raise ParameterError("a release is finished after all passes, not before")
        centre = np.asarray(self.centre, dtype=np.float64).tolist()
        manifest = self.described() | {
            "noise": {
                "mechanism": "gaussian",
                "epsilon": self.budget.epsilon,
                "delta": self.budget.delta,
                "shares": dict(self.budget.shares),
                "radius": float(self.radius),
                "centre": centre,
                "insecure_seed": self.budget.insecure_seed is not None,
            },
        }
        return MomentRelease(manifest, self._summary)

    # A pass --------------------------------------------------------------------------------------

    def _read(
        self, doing: str, radius: float, take: Callable[[Array, Numbers], None]
    ) -> Iterator[str]:
        """Have all rows given to `take`, which adds to totals of rows within the radius."""
        self._take, self._reach, self._row = take, radius, 1
        self._totals: dict[str, BlockTotal] = {}
        self._seen = np.zeros(len(self.classes), dtype=np.int64)
        yield doing
        if not self._totals:
            raise DataError("there are no rows")
        if self._before is not None and np.any(self._before != self._seen):
            raise DataError("the rows changed while they were read; make the release again")
        self._before = self._seen

    def _add(self, part: str, degree: int, total: npt.ArrayLike, n_rows: int) -> None:
        if part not in self._totals:
            self._totals[part] = BlockTotal(self._reach, degree)
        self._totals[part].add(total, n_rows)

    def _release(self, part: str, **weight: float) -> Array:
        """The total of all blocks with the noise of its share; second moments stay packed."""
        noise = self.budget.noise(part, distance_of_record(self._reach, **weight))
        self._deviations[part] = noise.sigma
        total = self._totals.pop(part).value
        return noise.perturb(
            pack_symmetric(total) if total.ndim > 1 and "moments" in weight else total
        )

    def _sum(self, features: Array, numbers: Numbers) -> None:
        rows, C = within(features, self.centre, self.radius), len(self.classes)
        self._add("counts", 0, class_counts(numbers, C), len(rows))
        self._add("lengths", 2, [squared_lengths(rows, self.radius)], len(rows))
        self._add("sums", 1, class_sums(rows, numbers, C, self.radius), len(rows))

    def _about(self, features: Array, numbers: Numbers) -> Array:
        """Rows from the released centre of their class."""
        rows = within(features, self.centre, self.radius)
        for c, own in _of_each(numbers):
            rows[own] = within(rows[own], self._centres[c], self._near)
        return rows

    def _scatter(self, features: Array, numbers: Numbers) -> None:
        rows = self._about(features, numbers)
        self._add("subspace", 2, second_moment(rows, self._near), len(rows))

    def _within(self, features: Array, numbers: Numbers) -> None:
        seen = project(self._about(features, numbers), self._directions, self._near)
        rows, C = within(seen, 0.0, self._reach), len(self.classes)
        moments = np.zeros((C, rows.shape[1], rows.shape[1]))
        for c, own in _of_each(numbers):
            moments[c] = second_moment(rows[own], self._reach)
        self._add("offsets", 1, class_sums(rows, numbers, C, self._reach), len(rows))
        self._add("moments", 2, moments, len(rows))


def _of_each(numbers: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Every class that occurs, and the places of its rows."""
    order = np.argsort(numbers, kind="stable")
    classes, first = np.unique(numbers[order], return_index=True)
    yield from zip(classes.tolist(), np.split(order, first[1:]), strict=True)
