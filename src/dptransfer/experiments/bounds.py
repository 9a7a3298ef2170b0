"""What no method could learn from perturbed rows: two bounds that need no data.

An owner has n rows of each of two classes, under the paper's noise for one cell. Somebody who knows
both classes exactly, and asks the rows only which of the two is called by which name, is told by
the class means and by nothing else that is cheap; the first bound is how often they are then right.
The difference of the two means is ±Δ and noise of variance 2σ²/n a feature, so the best that can be
done is to see on which side it lies,

    Φ(‖Δ‖ / (σ √(2/n))).

The second bound is on everything that could be done with the rows. Laplace noise of scale 1/ε tells
two rows that are d apart in a cell from each other by a divergence of at most (εd)²/2; over 2n rows
whose classes' rows are at most D apart that is n (εD)², and by Pinsker's inequality nobody is right
more often than

    ½ + ½ √(n (εD)² / 2).

Cells that come through untouched, each with the chance δ, are not counted: with few rows there are
hardly any, and one cell of a thousand says little.
"""

from __future__ import annotations

import math

from scipy.special import ndtr

__all__ = ["by_all", "by_means"]


def by_means(apart: float, deviation: float, n: int) -> float:
    """How often, in per cent, the noisy means of two classes tell which is which.

    Parameters
    ----------
    apart : float
        ‖Δ‖, how far the true means are from each other.
    deviation : float
        σ of the noise on a cell.
    n : int
        Rows of each class.

    Examples
    --------
    >>> round(by_means(0.0, 1.0, 8)), round(by_means(1.0, 1.0, 8), 1), by_means(1.0, 0.1, 800)
    (50, 97.7, 100.0)
    """
    return 100 * float(ndtr(apart / (deviation * math.sqrt(2 / n))))


def by_all(apart: float, epsilon: float, n: int) -> float:
    """How often, in per cent, anything that can be done with the rows tells which is which.

    Parameters
    ----------
    apart : float
        D, how far rows of the two classes are from each other at most.
    epsilon : float
        For one cell, in units in which it may change by 1.
    n : int
        Rows of each class.

    Examples
    --------
    >>> round(by_all(math.sqrt(2), 0.1, 8), 1), by_all(math.sqrt(2), 0.1, 0), by_all(1.0, 9.0, 8)
    (64.1, 50.0, 100.0)
    """
    return min(100.0, 50 + 50 * math.sqrt(n * (epsilon * apart) ** 2 / 2))
