"""How fast the models are, against the literal transcription, on the same threads, in one run.

Run ``python -m benchmarks.speed``; writes ``benchmarks/results/speed.json``. Everything is measured
twice: all on one thread, and with two for both sides (the transcription's libraries use two, ours
two workers). Each number of threads is a process of its own, so that the libraries obey.

Beside the times stands the floor: the multiply-adds that the algorithm cannot avoid once it knows
how many inducing points it wants (one clustering pass, the kernel, its projection and Gram matrix,
the outputs' products, the coefficients, the covariance), at the rate of a large matrix product
measured in the same run. For labelling it is the multiply-adds of what we do: bounding every part,
in single precision, and finishing those that must be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

from benchmarks.common import (
    Clock,
    Literal,
    Memory,
    load,
    multiply_adds_per_second,
    record,
    table,
)
from benchmarks.self_training import self_train
from dptransfer import MembershipClassifier, MembershipMapping
from dptransfer.models import nearest


def fitting_floor(model, n_rows, p):
    """Multiply-adds of fitting, from the sizes that the model came out with."""
    total = 0.0
    for rows_of_class, autoencoder in zip(n_rows, model.autoencoders_, strict=True):
        N = rows_of_class / len(autoencoder.parts_)
        for part in autoencoder.parts_:
            total += N * p * p / 2 + N * p * len(part.components_)
            for layer in part.layers_:
                M, n = len(layer.coef_), len(layer.weights_)
                total += 2 * N * M * n + N * M * M + M**3 + N * M * p + M * M * p
    return total


def labelling_work(model, n_rows, p, n_finished):
    """Multiply-adds of bounding every part, of finishing so many, and of finishing all."""
    parts = [part for autoencoder in model.autoencoders_ for part in autoencoder.parts_]
    K = min(nearest.DIRECTIONS, -(-p // nearest.SHARE_OF_COLUMNS))
    bounded = finished = 0
    for part in parts:
        bounded += p * len(part.components_)
        for layer, step in zip(part.layers_, part.steps_, strict=True):
            M, n = len(layer.coef_), len(layer.weights_)
            bounded += M * (n + step.shape[1] + K)
            finished += M * (n + step.shape[1] + p)
    return n_rows * (bounded + K * p), n_finished * finished / len(parts), n_rows * finished


def count_finished(model, work):
    """How many rows are finished, summed over parts; one left early counts by its layers."""
    rows = []
    features = MembershipMapping.features
    MembershipMapping.features = lambda self, x: (rows.append(len(x)), features(self, x))[1]
    work()
    MembershipMapping.features = features
    return sum(rows) / model.n_layers


def measure(threads):
    """All three tasks, once for each side, on so many threads for both."""
    usps, mnist = load("usps.npz"), load("mnist.npz")
    found = {"threads": threads, "rate": multiply_adds_per_second()}
    single = multiply_adds_per_second(np.float32)

    with Clock() as ours:
        self_train(usps, 0, n_jobs=threads)
    with Clock() as literal:
        self_train(usps, 0, Literal)
    found["usps iteration"] = {"literal": literal.seconds, "dptransfer": ours.seconds}

    X, y, T = mnist["x_train"] / 255.0, mnist["y_train"], mnist["x_test"] / 255.0
    with Memory() as memory, Clock() as fitting:
        model = MembershipClassifier(random_state=0, n_jobs=threads).fit(X, y)
    with Clock() as labelling:
        labels = model.predict(T)
    n_finished = count_finished(model, lambda: model.predict(T))
    with Clock() as full:
        worthwhile, nearest.WORTHWHILE = nearest.WORTHWHILE, np.inf
        every_label = model.predict(T)
        nearest.WORTHWHILE = worthwhile
    bounded, finished, everything = labelling_work(model, len(T), X.shape[1], n_finished)

    with Clock() as literal_fit:
        literal = Literal(20, 5, 0.5).fit(X, y)
    with Clock() as literal_label:
        literal_labels = literal.predict(T)
    truth = mnist["y_test"]
    found["mnist fitting"] = {
        "literal": literal_fit.seconds,
        "dptransfer": fitting.seconds,
        "floor": fitting_floor(model, np.bincount(y), X.shape[1]) / found["rate"],
        "MiB above the data": memory.mib,
        "parts": sum(len(autoencoder.parts_) for autoencoder in model.autoencoders_),
        "accuracy": float(np.mean(labels == truth)),
        "literal accuracy": float(np.mean(literal_labels == truth)),
    }
    found["mnist labelling"] = {
        "literal": literal_label.seconds,
        "dptransfer": labelling.seconds,
        "every part finished": full.seconds,
        "parts finished a row": n_finished / len(T),
        "labels that differ": int(np.sum(every_label != labels)),
        "floor": bounded / single + finished / found["rate"],
        "floor of finishing every part": everything / found["rate"],
    }
    return found


def main():
    runs = []
    for threads in (1, 2):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        env = os.environ | {name: str(threads) for name in names}
        command = [sys.executable, "-m", "benchmarks.speed", str(threads)]
        output = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(output.stdout.splitlines()[-1]))
    rows = []
    for run in runs:
        for task in ("usps iteration", "mnist fitting", "mnist labelling"):
            r = run[task]
            rows.append(
                [
                    task,
                    run["threads"],
                    r["literal"],
                    r["dptransfer"],
                    r["literal"] / r["dptransfer"],
                    r["dptransfer"] / r["floor"] if "floor" in r else "",
                ]
            )
    table(["task", "threads", "literal: s", "dptransfer: s", "times faster", "times floor"], rows)
    for run in runs:
        fit, label = run["mnist fitting"], run["mnist labelling"]
        ratio = label["every part finished"] / label["dptransfer"]
        print(
            f"{run['threads']} thread(s): MNIST {100 * fit['accuracy']:.2f} % "
            f"(literal {100 * fit['literal accuracy']:.2f} %), {fit['MiB above the data']:.0f} MiB "
            f"above the data; labelling {ratio:.1f} times as fast as with no part left unfinished, "
            f"{label['labels that differ']} labels differ"
        )
    record("speed", {"runs": runs})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
    else:
        main()
