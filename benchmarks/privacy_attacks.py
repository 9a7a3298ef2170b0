"""How much can be told from what is released: two attacks, ε from 0.01 to 10.

    python -m benchmarks.privacy_attacks

Real records: scikit-learn's handwritten digits (64 pixels, scaled to [0, 1]), all of one digit, so
that the attacker knows the digit already. Writes benchmarks/results/privacy_attacks.json and
docs/images/attacks.png.
"""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from dptransfer.cli.output import print_table
from dptransfer.privacy import OptimalNoise
from dptransfer.privacy.attacks import membership, recover_element
from dptransfer.privacy.words import best_guess

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-5
DIGIT = 3
ROWS = 100
HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "images" / "attacks.png"


def measured():
    digits = load_digits()
    records = digits.data[digits.target == DIGIT] / 16
    for epsilon in EPSILONS:
        noise = OptimalNoise(epsilon, DELTA, distance=1.0)

        def release(values, noise=noise):
            return noise.perturb(values, bounds=(0.0, 1.0))

        record = noise.guarantee.per_record(records.shape[1])
        told = membership(release, records, scale=1 / epsilon, rows=ROWS, random_state=0)
        # Who knows every other row sets them aside: only the one row is left to be told.
        alone = membership(
            release, records, scale=1 / epsilon, rows=1, trials=20_000, random_state=0
        )
        yield {
            "epsilon": epsilon,
            "delta": DELTA,
            "element": asdict(
                recover_element(release, distance=1.0, trials=1_000_000, random_state=0)
            ),
            "element_at_most": 2 * best_guess(epsilon, DELTA) - 1,
            "member_others_known": asdict(alone.from_rows),
            "member_from_rows": asdict(told.from_rows),
            "member_from_mean": asdict(told.from_mean),
            "record_epsilon": record.epsilon,
            "record_delta": record.delta,
            "record_at_most": 2 * best_guess(record.epsilon, record.delta) - 1,
        }


def cell(found):
    return f"{found['value']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}]"


def plot(rows):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    epsilons = [row["epsilon"] for row in rows]
    shown = {
        "element": "value of one pixel",
        "member_others_known": "membership, all other rows known",
        "member_from_rows": f"membership, from {ROWS} perturbed rows",
        "member_from_mean": "membership, from their mean alone",
    }
    for key, label in shown.items():
        value, low, high = (
            np.array([row[key][part] for row in rows]) for part in ("value", "low", "high")
        )
        (line,) = axes.plot(epsilons, value, marker="o", label=label)
        axes.fill_between(epsilons, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    allowed = {"element_at_most": ("one pixel", "--"), "record_at_most": ("a record", ":")}
    for key, (of, line) in allowed.items():
        label = f"most that the guarantee allows, {of}"
        axes.plot(epsilons, [row[key] for row in rows], line, color="grey", label=label)
    axes.set(xscale="log", xlabel="ε for one pixel", ylabel="advantage over guessing")
    axes.set_ylim(-0.1, 1.05)
    axes.axhline(0, color="black", lw=0.5)
    figure.legend(fontsize=8, loc="outside lower center", ncols=2)
    figure.savefig(PICTURE, dpi=110)


def main():
    rows = list(measured())
    results = HERE / "results" / "privacy_attacks.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(
        json.dumps({"digit": DIGIT, "rows": ROWS, "confidence": 0.95, "table": rows}, indent=1)
    )
    print_table(
        "Advantage over guessing [95 % confidence interval], and the most that is allowed",
        [
            "epsilon",
            "one pixel",
            "allowed",
            "member, others known",
            "member, rows",
            "member, mean",
            "allowed (record)",
        ],
        [
            [
                f"{row['epsilon']:g}",
                cell(row["element"]),
                f"{row['element_at_most']:.3f}",
                cell(row["member_others_known"]),
                cell(row["member_from_rows"]),
                cell(row["member_from_mean"]),
                f"{row['record_at_most']:.3f}",
            ]
            for row in rows
        ],
    )
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    plot(rows)


if __name__ == "__main__":
    main()
