"""What a record-level release of MNIST's training images knows of its test images.

    python -m benchmarks.moments

Accuracy of `Release.from_moments(...).model` on the 10,000 test images, from releases of all 60,000
training images at δ = 1e-5, with fresh noise for each; nothing is learned from any other image, and
the test images are looked at for the accuracy alone. Writes benchmarks/results/moments.json.
"""

import numpy as np

from benchmarks.common import Clock, load, record
from dptransfer import Release
from dptransfer.cli.output import print_table

DELTA = 1e-5
DRAWS = 3
DECLARED = {
    "nothing": {},
    "centre 0, radius 9.2": {"centre": 0.0, "radius": 9.2},
    "centre 0, radius 7": {"centre": 0.0, "radius": 7.0},
}
CASES = [("nothing", epsilon) for epsilon in (0.1, 0.5, 1.0, 2.0, 8.0)] + [
    (name, epsilon) for name in list(DECLARED)[1:] for epsilon in (0.5, 1.0)
]


def main():
    mnist = load("mnist.npz")
    rows = []
    for name, epsilon in CASES:
        right, seconds = [], []
        for _ in range(DRAWS):
            with Clock() as clock:
                release = Release.from_moments(
                    mnist["x_train"],
                    mnist["y_train"],
                    epsilon=epsilon,
                    delta=DELTA,
                    bounds=(0, 255),
                    classes=range(10),
                    **DECLARED[name],
                )
            found = release.model.predict(release.encode(mnist["x_test"]))
            right.append(float((found == mnist["y_test"]).mean()))
            seconds.append(clock.seconds)
        rows.append({"declared": name, "epsilon": epsilon, "accuracy": right, "seconds": seconds})
    print_table(
        "Accuracy on MNIST's test images, one record protected",
        ["declared", "epsilon", "accuracy %", "of draws", "seconds"],
        [
            [
                row["declared"],
                f"{row['epsilon']:g}",
                f"{100 * np.mean(row['accuracy']):.1f}",
                " ".join(f"{100 * a:.1f}" for a in row["accuracy"]),
                f"{np.median(row['seconds']):.0f}",
            ]
            for row in rows
        ],
    )
    record("moments", {"delta": DELTA, "cases": rows})


if __name__ == "__main__":
    main()
