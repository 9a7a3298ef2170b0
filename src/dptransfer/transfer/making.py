"""How a release is made of private rows: noise first, and nothing private after it.

Rows come in blocks and are brought to features in [0, 1]; what then becomes of them, and how often
they are asked for, is each maker's own. A :class:`ReleaseMaker` asks once: rows are perturbed
(Algorithm 5) and only then kept, on disk where there are many. From the perturbed rows come the
classifier (Algorithm 6) and the sums. The private rows themselves are never held longer than their
block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

import dptransfer
from dptransfer.errors import DataError, DeclarationError, ParameterError
from dptransfer.models import DeepMembershipAutoencoder, MembershipClassifier
from dptransfer.models.wide import checked_components
from dptransfer.privacy import Guarantee, Ledger
from dptransfer.privacy.table import as_table
from dptransfer.transfer.cell_noise import CellNoise
from dptransfer.transfer.columns import Columns, as_text, is_missing
from dptransfer.transfer.progress import report
from dptransfer.transfer.release import Release, costs
from dptransfer.transfer.sample_release import SampleRelease
from dptransfer.transfer.scratch import PerturbedRows, Scratch
from dptransfer.transfer.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Maker",
    "ReleaseMaker",
    "check_classes",
    "check_name",
    "class_numbers",
    "make_of_arrays",
]

Array = npt.NDArray[np.float64]

Cells = npt.NDArray[Any]

BLOCK_VALUES = 2**20
IN_MEMORY = 2**26  # bytes of perturbed rows, or of α, up to which a model stays in memory as well


Made = TypeVar("Made", bound=Release)


class Maker(ABC, Generic[Made]):
    """Takes private rows block by block, as often as it asks for them, and makes a release.

    For every pass that :meth:`passes` yields, all rows go to :meth:`add`, in any blocks; after the
    last one :meth:`finish` gives the release.

    Parameters
    ----------
    columns : Columns
        What the columns are, as declared.
    classes : sequence
        The labels that there may be, as declared.
    name : str
        Of the data set, as in the ledger.
    clip : bool
        Whether values outside the bounds are brought to them, instead of being refused.
    """

    def __init__(self, columns: Columns, classes: Sequence[Any], name: str, clip: bool) -> None:
        self.columns, self.name, self.clip = columns, check_name(name), clip
        self.classes = check_classes(classes)
        self._row = 1

    @property
    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, Guarantee]:
        """What is promised, and what that amounts to for a record."""

    @abstractmethod
    def passes(self) -> Iterator[str]:
        """What is done with the rows, each time that they are read."""

    @abstractmethod
    def take(self, features: Array, numbers: npt.NDArray[np.intp]) -> None:
        """Take a block of private rows as features in [0, 1], with the class number of each."""

    @abstractmethod
    def finish(self) -> Made:
        """Make the release."""

    def check(self, ledger: Ledger) -> None:
        """Raise what the ledger would raise at the end, before any work is done."""
        ledger.check(self.name, *costs(ledger, self.name, *self.guarantees))

    def add(self, block: Any, labels: Cells) -> None:
        """Take a block of private rows: an array, or a mapping from columns to cells."""
        numbers = class_numbers(labels, self.classes, self._row)
        array = isinstance(block, np.ndarray)
        encode = self.columns.encode_array if array else self.columns.encode
        features = encode(block, self._row, clip=self.clip)
        self.take(features, numbers)
        self._row += len(numbers)

    def described(self) -> dict[str, Any]:
        """What every manifest tells."""
        promised, record = self.guarantees
        return {
            "software": f"dptransfer {dptransfer.__version__}",
            "name": self.name,
            "classes": self.classes,
            "columns": self.columns.to_list(),
            "features": self.columns.features,
            "guarantee": promised.to_dict(),
            "per_record": record.to_dict(),
        }


class ReleaseMaker(Maker[SampleRelease]):
    """Makes a release of perturbed rows.

    Parameters
    ----------
    columns, classes, name, clip
        See :class:`Maker`.
    noise : CellNoise
    keep_samples : bool
        Whether the perturbed rows go into the release too.
    **parameters
        Of the classifier, see :class:`~dptransfer.models.MembershipClassifier`.

    Formal guarantees
    -----------------
    - The release is a function of what ``noise`` gave out, of the labels and of what was declared;
      so it is as private as ``noise.guarantee`` says, and labels are not protected.
    """

    def __init__(
        self,
        columns: Columns,
        classes: Sequence[Any],
        noise: CellNoise,
        *,
        name: str,
        keep_samples: bool = False,
        clip: bool = False,
        **parameters: Any,
    ) -> None:
        super().__init__(columns, classes, name, clip)
        self.noise, self.keep_samples = noise, keep_samples
        self.classifier = MembershipClassifier(**parameters)
        checked_components(self.classifier, columns.width)  # now, and not when hours are spent
        self._rows = PerturbedRows(columns.width)

    @property
    def guarantees(self) -> tuple[Guarantee, Guarantee]:
        """For a cell, and what is promised of all cells of a record together."""
        cell = self.noise.guarantee
        return cell, cell.per_record(len(self.columns))

    def passes(self) -> Iterator[str]:
        """One."""
        yield "perturbing"

    def take(self, features: Array, numbers: npt.NDArray[np.intp]) -> None:
        """Keep the rows as they are once perturbed."""
        self._rows.append(self.noise.perturb(features), numbers)

    def finish(self) -> SampleRelease:
        """Learn from what was perturbed."""
        labels = self._rows.labels
        sizes = np.bincount(labels, minlength=len(self.classes))
        if not np.all(sizes):
            missing = self.classes[int(sizes.argmin())]
            raise DataError(
                f"class {missing!r} is declared but has no rows; leave it out of the classes"
            )
        X = self._rows.array()
        summary = summarise(X, labels, len(self.classes), self.noise.variance)
        groups = [np.flatnonzero(labels == c) for c in range(len(self.classes))]
        classes = np.array(self.classes)
        self.classifier.learn(X, groups, classes, _watch(X.nbytes > IN_MEMORY))
        manifest = self.described() | {
            "n_rows": len(X),
            "class_sizes": sizes.tolist(),
            "noise": {
                "mechanism": self.noise.mechanism,
                "epsilon": self.noise.epsilon,
                "delta": self.noise.delta,
                "distances": list(self.noise.distances),
                "grid": _short(self.noise.grid.tolist()),
                "insecure_seed": self.noise.insecure_seed is not None,
            },
            "parameters": _plain(self.classifier.get_params()),
        }
        samples = (X, labels) if self.keep_samples else None
        return SampleRelease(manifest, self.classifier, summary, samples)


def make_of_arrays(
    X: Any,
    y: npt.ArrayLike,
    bounds: Any,
    maker_of: Callable[[Columns], Maker[Made]],
    ledger: Ledger | None,
) -> Made:
    """A release of rows that are in memory; see :meth:`Release.from_samples`."""
    columns = Columns.parse_bounds(bounds) if isinstance(bounds, Mapping) else bounds
    n_rows, block = _blocks(X, columns)
    if not isinstance(columns, Columns):
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        columns = Columns.of_array(block(slice(0, 0)).shape[1], bounds, names)
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"y must hold a label for each of the {n_rows} rows of X")
    maker = maker_of(columns)
    if ledger is not None:
        maker.check(ledger)
    step = max(1, BLOCK_VALUES // columns.width)
    for doing in maker.passes():
        for start in range(0, n_rows, step):
            report(doing, start, n_rows)
            some = slice(start, min(start + step, n_rows))
            maker.add(block(some), labels[some])
    release = maker.finish()
    if ledger is not None:
        release.enter(ledger)
    return release


def _blocks(X: Any, columns: Any) -> tuple[int, Callable[[slice], Any]]:
    """How many rows there are, and any of them as :meth:`ReleaseMaker.add` takes them."""
    if not (isinstance(columns, Columns) and hasattr(X, "keys")):
        rows = as_table(X)
        if isinstance(columns, Columns) and len(columns) != rows.shape[1]:
            raise DeclarationError(
                f"{len(columns)} columns are declared, but X has {rows.shape[1]}"
            )
        return len(rows), rows.__getitem__
    columns.check_names(X.keys())
    for name in columns.names:
        if name not in X:
            raise DataError(f"X has no column {name!r}")
    cells = {name: np.asarray(X[name]) for name in columns.names}
    if len({each.shape for each in cells.values()} | {(len(each),) for each in cells.values()}) > 1:
        raise DataError("the columns of X must be of one length")
    n_rows = len(next(iter(cells.values())))
    return n_rows, lambda rows: {name: each[rows] for name, each in cells.items()}


def _watch(
    large: bool,
) -> Callable[[DeepMembershipAutoencoder, int], DeepMembershipAutoencoder]:
    scratch = Scratch() if large else None
    learned = 0

    def each(part: DeepMembershipAutoencoder, n_parts: int) -> DeepMembershipAutoencoder:
        nonlocal learned
        learned += 1
        report("learning", learned, n_parts)
        if scratch is not None:
            part.steps_ = [scratch.keep(step) for step in part.steps_]
            for layer in part.layers_:
                layer.coef_ = scratch.keep(layer.coef_)
                layer.inducing_points_ = scratch.keep(layer.inducing_points_)
        return part

    return each


def check_name(name: Any) -> str:
    """The name of a data set, if it is one."""
    if not (isinstance(name, str) and name.strip() and name.isprintable()):
        raise ParameterError("the name of a release must be a text that can be printed")
    return name


def check_classes(classes: Any) -> list[Any]:
    """The declared classes as plain values, each of them once."""
    if classes is None or isinstance(classes, (str, bytes)):
        raise DeclarationError(
            "classes must be declared: a list of the labels that there may be. They are not read "
            "off the data, because that a label occurs tells of the data"
        )
    plain = [c.item() if isinstance(c, np.generic) else c for c in classes]
    plain = [int(c) if isinstance(c, float) and c.is_integer() else c for c in plain]
    if not all(isinstance(c, (str, int)) and as_text(c) for c in plain):
        raise DeclarationError("a class must be a text or a whole number")
    if len({type(c) for c in plain}) > 1:
        raise DeclarationError("the classes must be all texts, or all whole numbers")
    if len(plain) < 2 or len({as_text(c) for c in plain}) < len(plain):
        raise DeclarationError("at least two classes must be declared, each of them once")
    return plain


def class_numbers(
    labels: Iterable[Any], classes: Sequence[Any], first_row: int = 1
) -> npt.NDArray[np.intp]:
    """The number of every label's class; 3, 3.0 and "3" are the same label."""
    number = {as_text(c): k for k, c in enumerate(classes)}
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    known = {v: -1 if is_missing(v) else number.get(as_text(v), -1) for v in set(values)}
    found = np.array([known[value] for value in values], dtype=np.intp)
    if len(found) and found.min() < 0:
        row = first_row + int(found.argmin())
        raise DataError(
            f"row {row}, column of the labels: missing, or none of the declared classes "
            f"({', '.join(as_text(c) for c in classes[:12])}{', …' * (len(classes) > 12)})"
        )
    return found


def _short(values: list[float]) -> float | list[float]:
    return values[0] if len(set(values)) == 1 else values


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """What tells how the model was made; how many workers made it, and the seed, do not."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
        if name not in {"n_jobs", "random_state"}
    }
