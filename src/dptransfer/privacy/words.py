"""The words for a guarantee: what (ε, δ) means, of what, and what it leaves open.

Every sentence is a consequence of the definition, none an illustration that might be read as more.
Two such consequences carry the meaning:

* **A guess.** Shown the output and told that one of two neighbouring inputs, equally likely
  beforehand, made it, nobody guesses rightly with a probability above (e^ε + δ) / (e^ε + 1).
* **A test.** Any test that cries "it was Y" with probability α when it was Y′ cries so with
  probability at most e^ε α + δ when it was Y.

The tempting third, "the odds change by at most e^ε except with probability δ", is true of ε with
δ = 0 and for the worst-case mechanism that dominates all others, but not of every output of every
(ε, δ)-private mechanism; it is said here only in the form that is true. Numbers are rounded to
the weaker side, so that no digit promises more than was proven.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dptransfer.privacy.guarantee import Guarantee

__all__ = ["Words", "best_guess", "in_words", "statement"]

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
        by += f" ({_down(min(guarantee.distance))} to {_down(max(guarantee.distance))})"
    else:
        by = f"at most {_down(guarantee.distance)}" if guarantee.distance is not None else ""
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


class Words(NamedTuple):
    """A guarantee taken apart, for whoever sets it in type."""

    protected: str
    promise: tuple[str, ...]
    """Its sentences: the definition, what it means for a guess and for the odds, and how far."""
    mechanism: str
    not_covered: tuple[str, ...]
    epsilon: str
    """Rounded up, as everything here is rounded to the weaker side; "infinite" if nothing holds."""
    delta: str
    best_guess: str
    """As a probability; 1 is no protection."""

    def __str__(self) -> str:
        """As one paragraph."""
        open_ends = "; ".join(self.not_covered) or "nothing was declared"
        said = " ".join([self.protected, *self.promise, self.mechanism])
        return f"{said} Not covered: {open_ends}."


def statement(guarantee: Guarantee) -> str:
    """The paragraph of :meth:`dptransfer.privacy.Guarantee.statement`."""
    return str(in_words(guarantee))


def in_words(guarantee: Guarantee) -> Words:
    """The parts of the statement."""
    what, pair = _neighbours(guarantee)
    nothing = math.isinf(guarantee.epsilon) or guarantee.delta >= 1
    epsilon, delta = guarantee.epsilon, _up(guarantee.delta)
    guess = 1.0 if nothing else best_guess(epsilon, guarantee.delta)
    if nothing:
        promise = [
            f"No finite epsilon can be promised at delta = {delta}: nothing is "
            "promised at this delta, and the release must be treated as if the values stood in it."
        ]
    else:
        promise = [
            f"The guarantee is ({_up(epsilon)}, {delta})-differential privacy: for {pair}, "
            "every set of outcomes is bound by "
            f"Pr[one] <= {_factor(epsilon)} * Pr[other] + {delta}, both ways round.",
            "Whoever sees what was released, whatever else they know, and is told that one of two "
            "such data sets, equally likely beforehand, was the true "
            f"one, guesses which with a probability of at most {_rounded_up(guess)} "
            f"(0.5 is a coin{', and this is no protection against them' * (guess > LITTLE)}).",
        ]
        if guarantee.delta > 0:
            promise.append(
                f"Read epsilon as a bound on the odds: at worst it is as if, with probability "
                f"{delta} (delta), the truth were told outright, and otherwise the odds "
                f"between the two moved by a factor of at most {_factor(epsilon)}."
            )
        else:
            promise.append(
                "Whatever is seen, the odds between the two move by a factor of at most "
                f"{_factor(epsilon)}."
            )
        promise.append(
            "This holds as far as the random bits behind the noise cannot be told from chance; "
            "other releases of the same data add up with it."
        )
    return Words(
        f"What is protected is {what}.",
        tuple(promise),
        f"Made by: {guarantee.mechanism}.",
        guarantee.not_covered,
        "infinite" if nothing else _up(epsilon),
        delta,
        _rounded_up(guess),
    )


def _up(number: float) -> str:
    """Six digits, rounded up.

    >>> _up(0.1), _up(0.12345601), _up(1e-5)
    ('0.1', '0.123457', '1e-05')
    """
    return _six_digits(number, ROUND_CEILING)


def _down(number: float) -> str:
    return _six_digits(number, ROUND_FLOOR)


def _six_digits(number: float, rounding: str) -> str:
    # From the shortest decimal that is this float: 0.1 was declared, not 0.1000000000000000055.
    kept = Context(prec=6, rounding=rounding).create_decimal(repr(float(number)))
    return f"{float(kept):.6g}"


def _rounded_up(probability: float) -> str:
    return f"{math.ceil(probability * 1e4) / 1e4:.4f}"


def _factor(epsilon: float) -> str:
    power = f"e^{_up(epsilon)}"
    return f"({power}, about {math.exp(epsilon):.4g})" if epsilon < 100 else power
