"""The paper's four pictures, three of abstraction and one of noise.

A thousand images of one digit are learned; one of them is shown as the layers of one autoencoder
give it back, and as autoencoders of falling n and of falling r_max do (figures fig_deep_learning,
_3 and _2 of Section 3). All grow more abstract. The fourth is fig_examples_noise of Section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import Images
from dptransfer.experiments.sources import DELTA
from dptransfer.models import DeepMembershipAutoencoder, WideMembershipAutoencoder
from dptransfer.privacy import OptimalNoise
from dptransfer.report.layers import draw_grid, draw_layers, draw_row, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "draw_figures", "under_noise"]

Array = npt.NDArray[np.floating]

FIGURES = ("layers", "components", "inducing", "noise")
ROWS = 1000
COMPONENTS = (20, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1)
SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.025, 0.02, 0.015, 0.01, 0.005, 0.002)
NOISED = 3
NOISES = (10.0, 1.0, 0.1, 0.01)


def draw_figures(images: Images, folder: Path, *, seed: int = 0) -> Iterator[Path]:
    """Draw all of ``FIGURES`` as PNG, and yield each path as it appears."""
    rng = np.random.default_rng(seed)

    nines = _choose(images, 9, rng)
    deep = DeepMembershipAutoencoder(20, 20, 500, random_state=seed).fit(nines)
    yield save(draw_layers(deep, nines[0], images.shape), folder / "layers.png")

    eights = _choose(images, 8, rng)
    one = eights[:1]
    outputs = [
        WideMembershipAutoencoder(n, 5, 0.5, random_state=seed).fit(eights).transform(one)[0]
        for n in COMPONENTS
    ]
    titles = ["input", *(f"$n={n}$" for n in COMPONENTS)]
    yield save(draw_row([one[0], *outputs], titles, images.shape), folder / "components.png")

    outputs = [
        WideMembershipAutoencoder(20, 5, r, random_state=seed).fit(eights).transform(one)[0]
        for r in SHARES
    ]
    titles = ["input", *(f"$r={r:g}$" for r in SHARES)]
    yield save(draw_row([one[0], *outputs], titles, images.shape), folder / "inducing.png")

    yield save(under_noise(images), folder / "noise.png")


def under_noise(images: Images) -> Figure:
    """A digit under the paper's noise at several ε, and under it the mean of all of its kind.

    What noise hides in one image it does not hide in many. The noise is that of a release, drawn
    from the operating system, so no two pictures are alike.
    """
    rows = images.X[images.y == NOISED]
    shown = {"no noise": rows}
    for epsilon in NOISES:
        noise = OptimalNoise(epsilon, DELTA, distance=1.0)
        shown[f"ε = {epsilon:g}"] = noise.perturb(rows, bounds=(0.0, 1.0))
    return draw_grid(
        {
            "one image": [each[0] for each in shown.values()],
            f"mean of {len(rows):,}": [each.mean(axis=0) for each in shown.values()],
        },
        list(shown),
        images.shape,
    )


def _choose(images: Images, digit: int, rng: np.random.Generator) -> Array:
    rows = np.flatnonzero(images.y == digit)
    chosen: Array = images.X[rng.permutation(rows)[:ROWS]]
    return chosen
