"""Take the picture of a report that stands in the README: `make screenshot`.

Learns scikit-learn's digits with a release of other digits, writes the report, and lets
chromium photograph it, in the light and in the dark.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from dptransfer import Release, TransferClassifier
from dptransfer.data.datasets import load_digits
from dptransfer.report.adaptation import adaptation_page
from dptransfer.report.rendering import render

OWNED, LABELLED = 1000, 50
WIDTH, HEIGHT = 860, 1180
PAIR = """<!doctype html><style>body {{ margin: 0; display: flex; background: #8884 }}
iframe {{ border: 0; width: {width}px; height: {height}px }}</style>
<iframe src="light.html"></iframe><iframe src="dark.html#worth"></iframe>"""


def main() -> None:
    """Learn, write, photograph."""
    digits = load_digits()
    owner = Release.from_samples(
        digits.X[:OWNED],
        digits.y[:OWNED],
        epsilon=1.0,
        delta=1e-5,
        bounds=(0, 1),
        classes=range(10),
        name="digits of the owner",
        random_state=0,
    )
    X, y = digits.X[OWNED:], digits.y[OWNED:]
    few = np.where(np.arange(len(X)) < LABELLED, y, -1)
    adopter = TransferClassifier(owner, random_state=0).fit(X, few)
    page = render(adaptation_page(adopter, X, few, title="Digits, with few labels"))
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for colours in ("light", "dark"):
            chosen = page.replace("<html ", f'<html data-colours="{colours}" ', 1)
            (here / f"{colours}.html").write_text(chosen, encoding="utf-8")
        both = here / "both.html"
        both.write_text(PAIR.format(width=WIDTH, height=HEIGHT), encoding="utf-8")
        subprocess.run(
            [
                shutil.which("chromium") or "chromium",
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
                *("--hide-scrollbars", f"--user-data-dir={here / 'home'}"),
                f"--window-size={2 * WIDTH},{HEIGHT}",
                "--force-prefers-reduced-motion",  # else it is caught while it scrolls
                f"--screenshot={here / 'report.png'}",
                both.as_uri(),
            ],
            check=True,
            capture_output=True,
        )
        shutil.move(here / "report.png", Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
