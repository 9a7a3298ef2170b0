"""An adopter's model as a file: what goes into it, and what is checked when it comes from anybody.

:mod:`dptransfer.transfer.container` sees to it that a file is whole and holds what its manifest
says; here the manifest is held against the arrays. For domain i and its source j:

===================================  ==========================================================
``domain{i}.offset, scale, …``       the fields of :class:`~dptransfer.transfer.alignment.Alignment`
``domain{i}.target.*``               the target's classifier, see :mod:`dptransfer.models.packing`
``domain{i}.other{j}.*``             its further ones, of another n
``domain{i}.source{j}.model.*``      the source's
``domain{i}.source{j}.mapping.*``    the source2target model, if there is one
===================================  ==========================================================

The rows that the model was learned from are not in it, but it was learned from them without any
noise: it is as private as they are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import dptransfer
from dptransfer.errors import ParameterError, ReleaseError
from dptransfer.models import MembershipClassifier
from dptransfer.models.packing import (
    pack_mapping,
    pack_parts,
    unpack_classifier,
    unpack_mapping,
)
from dptransfer.privacy import Guarantee
from dptransfer.transfer.alignment import KINDS, Alignment
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.container import read, write
from dptransfer.transfer.decision import Domain
from dptransfer.transfer.gain import TransferGain
from dptransfer.transfer.labelling import TOGETHER
from dptransfer.transfer.learned import Learned, Told
from dptransfer.transfer.source2target import Source
from dptransfer.transfer.trial import Trial
from dptransfer.transfer.writing import check_target

if TYPE_CHECKING:
    from dptransfer.transfer.adapter import TransferClassifier

__all__ = ["KIND", "read_model", "write_model"]

Anything = npt.NDArray[Any]

KIND = "model"
NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
CLASS_TYPES = ("text", *NUMBERS, "float32", "float64")
LEFT_OUT = ("n_jobs", "random_state", "source")


def write_model(
    model: TransferClassifier, path: str | os.PathLike[str], *, overwrite: bool
) -> None:
    """Write a fitted model, whole or not at all."""
    check_target(path, overwrite)
    learned, trial = model.learned()
    arrays: dict[str, Anything] = {}
    domains = [_packed(domain, f"domain{i}.", arrays) for i, domain in enumerate(learned.domains)]
    names = learned.feature_names
    manifest = {
        "software": f"dptransfer {dptransfer.__version__}",
        "strategy": learned.strategy,
        "parameters": {k: v for k, v in model.get_params().items() if k not in LEFT_OUT}
        | {"schedule": [int(n) for n in model.schedule]},
        **_classes_told(learned.classes),
        "n_features": learned.n_features,
        "feature_names": None if names is None else [str(name) for name in names],
        "columns": None if learned.columns is None else learned.columns.to_list(),
        "domains": domains,
        "sources": [
            {
                "name": told.name,
                "guarantee": told.guarantee.to_dict(),
                "per_record": told.per_record.to_dict(),
            }
            for told in learned.sources
        ],
        "temperature": trial.temperature,
        "calibration": trial.calibration,
        "gain": None if trial.gain is None else trial.gain.to_dict(),
        "notes": learned.notes,
    }
    write(path, KIND, manifest, arrays, overwrite=overwrite)


def _classes_told(classes: Anything) -> dict[str, Any]:
    kind = "text" if classes.dtype.kind == "U" else classes.dtype.name
    if kind not in CLASS_TYPES:
        raise ParameterError(f"labels of the type {kind} cannot be written; give them as texts")
    return {"classes": classes.tolist(), "class_type": kind}


def _packed(domain: Domain, prefix: str, arrays: dict[str, Anything]) -> dict[str, Any]:
    """Put the arrays of a domain to the others; returns what the manifest says of it."""
    for name, array in domain.alignment._asdict().items():
        if isinstance(array, np.ndarray):
            arrays[prefix + name] = np.ascontiguousarray(array)
    arrays |= _parts(domain.target, f"{prefix}target.")
    for j, other in enumerate(domain.others):
        arrays |= _parts(other, f"{prefix}other{j}.")
    sources = []
    for j, source in enumerate(domain.sources):
        arrays |= _parts(source.model, f"{prefix}source{j}.model.")
        if source.mapping is not None:
            arrays |= pack_mapping(source.mapping, f"{prefix}source{j}.mapping.")
        sources.append(
            {
                "name": source.name,
                "classes": source.classes.tolist(),
                "mapping": source.mapping is not None,
                "parameters": _parameters(source.model),
            }
        )
    return {
        "alignment": domain.alignment.kind,
        "unit": domain.unit,
        "target": _classifier_told(domain.target),
        "others": [_classifier_told(other) for other in domain.others],
        "sources": sources,
    }


def _classifier_told(model: MembershipClassifier) -> dict[str, Any]:
    return {"classes": model.classes_.tolist(), "parameters": _parameters(model)}


def _parts(model: MembershipClassifier, prefix: str) -> dict[str, Anything]:
    return pack_parts([autoencoder.parts_ for autoencoder in model.autoencoders_], prefix)


def _parameters(model: MembershipClassifier) -> dict[str, Any]:
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in model.get_params().items()
        if name not in LEFT_OUT
    }


# Reading -----------------------------------------------------------------------------------------


def read_model(path: str | os.PathLike[str]) -> TransferClassifier:
    """Read a model; anything off is one ReleaseError."""
    container = read(path, KIND)
    try:
        return _model_of(container.manifest, container.arrays)
    except (ReleaseError, ValueError) as fault:
        raise ReleaseError(f"{path} holds no model that can be used: {fault}") from fault


def _model_of(manifest: Mapping[str, Any], arrays: Mapping[str, Anything]) -> TransferClassifier:
    from dptransfer.transfer.adapter import TransferClassifier  # noqa: PLC0415 - it imports us

    told = _Fields(manifest, "its manifest")
    classes = _classes(told)
    n_features = told.get("n_features", _is_count)
    names = told.get("feature_names", lambda v: v is None or (_texts(v) and len(v) == n_features))
    plain = told.get("columns", lambda v: v is None or isinstance(v, list))
    columns = None if plain is None else Columns.from_list(plain)
    fits = columns is None or (columns.to_list() == plain and columns.width == n_features)
    _must(fits, "its columns do not fit it")
    used: set[str] = set()
    domains = [
        _domain(each, _Own(arrays, f"domain{i}.", used), n_features, len(classes))
        for i, each in enumerate(told.get("domains", lambda v: isinstance(v, list) and bool(v)))
    ]
    _must(used == arrays.keys(), "it has arrays that no part of it needs")
    sources = []
    for each in told.get("sources", lambda v: isinstance(v, list)):
        source = _Fields(each, "a source")
        cell, record = (
            Guarantee.from_dict(source.get(name, lambda v: isinstance(v, dict)))
            for name in ("guarantee", "per_record")
        )
        sources.append(Told(source.get("name", _is_text), cell, record))
    trial = Trial(
        _gain(told.get("gain", lambda v: v is None or isinstance(v, dict))),
        float(told.get("temperature", _is_positive)),
        told.get("calibration", _is_text),
    )
    parameters = told.get("parameters", lambda v: isinstance(v, dict))
    model = TransferClassifier()
    good = parameters.keys() == model.get_params().keys() - set(LEFT_OUT)
    good = good and _is_text(parameters["strategy"])
    _must(good and isinstance(parameters["schedule"], list), "its parameters are not those of one")
    model.set_params(**parameters | {"schedule": tuple(parameters["schedule"])})
    learned = Learned(
        classes=classes,
        n_features=n_features,
        feature_names=None if names is None else np.array(names, dtype=object),
        columns=columns,
        strategy=told.get("strategy", _is_text),
        domains=domains,
        sources=sources,
        notes=told.get("notes", _texts),
    )
    return model.become(learned, trial)


def _classes(told: _Fields) -> Anything:
    kind = told.get("class_type", lambda v: v in CLASS_TYPES)
    plain = told.get("classes", lambda v: isinstance(v, list) and bool(v))
    wanted = {"text": str, "bool": bool}.get(kind, float if kind.startswith("float") else int)
    _must(all(type(label) is wanted for label in plain), "its classes are not of their type")
    if kind == "text":
        length = max(map(len, plain)) * len(plain)
        _must(length <= sum(map(len, plain)) + 2**24, "its classes are too long")
    with np.errstate(over="ignore"):
        try:
            classes = np.array(plain, dtype=None if kind == "text" else kind)
        except OverflowError:
            raise ValueError("its classes are not of their type") from None
    _must(np.unique(classes).tolist() == plain, "its classes are not different labels, in order")
    return classes


def _domain(plain: Any, arrays: _Own, p_tg: int, n_classes: int) -> Domain:
    told = _Fields(plain, "a domain")
    alignment = Alignment(
        told.get("alignment", lambda v: v in KINDS),
        arrays.floats("offset"),
        arrays.floats("scale"),
        arrays.floats("matrix"),
        arrays.take("picked"),
    )
    _, offset, scale, matrix, picked = alignment
    target = _classifier(_Fields(told.get("target", _is_object), "a target"), "target.", arrays)
    p_sr = target.n_features_in_
    wide = p_tg
    if picked is not None:
        good = picked.dtype == np.int64 and picked.ndim == 1 and matrix is None and len(picked) > 0
        _must(good and picked.min() >= 0 and picked.max() < p_tg, "it picks columns that are none")
        wide = len(picked)
    if matrix is not None:
        _must(matrix.shape == (p_sr, p_tg) and offset is scale is None, "its alignment is none")
    else:
        same = (offset is None) == (scale is None)
        shapes = {each.shape for each in (offset, scale) if each is not None}
        _must(wide == p_sr and same and shapes <= {(p_sr,)}, "its alignment is none")
    numbers = target.classes_
    _must(_class_numbers(numbers, 0, n_classes), "a target has classes that are none")
    others = []
    for j, each in enumerate(told.get("others", _are_few)):
        other = _classifier(_Fields(each, "a further classifier"), f"other{j}.", arrays)
        same = other.n_features_in_ == p_sr and np.array_equal(other.classes_, numbers)
        _must(same, "a further classifier is one of something else")
        others.append(other)
    sources = []
    for j, each in enumerate(told.get("sources", lambda v: isinstance(v, list))):
        source = _Fields(each, "a source of a domain")
        model = _classifier(source, f"source{j}.model.", arrays, count=True)
        given = source.get("classes", lambda v: isinstance(v, list) and all(map(_is_int, v)))
        in_order = np.array(given, dtype=np.intp)
        _must(len(in_order) == len(model.classes_), "a source has classes that are none")
        _must(_class_numbers(in_order, -1, n_classes), "a source has classes that are none")
        mapping = None
        if source.get("mapping", lambda v: isinstance(v, bool)):
            prefix = f"source{j}.mapping."
            mapping = unpack_mapping(arrays.those(prefix), arrays.prefix + prefix)
            shape = (len(mapping.inducing_points_), p_sr)
            same = mapping.n_features_in_ == p_sr and mapping.coef_.shape == shape
            _must(same, "a source2target model is one for other columns")
        _must(model.n_features_in_ == p_sr, "a source is one for other columns")
        sources.append(Source(source.get("name", _is_text), model, in_order, mapping))
    unit = float(told.get("unit", _is_positive))
    return Domain(alignment, target, tuple(sources), unit, tuple(others))


def _classifier(
    told: _Fields, prefix: str, arrays: _Own, *, count: bool = False
) -> MembershipClassifier:
    """A classifier whose classes are numbers; a source's are counted, and its own matter not."""
    classes = told.get("classes", lambda v: isinstance(v, list) and all(map(_is_int, v)))
    return unpack_classifier(
        arrays.those(prefix),
        list(range(len(classes))) if count else classes,
        told.get("parameters", _is_object),
        arrays.prefix + prefix,
    )


def _class_numbers(numbers: Anything, least: int, n_classes: int) -> bool:
    known = numbers[numbers >= 0]
    inside = bool(numbers.min() >= least and numbers.max() < n_classes)
    return inside and len(np.unique(known)) == len(known)


def _gain(plain: dict[str, Any] | None) -> TransferGain | None:
    if plain is None:
        return None
    try:
        gain = TransferGain.from_dict(plain)
    except (KeyError, TypeError, AttributeError):
        raise ValueError("what it says of the source's worth is incomplete") from None
    _must(gain.to_dict() == plain, "what it says of the source's worth contradicts itself")
    return gain


class _Fields:
    """An object of the manifest, whose fields are looked at before they are used."""

    def __init__(self, plain: Any, what: str) -> None:
        _must(isinstance(plain, dict), f"{what} is no object")
        self._plain, self._what = plain, what

    def get(self, name: str, good: Callable[[Any], bool]) -> Any:
        value = self._plain.get(name)
        if name not in self._plain or not good(value):
            raise ValueError(f"{self._what} lacks {name!r}, or it is not what it must be")
        return value


class _Own:
    """The arrays of one domain; whatever is taken is noted."""

    def __init__(self, arrays: Mapping[str, Anything], prefix: str, used: set[str]) -> None:
        self._arrays, self.prefix, self._used = arrays, prefix, used

    def take(self, name: str) -> Anything | None:
        array = self._arrays.get(self.prefix + name)
        if array is not None:
            self._used.add(self.prefix + name)
        return array

    def floats(self, name: str) -> Anything | None:
        array = self.take(name)
        _must(array is None or array.dtype == np.float64, f"its array {name!r} is of another type")
        return array

    def those(self, prefix: str) -> dict[str, Anything]:
        found = {k: v for k, v in self._arrays.items() if k.startswith(self.prefix + prefix)}
        self._used.update(found)
        return found


def _must(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _are_few(value: Any) -> bool:
    return isinstance(value, list) and len(value) < TOGETHER


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_int(value: Any) -> bool:
    return type(value) is int


def _is_count(value: Any) -> bool:
    return _is_int(value) and value >= 1


def _is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < math.inf
