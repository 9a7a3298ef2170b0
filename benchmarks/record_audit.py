"""What the audit says of totals of records, released with Gaussian noise, and of broken ones.

    python -m benchmarks.record_audit

One release of as many classes as the audit wants cells: in the class of a cell that is set there
is one record, in the others none. Whoever knows that record looks along the direction in which it
moves the counts, sums and second moments of its class. Lower bounds on ε, together at 95 %
confidence, of what claims (ε, δ) for a record that comes or goes; and how often the bounds stay
below ε in 100 audits of the true one. Then the same of `Release.from_moments` itself, where the
attacker uses everything that is released of a class: the likelihood ratio of counts, sums, and what
the later passes saw of the record from the centre that the first one released. The radii of these
passes follow from the lengths of all rows together, and are held still, for in an audit by cells
half of all rows come and go. Writes benchmarks/results/record_audit.json.
"""

from unittest.mock import patch

import numpy as np

from benchmarks.common import record
from dptransfer import Release
from dptransfer.cli.output import print_table, progress
from dptransfer.privacy import GaussianBudget
from dptransfer.privacy.audit import audit
from dptransfer.privacy.clipping import (
    class_counts,
    class_sums,
    clip,
    distance_of_record,
    pack_symmetric,
    second_moment,
)
from dptransfer.transfer import moment_making
from dptransfer.transfer.moments_plan import PARTS

CLAIMS = ((0.5, 0.05), (1.0, 0.1), (2.0, 0.05), (1.0, 1e-3))
REPETITIONS = 100
RADIUS = 2.0
RECORD = np.array([[3.0, -4.0]])  # longer than the radius: it counts as (1.2, -1.6)
SHARES = {"counts": 0.2, "sums": 0.3, "moments": 0.5}
DISTANCES = {part: distance_of_record(RADIUS, **{part: 1.0}) for part in SHARES}


def totals(values, *, clipped=True):
    """Counts, sums and packed second moments by class; the record is where `values` are high."""
    classes = np.flatnonzero(values[:, 0] > 0.5)
    n = len(values)
    radius = RADIUS if clipped else 5.0
    rows = clip(np.repeat(RECORD, len(classes), axis=0), 0.0, radius)
    moments = np.zeros((n, 3))  # every record is the same one
    moments[classes] = pack_symmetric(second_moment(rows[:1], radius))
    return {
        "counts": class_counts(classes, n)[:, None],
        "sums": class_sums(rows, classes, n, radius),
        "moments": moments,
    }


def as_claimed(budget, part, total):
    """The total as it is released, and the variance of its noise."""
    noise = budget.noise(part, DISTANCES[part])
    return noise.perturb(total), noise.variance


def released(epsilon, delta, *, noisy=as_claimed, **how):
    """A mechanism for the audit: the totals, noise on each, and the attacker's look at them."""
    direction = {part: total[0] for part, total in totals(np.ones((1, 1)), **how).items()}

    def mechanism(values):
        budget = GaussianBudget(epsilon, delta, SHARES)
        seen = np.zeros(len(values))
        for part, total in totals(values, **how).items():
            found, variance = noisy(budget, part, total)
            seen += found @ direction[part] / variance
        return seen[:, None]

    return mechanism


def a_budget_each(epsilon, delta):
    def noisy(budget, part, total):
        return as_claimed(GaussianBudget(epsilon, delta, {part: 1.0}), part, total)

    return released(epsilon, delta, noisy=noisy)


def exact_counts(epsilon, delta):
    def noisy(budget, part, total):
        return (total, 1e-3) if part == "counts" else as_claimed(budget, part, total)

    return released(epsilon, delta, noisy=noisy)


def length_not_squared(epsilon, delta):
    """As if a sum of products moved by R, and not by R²."""

    def noisy(budget, part, total):
        if part != "moments":
            return as_claimed(budget, part, total)
        noise = budget.noise(part, distance_of_record(RADIUS, sums=1.0))
        return noise.perturb(total), noise.variance

    return released(epsilon, delta, noisy=noisy)


REACH = 0.4  # of the second pass; rows lie within 0.5
CORNER = np.array([[1.0, 0.0]])


def of_releases(epsilon, delta, **too_near):
    """The same of whole releases; `too_near` are parts whose distance is understated, so much."""

    def distance(radius, **weight):
        part = next(kinds)
        return distance_of_record(radius, **weight) * too_near.get(part, too_near.get("all", 1.0))

    def mechanism(values):
        nonlocal kinds
        kinds = (part for part in PARTS if part != "subspace")
        classes = np.append(np.flatnonzero(values[:, 0] > 0.5), len(values))  # one is always there
        with (
            patch.object(moment_making, "near_radius", lambda *_: REACH),
            patch.object(moment_making, "distance_of_record", distance),
        ):
            release = Release.from_moments(
                np.repeat(CORNER, len(classes), axis=0),
                classes,
                epsilon=epsilon,
                delta=delta,
                bounds=(0, 1),
                classes=range(len(values) + 1),
                radius=0.5,
            )
        return log_likelihood_ratio(release)[: len(values), None]

    kinds = iter(())
    return mechanism


def log_likelihood_ratio(release):
    """Of every class, that the record is in it against that it is not."""
    told = release.summary
    variance = dict(zip(PARTS, np.square(told.deviations), strict=True))
    z = release.clip(CORNER)
    seen = z - told.centres
    seen *= np.minimum(1, REACH / np.linalg.norm(seen, axis=1))[:, None]
    moved = {
        "counts": (told.counts[:, None], np.ones((1, 1))),
        "sums": (told.sums, z),
        "offsets": (told.offsets, seen),
        "moments": (told.moments, seen[:, :, None] * seen[:, None, :]),
    }
    ratio = np.zeros(len(told.counts))
    for part, (found, by) in moved.items():
        ratio += ((found - by / 2) * by).reshape(len(found), -1).sum(axis=1) / variance[part]
    return ratio


OF_RELEASES = {
    "releases of moments": of_releases,
    "releases, half of the noise": lambda e, d: of_releases(e, d, all=0.5),
    "releases, exact counts": lambda e, d: of_releases(e, d, counts=1e-3),
}
TRUE = {"totals of records": released}
BROKEN = {
    "rows not clipped": lambda e, d: released(e, d, clipped=False),
    "a whole budget for each part": a_budget_each,
    "counts without noise": exact_counts,
    "R in the place of R squared": length_not_squared,
}
SOUND = {"totals of records", "releases of moments"}


def measured(cells=100_000):
    for epsilon, delta in CLAIMS:
        for name, mechanism in (TRUE | BROKEN | OF_RELEASES).items():
            few = name in OF_RELEASES
            report = audit(
                mechanism(epsilon, delta),
                epsilon=epsilon,
                delta=delta,
                distance=1.0,
                cells=cells // 10 if few else cells,
                calls=4 if few else 200,
            )
            yield {"mechanism": name, "broken": name not in SOUND} | report.to_dict()


def main():
    rows = list(progress(measured(), len(CLAIMS) * len(TRUE | BROKEN | OF_RELEASES), "auditing"))
    print_table(
        "Lower bounds on epsilon for one record, 95 % confidence",
        ["mechanism", "claim", "bound", "one run", "violated"],
        [
            [
                row["mechanism"],
                f"({row['epsilon']:g}, {row['delta']:g})",
                f"{row['epsilon_lower']:.3f}",
                f"{row['one_run']:.3f}",
                "yes" if row["violated"] else "no",
            ]
            for row in rows
        ],
    )
    reports = [
        audit(released(1.0, 0.1), epsilon=1.0, delta=0.1, distance=1.0, cells=4_000, calls=10)
        for _ in range(REPETITIONS)
    ]
    kept = sum(not report.violated for report in reports)
    median = float(np.median([report.epsilon_lower for report in reports]))
    print(f"at (1, 0.1): below epsilon in {kept} of {REPETITIONS} audits; median {median:.3f}")
    record("record_audit", {"audits": rows, "below": kept, "of": REPETITIONS, "median": median})


if __name__ == "__main__":
    main()
