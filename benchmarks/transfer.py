"""MNIST to USPS and back with 100 labels at ε = 0.1, as in Section 5; and where the time goes.

``python -m benchmarks.transfer accuracy [DRAWS]`` measures accuracy on the test images, a release
with noise of its own for every draw; it adds to ``benchmarks/results/transfer.json`` draw by draw,
and goes on where it stopped. ``python -m benchmarks.transfer timing`` goes once from the table of
MNIST to predictions for USPS: table, release, file, file read, adopted, predicted; then, beside
that, what the trial of the source takes. Without a word it does both.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import RESULTS, load, record, table
from dptransfer import Release, TransferClassifier
from dptransfer.transfer.progress import reporting_to

EPSILON, DELTA = 0.1, 1e-5
LABELS = 10
DRAWS = 5
PATH = RESULTS / "transfer.json"


def pixels(name):
    """x_train, y_train, x_test, y_test; pixels in [0, 1], in single precision."""
    data = load(name)
    for part in ("x_train", "x_test"):
        whole = data[part].dtype.kind == "u"
        data[part] = (data[part] / (255.0 if whole else 1.0)).astype(np.float32)
    return data


def few_labels(y, seed):
    rng = np.random.default_rng(seed)
    labels = np.full(len(y), -1)
    for c in range(10):
        known = rng.choice(np.flatnonzero(y == c), LABELS, replace=False)
        labels[known] = c
    return labels


def released(owner, n_jobs=2):
    return Release.from_samples(
        owner["x_train"],
        owner["y_train"],
        epsilon=EPSILON,
        delta=DELTA,
        bounds=(0, 1),
        classes=range(10),
        name="owner",
        n_jobs=n_jobs,
        random_state=0,
    )


def kept():
    return json.loads(PATH.read_text()) if PATH.exists() else {"accuracy": [], "timing": None}


def keep(result):
    result.pop("machine", None)
    record("transfer", result)


def accuracy(draws):
    result = kept()
    images = {"MNIST": pixels("mnist.npz"), "USPS": pixels("usps.npz")}
    for draw in range(draws):
        for source, target in (("MNIST", "USPS"), ("USPS", "MNIST")):
            name = f"{source} to {target}"
            done = {(row["pair"], row["draw"]) for row in result["accuracy"]}
            if (name, draw) in done:
                continue
            start = time.perf_counter()
            adopter = images[target]
            model = TransferClassifier(
                released(images[source]), strategy="paper", n_jobs=2, random_state=draw
            )
            model.fit(adopter["x_train"], few_labels(adopter["y_train"], draw))
            said = model.opinions(adopter["x_test"])
            predicted = said.least.argmin(axis=1)
            alone = said.of(["target"]).least.argmin(axis=1)
            kinds, counts = np.unique(said.deciders(), return_counts=True)
            result["accuracy"].append(
                {
                    "pair": name,
                    "draw": draw,
                    "accuracy": 100 * float(np.mean(predicted == adopter["y_test"])),
                    "target_alone": 100 * float(np.mean(alone == adopter["y_test"])),
                    "decided": dict(zip(kinds.tolist(), counts.tolist(), strict=True)),
                    "seconds": time.perf_counter() - start,
                }
            )
            keep(result)
            print(result["accuracy"][-1], flush=True)
    rows = []
    for name in ("MNIST to USPS", "USPS to MNIST"):
        found = [row for row in result["accuracy"] if row["pair"] == name]
        right = [row["accuracy"] for row in found]
        alone = [row["target_alone"] for row in found]
        rows.append([name, len(right), np.mean(right), np.std(right), np.mean(alone)])
    table(["", "draws", "% right", "standard deviation", "target alone"], rows)


class Steps:
    """Seconds by what was said to be done; what is not named is counted with what came before."""

    def __init__(self):
        self.side = "owner"
        self.taken = []
        self._doing, self._since = "reading the table", time.perf_counter()

    def __call__(self, doing, done=0, total=None):
        now = time.perf_counter()
        for step in self.taken:
            if (step["side"], step["step"]) == (self.side, self._doing):
                step["seconds"] += now - self._since
                break
        else:
            seconds = now - self._since
            self.taken.append({"side": self.side, "step": self._doing, "seconds": seconds})
        self._doing, self._since = doing, now


def timing():
    steps = Steps()
    with tempfile.TemporaryDirectory() as folder:
        with reporting_to(steps):
            mnist = pixels("mnist.npz")
            steps("perturbing")
            owner = released(mnist)
            steps("writing the release")
            path = Path(folder) / "mnist.release"
            owner.save(path)
            size = path.stat().st_size
            del owner, mnist
            steps("reading the release")
            steps.side = "adopter"
            source = Release.load(path)
            steps("reading the table")
            usps = pixels("usps.npz")
            steps("self-training")
            model = TransferClassifier(source, strategy="paper", n_jobs=2, random_state=0)
            model.fit(usps["x_train"], few_labels(usps["y_train"], 0))
            steps("labelling")
            right = float(np.mean(model.predict(usps["x_test"]) == usps["y_test"]))
            steps("end")
        start = time.perf_counter()
        verdict = model.transfer_gain_.verdict()
        trial = time.perf_counter() - start
    result = kept()
    result["timing"] = {
        "pair": "MNIST to USPS",
        "table_to_predictions": sum(step["seconds"] for step in steps.taken),
        "rows_labelled": len(usps["y_test"]),
        "accuracy": 100 * right,
        "release_bytes": size,
        "steps": steps.taken,
        "trial_seconds": trial,
        "verdict": verdict,
    }
    keep(result)
    rows = [list(step.values()) for step in steps.taken]
    table(["side", "step", "seconds"], rows)
    print(f"from table to predictions: {result['timing']['table_to_predictions']:.1f} s")


def main(what="both", draws=str(DRAWS)):
    if what in {"accuracy", "both"}:
        accuracy(int(draws))
    if what in {"timing", "both"}:
        timing()


if __name__ == "__main__":
    main(*sys.argv[1:])
