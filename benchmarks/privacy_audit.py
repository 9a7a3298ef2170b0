"""What the audit says of the true mechanisms and of broken ones.

    python -m benchmarks.privacy_audit

Lower bounds on ε, together at 95 % confidence, of mechanisms that claim (ε, δ); and how often the
bounds stay below ε in 100 audits of the true ones. Writes benchmarks/results/privacy_audit.json.
"""

import json
from pathlib import Path

import numpy as np

from dptransfer.cli.output import print_table, progress
from dptransfer.privacy import LaplaceNoise, OptimalNoise
from dptransfer.privacy.audit import audit

CLAIMS = ((0.1, 1e-5), (1.0, 1e-5), (1.0, 1e-3), (4.0, 1e-3))
REPETITIONS = 100
RESULTS = Path(__file__).parent / "results" / "privacy_audit.json"


def released(noise):
    return lambda values: noise.perturb(values, bounds=(0.0, 1.0))


def naive(epsilon, delta):
    noise, rng = OptimalNoise(epsilon, delta), np.random.default_rng()
    return lambda values: values + noise.sample_continuous(values.shape, rng)


def off_the_grid(epsilon, delta):
    noise = OptimalNoise(epsilon, delta)
    return lambda values: values + noise.perturb(np.zeros_like(values), bounds=(0.0, 1.0))


TRUE = {
    "optimal noise": lambda e, d: released(OptimalNoise(e, d)),
    "Laplace noise": lambda e, d: released(LaplaceNoise(e, d)),
}
BROKEN = {
    "noise scale halved": lambda e, d: released(OptimalNoise(2 * e, d)),
    "atom of 10 delta, usual grid": lambda e, d: released(
        OptimalNoise(e, 10 * d, grid=OptimalNoise(e, d).grid)
    ),
    "atom of 10 delta, fine grid": lambda e, d: released(OptimalNoise(e, 10 * d, grid=2.0**-24)),
    "noise of a constant seed": lambda e, d: released(OptimalNoise(e, d, insecure_seed=7)),
    "rounding left out": naive,
    "data not brought to the grid": off_the_grid,
}


def measured():
    for epsilon, delta in CLAIMS:
        for name, mechanism in (TRUE | BROKEN).items():
            report = audit(mechanism(epsilon, delta), epsilon=epsilon, delta=delta, distance=1.0)
            yield {"mechanism": name, "broken": name in BROKEN} | report.to_dict()


def below(mechanism, epsilon=1.0, delta=1e-3):
    """How many of the audits of a true mechanism stay below ε, and the median bound."""
    reports = [
        audit(mechanism, epsilon=epsilon, delta=delta, distance=1.0, cells=20_000, calls=20)
        for _ in range(REPETITIONS)
    ]
    bounds = [report.epsilon_lower for report in reports]
    return sum(not r.violated for r in reports), float(np.median(bounds)), max(bounds)


def main():
    rows = list(progress(measured(), len(CLAIMS) * len(TRUE | BROKEN), "auditing"))
    print_table(
        "Lower bounds on epsilon, 95 % confidence",
        ["mechanism", "claim", "bound", "one run", "violated", "told apart by"],
        [
            [
                row["mechanism"],
                f"({row['epsilon']:g}, {row['delta']:g})",
                f"{row['epsilon_lower']:.3f}",
                f"{row['one_run']:.3f}",
                "yes" if row["violated"] else "no",
                f"{row['event']}, {row['runs']}",
            ]
            for row in rows
        ],
    )
    repeated = {}
    for name, mechanism in TRUE.items():
        kept, median, largest = below(mechanism(1.0, 1e-3))
        repeated[name] = {"below": kept, "of": REPETITIONS, "median": median, "largest": largest}
        print(
            f"{name} at (1, 0.001): below epsilon in {kept} of {REPETITIONS} audits of 20,000 "
            f"cells; median bound {median:.3f}, largest {largest:.3f}"
        )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"audits": rows, "repeated": repeated}, indent=1))


if __name__ == "__main__":
    main()
