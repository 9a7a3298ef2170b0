"""How fast safe noise is: against NumPy's unsafe Laplace, and against OpenDP's exact one.

Run ``python -m benchmarks.noise``; writes ``benchmarks/results/noise.json``.
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dptransfer.privacy.gaussian import GaussianNoise
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise

SHAPE = (60_000, 784)
REPEATS = 5
OPENDP_VALUES = 200_000
RESULT = Path(__file__).parent / "results" / "noise.json"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def opendp_laplace(scale: float) -> Callable[[], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    measure = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    zeros = [0] * OPENDP_VALUES
    return lambda: measure(zeros)


def main() -> None:
    X = np.random.default_rng(0).random(SHAPE)
    optimal, laplace = OptimalNoise(0.1, 1e-5), LaplaceNoise(0.1, 1e-5)
    gaussian = GaussianNoise(1.0, 1e-5, 28.0)

    # Memory first, before anything else has raised the peak.
    before = peak_bytes()
    released = optimal.perturb(X, bounds=(0, 1))
    over_the_array = peak_bytes() - before
    of_the_result = released.nbytes
    del released

    rng = np.random.default_rng(0)
    columns = OptimalNoise(0.1, 1e-5, np.linspace(0.5, 1.5, SHAPE[1]))
    runs: dict[str, Callable[[], object]] = {
        "numpy Generator.laplace": lambda: rng.laplace(0.0, 10.0, size=SHAPE),
        "OptimalNoise.perturb": lambda: optimal.perturb(X, bounds=(0, 1)),
        "LaplaceNoise.perturb": lambda: laplace.perturb(X, bounds=(0, 1)),
        "OptimalNoise.perturb, 784 distances": lambda: columns.perturb(X, bounds=(0, 1)),
        "GaussianNoise.perturb": lambda: gaussian.perturb(X),
    }
    # In turns, so that a slow moment of the machine does not fall on one of them alone.
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(REPEATS):
        for name, work in runs.items():
            taken[name].append(seconds(work))
    per_value = {name: statistics.median(t) / X.size for name, t in taken.items()}

    steps = int(optimal.scale / optimal.grid)
    integers = np.zeros(X.size // 8, dtype=np.int64)
    counts = OptimalNoise(1 / steps, 0.0, 1.0, grid=1.0)
    per_value["OptimalNoise.perturb on integers"] = (
        statistics.median(
            seconds(lambda: counts.perturb(integers, bounds=(0, 1))) for _ in range(REPEATS)
        )
        / integers.size
    )
    theirs = opendp_laplace(float(steps))
    per_value["OpenDP vector Laplace on integers"] = (
        statistics.median(seconds(theirs) for _ in range(3)) / OPENDP_VALUES
    )

    base = per_value["numpy Generator.laplace"]
    result = {
        "shape": SHAPE,
        "nanoseconds_per_value": {name: 1e9 * t for name, t in per_value.items()},
        "times_numpy_laplace": {name: t / base for name, t in per_value.items()},
        "times_faster_than_opendp": per_value["OpenDP vector Laplace on integers"]
        / per_value["OptimalNoise.perturb on integers"],
        "mebibytes_over_the_array": over_the_array / 2**20,
        "mebibytes_of_the_result": of_the_result / 2**20,
        "repeats": REPEATS,
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    for name, t in per_value.items():
        print(f"{name:38s} {1e9 * t:10.1f} ns a value {t / base:8.2f} × numpy's laplace")
    print(f"against OpenDP: {result['times_faster_than_opendp']:.0f} times as fast a value")
    print(
        f"memory over the array: {over_the_array / 2**20:.0f} MiB, "
        f"of which the result itself is {of_the_result / 2**20:.0f} MiB"
    )
    print(f"written to {RESULT}")


if __name__ == "__main__":
    main()
