"""The head of a safe file: a pure function of its manifest, and strict JSON.

A file of the safetensors format begins with the length of a JSON header (8 bytes, little-endian),
the header, and then the bytes of the arrays. Here the header has one form only. It opens with the
metadata, the digest before all else, so that the digest's characters lie at the same place in every
file; then follow the arrays, those of wide types first and by name among equals, so that every one
begins where its type wants to. Shapes and types stand in the manifest too, and offsets follow from
them: a reader does not pick its way through a header that may lie, but writes the header that the
manifest asks for and compares. Negative, overlapping or overflowing offsets, holes, repeated names
and numbers that only look like numbers have nowhere to stand.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "BLANK",
    "DIGEST",
    "FORMAT_VERSION",
    "METADATA",
    "OPENING",
    "Place",
    "check_size",
    "header_of",
    "places_of",
    "strict_json",
]

FORMAT_VERSION = 1

OPENING = b'{"__metadata__":{"digest":"'
DIGEST = slice(8 + len(OPENING), 8 + len(OPENING) + 64)
BLANK = "0" * 64
METADATA = ("digest", "kind", "manifest", "signature", "public_key")

DTYPES = {"float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32", "uint8": "U8"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
MOST_DIMENSIONS = 8
LARGEST_SIZE = 2**62  # bytes of an array, its empty dimensions counted as one
LONGEST_NUMBER = 19  # characters of a whole number; such numbers fit 64 bits
LARGEST_HEADER = 2**26
MOST_ITEMS = 10**6  # keys and values; JSON of nothing but brackets grows fortyfold in memory


class Place(NamedTuple):
    """Where an array lies, in bytes from the first array's first."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    end: int


def places_of(table: Any) -> list[Place]:
    """Every array's place, in the order of the file, from the manifest's table of arrays.

    Raises ValueError, with words that go after the file's name, where the table is not one.

    >>> table = {"b": {"dtype": "int32", "shape": [3]}, "a": {"dtype": "float64", "shape": [2, 2]}}
    >>> [(place.name, place.start, place.end) for place in places_of(table | {"c": table["b"]})]
    [('a', 0, 32), ('b', 32, 44), ('c', 44, 56)]
    """
    if not isinstance(table, dict):
        raise ValueError("has a manifest without a table of arrays")
    unplaced = [_unplaced(name, entry) for name, entry in table.items()]
    places: list[Place] = []
    start = 0
    for name, dtype, shape in sorted(unplaced, key=lambda one: (-one[1].itemsize, one[0])):
        end = start + dtype.itemsize * math.prod(shape)
        places.append(Place(name, dtype, shape, start, end))
        start = end
    return places


def _unplaced(name: str, entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not NAME.fullmatch(name):
        raise ValueError(
            f"has an array named {name[:60]!r}; a name is made of letters, digits, _, - and ."
        )
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape"}:
        raise ValueError(f"does not give the type and shape of the array {name!r}")
    dtype, shape = entry["dtype"], entry["shape"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"has an array {name!r} of a type that is not among {', '.join(DTYPES)}")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"has an array {name!r} whose shape is not a list of whole numbers")
    little = np.dtype(dtype).newbyteorder("<")
    span = little.itemsize * math.prod(max(n, 1) for n in shape)
    if len(shape) > MOST_DIMENSIONS or span > LARGEST_SIZE:
        raise ValueError(f"has an array {name!r} of an impossible shape")
    return name, little, tuple(shape)


def header_of(metadata: Mapping[str, str], places: list[Place]) -> bytes:
    """The first bytes of the file, up to the arrays: a length, and canonical JSON."""
    head: dict[str, Any] = {"__metadata__": {key: metadata[key] for key in METADATA}}
    for name, dtype, shape, start, end in places:
        head[name] = {
            "dtype": DTYPES[dtype.name],
            "shape": shape,
            "data_offsets": [start, end],
        }
    text = json.dumps(head, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def check_size(length: int, text: bytes = b"") -> None:
    """Refuse a header that would take more memory to read than a manifest can be worth."""
    if length > LARGEST_HEADER or sum(text.count(mark) for mark in b",[{") > MOST_ITEMS:
        raise ValueError(
            f"has a header of more than {LARGEST_HEADER >> 20} MiB or {MOST_ITEMS:,} values"
        )


def strict_json(text: str, what: str) -> Any:
    """JSON as the standard has it: no key twice, no NaN, no number that does not fit 64 bits.

    Raises ValueError, with words that go after the file's name, for anything else.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_no_key_twice,
            parse_constant=_no_constant,
            parse_int=_whole,
            parse_float=_finite,
        )
        # a lone half of a surrogate pair is a str that cannot be printed
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"has {what} that is not strict JSON") from error
    return value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > LONGEST_NUMBER or not -(2**63) <= int(digits) < 2**63:
        raise ValueError("a whole number does not fit 64 bits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return value
