"""The paper's iteration (Section 4.2) on USPS alone: ten labels a class, the rest unlabelled.

Run ``python -m benchmarks.self_training``; writes ``benchmarks/results/self_training.json``. The
settings are those of Section 5: an initial classifier with n = min(20, N_c − 1), r_max = 1 and
L = 1, then n = 5, 10, 15, 20 with r_max = 0.5 and L = 5.
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import Clock, Literal, load, record, table
from dptransfer import MembershipClassifier

DRAWS = 5
LABELS = 10


def self_train(data, seed, kind=MembershipClassifier, n_jobs=None):
    """The classifier after the last iteration."""
    X, y = data["x_train"].astype(float), data["y_train"]
    rng = np.random.default_rng(seed)
    known = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), LABELS, replace=False) for c in np.unique(y)]
    )
    unknown = np.setdiff1d(np.arange(len(y)), known)
    settings = {"random_state": seed, "n_jobs": n_jobs}
    model = kind(min(20, LABELS - 1), 1, 1.0, **settings).fit(X[known], y[known])
    rows = np.concatenate([X[known], X[unknown]])
    for n in (5, 10, 15, 20):
        labels = np.concatenate([y[known], model.predict(X[unknown])])
        model = kind(n, 5, 0.5, **settings).fit(rows, labels)
    return model


def main():
    usps = load("usps.npz")
    rows = []
    for seed in range(DRAWS):
        right = []
        for kind in (Literal, MembershipClassifier):
            with Clock() as clock:
                model = self_train(usps, seed, kind, n_jobs=2)
            accuracy = 100 * float(np.mean(model.predict(usps["x_test"]) == usps["y_test"]))
            right += [accuracy, clock.seconds]
        rows.append([seed, *right])
    means = ["mean", *np.mean([row[1:] for row in rows], axis=0).tolist()]
    headings = ["draw", "literal: %", "literal: s", "dptransfer: %", "dptransfer: s"]
    table(headings, [*rows, means])
    record("self_training", {"headings": headings, "draws": rows, "mean": means[1:]})


if __name__ == "__main__":
    main()
