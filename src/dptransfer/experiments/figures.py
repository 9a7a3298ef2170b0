"""The paper's three pictures of abstraction (figures fig_deep_learning, _3 and _2 of Section 3).

A thousand images of one digit are learned; one of them is shown as the layers of one autoencoder
give it back, and as autoencoders of falling n and of falling r_max do. All grow more abstract.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dptransfer.data.datasets import Images
from dptransfer.models import DeepMembershipAutoencoder, WideMembershipAutoencoder
from dptransfer.report.layers import draw_layers, draw_row, save

__all__ = ["FIGURES", "draw_figures"]

Array = npt.NDArray[np.floating]

FIGURES = ("layers", "components", "inducing")
ROWS = 1000
COMPONENTS = (20, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1)
SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.025, 0.02, 0.015, 0.01, 0.005, 0.002)


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


def _choose(images: Images, digit: int, rng: np.random.Generator) -> Array:
    rows = np.flatnonzero(images.y == digit)
    chosen: Array = images.X[rng.permutation(rows)[:ROWS]]
    return chosen
