"""A picture of digits under the paper's noise, at several ε.

    python -m benchmarks.digit_under_noise

scikit-learn's handwritten digits, pixels in [0, 1], δ = 1e-5, distance 1. Below the single images
stands the mean of all perturbed images of the same digit: what noise hides in one image it does not
hide in many. Writes docs/images/digit-under-noise.png.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from dptransfer.privacy import OptimalNoise

EPSILONS = (10.0, 1.0, 0.1, 0.01)
DELTA = 1e-5
DIGIT = 3
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "digit-under-noise.png"


def main():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    digits = load_digits()
    images = digits.data[digits.target == DIGIT] / 16
    shown = {"no noise": images}
    for epsilon in EPSILONS:
        noise = OptimalNoise(epsilon, DELTA, distance=1.0)
        shown[f"ε = {epsilon:g}"] = noise.perturb(images, bounds=(0.0, 1.0))
    figure, axes = plt.subplots(2, len(shown), figsize=(7.5, 3.4), layout="constrained")
    for column, (title, rows) in zip(axes.T, shown.items(), strict=True):
        for place, image in zip(column, (rows[0], rows.mean(axis=0)), strict=True):
            # Each picture on its own scale of greys, from its least value to its greatest.
            place.imshow(np.reshape(image, (8, 8)), cmap="gray_r")
            place.set_xticks([])
            place.set_yticks([])
        column[0].set_title(title, fontsize=10)
    axes[0, 0].set_ylabel("one image")
    axes[1, 0].set_ylabel(f"mean of {len(images)}")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=100)
    print(f"wrote {PICTURE.name}: {len(images)} images, epsilon {EPSILONS}, delta {DELTA}")


if __name__ == "__main__":
    main()
