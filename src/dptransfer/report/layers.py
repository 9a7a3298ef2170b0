"""Pictures of abstraction: an image beside what an autoencoder's layers make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dptransfer.errors import DPTransferError, ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dptransfer.models import DeepMembershipAutoencoder

__all__ = ["draw_grid", "draw_layers", "draw_row", "new_figure", "save"]

Array = npt.NDArray[np.floating]


def draw_layers(
    autoencoder: DeepMembershipAutoencoder, image: Array, shape: tuple[int, int]
) -> Figure:
    """The image at the left, then ``layer_outputs`` from the least abstract to the most.

    Parameters
    ----------
    autoencoder : DeepMembershipAutoencoder
        Fitted on rows that are flattened images.
    image : array of shape (height * width,)
    shape : tuple of int
        Height and width.
    """
    outputs = autoencoder.layer_outputs(image[None])[:, 0]
    titles = [f"$l={layer}$" for layer in range(1, len(outputs) + 1)]
    return draw_row([image, *outputs], ["input", *titles], shape)


def draw_row(images: Sequence[Array], titles: Sequence[str], shape: tuple[int, int]) -> Figure:
    """Images side by side on one grey scale, each under its title."""
    if any(image.shape != (shape[0] * shape[1],) for image in images):
        raise ParameterError(f"images of shape {shape} need {shape[0] * shape[1]} values each")
    figure = new_figure(figsize=(0.75 * len(images), 1.05), dpi=160)
    low, high = float(images[0].min()), float(images[0].max())
    for position, (image, title) in enumerate(zip(images, titles, strict=True), start=1):
        axes = figure.add_subplot(1, len(images), position)
        axes.imshow(image.reshape(shape), cmap="gray", vmin=low, vmax=high)
        axes.set_title(title, fontsize=7, pad=3)
        axes.set_axis_off()
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.84, wspace=0.06)
    return figure


def draw_grid(
    rows: Mapping[str, Sequence[Array]], titles: Sequence[str], shape: tuple[int, int]
) -> Figure:
    """Named rows of images under common titles, each image on a grey scale of its own."""
    figure = new_figure(figsize=(1.5 * len(titles), 1.7 * len(rows)), layout="constrained")
    axes: Any = figure.subplots(len(rows), len(titles), squeeze=False)
    for line, (name, images) in zip(axes, rows.items(), strict=True):
        for place, image in zip(line, images, strict=True):
            place.imshow(image.reshape(shape), cmap="gray_r")
            place.set_xticks([])
            place.set_yticks([])
        line[0].set_ylabel(name)
    for place, title in zip(axes[0], titles, strict=True):
        place.set_title(title, fontsize=10)
    return figure


def new_figure(**how: Any) -> Figure:
    """An empty figure, or one error that says what to install."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError:
        raise DPTransferError(
            "pictures need matplotlib: install it with pip install 'dptransfer[plots]'"
        ) from None
    return Figure(**how)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG; the folder is made, and the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    try:
        figure.savefig(unfinished, format="png")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
