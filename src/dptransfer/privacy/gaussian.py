"""The analytic Gaussian mechanism, for quantities whose change is bounded in the L2 norm.

Sums and second moments of records change in many coordinates at once when one record comes or goes,
but by a bounded length; Gaussian noise protects by length. Its exact (ε, δ) is known (Balle and
Wang, 2018, Theorem 8), so the noise need not be larger than it must. What is released is discrete:
values on a grid, noise from the discrete Gaussian law, so fine that it is as good as a Gaussian
rounded to the grid, and *that* is the Gaussian mechanism followed by rounding. ``PROOF.md`` counts
what the difference costs and where it is paid.
"""

from __future__ import annotations

import math
from functools import lru_cache
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx

from dptransfer.errors import DataError, DeclarationError, ParameterError
from dptransfer.privacy.discrete_gaussian import DiscreteGaussian
from dptransfer.privacy.grid import LIMIT, is_grid, to_steps, to_values
from dptransfer.privacy.guarantee import NOT_COVERED, Guarantee
from dptransfer.privacy.perturbation import (
    INSECURE,
    Floats,
    Progress,
    check_privacy,
    check_seed,
)
from dptransfer.privacy.sampler import Keystream
from dptransfer.privacy.table import as_numbers, row_blocks

__all__ = ["GaussianNoise", "RecordAdjacency", "gaussian_delta", "gaussian_sigma"]

RecordAdjacency = Literal["add-or-remove", "replace-record"]

SLACK = 2.0**-12
"""The share of ε, of δ and of the distance that is kept back for going discrete."""

FINE = 2.0**24
"""A standard deviation is at least this many steps of the grid."""

ERROR = 2.0**-42
"""|ln P(k) − ln Q(k)| for one value: the law that is drawn, against a rounded Gaussian."""

TAIL = 2.0**-100
"""The probability of noise beyond 12 standard deviations, where ERROR does not hold."""


def gaussian_delta(epsilon: float, distance: float, sigma: float) -> float:
    """The least δ at which Gaussian noise is (ε, δ)-private (Balle and Wang, Theorem 8).

    δ = Φ(d/2σ − εσ/d) − e^ε Φ(−d/2σ − εσ/d). The two terms are written with the scaled
    complementary error function, so that what they share, the density at the first argument, is
    taken out of the difference.

    Examples
    --------
    >>> print(f"{gaussian_delta(1.0, 1.0, 3.730632):.5f}")
    0.00001
    """
    ratio = distance / sigma
    near, far = epsilon / ratio - ratio / 2, epsilon / ratio + ratio / 2
    root = math.sqrt(2)
    if near < 0:  # the first term is near 1, the second small: nothing cancels
        second = math.exp(-near * near / 2) * erfcx(far / root) / 2
        return float(math.erfc(near / root) / 2 - second)
    return float(math.exp(-near * near / 2) * (erfcx(near / root) - erfcx(far / root)) / 2)


def gaussian_sigma(epsilon: float, delta: float, distance: float = 1.0) -> float:
    """The least standard deviation of Gaussian noise that is (ε, δ)-private, to ten digits.

    Examples
    --------
    >>> print(f"{gaussian_sigma(1.0, 1e-5):.6f}")
    3.730632
    """
    enough, little = 1.0, 1.0
    target = delta * (1 - 1e-8)  # floating point is right to many more digits than that
    while gaussian_delta(epsilon, 1.0, enough) > target:
        enough *= 2
    while gaussian_delta(epsilon, 1.0, little) <= target:
        little /= 2
    while enough - little > 1e-12 * enough:
        middle = (enough + little) / 2
        if gaussian_delta(epsilon, 1.0, middle) <= target:
            enough = middle
        else:
            little = middle
    return distance * enough


def calibrated(epsilon: float, delta: float) -> float:
    """σ for distance 1 once what going discrete costs is kept back of ε and of δ."""
    return gaussian_sigma(
        epsilon * (1 - SLACK), delta * math.exp(-epsilon * SLACK) * (1 - SLACK), 1.0
    )


class GaussianNoise:
    """Gaussian noise for an array whose change is bounded in the L2 norm.

    Parameters
    ----------
    epsilon, delta : float
        What is promised for one record; here δ must be above 0.
    distance : float
        The L2 sensitivity: by how far, in Euclidean length over **all** values of the array, what
        is perturbed may move from one data set to a neighbouring one. It is the caller who proves
        that it does not move further.
    adjacency : {"add-or-remove", "replace-record"}
        Which data sets are neighbours, and for which `distance` was therefore worked out.
    insecure_seed : int, optional
        For tests and experiments only: the same noise at every call. Whoever knows the seed can
        take the noise off again, and `guarantee` says so.

    Formal guarantees
    -----------------
    - If `X` moves by at most `distance` between neighbours, `perturb` is (ε, δ)-differentially
      private for as many values as it accepts, rounding of values and of the sampler included.
      It accepts `max_values`: many millions at usual (ε, δ), none where δ·e^{−ε} is below 1e-26.
    - For ε ≤ 10 its standard deviation is at most 0.1 % above the analytic Gaussian mechanism's;
      that is the price of the line above.
    - Not promised: that the time taken is independent of the values or of the noise.

    Examples
    --------
    >>> noise = GaussianNoise(1.0, 1e-5, distance=1.0)
    >>> print(round(noise.sigma, 2), noise.guarantee.unit)
    3.73 record
    >>> noise.perturb([12.0, 7.0]).shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        distance: float,
        *,
        adjacency: RecordAdjacency = "add-or-remove",
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon, self.delta = check_gaussian(epsilon, delta)
        self.distance = check_length(distance)
        self.adjacency = check_adjacency(adjacency)
        self.insecure_seed = check_seed(insecure_seed)
        self.sigma = calibrated(self.epsilon, self.delta) * (self.distance * (1 + SLACK))

    def __repr__(self) -> str:
        return f"GaussianNoise({self.epsilon}, {self.delta}, distance={self.distance})"

    @property
    def variance(self) -> float:
        """E v² = σ²."""
        return self.sigma**2

    @property
    def mean_magnitude(self) -> float:
        """E|v| = σ·√(2/π)."""
        return self.sigma * math.sqrt(2 / math.pi)

    @property
    def max_values(self) -> int:
        """How many values one call accepts: as many as the share kept back pays for.

        About ε·2²⁹; fewer, down to none, where δ·e^{−ε} is very small.
        """
        return most_values(self.epsilon, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        """What `perturb` promises for one record of the data that `X` was computed from."""
        return record_guarantee(
            self.epsilon,
            self.delta,
            f"analytic Gaussian noise for an L2 distance of {self.distance:.6g}, discrete",
            self.adjacency,
            seeded=self.insecure_seed is not None,
        )

    def grid(self, n_values: int) -> float:
        """The step for so many values: rounding them may add √n steps to the distance."""
        return finest_grid(n_values, self.distance, self.sigma)

    def perturb(self, X: Any, *, progress: Progress | None = None) -> Floats:
        """A private version of the array `X`, safe to release under `guarantee`.

        All of the array counts as one quantity: do not cut it up and call once for each piece
        (that is several releases, to be composed).

        Parameters
        ----------
        X : array of any shape
            What is to be released. Values beyond ±2⁵¹ steps of the grid (many million standard
            deviations), and whole numbers beyond ±2⁵³, are brought to that limit.
        progress : callable, optional
            Called after each block with the number of values done and the number of values.

        Returns
        -------
        array of float64, of the shape of `X`
            Multiples of ``grid(X.size)``.
        """
        array = as_numbers(X)
        if array.size > self.max_values:
            raise ParameterError(
                f"at epsilon {self.epsilon:g} and delta {self.delta:g} one call releases at most "
                f"{self.max_values} values, not {array.size}; release fewer values, or take an "
                "epsilon between 0.01 and 20 and a delta that is not so small"
            )
        check_finite(array)
        step, keystream = self.grid(array.size), Keystream(self.insecure_seed)
        return add_noise(array, self.sigma, step, keystream, progress=progress)


def record_guarantee(
    epsilon: float, delta: float, mechanism: str, adjacency: RecordAdjacency, *, seeded: bool
) -> Guarantee:
    """The guarantee of Gaussian noise for one record; what a seed undoes is said in it."""
    caveats = NOT_COVERED[adjacency]
    if seeded:
        mechanism = INSECURE + mechanism
        caveats = (*caveats, "anything, from whoever knows or guesses the seed")
    return Guarantee(
        "record", epsilon, delta, mechanism=mechanism, adjacency=adjacency, not_covered=caveats
    )


def finest_grid(n_values: int, distance: float, sigma: float) -> float:
    """A power of two: √n steps within SLACK of the distance, and σ at least FINE steps."""
    finest = min(distance * SLACK / math.sqrt(max(1, n_values)), sigma / FINE)
    return math.ldexp(1.0, math.frexp(finest)[1] - 1)


def most_values(epsilon: float, delta: float) -> int:
    """For how many values what was kept back of (ε, δ) pays: ``PROOF.md``, section 7."""
    by_epsilon = epsilon * SLACK / (2 * ERROR)
    by_delta = delta * SLACK / 2 / TAIL * math.exp(-epsilon) / 2
    return int(min(by_epsilon, by_delta, 2.0**40))


def check_finite(array: npt.NDArray[Any]) -> None:
    """Refuse NaN and infinity."""
    if not np.all(np.isfinite(array)):
        raise DataError("X holds values that are not finite (NaN or infinite)")


def add_noise(
    array: npt.NDArray[Any],
    sigma: float,
    step: float,
    keystream: Keystream,
    *,
    progress: Progress | None = None,
) -> Floats:
    """The array on the grid, with discrete Gaussian noise of standard deviation `sigma`."""
    if not is_grid(step):
        raise AssertionError("the step of the grid is not a power of two in range")
    values = array.reshape(-1)
    law = _law(sigma / step)
    widest = step * LIMIT / 2
    if values.dtype.kind in "iu":  # beyond 2^53 becoming a float would round them
        widest = min(widest, 2.0**53)
    released = np.empty(values.shape)
    for block in row_blocks(values.size, 1):
        sums = to_steps(np.clip(values[block].astype(np.float64), -widest, widest), step)
        sums += law.draw(sums.size, keystream)
        to_values(sums, step, released[block])
        if progress is not None:
            progress(block.stop, values.size)
    return released.reshape(array.shape)


def check_gaussian(epsilon: object, delta: object) -> tuple[float, float]:
    """ε and δ, if Gaussian noise can promise them."""
    eps, dlt = check_privacy(epsilon, delta)
    if dlt < 1e-30:
        raise ParameterError("Gaussian noise needs a delta above 0, at least 1e-30")
    return eps, dlt


def check_adjacency(adjacency: object) -> RecordAdjacency:
    """Which data sets are neighbours, if it is one of those known."""
    known: tuple[RecordAdjacency, ...] = get_args(RecordAdjacency)
    for one in known:
        if adjacency == one:
            return one
    raise ParameterError(f"adjacency must be one of {', '.join(known)}")


def check_length(distance: object) -> float:
    """The declared L2 distance, if it is one number in range."""
    if isinstance(distance, bool) or not isinstance(distance, Real):
        raise DeclarationError(
            "distance must be declared, one number: the L2 length by which the array may move "
            "from one data set to a neighbouring one"
        )
    length = float(distance)
    if not 2.0**-500 <= length <= 2.0**500:
        raise DeclarationError("distance must be above 0 and finite, within 2**±500")
    return length


@lru_cache(maxsize=64)
def _law(sigma: float) -> DiscreteGaussian:
    return DiscreteGaussian(sigma)
