"""The words for a guarantee: what (ε, δ) means, of what, and what it leaves open.

Every sentence is a consequence of the definition, none an illustration that might be read as more.
Two such consequences carry the meaning:

* **A guess.** Shown the output and told that one of two neighbouring inputs, equally likely
  beforehand, made it, nobody guesses rightly with a probability above (e^ε + δ) / (e^ε + 1).
* **A test.** Any test that cries "it was Y" with probability α when it was Y′ cries so with
  probability at most e^ε α + δ when it was Y.

The tempting third, "the odds change by at most e^ε except with probability δ", is true of ε with
δ = 0 and for the worst-case mechanism that dominates all others, but not of every output of every
(ε, δ)-private mechanism; it is said here only in the form that is true.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dptransfer.privacy.guarantee import Guarantee

__all__ = ["best_guess", "statement"]

LITTLE = 0.99


def best_guess(epsilon: float, delta: float) -> float:
    """(e^ε + δ) / (e^ε + 1): the most often that a guess between two neighbours can be right.

    >>> f"{best_guess(0.1, 1e-5):.4f}"
    '0.5250'
    """
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def _neighbours(guarantee: Guarantee) -> tuple[str, str]:
    """What is protected, and between which two inputs."""
    if isinstance(guarantee.distance, tuple):
        by = "at most the distance declared for its column"
        by += f" ({min(guarantee.distance):g} to {max(guarantee.distance):g})"
    else:
        by = f"at most {guarantee.distance:g}" if guarantee.distance is not None else ""
    return {
        "d-adjacency": (
            "one element, that is one cell of one row (one pixel of one image, one measurement "
            "of one patient), not the row as a whole",
            f"two data sets that differ in the value of one cell, by {by} (d-adjacency)",
        ),
        "replace-values": (
            "the values of one record, that is all cells of one row together; its label and its "
            "presence in the data are published as they are",
            f"two data sets that differ in the values of one row, each cell by {by}",
        ),
        "add-or-remove": (
            "one record, that is one whole row with its label, and whether it is there at all",
            "two data sets of which one has a row more than the other (add-or-remove adjacency)",
        ),
        "replace-record": (
            "one record, that is one whole row with its label; the number of rows is public",
            "two data sets that differ in one row, exchanged for any other (replace-one adjacency)",
        ),
    }[guarantee.adjacency]


def statement(guarantee: Guarantee) -> str:
    """The paragraph of :meth:`dptransfer.privacy.Guarantee.statement`."""
    what, pair = _neighbours(guarantee)
    open_ends = "; ".join(guarantee.not_covered) or "nothing was declared"
    if math.isinf(guarantee.epsilon) or guarantee.delta >= 1:
        numbers = (
            f"No finite epsilon holds at delta = {guarantee.delta:.6g}: nothing is promised at "
            "this delta, and the release must be treated as if the values stood in it."
        )
    else:
        epsilon, delta = guarantee.epsilon, guarantee.delta
        guess = best_guess(epsilon, delta)
        numbers = (
            f"The guarantee is ({epsilon:.6g}, {delta:.6g})-differential privacy: for {pair}, "
            "every set of outcomes is bound by "
            f"Pr[one] <= {_factor(epsilon)} * Pr[other] + {delta:.6g}, both ways round. "
            "Whoever sees what was released, whatever else they know and however they compute, "
            "and is told that one of two such data sets, equally likely beforehand, was the true "
            f"one, guesses which with a probability of at most {_rounded_up(guess)} "
            f"(0.5 is a coin{', and this is no protection against them' * (guess > LITTLE)})."
        )
        if delta > 0:
            numbers += (
                f" Read epsilon as a bound on the odds: at worst it is as if, with probability "
                f"{delta:.6g} (delta), the truth were told outright, and otherwise the odds "
                f"between the two moved by a factor of at most {_factor(epsilon)}."
            )
        else:
            numbers += (
                " Whatever is seen, the odds between the two move by a factor of at most "
                f"{_factor(epsilon)}."
            )
    return (
        f"What is protected is {what}. {numbers} "
        f"Made by: {guarantee.mechanism}. Not covered: {open_ends}."
    )


def _rounded_up(probability: float) -> str:
    return f"{math.ceil(probability * 1e4) / 1e4:.4f}"


def _factor(epsilon: float) -> str:
    factor = f" = {math.exp(epsilon):.4g}" if epsilon < 100 else ""
    return f"e^{epsilon:.6g}{factor}" if not factor else f"(e^{epsilon:.6g}{factor})"
