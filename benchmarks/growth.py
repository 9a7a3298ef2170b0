"""How time and memory grow with rows and columns.

Run ``python -m benchmarks.growth``; writes ``benchmarks/results/growth.json`` and ``growth.png``.
The rows lie on curved surfaces of ten dimensions with noise. Each size is a process of its own, so
that its peak of memory is its own too; two workers.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.common import RESULTS, Clock, Memory, record, table
from dptransfer import WideMembershipAutoencoder

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
COLUMNS = (16, 64, 256, 1_024, 4_096)
NEW_ROWS = 5_000


def synthetic(N, p, seed=0):
    rng = np.random.default_rng(seed)
    surface = np.random.default_rng(1)
    latent = rng.standard_normal((N, 10))
    features = np.tanh(latent @ surface.standard_normal((10, 40)) + surface.standard_normal(40))
    Y = features @ (surface.standard_normal((40, p)) / np.sqrt(40))
    Y += 0.1 * rng.standard_normal((N, p))
    return Y


def measure(N, p):
    Y, new = synthetic(N, p), synthetic(NEW_ROWS, p, seed=2)
    small = WideMembershipAutoencoder(5, 1, random_state=0).fit(Y[:200])
    small.residuals(new[:10])
    with Memory() as used, Clock() as fitting:
        wide = WideMembershipAutoencoder(10, random_state=0, n_jobs=2).fit(Y)
    with Clock() as applying:
        wide.residuals(new)
    return {
        "rows": N,
        "columns": p,
        "parts": len(wide.parts_),
        "data MiB": Y.nbytes / 2**20,
        "fit: s": fitting.seconds,
        "MiB above the data": used.mib,
        "5,000 new rows: s": applying.seconds,
    }


def run(N, p):
    command = [sys.executable, "-m", "benchmarks.growth", str(N), str(p)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def draw(by_rows, by_columns):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), dpi=120, layout="constrained")
    for position, (found, what) in enumerate(((by_rows, "rows"), (by_columns, "columns")), 1):
        axes = figure.add_subplot(1, 2, position)
        x = np.array([r[what] for r in found])
        for name, style in (("fit: s", "o-"), ("5,000 new rows: s", "s-")):
            axes.loglog(x, [r[name] for r in found], style, label=name)
        axes.loglog(x, found[0]["fit: s"] * x / x[0], ":", color="grey", label="linear")
        axes.set_xlabel(what)
        axes.legend(fontsize=7)
    figure.savefig(RESULTS / "growth.png")


def main():
    by_rows = [run(N, 64) for N in ROWS]
    by_columns = [run(4_000, p) for p in COLUMNS]
    for found in (by_rows, by_columns):
        table(list(found[0]), [list(r.values()) for r in found])
        print()
    draw(by_rows, by_columns)
    record("growth", {"by rows": by_rows, "by columns": by_columns})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
    else:
        main()
