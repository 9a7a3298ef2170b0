"""What every release file is held against, whichever its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dptransfer.transfer.columns import Columns
from dptransfer.transfer.making import check_classes, check_name

__all__ = ["OF_THE_FILE", "columns_of", "described", "list_of", "must", "positive"]

OF_THE_FILE = {"format_version", "kind", "arrays", "arrays_digest"}


def described(manifest: Mapping[str, Any]) -> tuple[list[Any], Columns]:
    """The classes and columns, if all that tells of them is as it should be."""
    missing = {"name", "software", "features"} - manifest.keys()
    must(not missing, f"its manifest lacks {', '.join(sorted(missing))}")
    check_name(manifest["name"])
    classes = check_classes(list_of(manifest, "classes"))
    must(classes == manifest["classes"], "its classes are not written plainly")
    return classes, columns_of(manifest)


def must(holds: bool, fault: str) -> None:
    """Raise a ValueError with the fault, unless it holds."""
    if not holds:
        raise ValueError(fault)


def list_of(manifest: Mapping[str, Any], name: str) -> list[Any]:
    """A list that the manifest has under this name."""
    value = manifest.get(name)
    if not isinstance(value, list):
        raise ValueError(f"its manifest lacks the list {name!r}")
    return value


def columns_of(manifest: Mapping[str, Any]) -> Columns:
    """The columns, with the features that they become."""
    columns = Columns.from_list(list_of(manifest, "columns"))
    must(columns.to_list() == manifest["columns"], "its columns are not written plainly")
    features = list_of(manifest, "features")
    must(all(isinstance(name, str) for name in features), "its features are not named by texts")
    # A feature's name repeats that of its column: lengths first, or a small file could ask for much
    length = sum(column.width * len(column.name) for column in columns)
    same = length <= sum(map(len, features)) and columns.features == features
    must(same, "its features are not those of its columns")
    return columns


def positive(value: object) -> bool:
    """Whether it is a number above 0."""
    return type(value) in (int, float) and value > 0  # type: ignore[operator]
