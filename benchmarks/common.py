"""What the benchmarks of the models share: data, clocks, the literal classifier, records."""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
import scipy
import sklearn

HERE = Path(__file__).parent
RESULTS = HERE / "results"
sys.path.insert(0, str(HERE.parent / "tests"))


def load(name):
    """The arrays of a file under DPTRANSFER_DATA."""
    folder = os.environ.get("DPTRANSFER_DATA")
    if not folder or not (Path(folder) / name).exists():
        sys.exit(f"set DPTRANSFER_DATA to a folder that holds {name}")
    with np.load(Path(folder) / name) as file:
        return {key: file[key] for key in file.files}


class Clock:
    """``with Clock() as clock: ...; clock.seconds``."""

    def __enter__(self):
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self._start


def memory(field):
    """VmRSS or VmHWM of this process, in MiB (Linux)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field))
    return int(line.split()[1]) / 1024


class Memory:
    """``with Memory() as memory: ...; memory.mib``: the peak above what was in use before."""

    def __enter__(self):
        gc.collect()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # forget the peak so far
        self._before = memory("VmRSS")
        return self

    def __exit__(self, *_):
        self.mib = memory("VmHWM") - self._before


def multiply_adds_per_second(dtype=np.float64):
    """The rate of a large matrix product, the best of five, on the threads of this process."""
    A = np.random.default_rng(0).standard_normal((1500, 1500)).astype(dtype)
    A @ A
    best = np.inf
    for _ in range(5):
        with Clock() as clock:
            A @ A
        best = min(best, clock.seconds)
    return len(A) ** 3 / best


class Literal:
    """The transcription in tests/reference, with the face of an estimator."""

    def __init__(self, n_components, n_layers, max_inducing, random_state=0, n_jobs=None):
        self.parameters = n_components, max_inducing, n_layers
        self.random_state = random_state

    def fit(self, X, y):
        from reference.membership import Classifier

        self.model = Classifier(
            np.asarray(X, float), y, *self.parameters, random_state=self.random_state
        )
        return self

    def predict(self, X):
        return self.model.predict(np.asarray(X, float))


def record(name, result):
    """Write results/NAME.json, with the machine and the versions."""
    machine = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": os.cpu_count(),
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine, **result}, indent=1) + "\n")
    print(f"written: {path.relative_to(HERE.parent)}")


def table(headings, rows):
    """Print rows under headings, as Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    for line in lines:
        print(
            "| " + " | ".join(f"{c:.3g}" if isinstance(c, float) else str(c) for c in line) + " |"
        )
