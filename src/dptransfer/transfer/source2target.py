"""The mapping from the source's idea of a class to the target's rows of it.

Filtered through the source's autoencoder of its class, a target row becomes what the source thinks
such a row looks like. A membership-mapping (Algorithm 1) learns the way back, from all target rows
with the labels that self-training gave them (Section 4.2, eqs. 738522.588685 and 738522.588899).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.models import MembershipClassifier, MembershipMapping

__all__ = ["MOST_INDUCING", "Source", "learn_source2target"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

MOST_INDUCING = 1000


class Source(NamedTuple):
    """An owner's model, seen from the adopter's side."""

    name: str
    model: MembershipClassifier
    classes: Numbers
    """The adopter's class number of each of the model's classes."""
    mapping: MembershipMapping | None = None
    """The source2target model; none where no target row is of a class that the source knows."""


def learn_source2target(source: Source, X: Array, numbers: Numbers, seed: int) -> Source:
    """Learn 𝕄^{sr→tg} on 𝒟 = {(ŴD(y; P_c^{+sr}), y)} with M_max = min(⌈N/2⌉, 1000).

    Parameters
    ----------
    source : Source
    X : array of shape (N, p_sr)
        The aligned target rows.
    numbers : array of int, shape (N,)
        Their class numbers, known or predicted.
    """
    filtered = np.empty_like(X)
    used = np.zeros(len(X), dtype=bool)
    for k, c in enumerate(source.classes.tolist()):
        rows = np.flatnonzero(numbers == c)
        if len(rows):
            filtered[rows] = source.model.autoencoders_[k].transform(X[rows])
            used[rows] = True
    if not used.any():
        return source
    limit = min(-(-int(used.sum()) // 2), MOST_INDUCING)
    mapping = MembershipMapping(limit, random_state=seed)
    return source._replace(mapping=mapping.fit(filtered[used], X[used]))
