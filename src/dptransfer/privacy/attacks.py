"""Two attacks on what is released, so that an ε can be felt.

*Recovering an element*: the attacker knows that a cell held one of two values, a distance apart and
equally likely, sees it perturbed, and says which. *Membership of a record*: the attacker has a
whole record and a few others of its kind, sees a release of other people's records in which this
one lies or does not, and says whether. The first meets the guarantee of one element head on; the
second gathers what is left over of all cells of a record, from the perturbed rows themselves or
only from their mean.

The measure is the advantage over guessing, 2·Pr{right} − 1: 0 for a coin, 1 for certainty.
Attacks show what *can* be told at least; a better attacker may tell more, up to the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from dptransfer.errors import ParameterError
from dptransfer.privacy.audit import Mechanism
from dptransfer.privacy.confidence import clopper_pearson

__all__ = ["Advantage", "Membership", "advantage", "membership", "recover_element"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Advantage:
    """An attacker's advantage over guessing, with its confidence interval."""

    value: float
    low: float
    high: float
    trials: int


def advantage(right: int, trials: int, confidence: float = 0.95) -> Advantage:
    """2·Pr{right} − 1, from how often the attacker was right (Clopper-Pearson).

    >>> found = advantage(75, 100)
    >>> f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    '0.50 [0.31, 0.66]'
    """
    low, high = clopper_pearson(right, trials, (1 - confidence) / 2)
    return Advantage(2 * right / trials - 1, float(2 * low - 1), float(2 * high - 1), trials)


def recover_element(
    mechanism: Mechanism,
    *,
    distance: float,
    lowest: float = 0.0,
    trials: int = 100_000,
    random_state: int | None = None,
) -> Advantage:
    """Say whether a cell was at its lower or at its upper end.

    The nearer end is said, a tie by a coin; for noise that falls with distance no rule is better.
    An (ε, δ)-private mechanism keeps the advantage under (e^ε − 1 + 2δ) / (e^ε + 1).
    """
    rng = np.random.default_rng(random_state)
    upper = rng.integers(0, 2, size=(trials, 1)).astype(bool)
    released = mechanism(np.where(upper, lowest + distance, lowest))
    middle = lowest + distance / 2
    said = np.where(
        released == middle, rng.integers(0, 2, size=(trials, 1)) == 1, released > middle
    )
    return advantage(int(np.count_nonzero(said == upper)), trials)


@dataclass(frozen=True)
class Membership:
    """Advantage in telling membership from the perturbed rows, and from their mean alone."""

    from_rows: Advantage
    from_mean: Advantage


def membership(
    mechanism: Mechanism,
    records: Array,
    *,
    scale: float,
    rows: int = 100,
    trials: int = 2_000,
    random_state: int | None = None,
) -> Membership:
    """Say whether a known record lies among `rows` perturbed ones.

    In each trial the records are dealt anew: one is the attacker's target, `rows` are released,
    in half of the trials the target among them, and the rest is what the attacker knows of the
    population. Two scores are made, and for each a threshold is chosen on one half of the trials;
    the other half tells how often the attacker is right.

    Parameters
    ----------
    mechanism : Mechanism
        Perturbs a matrix of as many columns as `records`.
    records : array of shape (N, p)
        Records of one kind, N > `rows` + 1.
    scale : float
        The scale s of the noise, which the attacker knows.
    rows, trials : int
        How many records are released together, and how often.
    random_state : int, optional
        For dealing the records.
    """
    if not 1 <= rows < len(records) - 1 or trials < 4:
        raise ParameterError("membership needs more records than rows + 1, and at least 4 trials")
    rng = np.random.default_rng(random_state)
    inside = rng.permutation(np.arange(trials) % 2 == 0)
    deals = np.array([rng.permutation(len(records)) for _ in range(trials)])
    private = np.where(inside[:, None], deals[:, :rows], deals[:, 1 : rows + 1])
    released = mechanism(records[private.ravel()]).reshape(trials, rows, records.shape[1])
    scores = np.array(
        [
            _scores(seen, records[deal[0]], records[deal[rows + 1 :]], scale)
            for seen, deal in zip(released, deals, strict=True)
        ]
    )
    return Membership(*(_told(column, inside) for column in scores.T))


def _scores(seen: Array, target: Array, known: Array, scale: float) -> tuple[float, float]:
    """How much better the target explains the rows than the population does; two ways.

    From the rows: log of the sum over rows yᵢ of f(yᵢ | target) / Σ f(yᵢ | known z), where
    f(y | z) ∝ exp(−Σⱼ |yⱼ − zⱼ| / s): up to a constant, the likelihood ratio of "one of the rows
    is the target". From the mean ȳ of the rows: ⟨ȳ − μ, target − μ⟩, μ the mean of the known.
    """
    candidates = np.vstack([target, known])
    fit = -cdist(seen, candidates, "cityblock") / scale
    ratio = fit[:, 0] - logsumexp(fit[:, 1:], axis=1)
    centre = known.mean(axis=0)
    return float(logsumexp(ratio)), float((seen.mean(axis=0) - centre) @ (target - centre))


def _told(scores: Array, inside: NDArray[np.bool_]) -> Advantage:
    half = len(scores) // 2
    candidates = np.sort(scores[:half])
    right = [np.count_nonzero((scores[:half] > t) == inside[:half]) for t in candidates]
    threshold = candidates[int(np.argmax(right))]
    told = np.count_nonzero((scores[half:] > threshold) == inside[half:])
    return advantage(int(told), len(scores) - half)
