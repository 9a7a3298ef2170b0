"""A release of pure noise: the control that tells knowledge from mere machinery.

It has the columns, classes, class sizes and noise of a given release. Its rows all were the middle
of their bounds before the noise came, or lay at the centre, if the release is one of moments.
"""

from __future__ import annotations

import numpy as np

from dptransfer.models import MembershipClassifier
from dptransfer.privacy.clipping import unpack_symmetric
from dptransfer.transfer.cell_noise import CellNoise
from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.moment_steps import centres_of, subspace_of
from dptransfer.transfer.moments_plan import PARTS
from dptransfer.transfer.release import Release
from dptransfer.transfer.sample_release import SampleRelease
from dptransfer.transfer.scratch import PerturbedRows
from dptransfer.transfer.summary import summarise

__all__ = ["noise_twin"]

MIDDLE = 0.5
BLOCK_VALUES = 2**22


def noise_twin(release: Release, n_jobs: int | None, rng: np.random.Generator) -> Release:
    """Make the twin of a release that knows nothing."""
    if isinstance(release, MomentRelease):
        return _of_moments(release, rng)
    return _of_samples(release, n_jobs, rng)


def _of_moments(release: MomentRelease, rng: np.random.Generator) -> MomentRelease:
    """Totals of rows that lie at the centre of all, but for noise; class sizes and radii stay."""
    told = release.summary
    noise = dict(zip(PARTS, told.deviations, strict=True))
    sums = noise["sums"] * rng.standard_normal(told.sums.shape)
    centres = centres_of(sums, told.sizes, noise["sums"])
    p = release.n_features
    subspace = told.subspace
    if noise["subspace"]:
        scatter = noise["subspace"] * rng.standard_normal(p * (p + 1) // 2)
        subspace = subspace_of(unpack_symmetric(scatter), centres, told.sizes, len(subspace))
    C, k = told.offsets.shape
    return MomentRelease(
        release.manifest,
        told._replace(
            lengths=noise["lengths"] * rng.standard_normal(1),
            sums=sums,
            centres=centres,
            subspace=subspace,
            offsets=noise["offsets"] * rng.standard_normal((C, k)),
            moments=unpack_symmetric(noise["moments"] * rng.standard_normal((C, k * (k + 1) // 2))),
        ),
    )


def _of_samples(release: Release, n_jobs: int | None, rng: np.random.Generator) -> SampleRelease:
    told = release.manifest["noise"]
    noise = CellNoise(
        release.columns,
        told["epsilon"],
        told["delta"],
        told["distances"],
        mechanism=told["mechanism"],
    )
    sizes = release.manifest["class_sizes"]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = PerturbedRows(release.n_features)
    step = max(1, BLOCK_VALUES // release.n_features)
    for start in range(0, len(labels), step):
        block = labels[start : start + step]
        rows.append(noise.draw(len(block), rng) + MIDDLE, block)
    X = rows.array()
    parameters = release.manifest["parameters"]
    model = MembershipClassifier(**parameters, n_jobs=n_jobs, random_state=int(rng.integers(2**31)))
    groups = [np.flatnonzero(labels == c) for c in range(len(sizes))]
    model.learn(X, groups, np.array(release.classes))
    summary = summarise(X, labels, len(sizes), noise.variance)
    return SampleRelease(release.manifest, model, summary)
