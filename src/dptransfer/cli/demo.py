"""`dptransfer demo`: learn digits from a few labels, on data that comes with scikit-learn."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from dptransfer.cli.output import print_json, print_table

__all__ = ["demo"]

LABELS = 10
HELD_OUT = 500
SCHEDULE = (5, 10, 15, 20)


def demo(as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False) -> None:
    """Learn to read digits from ten labels a class and many digits without a label.

    Trains the classifier of membership-mapping autoencoders on the labelled digits, then lets it
    label the others and learn from them, in four rounds. Prints accuracy on digits that it never
    saw, and the time. Needs no data and no network.

    Examples:
      dptransfer demo
      dptransfer demo --json
    """
    import numpy as np  # noqa: PLC0415 - slow to import

    from dptransfer.data.datasets import load_digits  # noqa: PLC0415
    from dptransfer.models import MembershipClassifier  # noqa: PLC0415

    images = load_digits()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(images.X))
    test, rest = order[:HELD_OUT], order[HELD_OUT:]
    known = np.concatenate([rest[images.y[rest] == c][:LABELS] for c in range(10)])
    unknown = np.setdiff1d(rest, known)
    rows = images.X[np.concatenate([known, unknown])]

    start = time.perf_counter()
    model = MembershipClassifier(LABELS - 1, 1, 1.0, random_state=0)
    model.fit(images.X[known], images.y[known])
    rounds = [("the labelled digits alone", model.score(images.X[test], images.y[test]))]
    for n in SCHEDULE:
        labels = np.concatenate([images.y[known], model.predict(images.X[unknown])])
        model = MembershipClassifier(n, random_state=0).fit(rows, labels)
        step = f"with the others, n = {n}"
        rounds.append((step, model.score(images.X[test], images.y[test])))
    seconds = time.perf_counter() - start

    if as_json:
        print_json(
            {
                "labelled": len(known),
                "unlabelled": len(unknown),
                "held_out": len(test),
                "accuracy": [{"learned_from": step, "accuracy": score} for step, score in rounds],
                "seconds": seconds,
            }
        )
        return
    print_table(
        f"{images.name}: {len(known)} with a label, {len(unknown)} without, "
        f"{len(test)} held out to test on",
        ["learned from", "right on those held out"],
        [(step, f"{100 * score:.1f} %") for step, score in rounds],
    )
    typer.echo(f"{seconds:.1f} seconds, learning and testing")
