"""Fitted models as a few plain arrays, and back.

A classifier of a hundred autoencoders has a thousand small arrays. Here all of one kind lie end to
end in one array, and two small tables of whole numbers tell where each part's begin:

===============  ============================  ===============================================
``groups``       int32, (groups,)              how many parts each group (a class, say) has
``parts``        int32, (parts, 2)             n and the number of layers, of every part
``layers``       int32, (layers, 2)            M and n_iter_, of every layer of every part
``scalars``      float64, (layers, 3)          σ², β and τ(M, 1); a β without bound is kept as 0
``components``   (sum of n, p)                 the rows of P, part upon part
``coef``         (sum of M, p)                 α, layer upon layer
``inducing``     (sum of M times n,)           the inducing points, row upon row
``weights``      (sum of n,)                   w, layer upon layer
===============  ============================  ===============================================

Layer l of a part takes max(n − l + 1, 1) inputs, so that is nowhere written. What is read may come
from anybody's file: every number is checked before anything is done by it, and what comes back are
views of the arrays that were given, but for α Pᵀ, which is computed as in Algorithm 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import ParameterError, ReleaseError
from dptransfer.models.autoencoder import DeepMembershipAutoencoder
from dptransfer.models.classifier import MembershipClassifier
from dptransfer.models.mapping import MembershipMapping
from dptransfer.models.parameters import check_positive, inducing_limit
from dptransfer.models.threads import one_blas_thread
from dptransfer.models.wide import WideMembershipAutoencoder

__all__ = [
    "pack_mapping",
    "pack_parts",
    "unpack_classifier",
    "unpack_mapping",
    "unpack_parts",
]

Array = npt.NDArray[np.floating]
Anything = npt.NDArray[Any]

READERS_OWN = frozenset({"n_jobs", "random_state"})
MOST_CHARACTERS = 2**24  # of all class labels together, each as long as the longest


def pack_parts(
    groups: Sequence[Sequence[DeepMembershipAutoencoder]],
    prefix: str = "",
    empty: Callable[[tuple[int, ...], np.dtype[Any]], Anything] = np.empty,
) -> dict[str, Anything]:
    """The arrays of fitted autoencoders, all for the same columns and of one type.

    Parameters
    ----------
    groups : sequence of sequences of DeepMembershipAutoencoder
        A group may be empty.
    prefix : str
        What the names of the arrays begin with, where several models share a file.
    empty : callable
        Makes the arrays of floats; on disk, say, where the model is larger than the memory.
    """
    parts = [part for group in groups for part in group]
    layers = [layer for part in parts for layer in part.layers_]
    if len({(part.components_.dtype, part.components_.shape[1]) for part in parts}) > 1:
        raise ParameterError("autoencoders packed together have one type and the same columns")
    p = parts[0].components_.shape[1] if parts else 0
    dtype = parts[0].components_.dtype if parts else np.dtype(np.float64)
    joined = partial(_joined, dtype=dtype, empty=empty)
    arrays = {
        "groups": np.array([len(group) for group in groups], np.int32),
        "parts": _table([(len(part.components_), len(part.layers_)) for part in parts], 2),
        "layers": _table([(len(layer.coef_), layer.n_iter_) for layer in layers], 2),
        "scalars": np.array([_scalars(layer) for layer in layers]).reshape(-1, 3),
        "components": joined([part.components_ for part in parts], (p,)),
        "coef": joined([layer.coef_ for layer in layers], (p,)),
        "inducing": joined([layer.inducing_points_.ravel() for layer in layers], ()),
        "weights": joined([layer.weights_ for layer in layers], ()),
    }
    return {prefix + name: array for name, array in arrays.items()}


def unpack_parts(
    arrays: Mapping[str, Anything], prefix: str = ""
) -> list[list[DeepMembershipAutoencoder]]:
    """The autoencoders that :func:`pack_parts` packed, as fitted; anything else is refused.

    Raises
    ------
    ReleaseError
    """
    source = _Source(arrays, prefix)
    sizes = source.table("groups", ())
    parts = source.table("parts", (2,))
    layers = source.table("layers", (2,))
    components = source.floats("components", 2)
    dtype, p = components.dtype, components.shape[1]
    coef = source.floats("coef", 2, dtype)
    inducing = source.floats("inducing", 1, dtype)
    weights = source.floats("weights", 1, dtype)
    scalars = source.floats("scalars", 2, np.dtype(np.float64))

    # Sums are Python's whole numbers, which do not overflow; and what they agree with is there.
    source.must(bool((sizes >= 0).all()) and sum(sizes.tolist()) == len(parts), "groups")
    source.must(bool((parts >= 1).all() and (parts[:, 0] <= p).all()), "parts")
    source.must(sum(parts[:, 0].tolist()) == len(components), "components")
    source.must(sum(parts[:, 1].tolist()) == len(layers), "layers")
    source.must(bool((layers[:, 0] >= 1).all() and (layers[:, 1] >= 0).all()), "layers")
    source.must(sum(layers[:, 0].tolist()) == len(coef) and coef.shape[1] == p, "coef")
    inputs = [max(n - above, 1) for n, depth in parts.tolist() for above in range(depth)]
    sizes_of_points = [M * n for M, n in zip(layers[:, 0].tolist(), inputs, strict=True)]
    source.must(sum(sizes_of_points) == len(inducing), "inducing")
    source.must(sum(inputs) == len(weights) and bool((weights >= 0).all()), "weights")
    source.must(scalars.shape == (len(layers), 3) and _possible(scalars), "scalars")

    a, alpha, w, P = _Walk(inducing), _Walk(coef), _Walk(weights), _Walk(components)
    mappings = (
        _mapping(a.next(M * n).reshape(M, n), alpha.next(M), w.next(n), row, n_iter)
        for (M, n_iter), n, row in zip(layers.tolist(), inputs, scalars.tolist(), strict=True)
    )
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        found = [_part(P.next(n), depth, mappings) for n, depth in parts.tolist()]
    source.must(all(np.isfinite(step).all() for part in found for step in part.steps_), "coef")
    rest = iter(found)
    return [[next(rest) for _ in range(size)] for size in sizes.tolist()]


def unpack_classifier(
    arrays: Mapping[str, Anything],
    classes: Any,
    params: Mapping[str, Any],
    prefix: str = "",
) -> MembershipClassifier:
    """The classifier whose groups, one a class, :func:`pack_parts` packed.

    Parameters
    ----------
    arrays : dict of arrays
    classes : sequence
        The labels, in the order of the groups: all texts, or all numbers.
    params : dict
        The classifier's parameters. ``n_jobs`` and ``random_state`` are passed over: they are the
        reader's own to set, and not a file's.

    Raises
    ------
    ReleaseError
    """
    classifier = MembershipClassifier(**_checked_params(params))
    classifier.classes_ = _checked_classes(classes)
    groups = unpack_parts(arrays, prefix)
    if len(groups) != len(classifier.classes_) or not all(groups):
        raise ReleaseError(
            f"the model is broken: it has {len(classifier.classes_)} classes, and there must be "
            "autoencoders for each and for no other"
        )
    classifier.n_features_in_ = groups[0][0].n_features_in_
    classifier.autoencoders_ = []
    for parts in groups:
        autoencoder = WideMembershipAutoencoder(**classifier.get_params())
        autoencoder.n_features_in_ = classifier.n_features_in_
        autoencoder.parts_ = parts
        classifier.autoencoders_.append(autoencoder)
    return classifier


def pack_mapping(mapping: MembershipMapping, prefix: str = "") -> dict[str, Anything]:
    """The arrays of a fitted mapping."""
    arrays = {
        "scalars": np.array(_scalars(mapping)),
        "n_iter": np.array([mapping.n_iter_], np.int32),
        "coef": np.ascontiguousarray(mapping.coef_),
        "inducing": np.ascontiguousarray(mapping.inducing_points_),
        "weights": np.ascontiguousarray(mapping.weights_),
    }
    return {prefix + name: array for name, array in arrays.items()}


def unpack_mapping(arrays: Mapping[str, Anything], prefix: str = "") -> MembershipMapping:
    """The mapping that :func:`pack_mapping` packed, as fitted; anything else is refused.

    Raises
    ------
    ReleaseError
    """
    source = _Source(arrays, prefix)
    inducing = source.floats("inducing", 2)
    M, n = inducing.shape
    source.must(M >= 1 and n >= 1, "inducing")
    coef = source.floats("coef", source.dimensions("coef"), inducing.dtype)
    source.must(coef.ndim in {1, 2} and len(coef) == M and coef.size > 0, "coef")
    weights = source.floats("weights", 1, inducing.dtype)
    source.must(weights.shape == (n,) and bool((weights >= 0).all()), "weights")
    scalars = source.floats("scalars", 1, np.dtype(np.float64))
    source.must(scalars.shape == (3,) and _possible(scalars), "scalars")
    n_iter = source.table("n_iter", ())
    source.must(n_iter.shape == (1,) and bool(n_iter[0] >= 0), "n_iter")
    return _mapping(inducing, coef, weights, scalars.tolist(), int(n_iter[0]))


def _table(rows: Sequence[tuple[int, ...]], width: int) -> npt.NDArray[np.int32]:
    return np.array(rows, np.int32).reshape(-1, width)


def _joined(
    arrays: Sequence[Array],
    row: tuple[int, ...],
    dtype: np.dtype[Any],
    empty: Callable[[tuple[int, ...], np.dtype[Any]], Anything],
) -> Array:
    """The arrays, whose rows have this shape, end to end."""
    joined = empty((sum(map(len, arrays)), *row), dtype)
    start = 0
    for array in arrays:
        joined[start : start + len(array)] = array
        start += len(array)
    return joined


def _scalars(mapping: MembershipMapping) -> tuple[float, float, float]:
    beta = mapping.noise_precision_
    return mapping.variance_, beta if math.isfinite(beta) else 0.0, mapping.smoothing_


class _Walk:
    """An array, taken from its beginning a few rows at a time."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._at = 0

    def next(self, count: int) -> Array:
        self._at += count
        return self._array[self._at - count : self._at]


class _Source:
    """Arrays that may come from anybody's file."""

    def __init__(self, arrays: Mapping[str, Anything], prefix: str) -> None:
        self._arrays = arrays
        self._prefix = prefix

    def must(self, holds: bool, name: str) -> None:
        if not holds:
            raise ReleaseError(
                f"the model is broken: its array {self._prefix + name!r} is missing, or does not "
                "fit the others"
            )

    def dimensions(self, name: str) -> int:
        self.must(self._prefix + name in self._arrays, name)
        return self._arrays[self._prefix + name].ndim

    def table(self, name: str, row: tuple[int, ...]) -> Anything:
        """An array of int32 whose rows have this shape."""
        self.must(self.dimensions(name) == 1 + len(row), name)
        array = self._arrays[self._prefix + name]
        self.must(array.dtype == np.int32 and array.shape[1:] == row, name)
        return array

    def floats(self, name: str, ndim: int, dtype: np.dtype[Any] | None = None) -> Array:
        """An array of finite numbers, of this type, or of either that models have."""
        self.must(self.dimensions(name) == ndim, name)
        array = self._arrays[self._prefix + name]
        self.must(array.dtype in ([np.float64, np.float32] if dtype is None else [dtype]), name)
        self.must(bool(np.isfinite(array).all()), name)
        return array


def _possible(scalars: Array) -> bool:
    """Whether every variance is positive, and no precision or smoothing negative."""
    return bool((scalars >= 0).all() and (scalars[..., 0] > 0).all())


def _mapping(
    inducing: Array, coef: Array, weights: Array, scalars: Sequence[float], n_iter: int
) -> MembershipMapping:
    """A mapping as fitted, of what has been checked."""
    mapping = MembershipMapping()
    mapping.n_features_in_ = inducing.shape[1]
    mapping.inducing_points_ = inducing
    mapping.coef_ = coef
    mapping.weights_ = weights
    mapping.variance_, beta, mapping.smoothing_ = scalars
    mapping.noise_precision_ = beta or math.inf
    mapping.n_iter_ = n_iter
    return mapping


def _part(
    P: Array, n_layers: int, mappings: Iterator[MembershipMapping]
) -> DeepMembershipAutoencoder:
    """An autoencoder as fitted, from its subspace and the next mappings."""
    n, p = P.shape
    part = DeepMembershipAutoencoder(n, n_layers)
    part.n_features_in_ = p
    part.components_ = P
    part.layers_ = [next(mappings) for _ in range(n_layers)]
    part.steps_ = [
        mapping.coef_ @ P[: max(n - layer, 1)].T
        for layer, mapping in enumerate(part.layers_, start=1)
    ]
    return part


def _checked_params(params: Mapping[str, Any]) -> dict[str, Any]:
    known = set(MembershipClassifier().get_params())
    if not isinstance(params, Mapping) or not params.keys() <= known:
        raise ReleaseError(f"the model is broken: its parameters are not among {sorted(known)}")
    wanted = {name: params[name] for name in params.keys() - READERS_OWN}
    try:
        for name, value in wanted.items():
            if name == "max_inducing":
                inducing_limit(value, 1)
            else:
                check_positive(name, value, integer=True)
    except ParameterError as error:
        raise ReleaseError(f"the model is broken: {error}") from error
    return wanted


def _checked_classes(classes: Any) -> Anything:
    if isinstance(classes, np.ndarray):
        classes = classes.tolist()
    good = isinstance(classes, (list, tuple)) and len({type(label) for label in classes}) == 1
    if good and isinstance(classes[0], str):
        # an array of texts takes as much for each as for the longest
        good = len(classes) * max(map(len, classes)) <= MOST_CHARACTERS
    elif good:
        good = isinstance(classes[0], (bool, int, float)) and all(
            abs(label) < 2**63 for label in classes
        )
    labels = np.array(classes if good else [])
    if not good or len(np.unique(labels)) < len(labels):
        raise ReleaseError(
            "the model is broken: its classes are not different labels, all of them texts or all "
            "whole numbers"
        )
    return labels
