"""A release as a file: what goes into it, and what is checked when it comes from anybody.

:mod:`dptransfer.transfer.container` sees to it that a file is whole and holds what its manifest
says; here the manifest is held against the arrays, and both against what a release is. Every kind
of release has a reader of its own in ``READERS``, by the kind that stands in the file; that of
moments is in :mod:`dptransfer.transfer.moment_file`. A release of samples holds

=====================  ==========================================================================
``model.*``            the classifier, see :mod:`dptransfer.models.packing`
``summary.*``          every field of :class:`~dptransfer.transfer.summary.Summary`
``samples.rows``       float32, (N, p), and ``samples.labels``, int32, (N,): the perturbed rows,
                       where the owner gave them out too
=====================  ==========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import ReleaseError
from dptransfer.models.packing import pack_parts, unpack_classifier
from dptransfer.privacy import Guarantee
from dptransfer.privacy.perturbation import check_privacy
from dptransfer.transfer import moment_file
from dptransfer.transfer.cell_noise import MECHANISMS
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.container import Container, read
from dptransfer.transfer.file_checks import OF_THE_FILE, described, list_of, must, positive
from dptransfer.transfer.making import IN_MEMORY
from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.release import Release
from dptransfer.transfer.sample_release import SampleRelease
from dptransfer.transfer.scratch import Scratch
from dptransfer.transfer.summary import LARGEST_MOMENTS, Summary

__all__ = ["READERS", "arrays_of", "open_release", "release_of"]

Anything = npt.NDArray[Any]

NOISE_FIELDS = {"mechanism", "epsilon", "delta", "distances", "grid", "insecure_seed"}
SAMPLES = {"samples.rows", "samples.labels"}


def arrays_of(release: Release) -> dict[str, Anything]:
    """The arrays of a release, by their names in the file."""
    if isinstance(release, MomentRelease):
        return moment_file.arrays_of(release)
    assert isinstance(release, SampleRelease)
    groups = [autoencoder.parts_ for autoencoder in release.model.autoencoders_]
    size = sum(layer.coef_.nbytes for group in groups for part in group for layer in part.layers_)
    empty = Scratch().empty if size > IN_MEMORY else np.empty
    arrays = pack_parts(groups, "model.", empty)
    for name, array in zip(Summary._fields, release.summary, strict=True):
        arrays[f"summary.{name}"] = np.ascontiguousarray(array)
    if release.samples is not None:
        rows, labels = release.samples
        arrays |= {"samples.rows": rows, "samples.labels": labels.astype(np.int32)}
    return arrays


def open_release(path: str | os.PathLike[str]) -> tuple[Release, Container]:
    """Read a release of any kind, and the file that it lay in."""
    container = read(path, *READERS)
    try:
        return READERS[container.kind](container.manifest, container.arrays), container
    except (ReleaseError, ValueError) as fault:
        raise ReleaseError(f"{path} holds no release that can be used: {fault}") from fault


def release_of(manifest: Mapping[str, Any], arrays: Mapping[str, Anything]) -> SampleRelease:
    """A release of samples; a ValueError or ReleaseError says what does not fit.

    Formal guarantees
    -----------------
    - What comes back names, counts and measures everything alike in manifest and arrays: columns,
      classes, class sizes, guarantee, noise, model, sums and samples.
    - The time that it takes and the memory that it needs are those of the arrays, times a constant.
    - Not checked, for nothing in a file could prove it: that the noise was drawn as it says.
    """
    classes, columns = described(manifest)
    sizes = list_of(manifest, "class_sizes")
    good = all(type(size) is int and size > 0 for size in sizes) and len(sizes) == len(classes)
    must(good and sum(sizes) == manifest.get("n_rows"), "its class sizes do not fit its classes")
    _check_promise(manifest, columns)
    parameters = manifest.get("parameters")
    must(isinstance(parameters, dict), "its manifest lacks the parameters of the model")

    model_arrays = {name: a for name, a in arrays.items() if name.startswith("model.")}
    model = unpack_classifier(model_arrays, classes, parameters or {}, "model.")
    packed = {"groups", "parts", "layers", "scalars", "components", "coef", "inducing", "weights"}
    known = {f"model.{name}" for name in packed} | {f"summary.{name}" for name in Summary._fields}
    samples = SAMPLES & arrays.keys()
    must(samples in (set(), SAMPLES), "it has rows without labels, or labels without rows")
    must(arrays.keys() == known | samples, "its arrays are not those of a release")
    must(model.n_features_in_ == columns.width, "its model is one for other columns")
    summary = _summary(arrays, sizes, columns.width)
    plain = {key: value for key, value in manifest.items() if key not in OF_THE_FILE}
    return SampleRelease(plain, model, summary, _samples(arrays, sizes, columns.width))


READERS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Anything]], Release]] = {
    SampleRelease.KIND: release_of,
    MomentRelease.KIND: moment_file.release_of,
}


def _check_promise(manifest: Mapping[str, Any], columns: Columns) -> None:
    """Whether guarantee and noise are such as there are, and speak of one and the same thing."""
    for name in ("guarantee", "per_record", "noise"):
        must(isinstance(manifest.get(name), dict), f"its manifest lacks {name!r}")
    cell = Guarantee.from_dict(manifest["guarantee"])
    record = Guarantee.from_dict(manifest["per_record"])
    must(cell.adjacency == "d-adjacency", "its guarantee is not one for a cell")
    must(record.adjacency == "replace-values", "its guarantee for a record is another's")
    noise = manifest["noise"]
    must(noise.keys() == NOISE_FIELDS, f"its noise lacks one of {', '.join(sorted(NOISE_FIELDS))}")
    must(noise["mechanism"] in list(MECHANISMS), "its noise is of a mechanism that is not known")
    privacy = check_privacy(noise["epsilon"], noise["delta"])
    must(privacy == (cell.epsilon, cell.delta), "its noise is not that of its guarantee")
    distances = list_of(noise, "distances")
    good = len(distances) == len(columns) and all(map(positive, distances))
    alike = good and len(set(distances)) == 1
    told = distances[0] if alike else tuple(distances)
    must(good and cell.distance == told, "its distances are not those of its guarantee")
    must(record.distance == told, "its distances are not those of its guarantee for a record")
    grid = noise["grid"] if isinstance(noise["grid"], list) else [noise["grid"]]
    must(len(grid) in {1, columns.width} and all(map(positive, grid)), "its grid is none")
    must(isinstance(noise["insecure_seed"], bool), "it does not tell whether the noise was seeded")


def _summary(arrays: Mapping[str, Anything], sizes: list[int], p: int) -> Summary:
    C, N = len(sizes), sum(sizes)
    summary = Summary(*(arrays[f"summary.{name}"] for name in Summary._fields))
    k = len(summary.subspace) if summary.subspace.ndim else 0
    m = min(k, LARGEST_MOMENTS)
    shapes = [(C,), (C, p), (k, p), (C, m, m), (p,)]
    for name, array, shape in zip(Summary._fields, summary, shapes, strict=True):
        kind = np.int64 if name == "counts" else np.float64
        must(array.shape == shape and array.dtype == kind, f"its array summary.{name} is another")
    must(1 <= k <= min(p, max(N - 1, 1)), "its subspace has an impossible dimension")
    must(summary.counts.tolist() == sizes, "its counts are not its class sizes")
    must(bool((summary.noise_variance > 0).all()), "its noise has no variance")
    return summary


def _samples(
    arrays: Mapping[str, Anything], sizes: list[int], p: int
) -> tuple[Anything, npt.NDArray[np.intp]] | None:
    if "samples.rows" not in arrays:
        return None
    rows, labels = arrays["samples.rows"], arrays["samples.labels"]
    good = rows.shape == (sum(sizes), p) and rows.dtype == np.float32
    good = good and labels.shape == (len(rows),) and labels.dtype == np.int32
    good = good and bool(((labels >= 0) & (labels < len(sizes))).all())
    counted = good and np.bincount(labels, minlength=len(sizes)).tolist() == sizes
    must(counted, "its samples are not as many of every class as it says")
    return rows, labels.astype(np.intp)
