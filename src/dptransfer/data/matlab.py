"""MATLAB files of version 5 to 7, as far as tables, cells and structs of numbers go.

Such a file is a header of 128 bytes and then elements: a tag with a type and a size, and what it
says. A matrix is an element that holds others: its class, its dimensions, its name, its values; a
cell array or a struct holds matrices. An element may be compressed, with one matrix in it.

SciPy's reader takes the whole program down on some damaged files, because it looks types up in a
table without asking whether the table has them. This one reads what data sets need, and whatever is
not as it should be is a ValueError or the like.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Value", "read_mat"]

Value = npt.NDArray[Any] | list[Any] | dict[str, Any] | None
"""Numbers; a cell array's cells, column after column; a struct's fields; None for all else."""

HEADER = 128
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MATRIX, COMPRESSED = 14, 15
CELL, STRUCT, NUMBERS = 1, 2, range(6, 16)  # classes of matrices
COMPLEX = 0x08
DEEPEST = 16
LARGEST = 2**28  # bytes of all compressed elements when they are unpacked

Element = tuple[int, memoryview]


def read_mat(raw: bytes) -> dict[str, Value]:
    """The variables of a file, by name.

    Raises
    ------
    ValueError, TypeError, LookupError or zlib.error
        It is no such file, or not sound.
    """
    order = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}.get(raw[124:HEADER])
    if order is None:
        raise ValueError("no header")
    found = {}
    left = LARGEST
    for kind, inside in _elements(memoryview(raw)[HEADER:], order):
        element = kind, inside
        if kind == COMPRESSED:
            content = _unpacked(inside, left)
            left -= len(content)
            (element,) = _elements(content, order)
        name, value = _matrix(element, order, 0)
        found[name] = value
    return found


def _unpacked(packed: memoryview, most: int) -> memoryview:
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(packed, most + 1)  # 0 would be without a limit
    if not unpacking.eof or len(content) > most:
        raise ValueError("cut short, or endless")
    return memoryview(content)


def _elements(inside: memoryview, order: str) -> Iterator[Element]:
    at = 0
    while at < len(inside):
        kind, size = np.frombuffer(inside[at : at + 8], f"{order}u4").tolist()
        start, end = at + 8, at + 8 + size
        if kind >> 16:  # a small element: its size in the upper half, its content in the tag
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = at + 4, at + 4 + min(size, 4)
        if end - start != size or end > len(inside):
            raise ValueError("larger than what is around it")
        yield kind, inside[start:end]
        at = end if kind == COMPRESSED else end + -end % 8


def _matrix(element: Element, order: str, depth: int) -> tuple[str, Value]:
    kind, inside = element
    if kind != MATRIX or depth > DEEPEST:
        raise ValueError("no matrix, or too deep")
    if not len(inside):  # how an empty cell or field is written
        return "", np.zeros((0, 0))
    about, dimensions, name, *rest = _elements(inside, order)
    flags = int(_values(about, order)[0])
    shape = tuple(map(int, _values(dimensions, order)))
    if min(shape) < 0:
        raise ValueError("a negative dimension")
    return bytes(name[1]).decode(), _content(flags, shape, rest, order, depth)


def _content(
    flags: int, shape: tuple[int, ...], rest: list[Element], order: str, depth: int
) -> Value:
    of_class = flags & 0xFF
    if of_class in NUMBERS and not (flags >> 8) & COMPLEX:
        (numbers,) = rest
        return _values(numbers, order).reshape(shape, order="F")
    if of_class == CELL:
        if len(rest) != math.prod(shape):
            raise ValueError("more or fewer cells than the dimensions say")
        return [_matrix(cell, order, depth + 1)[1] for cell in rest]
    if of_class == STRUCT and math.prod(shape) == 1:
        length, names, *fields = rest
        width = int(_values(length, order)[0])
        joined = bytes(names[1])
        keys = [joined[k : k + width].split(b"\0")[0] for k in range(0, len(joined), width)]
        values = [_matrix(field, order, depth + 1)[1] for field in fields]
        return {key.decode(): value for key, value in zip(keys, values, strict=True)}
    return None


def _values(element: Element, order: str) -> npt.NDArray[Any]:
    kind, inside = element
    return np.frombuffer(inside, order + TYPES[kind])
