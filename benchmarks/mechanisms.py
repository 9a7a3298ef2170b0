"""The mechanisms side by side: how much noise each needs for the same promise.

Run ``python -m benchmarks.mechanisms``; writes ``benchmarks/results/mechanisms.json``, from which
the tables in ``docs/noise.md`` are copied. Everything here is computed, except the column
"released", which is measured on a million values that `perturb` released.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from dptransfer.privacy.gaussian import GaussianNoise, gaussian_sigma
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise

RESULT = Path(__file__).parent / "results" / "mechanisms.json"
PAIRS = [
    (0.01, 1e-5), (0.1, 1e-5), (0.1, 1e-2), (0.5, 1e-2), (1.0, 1e-5), (1.0, 0.1),
    (1.9, 0.1), (2.1, 0.1), (5.0, 0.1), (5.0, 1e-5), (10.0, 1e-5), (10.0, 1e-2),
]  # fmt: skip
N = 1_000_000


def one_element() -> list[dict[str, Any]]:
    """Mean magnitude of noise that protects one element at distance 1."""
    rows = []
    for epsilon, delta in PAIRS:
        optimal, laplace = OptimalNoise(epsilon, delta), LaplaceNoise(epsilon, delta)
        row: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
        for name, noise in (("optimal", optimal), ("laplace", laplace)):
            released = np.abs(noise.perturb(np.zeros(N), bounds=(0, 1))).mean()
            row |= {name: noise.mean_magnitude, f"{name} released": float(released)}
        row["gaussian"] = gaussian_sigma(epsilon, delta) * math.sqrt(2 / math.pi)
        # How likely a value that is released at its own grid point was left untouched.
        by_noise = (1 - delta) * math.tanh(epsilon * optimal.grid / 2)
        row["untouched if unmoved"] = delta / (delta + by_noise)
        rows.append(row)
    return rows


def meeting_points() -> list[dict[str, float]]:
    """The ε at which optimal and Laplace noise have the same mean magnitude."""
    return [
        {"delta": delta, "epsilon": -2 * (1 - delta) * math.log1p(-delta) / delta}
        for delta in (1e-12, 1e-5, 1e-2, 0.1, 0.3)
    ]


def one_record(n_features: int = 784) -> list[dict[str, float]]:
    """Mean magnitude a cell when a whole record, each cell in [0, 1], must be protected."""
    rows = []
    for epsilon, delta in ((0.01, 1e-12), (0.1, 1e-5), (1.0, 1e-9)):
        laplace = LaplaceNoise(epsilon, delta)
        record = laplace.guarantee.per_record(n_features)
        length = math.sqrt(n_features)  # the L2 distance when every cell moves by 1
        gaussian = GaussianNoise(record.epsilon, record.delta, length)
        rows.append(
            {
                "element epsilon": epsilon,
                "element delta": delta,
                "record epsilon": record.epsilon,
                "record delta": record.delta,
                "laplace": float(laplace.mean_magnitude),
                "gaussian": gaussian.mean_magnitude,
            }
        )
    return rows


def table(title: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{title}\n")
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(f"{value:.4g}" for value in row.values()) + " |")


def main() -> None:
    elements, meets, records = one_element(), meeting_points(), one_record()
    table("mean magnitude, one element, distance 1", elements)
    table("where optimal and Laplace meet", meets)
    table("mean magnitude a cell, one record of 784 cells", records)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(
        json.dumps(
            {"one element": elements, "meeting points": meets, "one record": records}, indent=2
        )
        + "\n"
    )
    print(f"\nwritten to {RESULT}")


if __name__ == "__main__":
    main()
