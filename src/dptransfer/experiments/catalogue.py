"""All experiments by name: a line here makes a command and a place in every page of results.

Classes are named by their module, and imported when one is wanted: a help text should not wait for
scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dptransfer.experiments.experiment import Experiment

__all__ = ["ALL", "EXPERIMENTS", "Entry", "make"]

ALL = "all"
"""The name of everything in the paper."""


class Entry(NamedTuple):
    """Where an experiment is, as "module:Class" in this room, and what its command's help says."""

    place: str
    help: str
    of_paper: bool = True


EXPERIMENTS: Mapping[str, Entry] = {
    "mnist": Entry("mnist:Mnist", "MNIST to MNIST with 100 labels (about 5 minutes)."),
    "mnist-usps": Entry("mnist_usps:MnistUsps", "MNIST to USPS, 100 labels (about 8 minutes)."),
    "usps-mnist": Entry("usps_mnist:UspsMnist", "USPS to MNIST, 100 to 500 labels (15 minutes)."),
    "office-caltech": Entry(
        "office_caltech:OfficeCaltechPairs",
        "Office+Caltech256, 12 pairs of domains, 20 splits (about 15 minutes).",
    ),
    "worth": Entry(
        "worth:Worth",
        "What a source is worth to an adopter, and what a hostile one costs (1 hour).",
        of_paper=False,
    ),
}


def make(name: str | None = None, *, quick: bool = False) -> list[Experiment]:
    """The experiment of this name, those of the paper for "all", or every one there is."""
    names = [each for each, entry in EXPERIMENTS.items() if entry.of_paper or name is None]
    found = []
    for each in names if name in (None, ALL) else [name]:
        module, kind = EXPERIMENTS[each].place.split(":")
        of = getattr(import_module(f"{__package__}.{module}"), kind)
        found.append(of(quick=quick))
    return found
