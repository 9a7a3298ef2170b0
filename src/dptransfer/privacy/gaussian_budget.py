"""Several quantities under one Gaussian budget.

Gaussian noise of standard deviation σ on a quantity that moves by d is as private as its ratio
μ = d/σ says, and ratios of several releases add up like lengths: after releases of μ₁, …, μₖ, each
chosen in the light of those before, everything together is *exactly* as private as one release of
√(μ₁² + … + μₖ²). So a budget of (ε, δ), which allows one μ, is cut into shares of μ²: a quantity
with the share s may have noise of d/(μ√s). Nothing is lost, as it would be by composing the (ε, δ)
of each. ``PROOF.md``, section 8, proves it for the noise that is really drawn.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NoReturn

from dptransfer.errors import DeclarationError, ParameterError
from dptransfer.privacy.gaussian import (
    SLACK,
    RecordAdjacency,
    add_noise,
    calibrated,
    check_adjacency,
    check_finite,
    check_gaussian,
    check_length,
    finest_grid,
    most_values,
    record_guarantee,
)
from dptransfer.privacy.guarantee import Guarantee
from dptransfer.privacy.perturbation import Floats, Progress, check_seed
from dptransfer.privacy.sampler import Keystream
from dptransfer.privacy.table import as_numbers

__all__ = ["GaussianBudget", "ShareNoise"]

SMALLEST_SHARE = 1e-4
"""Below, the noise drowns everything, and its steps could outgrow what floats hold exactly."""


class GaussianBudget:
    """One (ε, δ) for several quantities, released one after the other with Gaussian noise.

    Parameters
    ----------
    epsilon, delta : float
        What is promised for one record by **all** that is released together; δ must be above 0.
    shares : mapping of str to float
        A name for each quantity, and its share of the budget: each at least 0.0001, all together
        at most 1. They are fixed here, before anything is released.
    adjacency : {"add-or-remove", "replace-record"}
        Which data sets are neighbours, and for which every distance is therefore worked out.
    insecure_seed : int, optional
        For tests and experiments only: the same noise for the same share of every such budget.
        Whoever knows the seed can take the noise off again, and `guarantee` says so.

    Formal guarantees
    -----------------
    - All releases of one budget together are (ε, δ)-differentially private, if each quantity moves
      by at most its `distance` between neighbours, *given what was released before*. Quantity,
      distance and shape may be chosen in the light of earlier releases; the shares may not.
    - A share is gone once `noise` has given it out, used or not, and its noise perturbs one array.
      Neither can be copied, pickled or used in a forked process.
    - The mechanism's (ε, δ) is not lost by cutting: one share of 1 has the noise of
      :class:`~dptransfer.privacy.gaussian.GaussianNoise`, a share s its standard deviation / √s.

    Examples
    --------
    >>> budget = GaussianBudget(1.0, 1e-5, {"sums": 0.25, "moments": 0.75})
    >>> sums, moments = budget.noise("sums", distance=1.0), budget.noise("moments", distance=2.0)
    >>> print(f"{sums.sigma:.2f} {moments.sigma:.2f}")
    7.46 8.62
    >>> sums.perturb([12.0, 7.0]).shape
    (2,)
    >>> print(budget.guarantee.unit, budget.guarantee.epsilon)
    record 1.0
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        shares: Mapping[str, float],
        *,
        adjacency: RecordAdjacency = "add-or-remove",
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon, self.delta = check_gaussian(epsilon, delta)
        self.shares: Mapping[str, float] = MappingProxyType(_check_shares(shares))
        self.adjacency = check_adjacency(adjacency)
        self.insecure_seed = check_seed(insecure_seed)
        self._unspent = dict(self.shares)
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"GaussianBudget({self.epsilon}, {self.delta}, {dict(self.shares)})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or sent to another process: its shares could be spent twice."""
        raise ParameterError("a Gaussian budget cannot be copied or pickled; draw the noise here")

    @property
    def unspent(self) -> tuple[str, ...]:
        """The names of the shares that were not given out yet."""
        return tuple(self._unspent)

    @property
    def max_values(self) -> int:
        """How many values each share releases at most: an equal part of what is paid for."""
        return most_values(self.epsilon, self.delta) // len(self.shares)

    @property
    def guarantee(self) -> Guarantee:
        """What holds for one record, of all that is released under this budget together."""
        cut = ", ".join(f"{name} {share:.6g}" for name, share in self.shares.items())
        return record_guarantee(
            self.epsilon,
            self.delta,
            f"one analytic Gaussian mechanism, discrete, shared out by squared ratio ({cut})",
            self.adjacency,
            seeded=self.insecure_seed is not None,
        )

    def noise(self, name: str, distance: float) -> ShareNoise:
        """The noise for one quantity; its share is spent with this call.

        Parameters
        ----------
        name : str
            A name from `shares`.
        distance : float
            By how far, in Euclidean length over all values of the quantity, it may move from one
            data set to a neighbouring one. It is the caller who proves that it moves no further.
        """
        length = check_length(distance)
        _check_process(self._process)
        if name not in self.shares:
            raise ParameterError(f"no such share; the shares are {', '.join(self.shares)}")
        share = self._unspent.pop(name, None)  # one step, so that two threads cannot both have it
        if share is None:
            raise ParameterError(f"the share {name!r} is spent; every share is given out once")
        seed = self.insecure_seed
        if seed is not None:  # every share has noise of its own
            seed = seed * len(self.shares) + list(self.shares).index(name)
        sigma = calibrated(self.epsilon, self.delta) * (length * (1 + SLACK)) / math.sqrt(share)
        return ShareNoise(name, length, sigma, self.max_values, Keystream(seed))


class ShareNoise:
    """Gaussian noise for the one quantity that a share was set aside for.

    Made by :meth:`GaussianBudget.noise`; the promise is the budget's.
    """

    def __init__(
        self, name: str, distance: float, sigma: float, max_values: int, keystream: Keystream
    ) -> None:
        self.name, self.distance, self.sigma, self.max_values = name, distance, sigma, max_values
        self._unused = [keystream]
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"ShareNoise({self.name!r}, distance={self.distance}, sigma={self.sigma:.6g})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or sent to another process: it could be used twice."""
        raise ParameterError("the noise of a share cannot be copied or pickled; draw it here")

    @property
    def variance(self) -> float:
        """E v² = σ²."""
        return self.sigma**2

    def grid(self, n_values: int) -> float:
        """The step for so many values: rounding them may add √n steps to the distance."""
        return finest_grid(n_values, self.distance, self.sigma)

    def perturb(self, X: Any, *, progress: Progress | None = None) -> Floats:
        """A private version of the array `X`; once, and never again.

        Parameters
        ----------
        X : array of any shape
            The quantity. Its shape must not depend on private values. Values beyond ±2⁵¹ steps of
            the grid, and whole numbers beyond ±2⁵³, are brought to that limit.
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
                f"a share of this budget releases at most {self.max_values} values, not "
                f"{array.size}; release fewer values, cut fewer shares, or take an epsilon between "
                "0.01 and 20 and a delta that is not so small"
            )
        check_finite(array)
        _check_process(self._process)
        try:
            keystream = self._unused.pop()  # before the first draw: an interruption spends it too
        except IndexError:
            raise ParameterError(
                f"the share {self.name!r} has perturbed its array; a second one is a release of "
                "its own and needs a share of its own"
            ) from None
        return add_noise(array, self.sigma, self.grid(array.size), keystream, progress=progress)


def _check_process(owner: int) -> None:
    """Refuse to go on in a forked process, for its parent holds the same shares."""
    if os.getpid() != owner:
        raise ParameterError(
            "a Gaussian budget stays in the process that made it; release from there"
        )


def _check_shares(shares: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(shares, Mapping) or not shares:
        raise DeclarationError("shares must be a mapping of names to numbers, one for each release")
    checked: dict[str, float] = {}
    for name, share in shares.items():
        if not (isinstance(name, str) and name):
            raise DeclarationError("the name of a share must be a text")
        if isinstance(share, bool) or not isinstance(share, Real):
            raise DeclarationError(f"the share {name!r} must be a number")
        checked[name] = float(share)
        if not SMALLEST_SHARE <= checked[name] <= 1:
            raise DeclarationError(f"the share {name!r} must be between {SMALLEST_SHARE} and 1")
    if math.fsum(checked.values()) > 1:
        raise DeclarationError(
            f"the shares add up to {math.fsum(checked.values()):.6g}; together they may be at most "
            "1, all of the budget"
        )
    return checked
