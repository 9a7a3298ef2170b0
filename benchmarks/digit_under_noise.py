"""A picture of digits under the paper's noise, at several ε.

    python -m benchmarks.digit_under_noise

scikit-learn's handwritten digits, pixels in [0, 1], δ = 1e-5, distance 1. Below the single images
stands the mean of all perturbed images of the same digit: what noise hides in one image it does not
hide in many. Writes docs/images/digit-under-noise.png; `dptransfer reproduce figures` draws the
same of MNIST.
"""

from pathlib import Path

from dptransfer.data.datasets import load_digits
from dptransfer.experiments.figures import under_noise
from dptransfer.report.layers import save

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "digit-under-noise.png"


def main():
    print(f"wrote {save(under_noise(load_digits()), PICTURE).name}")


if __name__ == "__main__":
    main()
