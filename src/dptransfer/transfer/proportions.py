"""Every class its share of the rows.

Classes compete for rows, and one whose scores are a little too high takes many from its
neighbours. An offset for each class, found step by step, gives each the share that it is known to
have (the dual of an assignment with given class sizes).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["balance"]

Array = npt.NDArray[np.floating]

STEPS = 200
PACE = 0.3
HALVED_BY = 20


def balance(scores: Array, shares: Array | None) -> Array:
    """Scores with an offset for each class, so that the highest is each class's as often as asked.

    >>> scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2]])
    >>> balance(scores, np.array([0.5, 0.5])).argmax(axis=1).tolist()
    [0, 1, 1, 0]
    >>> balance(scores, None) is scores
    True
    """
    if shares is None:
        return scores
    offsets = np.zeros(scores.shape[1])
    pace = PACE * float(np.std(scores))
    for step in range(STEPS):
        taken = np.bincount((scores + offsets).argmax(axis=1), minlength=len(offsets))
        off = taken / len(scores) / shares - 1
        if np.all(np.abs(off) * shares * len(scores) < 1):
            break
        offsets -= pace / (1 + step / HALVED_BY) * np.minimum(off, 2)
    return scores + offsets
