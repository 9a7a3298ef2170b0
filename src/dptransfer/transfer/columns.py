"""What the columns of a table are, as declared, and the features that a model sees of them.

A number between declared bounds becomes one feature, (x − low)/(high − low). A category becomes one
feature for each declared category, 1 for the one that it is and 0 for the others (two categories
need one feature only). Everything here is declared by the owner: a bound or a category that is read
off the data tells of the data. The declarations are part of a release, so that an adopter's row is
brought to the same units.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DataError, DeclarationError, OutsideBoundsError

__all__ = ["Column", "Columns", "as_text", "is_missing"]

Array = npt.NDArray[np.float64]
Cells = npt.NDArray[Any]

EXAMPLE = '{"age": [0, 120], "sex": {"categories": ["f", "m"]}}'


def as_text(value: object) -> str:
    """A label or category as text: 3, 3.0 and "3" are the same.

    >>> as_text(3), as_text(3.0), as_text("b"), as_text(2.5), as_text(True)
    ('3', '3', 'b', '2.5', 'True')
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class Column:
    """One column as declared: a number between bounds, or a category.

    Parameters
    ----------
    name : str
    low, high : float, optional
        Between which values a number lies.
    categories : tuple of str, optional
        What a category may be.
    fill : float or str, optional
        Stands for a missing cell. Without it a table with missing cells is refused.
    """

    name: str
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] | None = None
    fill: float | str | None = None

    def __post_init__(self) -> None:
        where = f"column {self.name!r}"
        if not (isinstance(self.name, str) and self.name.strip()):
            raise DeclarationError("every column needs a name")
        if self.categories is not None:
            if self.low is not None or self.high is not None:
                raise DeclarationError(f"{where} is declared a number and a category; choose one")
            texts = tuple(as_text(category) for category in self.categories)
            if len(texts) < 2 or len(set(texts)) < len(texts) or not all(texts):
                raise DeclarationError(f"{where} needs at least two categories, each of them once")
            object.__setattr__(self, "categories", texts)
            if self.fill is not None and as_text(self.fill) not in texts:
                raise DeclarationError(f"the fill of {where} is none of its categories")
            return
        if self.low is None or self.high is None:
            raise DeclarationError(
                f"{where} has no bounds: declare between which two values it lies (bounds are not "
                "read off the data, because a column's extremes are private values)"
            )
        for name, value in (("lower bound", self.low), ("upper bound", self.high)):
            _check_number(value, f"the {name} of {where}")
        if not self.low < self.high:
            raise DeclarationError(f"the lower bound of {where} must be below its upper bound")
        if not math.isfinite(float(self.high) - float(self.low)):
            raise DeclarationError(f"the bounds of {where} are too far apart")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if self.fill is not None:
            _check_number(self.fill, f"the fill of {where}")
            if not self.low <= float(self.fill) <= self.high:
                raise DeclarationError(f"the fill of {where} lies outside its bounds")

    @property
    def width(self) -> int:
        """How many features this column becomes."""
        return 1 if self.categories is None or len(self.categories) == 2 else len(self.categories)

    @property
    def distance(self) -> float:
        """By how much a cell may differ: the width of its bounds, or 1 for another category."""
        return 1.0 if self.low is None or self.high is None else self.high - self.low

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        if self.categories is None:
            return [self.name]
        shown = self.categories[1:] if self.width == 1 else self.categories
        return [f"{self.name}={category}" for category in shown]

    def encode(
        self, cells: Cells, first_row: int = 1, *, clip: bool = False, bounded: bool = True
    ) -> Array:
        """The features of some cells, shape (len(cells), width); NaN or None is missing.

        Values outside the bounds are brought to them with ``clip``, kept where the values need not
        be ``bounded`` (an adopter's, who has other extremes than the owner), and otherwise refused.

        Raises
        ------
        DataError
            A cell that is missing (and no fill is declared), is no number, or is none of the
            categories; its row is named, its content is not.
        OutsideBoundsError
            Numbers outside the bounds; how many is its attribute, for the owner alone.
        """
        if self.categories is None:
            return self._number(cells, first_row, clip, bounded)[:, None]
        texts = [None if is_missing(cell) else as_text(cell) for cell in cells.tolist()]
        number = {category: k for k, category in enumerate(self.categories)}
        fill = None if self.fill is None else as_text(self.fill)
        found = np.empty(len(texts), dtype=np.intp)
        for row, text in enumerate(texts):
            known = fill if text is None else text
            if known is None:
                raise self._fault(first_row + row, "missing, and no fill is declared")
            if known not in number:
                names = ", ".join(self.categories[:8]) + ", …" * (len(self.categories) > 8)
                raise self._fault(first_row + row, f"none of the declared categories ({names})")
            found[row] = number[known]
        if self.width == 1:
            return found[:, None].astype(np.float64)
        return np.eye(self.width)[found]

    def _number(self, cells: Cells, first_row: int, clip: bool, bounded: bool) -> Array:
        assert self.low is not None
        assert self.high is not None
        values = self._floats(cells, first_row)
        missing = np.isnan(values)
        if missing.any():
            if self.fill is None:
                row = first_row + int(missing.argmax())
                raise self._fault(row, "missing, and no fill is declared")
            values = np.where(missing, float(self.fill), values)
        infinite = np.isinf(values)
        if infinite.any():
            raise self._fault(first_row + int(infinite.argmax()), "infinite")
        outside = (values < self.low) | (values > self.high)
        if bounded and outside.any():
            if not clip:
                raise OutsideBoundsError(
                    f"row {first_row + int(outside.argmax())}, column {self.name!r}: outside the "
                    f"declared bounds [{self.low:g}, {self.high:g}]; declare bounds that hold for "
                    "every possible value, or have values clipped to them",
                    int(outside.sum()),
                )
            values = np.clip(values, self.low, self.high)
        return np.asarray((values - self.low) / (self.high - self.low))

    def _floats(self, cells: Cells, first_row: int) -> Array:
        if cells.dtype.kind in "biuf":
            return cells.astype(np.float64)
        values = np.empty(len(cells))
        for row, cell in enumerate(cells.tolist()):
            try:
                values[row] = np.nan if is_missing(cell) else _float(cell)
            except (TypeError, ValueError, OverflowError):
                raise self._fault(first_row + row, "not a number") from None
        return values

    def _fault(self, row: int, what: str) -> DataError:
        return DataError(f"row {row}, column {self.name!r}: {what}")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        plain: dict[str, Any] = {"name": self.name}
        if self.categories is None:
            plain |= {"low": self.low, "high": self.high}
        else:
            plain["categories"] = list(self.categories)
        return plain if self.fill is None else plain | {"fill": self.fill}

    @classmethod
    def from_dict(cls, plain: Any) -> Column:
        """Read what `to_dict` wrote."""
        known = {"name", "low", "high", "categories", "fill"}
        if not isinstance(plain, Mapping) or not set(plain) <= known or "name" not in plain:
            raise DeclarationError(f"a column is declared by the fields {', '.join(sorted(known))}")
        values = dict(plain)
        categories = values.get("categories")
        if categories is not None:
            if not isinstance(categories, (list, tuple)):
                raise DeclarationError(f"the categories of column {values['name']!r} are no list")
            values["categories"] = tuple(categories)
        return cls(**values)


class Columns(Sequence[Column]):
    """The columns of a table, in order.

    Examples
    --------
    >>> columns = Columns.parse_bounds({"age": [0, 120], "sex": {"categories": ["f", "m"]}})
    >>> columns.encode({"age": np.array([30.0, 60.0]), "sex": np.array(["m", "f"], dtype=object)})
    array([[0.25, 1.  ],
           [0.5 , 0.  ]])
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = tuple(columns)
        if not self._columns:
            raise DeclarationError("no columns are declared")
        counts = Counter(column.name for column in self._columns)
        if len(counts) < len(self._columns):
            twice = next(name for name, count in counts.items() if count > 1)
            raise DeclarationError(f"column {twice!r} is declared twice")

    def __getitem__(self, index: Any) -> Any:
        return self._columns[index]

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and self._columns == other._columns

    def __hash__(self) -> int:
        return hash(self._columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self]

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [feature for column in self for feature in column.features]

    @property
    def width(self) -> int:
        """How many features there are."""
        return sum(column.width for column in self)

    @property
    def distances(self) -> tuple[float, ...]:
        """By how much a cell of each column may differ."""
        return tuple(column.distance for column in self)

    @property
    def numbers_only(self) -> bool:
        """Whether every column is a number, and so a feature of its own."""
        return all(column.categories is None for column in self)

    @property
    def text(self) -> list[str]:
        """The columns whose cells are read as text, to the letter."""
        return [column.name for column in self if column.categories is not None]

    def encode(
        self,
        block: Mapping[str, Cells],
        first_row: int = 1,
        *,
        clip: bool = False,
        bounded: bool = True,
    ) -> Array:
        """The features of some rows, shape (n, width); see :meth:`Column.encode`."""
        missing = [column.name for column in self if column.name not in block]
        if missing:
            raise DataError(f"there is no column {missing[0]!r}")
        cells = [np.asarray(block[column.name]) for column in self]
        if self.numbers_only and all(each.dtype.kind in "biuf" for each in cells):
            return self.encode_array(np.stack(cells, axis=1), first_row, clip=clip, bounded=bounded)
        return self._encode(cells, first_row, clip=clip, bounded=bounded)

    def encode_array(
        self, X: Cells, first_row: int = 1, *, clip: bool = False, bounded: bool = True
    ) -> Array:
        """The same for an array of numbers with one column for each of ours."""
        if self.numbers_only and X.dtype.kind in "biuf":
            low, high = self._bounds
            if bool(np.all((low <= X) & (high >= X))):  # which is false for NaN
                return np.asarray((X - low) / (high - low))
        return self._encode(X.T, first_row, clip=clip, bounded=bounded)

    def _encode(self, cells: Iterable[Cells], first_row: int, **outside: bool) -> Array:
        return np.hstack(
            [
                column.encode(each, first_row, **outside)
                for column, each in zip(self, cells, strict=True)
            ]
        )

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        return np.array([c.low for c in self], float), np.array([c.high for c in self], float)

    def to_list(self) -> list[dict[str, Any]]:
        """As plain JSON values."""
        return [column.to_dict() for column in self]

    @classmethod
    def from_list(cls, plain: Any) -> Columns:
        """Read what `to_list` wrote."""
        if not isinstance(plain, list):
            raise DeclarationError("columns are declared by a list")
        return cls(Column.from_dict(each) for each in plain)

    @classmethod
    def of_array(cls, n_columns: int, bounds: Any, names: Sequence[str] | None = None) -> Columns:
        """Numbers between bounds: one pair for all columns, or one a column."""
        try:
            pairs = np.asarray(bounds, dtype=np.float64)
        except (TypeError, ValueError):
            pairs = np.empty(0)
        if bounds is None or pairs.shape not in {(2,), (n_columns, 2)}:
            raise DeclarationError(
                f"bounds must be declared: one pair (low, high) for all {n_columns} columns, or "
                "one a column. They are not read off the data, because a column's extremes are "
                "private values and would leak"
            )
        pairs = np.broadcast_to(pairs, (n_columns, 2))
        called = [f"x{k}" for k in range(n_columns)] if names is None else names
        return cls(
            Column(name, float(low), float(high))
            for name, (low, high) in zip(called, pairs, strict=True)
        )

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a table with columns that nothing is declared of: they are left out knowingly."""
        known = set(self.names)
        for name in names:
            if name not in known:
                raise DeclarationError(
                    f"nothing is declared of the column {name!r}: declare its bounds or categories,"
                    " or leave it out of the table"
                )

    @classmethod
    def parse_bounds(cls, plain: Any, what: str = "bounds") -> Columns:
        """The bounds file of the command line: for every column a pair, or a mapping.

        The mapping has "low" and "high", or "categories", and if wanted "fill".
        """
        if not isinstance(plain, Mapping):
            raise DeclarationError(f"{what}: must name every column, as in {EXAMPLE}")
        columns = []
        for name, declared in plain.items():
            if isinstance(declared, (list, tuple)) and len(declared) == 2:
                fields: Any = {"low": declared[0], "high": declared[1]}
            elif isinstance(declared, Mapping) and "name" not in declared:
                fields = dict(declared)
            else:
                raise DeclarationError(
                    f"{what}: column {name!r} needs a pair [low, high] or "
                    '{"categories": [...]}, with a "fill" if cells may be missing'
                )
            try:
                columns.append(Column.from_dict({"name": name, **fields}))
            except DeclarationError as error:
                raise DeclarationError(f"{what}: {error}") from None
        try:
            return cls(columns)
        except DeclarationError as error:
            raise DeclarationError(f"{what}: {error}") from None


def is_missing(cell: object) -> bool:
    """Whether there is nothing where a cell or label should be: None, NaN or an empty text."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and not cell)


def _float(cell: Any) -> float:
    if isinstance(cell, str) and "_" in cell:
        raise ValueError("Python's 1_000 is nobody's number")
    return float(cell)


def _check_number(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(float(value)):
        raise DeclarationError(f"{what} must be a finite number")
