"""Adding up privacy: what several releases together cost.

Two guarantees (ε₁, δ₁) and (ε₂, δ₂) on the same data hold together as (ε₁ + ε₂, δ₁ + δ₂): *basic
composition*, true and wasteful. Of all mechanisms that are (ε, δ)-private one is the worst in
every respect: with probability δ it tells the truth, else it answers by randomised response with
odds exp(ε). Composing the *privacy-loss distributions* of these worst cases gives the smallest ε
that holds for any mechanisms of the given (ε, δ). The convolutions are dp-accounting's, which
takes long to import and so is imported when the first sum is asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce

from dptransfer.errors import ParameterError

__all__ = ["Loss", "basic_composition", "compose_epsilon", "default_delta", "delta_floor", "fits"]

Loss = tuple[float, float]
"""(ε, δ) of one mechanism."""

FINEST_INTERVAL = 1e-4
FLOATING = 1e-13  # of δ, kept back: what sums of convolutions in floating point may be off by
ROUNDING = 1e-12  # ten times 0.1 is 1, whatever binary fractions say
LARGEST_GRID = 2_000_000
LARGEST_EPSILON = 500.0  # exp(ε) must stay a float


def basic_composition(losses: Iterable[Loss]) -> Loss:
    """(Σ ε, Σ δ), δ at most 1: what holds with no further thought, for comparison.

    >>> print("{:.1f} {:.5f}".format(*basic_composition([(0.1, 1e-5)] * 784)))
    78.4 0.00784
    """
    kept = list(losses)
    return math.fsum(e for e, _ in kept), min(1.0, math.fsum(d for _, d in kept))


def delta_floor(losses: Iterable[Loss]) -> float:
    """1 − ∏ (1 − δ): below this δ no finite ε holds for the composition.

    It is the probability that at least one of the worst-case mechanisms tells the truth.

    >>> f"{delta_floor([(0.1, 1e-5)] * 784):.6f}"
    '0.007809'
    """
    deltas = [delta for _, delta in losses]
    if any(delta >= 1 for delta in deltas):
        return 1.0
    return -math.expm1(math.fsum(math.log1p(-delta) for delta in deltas))


def default_delta(losses: Sequence[Loss]) -> float:
    """The δ at which to speak of a composition when none is asked for.

    Halfway between :func:`delta_floor`, under which there is no finite ε, and basic composition's
    Σ δ, so that no more δ is ever claimed than basic composition would.
    """
    if len(losses) == 1:
        return losses[0][1]
    floor = delta_floor(losses)
    return min(1.0, floor + max(0.0, basic_composition(losses)[1] - floor) / 2)


def compose_epsilon(losses: Iterable[Loss], delta: float) -> float:
    """Smallest ε found such that mechanisms of these (ε, δ) together are (ε, `delta`)-private.

    Parameters
    ----------
    losses : iterable of (float, float)
        (ε, δ) of each mechanism, all about the same neighbouring inputs.
    delta : float
        The δ at which ε is asked for.

    Returns
    -------
    float
        ``math.inf`` if `delta` lies under :func:`delta_floor`.

    Formal guarantees
    -----------------
    - An upper bound: losses are rounded up onto the grid of the convolution, and the tails that
      it cuts are counted as δ (dp-accounting's pessimistic estimate).
    - Never above Σ ε, which holds at :func:`delta_floor` already.
    - Holds for any mechanisms with these (ε, δ), each chosen in the light of what the earlier ones
      released if need be. Their (ε, δ) themselves must not be so chosen; under that, only basic
      composition is claimed.

    Examples
    --------
    >>> round(compose_epsilon([(0.1, 1e-5)] * 784, delta=0.00784), 2)
    14.47
    """
    if not 0 <= delta <= 1:
        raise ParameterError(f"delta must be between 0 and 1, not {delta}")
    counts = Counter(losses)
    every = list(counts.elements())
    if len(every) == 1 and delta >= every[0][1]:
        total = every[0][0]
    else:
        total = math.inf if delta < delta_floor(every) else basic_composition(every)[0]
    if delta >= 1:
        return 0.0
    if math.isinf(total) or total == 0 or max(e for e, _ in counts) > LARGEST_EPSILON:
        return total
    return min(total, _by_privacy_loss(counts, delta))


def fits(losses: Sequence[Loss], epsilon: float, delta: float) -> bool:
    """Whether mechanisms of these (ε, δ) together are (`epsilon`, `delta`)-private.

    Basic composition is asked first: where it says yes, nothing heavy is imported.

    >>> fits([(0.1, 1e-5)] * 10, epsilon=1.0, delta=1e-3)
    True
    >>> fits([(0.1, 1e-5)] * 784, epsilon=78.4, delta=0.0078)
    False
    """
    if not losses:
        return True
    if basic_composition(losses)[0] <= epsilon * (1 + ROUNDING) and delta_floor(losses) <= delta:
        return True
    return compose_epsilon(losses, delta) <= epsilon


def _by_privacy_loss(counts: Counter[Loss], delta: float) -> float:
    from dp_accounting.pld import common, privacy_loss_distribution  # noqa: PLC0415 - 0.7 s

    interval = _interval(counts)
    each = (
        privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, delta_of_one),
            value_discretization_interval=interval,
        ).self_compose(times)
        for (epsilon, delta_of_one), times in counts.items()
    )
    composed = reduce(lambda left, right: left.compose(right), each)
    return max(0.0, float(composed.get_epsilon_for_delta(max(0.0, delta - FLOATING))))


def _interval(counts: Counter[Loss]) -> float:
    """Width of the grid of losses: ε itself where all are alike, for then nothing is rounded."""
    epsilons = sorted({epsilon for epsilon, _ in counts if epsilon > 0})
    if len(epsilons) == 1:
        return epsilons[0]
    total = math.fsum(epsilon * times for (epsilon, _), times in counts.items())
    return max(min(FINEST_INTERVAL, epsilons[0] / 100), total / LARGEST_GRID)
