"""What a promise for one element amounts to for a record, and for repeated releases.

    python -m benchmarks.per_record

Composed by privacy-loss distributions, with basic composition beside. Writes
benchmarks/results/per_record.json.
"""

import json
from pathlib import Path

from dptransfer.cli.output import print_table
from dptransfer.privacy import OptimalNoise
from dptransfer.privacy.accounting import basic_composition, delta_floor
from dptransfer.privacy.words import best_guess

DELTA = 1e-5
RECORDS = {"a patient": 13, "a digit of 8 x 8": 64, "a digit of 16 x 16": 256, "MNIST": 784}
EPSILONS = (0.001, 0.01, 0.1, 1.0)
RELEASES = (1, 2, 10, 100)
RESULTS = Path(__file__).parent / "results" / "per_record.json"


def composed(name, epsilon, times):
    one = OptimalNoise(epsilon, DELTA).guarantee
    together = one.per_record(times)
    basic = basic_composition([(epsilon, DELTA)] * times)
    return {
        "what": name,
        "times": times,
        "epsilon": epsilon,
        "composed": [together.epsilon, together.delta],
        "best_guess": best_guess(together.epsilon, together.delta),
        "basic": list(basic),
        "no_epsilon_below_delta": delta_floor([(epsilon, DELTA)] * times),
    }


def main():
    rows = [composed(name, e, n) for name, n in RECORDS.items() for e in EPSILONS]
    rows += [composed("releases of one element", 0.1, n) for n in RELEASES]
    print_table(
        f"(epsilon, {DELTA:g}) for one element, composed",
        ["what", "n", "epsilon", "together", "best guess", "basic", "no epsilon below delta"],
        [
            [
                row["what"],
                str(row["times"]),
                f"{row['epsilon']:g}",
                "({:.4g}, {:.4g})".format(*row["composed"]),
                f"{row['best_guess']:.4f}",
                "({:.4g}, {:.4g})".format(*row["basic"]),
                f"{row['no_epsilon_below_delta']:.4g}",
            ]
            for row in rows
        ],
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"delta": DELTA, "table": rows}, indent=1))


if __name__ == "__main__":
    main()
