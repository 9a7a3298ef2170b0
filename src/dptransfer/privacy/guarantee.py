"""A guarantee as a value: what is protected, how well, and what is not.

An (ε, δ) means nothing until it says *between which two inputs* the output can hardly be told
apart. The paper's Definition 1 (d-adjacency) changes **one element**, that is one cell of one row,
by at most d; the literature mostly means **one record**, a whole row. The two differ by as much as
784 pixels differ from one, so a :class:`Guarantee` carries its unit and its adjacency with its
numbers, lists what it does not cover, and refuses to be added to or compared with one that speaks
of something else. The arithmetic behind it is :mod:`dptransfer.privacy.accounting`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, Self, get_args

from dptransfer.errors import DeclarationError, ParameterError
from dptransfer.privacy.accounting import compose_epsilon, default_delta
from dptransfer.privacy.words import statement

__all__ = ["NOT_COVERED", "Adjacency", "Guarantee", "Unit"]

Unit = Literal["element", "record"]

Adjacency = Literal["d-adjacency", "replace-values", "add-or-remove", "replace-record"]
"""Which two inputs are neighbours; a closed set, so that no caller can weaken it in words.

``d-adjacency``
    The paper's Definition 1: one element differs, by at most ``distance``. Unit: element.
``replace-values``
    One row's values differ, each by at most its column's ``distance``; the row's label and its
    presence stay as they are. Unit: record. This is what element noise composes to.
``add-or-remove``
    One row, with its label, is there or is not. Unit: record.
``replace-record``
    One row, with its label, is exchanged for any other. Unit: record.
"""

NOT_COVERED: Mapping[Adjacency, tuple[str, ...]] = {
    "d-adjacency": (
        "the labels",
        "the class sizes",
        "the number of rows and of columns",
        "a whole record: its cells together are protected far less than one cell alone",
        "what correlated columns or rows tell of the cell",
    ),
    "replace-values": (
        "the labels",
        "the class sizes",
        "the number of rows and of columns",
        "whether a record is in the data at all",
        "what correlated rows tell of the record",
    ),
    "add-or-remove": ("several records of one person", "what other records tell of this one"),
    "replace-record": (
        "the number of rows",
        "several records of one person",
        "what other records tell of this one",
    ),
}
"""What no mechanism of each adjacency protects: the shortest honest ``not_covered``."""

_UNIT_OF: Mapping[str, Unit] = {
    "d-adjacency": "element",
    "replace-values": "record",
    "add-or-remove": "record",
    "replace-record": "record",
}


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(f"{name} of a guarantee must be a number, not {type(value).__name__}")
    return float(value)


def _one_of(value: object, known: tuple[str, ...], name: str) -> None:
    if not isinstance(value, str):  # what it is instead may be data, and is not repeated
        raise ParameterError(f"{name} must be a text, not {type(value).__name__}")
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}; not {value[:40]!r}")


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy, with the words that give the numbers their meaning.

    Parameters
    ----------
    unit : {"element", "record"}
        What is protected: one cell of one row, or one row.
    epsilon : float
        ε ≥ 0; ``math.inf`` says that no finite ε holds at this δ.
    delta : float
        δ in [0, 1].
    distance : float or sequence of float, optional
        d of the d-adjacency, one for all columns or one a column. Must be declared for
        "d-adjacency" and "replace-values", and must be absent for the others.
    mechanism : str
        The name of what was run, for people.
    adjacency : {"d-adjacency", "replace-values", "add-or-remove", "replace-record"}
        Which two inputs are neighbours; see :data:`Adjacency`.
    not_covered : tuple of str
        What this guarantee does not protect; :data:`NOT_COVERED` holds the least to be said.

    Formal guarantees
    -----------------
    - For every two neighbouring inputs Y, Y′ and every set O of outputs,
      Pr{A(Y) ∈ O} ≤ exp(ε) Pr{A(Y′) ∈ O} + δ (the paper's Definition 3), *if* the mechanism
      that carries this value proves it; this class only keeps the words and numbers together.
    - `per_record` and `compose` return numbers that hold for **any** mechanisms with the given
      (ε, δ); see :func:`~dptransfer.privacy.accounting.compose_epsilon`.

    Examples
    --------
    >>> one_pixel = Guarantee("element", 0.1, 1e-5, 1.0, mechanism="optimal noise",
    ...                       adjacency="d-adjacency", not_covered=NOT_COVERED["d-adjacency"])
    >>> image = one_pixel.per_record(784)
    >>> print(image.unit, round(image.epsilon, 1), round(image.delta, 4))
    record 14.9 0.0078
    >>> one_pixel.per_record(784, delta=0.0078).epsilon
    inf
    """

    unit: Unit
    epsilon: float
    delta: float
    distance: float | tuple[float, ...] | None = None
    _: KW_ONLY
    mechanism: str
    adjacency: Adjacency
    not_covered: tuple[str, ...]

    def __post_init__(self) -> None:
        _one_of(self.unit, get_args(Unit), "unit")
        _one_of(self.adjacency, get_args(Adjacency), "adjacency")
        if _UNIT_OF[self.adjacency] != self.unit:
            raise ParameterError(
                f"adjacency {self.adjacency!r} is about one {_UNIT_OF[self.adjacency]}, "
                f"but the unit is {self.unit!r}; declare the two alike"
            )
        object.__setattr__(self, "epsilon", _number(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", _number(self.delta, "delta"))
        if not self.epsilon >= 0:
            raise ParameterError(f"epsilon must be at least 0, not {self.epsilon}")
        if not 0 <= self.delta <= 1:
            raise ParameterError(f"delta must be between 0 and 1, not {self.delta}")
        object.__setattr__(self, "distance", self._declared_distance())
        if not (isinstance(self.mechanism, str) and self.mechanism.strip()):
            raise ParameterError("mechanism must be the name of what was run")
        if isinstance(self.not_covered, str) or not all(
            isinstance(words, str) for words in self.not_covered
        ):
            raise ParameterError("not_covered must be a tuple of strings")
        object.__setattr__(self, "not_covered", tuple(self.not_covered))

    def _declared_distance(self) -> float | tuple[float, ...] | None:
        wanted = self.adjacency in ("d-adjacency", "replace-values")
        if self.distance is None:
            if wanted:
                raise DeclarationError(
                    f"adjacency {self.adjacency!r} needs a distance: by how much may a cell "
                    "differ and still be protected? Declare it; it is never measured on the data, "
                    "because what is measured on the data leaks"
                )
            return None
        if not wanted:
            raise DeclarationError(
                f"adjacency {self.adjacency!r} has no distance: it protects a record whatever "
                "its values; leave distance out"
            )
        one_for_all = isinstance(self.distance, Real)
        declared: Any = (self.distance,) if one_for_all else self.distance
        distances = tuple(_number(d, "distance") for d in declared)
        if not distances or not all(0 < d < math.inf for d in distances):
            raise DeclarationError("every distance must be declared, finite and above 0")
        return distances[0] if one_for_all else distances

    # What may be said together -------------------------------------------------------------------

    def check_same_kind(self, other: Guarantee, doing: str) -> None:
        """Refuse to `doing` ("compose", "compare") two guarantees whose neighbours differ."""
        if self.unit != other.unit:
            raise ParameterError(
                f"cannot {doing} a guarantee for one {self.unit} and one for one {other.unit}: "
                "they protect different things; bring the element's to a record first with "
                "per_record(n_features)"
            )
        if self.adjacency != other.adjacency:
            raise ParameterError(
                f"cannot {doing} guarantees of adjacency {self.adjacency!r} and "
                f"{other.adjacency!r}: their neighbouring inputs differ"
            )
        if self.distance != other.distance:
            raise ParameterError(
                f"cannot {doing} guarantees of distance {self.distance} and {other.distance}: "
                "their neighbouring inputs differ"
            )

    def __le__(self, other: Guarantee) -> bool:
        """Whether this one is at least as strong: ε and δ both no larger, of the same kind."""
        self.check_same_kind(other, "compare")
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __ge__(self, other: Guarantee) -> bool:
        """Whether this one is no stronger than the other, of the same kind."""
        return other <= self

    def compose(self, *others: Guarantee, delta: float | None = None) -> Guarantee:
        """What holds when all of these were released from the same data.

        Composed by privacy-loss distributions (see
        :func:`~dptransfer.privacy.accounting.compose_epsilon`); the mechanisms may be chosen one
        after the other, each in the light of what the earlier ones released, but not their (ε, δ).

        Parameters
        ----------
        *others : Guarantee
            Of the same unit, adjacency and distance.
        delta : float, optional
            At which δ to report ε; see
            :func:`~dptransfer.privacy.accounting.default_delta` for the default.
        """
        parts = [self, *others]
        for other in others:
            self.check_same_kind(other, "compose")
        losses = [(part.epsilon, part.delta) for part in parts]
        at = default_delta(losses) if delta is None else delta
        names = list(dict.fromkeys(part.mechanism for part in parts))
        caveats = list(dict.fromkeys(words for part in parts for words in part.not_covered))
        return replace(
            self,
            epsilon=compose_epsilon(losses, at),
            delta=at,
            mechanism=names[0] if len(parts) == 1 else f"{len(parts)} × " + ", ".join(names),
            not_covered=tuple(caveats),
        )

    def per_record(self, n_features: int, delta: float | None = None) -> Guarantee:
        """What an element's guarantee says of a whole record of `n_features` cells.

        The cells of one record are `n_features` runs of the mechanism, so their guarantees
        compose. The neighbouring inputs that result differ in one record's values, each cell by
        at most its distance; **its label and its presence stay**, for the mechanism publishes
        both as they are.

        Parameters
        ----------
        n_features : int
            How many cells a record has.
        delta : float, optional
            At which δ to report ε. Below 1 − (1 − δ)ⁿ no finite ε holds and ε is ``math.inf``.
        """
        if self.unit != "element":
            raise ParameterError(
                "per_record brings an element's guarantee to a record; this one is a record's"
            )
        if isinstance(n_features, bool) or not isinstance(n_features, Integral) or n_features < 1:
            raise ParameterError("n_features must be a whole number of cells, at least 1")
        if isinstance(self.distance, tuple) and len(self.distance) != n_features:
            raise ParameterError(
                f"{len(self.distance)} distances are declared, one a column, "
                f"but a record is said to have {n_features} cells"
            )
        losses = [(self.epsilon, self.delta)] * n_features
        at = default_delta(losses) if delta is None else delta
        return Guarantee(
            unit="record",
            epsilon=compose_epsilon(losses, at),
            delta=at,
            distance=self.distance,
            mechanism=f"{self.mechanism}, on each of {n_features} cells",
            adjacency="replace-values",
            not_covered=tuple(
                dict.fromkeys(
                    NOT_COVERED["replace-values"]
                    + tuple(w for w in self.not_covered if w not in NOT_COVERED["d-adjacency"])
                )
            ),
        )

    # Words ---------------------------------------------------------------------------------------

    def statement(self) -> str:
        """A paragraph for the person who answers for the data, and for the one who checks it."""
        return statement(self)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; an ε without bound is the string "inf"."""
        plain = asdict(self)
        plain["epsilon"] = "inf" if math.isinf(self.epsilon) else self.epsilon
        plain["not_covered"] = list(self.not_covered)
        if isinstance(self.distance, tuple):
            plain["distance"] = list(self.distance)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; anything missing, added or malformed is refused."""
        if not isinstance(plain, Mapping):
            raise ParameterError("a guarantee is read from a mapping of its fields")
        names = {field.name for field in fields(cls)}
        if names != set(plain):  # the unknown ones are counted, not repeated: they may be data
            raise ParameterError(
                f"not the fields of a guarantee: missing {sorted(names - set(plain))}, "
                f"and {len(set(plain) - names)} unknown"
            )
        values = dict(plain)
        if values["epsilon"] == "inf":
            values["epsilon"] = math.inf
        if not isinstance(values["not_covered"], (list, tuple)):
            raise ParameterError("not_covered must be a list of strings")
        return cls(**values)
