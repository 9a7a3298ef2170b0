"""A release: what an owner publishes, and all that an adopter ever sees of the owner's data.

It holds a classifier, totals of every class, and a manifest that says of what, for what promise and
how they were made. There are two kinds, which protect different things and never pass for each
other: :class:`~dptransfer.transfer.sample_release.SampleRelease` protects one cell,
:class:`~dptransfer.transfer.moment_release.MomentRelease` a whole record. One file carries either;
see :mod:`dptransfer.transfer.release_file` for what is checked when it is read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dptransfer.errors import DataError, ReleaseError
from dptransfer.privacy import Guarantee, Ledger
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.writing import check_target, write

if TYPE_CHECKING:
    from dptransfer.transfer.moment_release import MomentRelease
    from dptransfer.transfer.sample_release import SampleRelease

__all__ = ["Release", "costs"]

Array = npt.NDArray[np.floating]


class Release:
    """What an owner of private labelled rows publishes.

    Made by :meth:`from_samples` (one cell is protected) or :meth:`from_moments` (a whole record is,
    with its label), or read by :meth:`load`.

    Attributes
    ----------
    manifest : dict
        Names, columns, classes, guarantee, mechanism, parameters; plain JSON values.
    guarantee : Guarantee
        What is promised, and for what.
    per_record : Guarantee
        What that amounts to for a whole row.
    model : classifier
        The source classifier, of rows as :meth:`encode` gives them.
    summary : tuple of arrays
        Totals of every class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> release = Release.from_samples(X, y, epsilon=1.0, delta=1e-5, bounds=(0, 16),
    ...                                classes=range(10), name="digits")
    >>> release.guarantee.unit, release.guarantee.epsilon, release.n_features
    ('element', 1.0, 64)
    """

    KIND: ClassVar[str]
    model: Any
    summary: Any

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        self.columns = Columns.from_list(manifest["columns"])
        self.guarantee = Guarantee.from_dict(manifest["guarantee"])
        self.per_record = Guarantee.from_dict(manifest["per_record"])

    @property
    def name(self) -> str:
        """The name of the data set."""
        return str(self.manifest["name"])

    @property
    def classes(self) -> list[Any]:
        """The labels, in the order in which everything else lists them."""
        return list(self.manifest["classes"])

    @property
    def n_features(self) -> int:
        """How many features the model sees."""
        return self.columns.width

    def encode(self, X: Any) -> Array:
        """Rows in the units of the release: an array, or a mapping (a data frame) of columns.

        What lies outside the owner's bounds stays outside [0, 1]. Missing cells become the fill
        that the owner declared, or are refused.
        """
        if not hasattr(X, "keys"):
            rows = np.asarray(X)
            if rows.ndim != 2 or rows.shape[1] != len(self.columns):
                raise DataError(
                    f"the release has {len(self.columns)} columns; give rows with these, or a "
                    "mapping from their names to cells"
                )
            return self.columns.encode_array(rows, bounded=False)
        return self.columns.encode(X, bounded=False)

    # The file ------------------------------------------------------------------------------------

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        sign: Ed25519PrivateKey | None = None,
        overwrite: bool = False,
        ledger: Ledger | None = None,
    ) -> None:
        """Write the release to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
        sign : Ed25519PrivateKey, optional
            Sign the file with it; see :mod:`dptransfer.transfer.signature`.
        overwrite : bool
            Whether a file of this name may be replaced.
        ledger : Ledger, optional
            Where the release is entered when all is on the disk, just before the file gets its
            name; if the budget does not allow it, there is no file. Leave it out for a release
            that was entered when it was made: it would count twice.
        """
        from dptransfer.transfer.release_file import arrays_of  # noqa: PLC0415 - it imports us

        check_target(path, overwrite)  # before the arrays are put together
        write(
            path,
            self.KIND,
            self.manifest,
            arrays_of(self),
            sign=sign,
            before_visible=None if ledger is None else partial(self.enter, ledger),
            overwrite=overwrite,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: Ed25519PublicKey | None = None) -> Self:
        """Read a release of any kind from its file; anything off is one ReleaseError.

        Parameters
        ----------
        path : str or path
        verify : Ed25519PublicKey, optional
            Refuse what the holder of this key did not sign. The key must have come from the owner
            by another way than the file.
        """
        from dptransfer.transfer import container, release_file  # noqa: PLC0415

        release, held = release_file.open_release(path)
        if verify is not None:
            container.verify(held, verify)
        if not isinstance(release, cls):
            raise ReleaseError(f"{path} is another kind of release than {cls.__name__}")
        return release

    def enter(self, ledger: Ledger) -> int:
        """Enter the release in the owner's book; its number there."""
        stated = costs(ledger, self.name, self.guarantee, self.per_record)
        return ledger.spend(self.name, *stated)

    # How it is made ------------------------------------------------------------------------------

    @classmethod
    def from_samples(
        cls,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        epsilon: float,
        delta: float,
        bounds: Any,
        classes: Sequence[Any],
        distance: Any = None,
        name: str = "unnamed",
        ledger: Ledger | None = None,
        mechanism: str = "optimal",
        keep_samples: bool = False,
        clip: bool = False,
        n_components: int = 20,
        n_layers: int = 5,
        max_inducing: float = 0.5,
        partition_size: int = 1000,
        n_jobs: int | None = None,
        random_state: int | None = None,
        insecure_seed: int | None = None,
    ) -> SampleRelease:
        """Perturb every cell of X (Algorithm 5) and learn from the result (Algorithm 6).

        Parameters
        ----------
        X : array of shape (N, p), or a data frame
            The private rows.
        y : array of shape (N,)
            Their labels, which are **not** protected.
        epsilon, delta : float
            What is promised for one cell of one row.
        bounds : pair, or one pair a column, or a mapping, or Columns
            Between which values each column can lie; never read off the data. A data frame with
            categories or missing cells needs a mapping such as ``{"age": [0, 120], "sex":
            {"categories": ["f", "m"], "fill": "f"}}``.
        classes : sequence of str or int
            The labels that there may be.
        distance : float, sequence of float or None
            By how much a cell may differ and still be protected; by default by all that its bounds
            allow.
        name : str
            Of the data set; the ledger counts by it.
        ledger : Ledger, optional
            Where the release is entered before it is returned. If the budget does not allow it,
            that is said before any noise is drawn.
        mechanism : {"optimal", "laplace"}
            The paper's noise, or Laplace noise that promises the same and leaves no cell untouched.
        keep_samples : bool
            Give the perturbed rows out too.
        clip : bool
            Bring values outside the bounds to them, instead of refusing them.
        n_components, n_layers, max_inducing, partition_size, n_jobs, random_state
            Of the classifier; the defaults are the paper's.
        insecure_seed : int, optional
            For tests and experiments only: noise that can be repeated, and so taken off. The
            release says so.
        """
        from dptransfer.transfer.cell_noise import CellNoise  # noqa: PLC0415
        from dptransfer.transfer.making import (  # noqa: PLC0415 - it imports us
            ReleaseMaker,
            make_of_arrays,
        )

        def maker(columns: Columns) -> ReleaseMaker:
            return ReleaseMaker(
                columns,
                classes,
                CellNoise(
                    columns,
                    epsilon,
                    delta,
                    distance,
                    mechanism=mechanism,
                    insecure_seed=insecure_seed,
                ),
                name=name,
                keep_samples=keep_samples,
                clip=clip,
                n_components=n_components,
                n_layers=n_layers,
                max_inducing=max_inducing,
                partition_size=partition_size,
                n_jobs=n_jobs,
                random_state=random_state,
            )

        return make_of_arrays(X, y, bounds, maker, ledger)

    @classmethod
    def from_moments(
        cls,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        epsilon: float,
        delta: float,
        bounds: Any,
        classes: Sequence[Any],
        radius: float | None = None,
        centre: float | Sequence[float] | None = None,
        name: str = "unnamed",
        ledger: Ledger | None = None,
        clip: bool = False,
        insecure_seed: int | None = None,
    ) -> MomentRelease:
        """Counts, sums and second moments of every class, with Gaussian noise on each.

        What is protected is one **record**: a whole row with its label, and whether it is there.

        Parameters
        ----------
        X : array of shape (N, p), or a data frame
            The private rows. They are read three times and not kept.
        y : array of shape (N,)
            Their labels, which are protected too.
        epsilon, delta : float
            What is promised for one record, of all that is released together; δ above 0.
        bounds : pair, or one pair a column, or a mapping, or Columns
            As for :meth:`from_samples`.
        classes : sequence of str or int
            The labels that there may be. One without rows is no fault: it would tell of the data.
        radius : float, optional
            Rows farther than this from the centre are brought so near; in units of the features,
            which lie in [0, 1]. By default √p/2, and with the default centre none is. The noise on
            the sums grows with the radius: one twice too wide asks for four times the budget, or
            twice the rows, to know the means as well. The second moments hardly mind, for they
            are of rows brought near to the released means, within a radius that follows from these.
        centre : float or sequence of float, optional
            Declared, and not read off the data; by default 0.5, the middle of every feature.
        name, ledger, clip, insecure_seed
            As for :meth:`from_samples`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> release = Release.from_moments(X, y, epsilon=8.0, delta=1e-5, bounds=(0, 16),
        ...                                classes=range(10), name="digits")
        >>> release.guarantee.unit, release.guarantee.epsilon
        ('record', 8.0)
        """
        from dptransfer.transfer.making import make_of_arrays  # noqa: PLC0415 - it imports us
        from dptransfer.transfer.moment_making import MomentMaker  # noqa: PLC0415

        def maker(columns: Columns) -> MomentMaker:
            return MomentMaker(
                columns,
                classes,
                epsilon,
                delta,
                radius=radius,
                centre=centre,
                name=name,
                clip=clip,
                insecure_seed=insecure_seed,
            )

        return make_of_arrays(X, y, bounds, maker, ledger)


def costs(ledger: Ledger, name: str, promised: Guarantee, record: Guarantee) -> list[Guarantee]:
    """What a release costs, in every unit that the ledger keeps a budget for."""
    units = ledger.units(name)
    if promised.unit == "element":
        return [promised, record] if "record" in units else [promised]
    if "element" not in units:
        return [promised]
    return [_for_a_cell(promised, ledger.remaining(name)["element"].budget), promised]


def _for_a_cell(record: Guarantee, budget: Guarantee) -> Guarantee:
    """What the promise for a record that comes or goes says of a cell, whatever its distance.

    Another cell is another record: one goes and one comes, which is (2ε, (1 + e^ε)δ).
    """
    return replace(
        budget,
        epsilon=2 * record.epsilon,
        delta=min(1.0, (1 + math.exp(min(record.epsilon, 700.0))) * record.delta),
        mechanism=f"{record.mechanism}, which hides a record that goes and one that comes",
    )
