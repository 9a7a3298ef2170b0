"""What an owner declares on the command line: bounds, classes, distances, lists of columns."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dptransfer.errors import DataError, DeclarationError, ParameterError

if TYPE_CHECKING:
    from dptransfer.transfer.columns import Columns

__all__ = ["as_classes", "as_distance", "as_words", "one_or_all", "read_bounds"]


def read_bounds(path: Path) -> Columns:
    """The declared columns, from the JSON file of bounds."""
    from dptransfer.transfer.columns import Columns  # noqa: PLC0415 - `--help` starts without it

    try:
        plain = json.loads(
            path.read_text(encoding="utf-8-sig"),
            object_pairs_hook=_once,
            parse_constant=_no_constant,
        )
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise DeclarationError(
            f"{path}, line {error.lineno}, character {error.colno}: this is not JSON; the file "
            'names each column\'s bounds, as in {"age": [0, 120]}'
        ) from error
    except (ValueError, RecursionError) as error:
        raise DeclarationError(f"{path} is not JSON as it is needed here: {error}") from error
    return Columns.parse_bounds(plain, str(path))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for place, (name, _) in enumerate(pairs):
        if name in dict(pairs[:place]):
            raise ValueError(f"{name!r} stands twice in it")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no bound")


def as_words(text: str, option: str) -> list[str]:
    """Words with commas between them; one that holds a comma stands in quotes.

    >>> as_words('age, "weight, kg"', "--drop")
    ['age', 'weight, kg']
    """
    try:
        words = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        words = []
    words = [word.strip() for word in words]
    if not words or not all(words):
        raise ParameterError(f'{option} takes words with commas between them: a,b,"c, d"')
    return words


def as_classes(text: str) -> list[Any]:
    """Declared classes: whole numbers if all are such, otherwise texts.

    >>> as_classes("0, 1,2"), as_classes("01,02"), as_classes("ill,well")
    ([0, 1, 2], ['01', '02'], ['ill', 'well'])
    """
    from dptransfer.data.tables import as_labels, objects  # noqa: PLC0415

    words: list[Any] = as_labels(objects(as_words(text, "--classes"))).tolist()
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        return words
    return numbers if list(map(str, numbers)) == words else words


def as_distance(text: str | None) -> Any:
    """A number for all columns, or a tuple of them, one a column."""
    if text is None:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise DeclarationError("--distance must be a number, or numbers like 1,0.5,2") from None
    return one_or_all(numbers)


def one_or_all(distances: tuple[float, ...]) -> float | tuple[float, ...]:
    """One distance where all are alike, which is how a release states them."""
    return distances[0] if len(set(distances)) == 1 else distances
