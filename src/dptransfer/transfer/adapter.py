"""The adopter's side: a classifier from few labels, many rows without, and what owners published.

Section 4.2 of the paper as one scikit-learn estimator. Its steps stand in files of their own:
:mod:`~dptransfer.transfer.alignment`, :mod:`~dptransfer.transfer.self_training`,
:mod:`~dptransfer.transfer.source2target`, :mod:`~dptransfer.transfer.decision`; what the source was
worth is measured in :mod:`~dptransfer.transfer.trial`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dptransfer.errors import DataError, ParameterError
from dptransfer.models.parameters import check_positive, inducing_limit
from dptransfer.models.validation import check_squares, new_rows
from dptransfer.transfer.calibration import probabilities
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.decision import Opinions, opinions
from dptransfer.transfer.gain import TransferGain
from dptransfer.transfer.labels import read_labels
from dptransfer.transfer.learned import Given, Learned, Told
from dptransfer.transfer.learning import learn_target, with_source_classes
from dptransfer.transfer.release import Release
from dptransfer.transfer.self_training import Settings
from dptransfer.transfer.strategies import STRATEGIES, choose
from dptransfer.transfer.trial import HeldOut, Trial, run_trial

__all__ = ["TransferClassifier"]

Array = npt.NDArray[np.floating]


class TransferClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that learns from few labels of its own and from owners' releases.

    Parameters
    ----------
    source : None, Release or list of Release
        What owners published. None learns from the target alone.
    strategy : {"auto", "paper", "noise-aware", "target-only"}, default="auto"
        "paper" is Section 4.2 to the letter. "noise-aware" counts on what survives the noise:
        class means and second moments, with their errors; it needs no labels of your own.
        "target-only" is the same without any source. "auto" is "noise-aware" with those sources
        only that stand the test of your labelled rows.
    schedule : sequence of int, default=(5, 10, 15, 20)
        The subspace dimensions n of the rounds of self-training.
    n_layers, max_inducing
        Of these rounds' autoencoders, as for :class:`~dptransfer.models.MembershipClassifier`.
    n_jobs : int or None
        Workers; every number gives the same result.
    random_state : int, RandomState or None
        Draws seeds of clusters and the folds of the trial. The noise in a release is the owner's.

    Attributes
    ----------
    classes_ : array of shape (C,)
        All classes that the labelled rows or a source know.
    releases_ : list of Release
        Those that the strategy uses.
    transduction_ : array of shape (N,)
        A label for every row given to fit: its own, or the predicted one.
    transfer_gain_ : TransferGain or None
        What the source was worth on labelled rows held out; None without a source. It is measured
        when it is first asked for, which takes as long as some ten fits on part of the rows.
    held_out_ : HeldOut or None
        What was said, in the same trial, of labelled rows by models that had not seen their labels.
    temperature_ : float
        What turns errors into the probabilities of `predict_proba`.
    calibration_ : str
        How that was found.
    notes_ : list of str
        What should be known: classes without labels, classes that no source knows, columns that
        were aligned.
    sources_ : list of Told
        Name and guarantees of every release that was used.
    strategy_ : str
        The strategy that was taken.
    columns_ : Columns or None
        What the columns are, if it was told.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dptransfer import Release
    >>> X, y = load_digits(return_X_y=True)
    >>> owner = Release.from_samples(X[:1000], y[:1000], epsilon=1.0, delta=1e-5, bounds=(0, 16),
    ...                              classes=range(10), random_state=0)
    >>> few = np.where(np.arange(797) < 100, y[1000:], -1)
    >>> adopter = TransferClassifier(owner, random_state=0).fit(X[1000:], few)
    >>> bool((adopter.transduction_ == y[1000:]).mean() > 0.8)
    True
    """

    classes_: npt.NDArray[Any]
    notes_: list[str]
    sources_: list[Told]
    strategy_: str
    columns_: Columns | None

    def __init__(
        self,
        source: Release | Sequence[Release] | None = None,
        *,
        strategy: str = "auto",
        schedule: Sequence[int] = (5, 10, 15, 20),
        n_layers: int = 5,
        max_inducing: float = 0.5,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.source = source
        self.strategy = strategy
        self.schedule = schedule
        self.n_layers = n_layers
        self.max_inducing = max_inducing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: Any) -> TransferClassifier:
        """Learn from all rows of X; y is −1, None, NaN or "" where a row has no label."""
        settings = self._settings()
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: give a label for every row, "
                "-1 or None where it is not known"
            )
        rows: Array = validate_data(self, X, dtype=[np.float64, np.float32])
        check_squares(rows)
        self._check_order(self._releases())
        return self._learn(rows, y, settings, None)

    def learn(self, X: Array, y: Any, columns: Columns) -> TransferClassifier:
        """Learn from rows that are known to be good, of which it is known what they are.

        Parameters
        ----------
        X : array of shape (N, columns.width)
            The features that `columns` makes of a table.
        y
            As for :meth:`fit`.
        columns : Columns
            They are matched with the sources' by name, and kept in a model file.
        """
        self.n_features_in_ = X.shape[1]
        return self._learn(X, y, self._settings(), columns)

    def _learn(
        self, rows: Array, y: Any, settings: Settings, columns: Columns | None
    ) -> TransferClassifier:
        releases = self._releases()
        uses = STRATEGIES[choose(self.strategy, releases)]
        no_labels = bool(releases) and uses.alone is not learn_target
        labels = read_labels(y, len(rows), none_will_do=no_labels)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        known, self.notes_ = with_source_classes(labels, releases)
        self.classes_ = known.classes
        self.columns_ = columns
        self.strategy_ = choose(self.strategy, releases)
        self.sources_ = [Told.of(release) for release in releases]
        known = known._replace(columns=columns)
        self._fitted: Given | None = Given(rows, known, releases)
        lesson = STRATEGIES[self.strategy_].learn(rows, known, releases, settings, self._seed)
        self._domains = lesson.domains
        self.notes_ += lesson.notes
        self._later: dict[str, Any] = {}
        if lesson.numbers is not None:
            self._later["transduction"] = self.classes_[lesson.numbers]
        return self

    # Labelling -----------------------------------------------------------------------------------

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of the least of all errors, eq. (predicted_target_label_multitask)."""
        return self._labels(self.opinions(X))

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Minus the least error of every class; for two, the second's less the first's."""
        decision = -self.opinions(X).least
        return decision[:, 1] - decision[:, 0] if len(self.classes_) == 2 else decision

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities, calibrated on the labelled rows (see :attr:`calibration_`)."""
        return probabilities(self.opinions(X).least, self.temperature_)

    def contributions(self, X: npt.ArrayLike) -> npt.NDArray[np.str_]:
        """Which adviser decided every row: "target", "source2target" or "source".

        With several sources, the name of the source follows after a colon.
        """
        return self.opinions(X).deciders()

    def opinions(self, X: npt.ArrayLike) -> Opinions:
        """The squared error of every row, class and adviser."""
        check_is_fitted(self, "classes_")
        rows = new_rows(self, X)
        return opinions(self._domains, rows, len(self.classes_), self.n_jobs)

    def _labels(self, said: Opinions) -> npt.NDArray[Any]:
        labels: npt.NDArray[Any] = self.classes_[said.least.argmin(axis=1)]
        return labels

    @property
    def releases_(self) -> list[Release]:
        """The releases that the strategy uses."""
        check_is_fitted(self, "classes_")
        return list(self._given().releases)

    # What is worked out when it is asked for -----------------------------------------------------

    @property
    def transduction_(self) -> npt.NDArray[Any]:
        """A label for every row given to fit."""
        check_is_fitted(self, "classes_")
        if "transduction" not in self._later:
            rows, known, _ = self._given()
            numbers = known.numbers.copy()
            unknown = np.flatnonzero(numbers < 0)
            if len(unknown):
                said = opinions(self._domains, rows[unknown], len(self.classes_), self.n_jobs)
                numbers[unknown] = said.least.argmin(axis=1)
            self._later["transduction"] = self.classes_[numbers]
        labels: npt.NDArray[Any] = self._later["transduction"]
        return labels

    @property
    def transfer_gain_(self) -> TransferGain | None:
        """What the source was worth."""
        return self._tried().gain

    @property
    def held_out_(self) -> HeldOut | None:
        """What was said of labelled rows by models that had not seen their labels."""
        return self._tried().held_out

    @property
    def temperature_(self) -> float:
        """What turns errors into the probabilities of `predict_proba`."""
        return self._tried().temperature

    @property
    def calibration_(self) -> str:
        """How the temperature was found."""
        return self._tried().calibration

    def _tried(self) -> Trial:
        check_is_fitted(self, "classes_")
        if "trial" not in self._later:
            self._later["trial"] = run_trial(
                *self._given(),
                self._domains,
                self._settings(),
                self._seed,
                STRATEGIES[self.strategy_],
            )
        trial: Trial = self._later["trial"]
        return trial

    def _given(self) -> Given:
        if self._fitted is None:
            raise NotFittedError(
                "the rows given to fit are not part of a model file; give them to predict"
            )
        return self._fitted

    # The file ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to a file, whole or not at all.

        What the source was worth and the temperature go into it, and are measured if they have not
        been yet. The rows given to fit do not; but what is learned from them is not perturbed, so
        that the file is as private as they are.
        """
        from dptransfer.transfer.model_file import write_model  # noqa: PLC0415 - it imports us

        write_model(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TransferClassifier:
        """Read a model from its file; anything off is one ReleaseError.

        It labels as it did when it was saved, to the bit. It has no `transduction_` and no
        `held_out_`, which are about rows that it does not hold.
        """
        from dptransfer.transfer.model_file import read_model  # noqa: PLC0415 - it imports us

        return read_model(path)

    def learned(self) -> tuple[Learned, Trial]:
        """What a file holds."""
        trial = self._tried()
        names = getattr(self, "feature_names_in_", None)
        return Learned(
            self.classes_,
            self.n_features_in_,
            names,
            self.columns_,
            self.strategy_,
            self._domains,
            self.sources_,
            self.notes_,
        ), trial

    def become(self, learned: Learned, trial: Trial) -> TransferClassifier:
        """Take over what a file held; only the parameters must have been set."""
        self._settings()
        for name in (self.strategy, learned.strategy):
            choose(name, [])
        if learned.strategy not in STRATEGIES:
            raise ParameterError(f"there is no strategy {learned.strategy!r}")
        self.classes_ = learned.classes
        self.n_features_in_ = learned.n_features
        if learned.feature_names is not None:
            self.feature_names_in_ = learned.feature_names
        self.columns_ = learned.columns
        self.strategy_ = learned.strategy
        self._domains = list(learned.domains)
        self.sources_, self.notes_ = learned.sources, learned.notes
        self._fitted = None
        self._later = {"trial": trial}
        return self

    # What was asked for --------------------------------------------------------------------------

    def _settings(self) -> Settings:
        schedule = tuple(self.schedule)
        if not schedule:
            raise ParameterError("schedule must name at least one subspace dimension")
        for n in schedule:
            check_positive("every n of schedule", n, integer=True)
        if list(schedule) != sorted(schedule):
            raise ParameterError(f"schedule must not fall, but is {schedule}")
        check_positive("n_layers", self.n_layers, integer=True)
        inducing_limit(self.max_inducing, 1)
        return Settings(schedule, self.n_layers, self.max_inducing, self.n_jobs)

    def _releases(self) -> list[Release]:
        """The releases that the strategy uses."""
        given: Any = self.source if self.source is not None else []
        releases = list(given) if isinstance(given, (list, tuple)) else [given]
        for release in releases:
            if not isinstance(release, Release):
                raise ParameterError(
                    "source must be a Release or a list of them, as Release.load(path) gives; not "
                    f"{type(release).__name__}"
                )
        if not STRATEGIES[choose(self.strategy, releases)].uses_source:
            return []
        if self.strategy == "paper" and not releases:
            warnings.warn(
                "strategy='paper' without a source learns from the target alone", stacklevel=4
            )
        return releases

    def _check_order(self, releases: Sequence[Release]) -> None:
        names = getattr(self, "feature_names_in_", None)
        for release in releases:
            theirs = release.columns.names
            if names is not None and sorted(names) == sorted(theirs) and list(names) != theirs:
                raise DataError(
                    f"X has the columns of the release {release.name!r} in another order; take "
                    "X[release.columns.names]"
                )
