"""Guarantees to test with."""

from dptransfer.privacy import Guarantee
from dptransfer.privacy.guarantee import NOT_COVERED


def element(epsilon=0.1, delta=1e-5, distance=1.0):
    return Guarantee(
        "element",
        epsilon,
        delta,
        distance,
        mechanism="optimal noise",
        adjacency="d-adjacency",
        not_covered=NOT_COVERED["d-adjacency"],
    )


def record(epsilon=1.0, delta=1e-5, adjacency="add-or-remove"):
    return Guarantee(
        "record",
        epsilon,
        delta,
        mechanism="Gaussian noise",
        adjacency=adjacency,
        not_covered=NOT_COVERED[adjacency],
    )
