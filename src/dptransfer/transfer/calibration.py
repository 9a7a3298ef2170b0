"""From reconstruction errors to probabilities.

One number, the temperature T, turns squared errors into probabilities, p_c ∝ exp(−r_c / T). It is
the T under which the labelled rows are most likely, each of them with the errors of a model that
did not see its label. That is all that few labels can carry.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

__all__ = ["probabilities", "temperature", "uncalibrated"]

Array = npt.NDArray[np.floating]

WIDEST = 12.0  # in units of ln T about the typical error
CERTAIN = 1e-6  # the least that a class is given while T is sought


def probabilities(errors: Array, T: float) -> Array:
    """p_c ∝ exp(−r_c / T) for every row; an infinite error has probability 0.

    >>> probabilities(np.array([[1.0, 1.0, np.inf]]), 2.0)
    array([[0.5, 0.5, 0. ]])
    """
    shares: Array = np.exp(log_softmax(-np.asarray(errors, dtype=np.float64) / T, axis=1))
    return shares


def temperature(errors: Array, numbers: npt.NDArray[np.intp]) -> float:
    """The T that makes the true classes most likely."""
    errors = np.asarray(errors, dtype=np.float64)
    finite = errors[np.isfinite(errors)]
    typical = float(np.median(finite)) if len(finite) else 1.0
    if not typical > 0:
        typical = float(finite.max()) if len(finite) and finite.max() > 0 else 1.0

    def loss(log_T: float) -> float:
        shares = probabilities(errors, float(np.exp(log_T)))
        return -float(np.mean(np.log(shares[np.arange(len(numbers)), numbers] + CERTAIN)))

    middle = float(np.log(typical))
    found = minimize_scalar(loss, bounds=(middle - WIDEST, middle + WIDEST / 4), method="bounded")
    return float(np.exp(found.x))


def uncalibrated(errors: Array) -> float:
    """A T where no row has a label: a third of the median distance from the best to the second.

    >>> uncalibrated(np.array([[1.0, 4.0, 9.0], [2.0, 2.0, 3.0], [0.0, 6.0, 6.0]]))
    1.5
    """
    if errors.shape[1] < 2:
        return 1.0
    two = np.partition(np.asarray(errors, dtype=np.float64), 1, axis=1)[:, :2]
    gaps = two[:, 1] - two[:, 0]
    gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
    return float(np.median(gaps)) / 3 if len(gaps) else 1.0
