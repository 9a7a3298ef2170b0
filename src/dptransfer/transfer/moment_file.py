"""A record-level release as a file: ``summary.*`` is every field of a `MomentSummary`, float64.

Besides shapes, what follows from something else is worked out again: the standard deviation of the
noise from (ε, δ), shares and radii, and that second moments are symmetric and directions
orthonormal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.privacy import GaussianBudget, Guarantee
from dptransfer.privacy.clipping import MOST_ROWS, clip, distance_of_record
from dptransfer.transfer.file_checks import OF_THE_FILE, described, must
from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.moment_summary import MomentSummary
from dptransfer.transfer.moments_plan import PARTS

__all__ = ["arrays_of", "release_of"]

Anything = npt.NDArray[Any]

NOISE_FIELDS = {"mechanism", "epsilon", "delta", "shares", "radius", "centre", "insecure_seed"}

NEARLY = 1e-6


def arrays_of(release: MomentRelease) -> dict[str, Anything]:
    """The arrays of a release, by their names in the file."""
    fields = zip(MomentSummary._fields, release.summary, strict=True)
    return {f"summary.{name}": np.ascontiguousarray(array) for name, array in fields}


def release_of(manifest: Mapping[str, Any], arrays: Mapping[str, Anything]) -> MomentRelease:
    """A record-level release; a ValueError or ReleaseError says what does not fit.

    Formal guarantees
    -----------------
    - What comes back names, counts and measures everything alike in manifest and arrays: columns,
      classes, guarantee, noise and totals.
    - Not checked, for nothing in a file could prove it: that the noise was drawn as it says.
    """
    classes, columns = described(manifest)
    names = {f"summary.{name}" for name in MomentSummary._fields}
    must(arrays.keys() == names, "its arrays are not those of a release of moments")
    summary = MomentSummary(*(arrays[f"summary.{name}"] for name in MomentSummary._fields))
    _check_shapes(summary, len(classes), columns.width)
    _check_promise(manifest, summary, columns.width)
    V, M = summary.subspace, summary.moments
    apart = float(np.abs(V @ V.T - np.eye(len(V))).max())
    must(apart < NEARLY, "its subspace is not one of orthonormal directions")
    must(bool((np.swapaxes(M, 1, 2) == M).all()), "its second moments are not symmetric")
    plain = {key: value for key, value in manifest.items() if key not in OF_THE_FILE}
    try:
        return MomentRelease(plain, summary)
    except np.linalg.LinAlgError as error:
        raise ValueError("its second moments make no law") from error


def _check_shapes(summary: MomentSummary, C: int, p: int) -> None:
    k = len(summary.subspace) if summary.subspace.ndim else 0
    must(1 <= k <= p, "its subspace has an impossible dimension")
    shapes = [(C,), (1,), (C, p), (C, p), (k, p), (C, k), (C, k, k), (len(PARTS),), (3,)]
    for name, array, shape in zip(MomentSummary._fields, summary, shapes, strict=True):
        good = array.shape == shape and array.dtype == np.float64
        must(good, f"its array summary.{name} is another")
        must(bool((np.abs(array) < 1e100).all()), f"its array summary.{name} is beyond all measure")


def _check_promise(manifest: Mapping[str, Any], summary: MomentSummary, p: int) -> None:
    """Whether guarantee and noise are such as there are, and speak of one and the same thing."""
    for name in ("guarantee", "per_record", "noise"):
        must(isinstance(manifest.get(name), dict), f"its manifest lacks {name!r}")
    promised = Guarantee.from_dict(manifest["guarantee"])
    must(promised.adjacency == "add-or-remove", "its guarantee is not one for a record")
    must(manifest["per_record"] == manifest["guarantee"], "it promises two things for a record")
    noise = manifest["noise"]
    must(noise.keys() == NOISE_FIELDS, f"its noise lacks one of {', '.join(sorted(NOISE_FIELDS))}")
    must(noise["mechanism"] == "gaussian", "its noise is of a mechanism that is not known")
    must(isinstance(noise["insecure_seed"], bool), "it does not tell whether the noise was seeded")
    shares = noise["shares"]
    must(isinstance(shares, dict), "it does not tell how its budget was cut")
    parts = [part for part in PARTS if part != "subspace" or "subspace" in shares]
    must(shares.keys() == set(parts), "its budget is not cut into the parts of a release")
    whole = np.array_equal(summary.subspace, np.eye(p))
    must("subspace" in shares or whole, "its subspace has no share of the budget")

    budget = GaussianBudget(
        noise["epsilon"],
        noise["delta"],
        {part: shares[part] for part in parts},
        insecure_seed=0 if noise["insecure_seed"] else None,
    )
    must(budget.guarantee == promised, "its noise is not that of its guarantee")
    clip(np.empty((0, p)), noise["centre"], noise["radius"])
    radius, near, nearest = (float(r) for r in summary.radii)
    must(noise["radius"] == radius, "its radius is told twice, and not alike")
    must(0 < nearest <= near <= radius, "its radii do not become smaller")
    distances = {
        "counts": distance_of_record(radius, counts=1.0),
        "lengths": distance_of_record(radius, moments=1.0),
        "sums": distance_of_record(radius, sums=1.0),
        "subspace": distance_of_record(near, moments=1.0),
        "offsets": distance_of_record(nearest, sums=1.0),
        "moments": distance_of_record(nearest, moments=1.0),
    }
    totals = summary._asdict() | {"subspace": np.zeros(1)}
    for part, told in zip(PARTS, summary.deviations.tolist(), strict=True):
        drawn = budget.noise(part, distances[part]).sigma if part in shares else 0.0
        must(math.isclose(told, drawn, rel_tol=NEARLY), f"its noise on {part} is not what it says")
        most = MOST_ROWS * distances[part] + 40 * drawn
        total = totals[part]
        must(float(np.abs(total).max()) <= most, f"its {part} are more than rows and noise come to")
