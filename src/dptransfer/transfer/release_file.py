"""A release as a file: what goes into it, and what is checked when it comes from anybody.

:mod:`dptransfer.transfer.container` sees to it that a file is whole and holds what its manifest
says; here the manifest is held against the arrays, and both against what a release is. Every kind
of release has a reader of its own in ``READERS``, by the kind that stands in the file:

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
from dptransfer.transfer.cell_noise import MECHANISMS
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.container import Container, read
from dptransfer.transfer.making import IN_MEMORY, check_classes, check_name
from dptransfer.transfer.release import Release
from dptransfer.transfer.scratch import Scratch
from dptransfer.transfer.summary import LARGEST_MOMENTS, Summary

__all__ = ["READERS", "arrays_of", "open_release", "release_of"]

Anything = npt.NDArray[Any]

NOISE_FIELDS = {"mechanism", "epsilon", "delta", "distances", "grid", "insecure_seed"}
SAMPLES = {"samples.rows", "samples.labels"}


def arrays_of(release: Release) -> dict[str, Anything]:
    """The arrays of a release, by their names in the file."""
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


def release_of(manifest: Mapping[str, Any], arrays: Mapping[str, Anything]) -> Release:
    """A release of samples; a ValueError or ReleaseError says what does not fit.

    Formal guarantees
    -----------------
    - What comes back names, counts and measures everything alike in manifest and arrays: columns,
      classes, class sizes, guarantee, noise, model, sums and samples.
    - The time that it takes and the memory that it needs are those of the arrays, times a constant.
    - Not checked, for nothing in a file could prove it: that the noise was drawn as it says.
    """
    missing = {"name", "n_rows", "software", "features"} - manifest.keys()
    _must(not missing, f"its manifest lacks {', '.join(sorted(missing))}")
    check_name(manifest["name"])
    classes = check_classes(_list(manifest, "classes"))
    _must(classes == manifest["classes"], "its classes are not written plainly")
    sizes = _list(manifest, "class_sizes")
    good = all(type(size) is int and size > 0 for size in sizes) and len(sizes) == len(classes)
    _must(good and sum(sizes) == manifest["n_rows"], "its class sizes do not fit its classes")
    columns = _columns(manifest)
    _check_promise(manifest, columns)
    parameters = manifest.get("parameters")
    _must(isinstance(parameters, dict), "its manifest lacks the parameters of the model")

    model_arrays = {name: a for name, a in arrays.items() if name.startswith("model.")}
    model = unpack_classifier(model_arrays, classes, parameters or {}, "model.")
    packed = {"groups", "parts", "layers", "scalars", "components", "coef", "inducing", "weights"}
    known = {f"model.{name}" for name in packed} | {f"summary.{name}" for name in Summary._fields}
    samples = SAMPLES & arrays.keys()
    _must(samples in (set(), SAMPLES), "it has rows without labels, or labels without rows")
    _must(arrays.keys() == known | samples, "its arrays are not those of a release")
    _must(model.n_features_in_ == columns.width, "its model is one for other columns")
    summary = _summary(arrays, sizes, columns.width)
    plain = {key: value for key, value in manifest.items() if key not in OF_THE_FILE}
    return Release(plain, model, summary, _samples(arrays, sizes, columns.width))


OF_THE_FILE = {"format_version", "kind", "arrays", "arrays_digest"}

READERS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Anything]], Release]] = {
    Release.KIND: release_of,
}


def _must(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)


def _list(manifest: Mapping[str, Any], name: str) -> list[Any]:
    value = manifest.get(name)
    if not isinstance(value, list):
        raise ValueError(f"its manifest lacks the list {name!r}")
    return value


def _columns(manifest: Mapping[str, Any]) -> Columns:
    columns = Columns.from_list(_list(manifest, "columns"))
    _must(columns.to_list() == manifest["columns"], "its columns are not written plainly")
    features = _list(manifest, "features")
    _must(all(isinstance(name, str) for name in features), "its features are not named by texts")
    # A feature's name repeats that of its column: lengths first, or a small file could ask for much
    length = sum(column.width * len(column.name) for column in columns)
    same = length <= sum(map(len, features)) and columns.features == features
    _must(same, "its features are not those of its columns")
    return columns


def _check_promise(manifest: Mapping[str, Any], columns: Columns) -> None:
    """Whether guarantee and noise are such as there are, and speak of one and the same thing."""
    for name in ("guarantee", "per_record", "noise"):
        _must(isinstance(manifest.get(name), dict), f"its manifest lacks {name!r}")
    cell = Guarantee.from_dict(manifest["guarantee"])
    record = Guarantee.from_dict(manifest["per_record"])
    _must(cell.adjacency == "d-adjacency", "its guarantee is not one for a cell")
    _must(record.adjacency == "replace-values", "its guarantee for a record is another's")
    noise = manifest["noise"]
    _must(noise.keys() == NOISE_FIELDS, f"its noise lacks one of {', '.join(sorted(NOISE_FIELDS))}")
    _must(noise["mechanism"] in list(MECHANISMS), "its noise is of a mechanism that is not known")
    privacy = check_privacy(noise["epsilon"], noise["delta"])
    _must(privacy == (cell.epsilon, cell.delta), "its noise is not that of its guarantee")
    distances = _list(noise, "distances")
    good = len(distances) == len(columns) and all(map(_positive, distances))
    alike = good and len(set(distances)) == 1
    told = distances[0] if alike else tuple(distances)
    _must(good and cell.distance == told, "its distances are not those of its guarantee")
    _must(record.distance == told, "its distances are not those of its guarantee for a record")
    grid = noise["grid"] if isinstance(noise["grid"], list) else [noise["grid"]]
    _must(len(grid) in {1, columns.width} and all(map(_positive, grid)), "its grid is none")
    _must(isinstance(noise["insecure_seed"], bool), "it does not tell whether the noise was seeded")


def _positive(value: object) -> bool:
    return type(value) in (int, float) and value > 0  # type: ignore[operator]


def _summary(arrays: Mapping[str, Anything], sizes: list[int], p: int) -> Summary:
    C, N = len(sizes), sum(sizes)
    summary = Summary(*(arrays[f"summary.{name}"] for name in Summary._fields))
    k = len(summary.subspace) if summary.subspace.ndim else 0
    m = min(k, LARGEST_MOMENTS)
    shapes = [(C,), (C, p), (k, p), (C, m, m), (p,)]
    for name, array, shape in zip(Summary._fields, summary, shapes, strict=True):
        kind = np.int64 if name == "counts" else np.float64
        _must(array.shape == shape and array.dtype == kind, f"its array summary.{name} is another")
    _must(1 <= k <= min(p, max(N - 1, 1)), "its subspace has an impossible dimension")
    _must(summary.counts.tolist() == sizes, "its counts are not its class sizes")
    _must(bool((summary.noise_variance > 0).all()), "its noise has no variance")
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
    _must(counted, "its samples are not as many of every class as it says")
    return rows, labels.astype(np.intp)
