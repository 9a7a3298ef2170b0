"""The test that tries to prove us wrong.

A proof speaks of a mechanism on paper; what runs is code. An audit runs the code on two
neighbouring inputs, many times, and looks for an event that tells them apart better than (ε, δ)
allows. What it finds is a **lower bound** on ε, with a confidence: above the claimed ε it shows,
up to that confidence, that the claim is false. Below, it shows nothing but that this audit did not
find a violation; a lower bound is never a proof of safety.

Runs are made in three ways. *Cells*: one call with many cells of the same value is as many runs,
for noise that is independent from cell to cell as the paper's Definition 2 wants it. *Calls*: many
calls that differ in one cell, the definition to the letter; slower, but it sees noise that repeats.
*One run*: every cell set by a coin, one call, and the coins guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dptransfer.errors import DPTransferError, ParameterError
from dptransfer.privacy.confidence import epsilon_from_counts, epsilon_from_guesses
from dptransfer.privacy.events import Choice, choose, statistics

__all__ = ["AuditReport", "Mechanism", "audit"]

Array = NDArray[np.float64]
Steps = Callable[[Iterable[Any], int], Iterable[Any]]

CELLS_A_CALL = 8
DEFAULT_CELLS = 200_000
MOST_CELLS = 4_000_000
DEFAULT_CALLS = 1_000
MOST_CALLS = 20_000


class Mechanism(Protocol):
    """What can be audited: takes a matrix of private values, returns one of the same shape.

    Formal guarantees
    -----------------
    - Claimed of an implementation, and what the audit puts to the test: each call draws fresh
      noise, independent from cell to cell, and is (ε, δ)-private in each cell.
    """

    def __call__(self, values: Array, /) -> Array:
        """Perturb a matrix."""
        ...


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    `epsilon_lower` and `one_run` are lower bounds on ε at `delta`, together at `confidence`.
    `event` tells by what the two inputs were told apart, `runs` how it was run, and `seen` on how
    many of `of` runs it was seen on the input that makes it likelier and on the other; `guesses`
    how many coins of the one run were guessed rightly, of how many.
    """

    epsilon: float
    delta: float
    confidence: float
    epsilon_lower: float
    event: str
    runs: str
    seen: tuple[int, int]
    of: int
    one_run: float
    guesses: tuple[int, int]

    @property
    def violated(self) -> bool:
        """Whether the claim is shown to be false, up to the confidence."""
        return self.epsilon_lower > self.epsilon or self.one_run > self.epsilon

    def statement(self) -> str:
        """What was found, and what that means, in a paragraph."""
        found = (
            f"Claimed: ({self.epsilon:g}, {self.delta:g}). Lower bound on epsilon at this delta: "
            f"{self.epsilon_lower:.4g} by the event [{self.event}] over {self.runs} (seen "
            f"{self.seen[0]} against {self.seen[1]} times in {self.of}); {self.one_run:.4g} by "
            f"one run ({self.guesses[0]} of {self.guesses[1]} coins guessed). Both hold with "
            f"confidence {self.confidence:g}. "
        )
        if self.violated:
            return found + "A bound lies above the claim: the mechanism breaks its promise."
        return found + (
            "No violation was found. That is no proof of safety: a lower bound can show that a "
            "mechanism leaks, never that it does not."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {
            "seen": list(self.seen),
            "guesses": list(self.guesses),
            "violated": self.violated,
            "statement": self.statement(),
        }


def audit(
    mechanism: Mechanism,
    *,
    epsilon: float,
    delta: float,
    distance: float,
    lowest: float = 0.0,
    cells: int | None = None,
    calls: int | None = None,
    confidence: float = 0.95,
    random_state: int | None = None,
    steps: Steps = lambda what, total: what,
) -> AuditReport:
    """Look for a violation of (`epsilon`, `delta`) and report the lower bounds found.

    Parameters
    ----------
    mechanism : Mechanism
        For example ``lambda X: noise.perturb(X, bounds=(0.0, 1.0))``. It is given matrices of one
        column.
    epsilon, delta, distance : float
        The claim: one cell, changed by at most `distance`, is (ε, δ)-private.
    lowest : float
        Audited values lie between `lowest` and `lowest` + `distance`, which the mechanism must
        accept. They are the auditor's own; no private data is needed, or used.
    cells : int, optional
        Runs by cells, on each input. By default enough to see an atom of a few δ, within reason.
    calls : int, optional
        Runs by calls, on each input. By default enough to see noise that repeats, within reason:
        m calls cannot show more than an ε of about log(m / 9).
    confidence : float
        That neither bound is above the true ε.
    random_state : int, optional
        For the coins of the one run; the mechanism's noise is its own.
    steps : callable, optional
        Given the steps of the work and their number, returns them; for a progress bar.

    Returns
    -------
    AuditReport

    Formal guarantees
    -----------------
    - If the mechanism keeps its claim (independence included), `epsilon_lower` or `one_run`
      exceed ε with a probability of at most 1 − `confidence`: the event is chosen on one half of
      the runs and counted on the other, and the number of guesses is fixed beforehand.
    - No statement is made about a mechanism for which the bounds stay below ε.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> def too_little_noise(X):
    ...     return X + generator.laplace(scale=0.5, size=X.shape)
    >>> found = audit(too_little_noise, epsilon=1.0, delta=0.0, distance=1.0, random_state=0)
    >>> found.violated
    True
    """
    if not (epsilon >= 0 and 0 <= delta < 1 and distance > 0 and 0 < confidence < 1):
        raise ParameterError(
            "an audit needs epsilon >= 0, 0 <= delta < 1, distance > 0 and 0 < confidence < 1"
        )
    if cells is None:
        wanted = 20 / delta if delta else DEFAULT_CELLS
        cells = round(min(max(wanted, DEFAULT_CELLS), MOST_CELLS))
    if calls is None:
        calls = round(min(max(30 * math.exp(min(epsilon, 10)), DEFAULT_CALLS), MOST_CALLS))
    if cells < 2 or calls < 2:
        raise ParameterError("an audit needs at least 2 cells and 2 calls: one to choose by each")

    # Where the differing cell is on a round number, floats give themselves away by their lowest
    # bits; where it is not, by what is left of it modulo a grid.
    round_pair = (lowest, lowest + distance)
    odd_pair = (lowest + 0.1234567 * distance, lowest + 0.9654321 * distance)
    plans: list[tuple[str, Callable[[], tuple[Array, Array]]]] = [
        (f"{cells} cells", lambda: _by_cells(mechanism, round_pair, cells)),
        (f"{cells} cells off the grid", lambda: _by_cells(mechanism, odd_pair, cells)),
        (f"{calls} calls", lambda: _by_calls(mechanism, round_pair, calls)),
    ]
    best: tuple[Choice, str, Array, Array] | None = None
    for runs, run in steps(plans, len(plans)):
        first, second = run()
        half = len(first) // 2
        for name, statistic in statistics(distance).items():
            one, other = statistic(first), statistic(second)
            choice = choose(name, one[:half], other[:half], delta)
            if best is None or choice.promise > best[0].promise:
                best = (choice, runs, one[half:], other[half:])
    assert best is not None
    choice, runs, first, second = best
    if not choice.likelier_on_first:
        first, second = second, first
    seen = (choice.event.seen(first), choice.event.seen(second))
    of_each = (1 + confidence) / 2
    right, guesses = _guessed_coins(mechanism, round_pair, cells, random_state)
    return AuditReport(
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        epsilon_lower=float(epsilon_from_counts(*seen, len(first), delta, of_each)),
        event=str(choice.event),
        runs=runs,
        seen=seen,
        of=len(first),
        one_run=epsilon_from_guesses(right, guesses, cells, delta, of_each),
        guesses=(right, guesses),
    )


def _run(mechanism: Mechanism, values: Array) -> Array:
    outputs = mechanism(values)
    try:
        outputs = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise DPTransferError("the audited mechanism must return numbers") from None
    if outputs.shape != values.shape or not np.all(np.isfinite(outputs)):
        raise DPTransferError(
            "the audited mechanism must return finite numbers in the shape that it was given"
        )
    return outputs


def _by_cells(mechanism: Mechanism, pair: tuple[float, float], cells: int) -> tuple[Array, Array]:
    """As many runs as cells, in one call; under each lies a cell that does not differ."""
    first, second = (
        _run(mechanism, np.tile([[value], [pair[0]]], (cells, 1))).reshape(cells, 2)
        for value in pair
    )
    return first, second


def _by_calls(mechanism: Mechanism, pair: tuple[float, float], calls: int) -> tuple[Array, Array]:
    """Literally the definition: fresh calls on two matrices that differ in one cell."""
    sides = []
    for value in pair:
        values = np.full((CELLS_A_CALL, 1), pair[0])
        values[0] = value
        sides.append(np.stack([_run(mechanism, values.copy())[:, 0] for _ in range(calls)]))
    return sides[0], sides[1]


def _guessed_coins(
    mechanism: Mechanism, pair: tuple[float, float], coins: int, random_state: int | None
) -> tuple[int, int]:
    """One call on cells set by coins; the outermost quarter on either side is guessed."""
    tossed = np.random.default_rng(random_state).integers(0, 2, size=coins)
    outputs = _run(mechanism, np.array(pair)[tossed][:, None])[:, 0]
    order = np.argsort(outputs, kind="stable")
    quarter = max(1, coins // 4)
    right = np.count_nonzero(tossed[order[:quarter]] == 0)
    right += np.count_nonzero(tossed[order[-quarter:]] == 1)
    return int(right), 2 * quarter
