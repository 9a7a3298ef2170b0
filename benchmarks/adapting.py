"""What it costs to make the source count: strategy "noise-aware" against the paper's own steps.

The same 9,000 rows of MNIST, the same release, one run: the paper's strategy with 100 labels, and
"noise-aware" with these labels and with none. Times are of ``fit``, and of labelling 1,000 rows.
Writes ``benchmarks/results/adapting.json``.
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import Clock, record, table
from benchmarks.transfer import few_labels, pixels
from dptransfer import Release, TransferClassifier

ROWS, HELD_OUT = 9000, 1000


def main():
    images = pixels("mnist.npz")
    release = Release.from_samples(
        images["x_train"],
        images["y_train"],
        epsilon=1.0,
        delta=1e-5,
        bounds=(0, 1),
        classes=range(10),
        n_jobs=2,
        random_state=0,
    )
    X, y = images["x_test"][:ROWS], images["y_test"][:ROWS]
    new = images["x_test"][-HELD_OUT:]
    few, none = few_labels(y, 0), np.full(ROWS, -1)
    found = {}
    for name, strategy, labels in (
        ("paper, 100 labels", "paper", few),
        ("noise-aware, 100 labels", "noise-aware", few),
        ("noise-aware, no label", "noise-aware", none),
    ):
        model = TransferClassifier(release, strategy=strategy, n_jobs=2, random_state=0)
        with Clock() as learning:
            model.fit(X, labels)
        with Clock() as labelling:
            model.predict(new)
        found[name] = {"fit": learning.seconds, "predict": labelling.seconds}
    paper = found["paper, 100 labels"]["fit"]
    for times in found.values():
        times["ratio"] = times["fit"] / paper
    record("adapting", {"rows": ROWS, "labelled": HELD_OUT, "seconds": found})
    table(
        ["", "fit, s", "times the paper's", "labelling, s"],
        [[name, t["fit"], t["ratio"], t["predict"]] for name, t in found.items()],
    )


if __name__ == "__main__":
    main()
