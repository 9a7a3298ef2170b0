"""Write docs/speed.md from the results of ``speed``, ``growth`` and ``self_training``.

Run ``python -m benchmarks.page`` after them; the page is never edited by hand.
"""

from __future__ import annotations

import json

from benchmarks.common import HERE, RESULTS

HEAD = """# Speed

Written by `python -m benchmarks.page` from `benchmarks/results/`; `make bench` measures anew. Times
are seconds on {cores} cores, and mean little elsewhere: what carries over is the ratios, each from
one run. "Literal" is the transcription in `tests/reference`, which uses scikit-learn's k-means.
"""

TASKS = """
## Against the literal transcription

*USPS iteration*: the paper's four rounds of self-training on 7,291 images with ten labels a class.
*MNIST fitting*: the classifier on 60,000 labelled images, n = 20, L = 5, r_max = 0.5. *MNIST
labelling*: 10,000 images with that classifier. On one thread, both sides use one; on two, the
transcription's libraries use two threads and ours two workers. *Floor*: the multiply-adds that
fitting cannot avoid once it knows how many inducing points it wants, and those that labelling does,
at the rate of a large matrix product in the same run. Each side ran once.
"""


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def tasks(runs):
    yield row("task", "threads", "literal: s", "here: s", "**times faster**", "times the floor")
    yield row(*["---"] * 6)
    for task in ("usps iteration", "mnist fitting", "mnist labelling"):
        for run in runs:
            r = run[task]
            floor = f"{r['dptransfer'] / r['floor']:.1f}" if "floor" in r else ""
            yield row(
                task,
                str(run["threads"]),
                f"{r['literal']:.1f}",
                f"{r['dptransfer']:.2f}",
                f"**{r['literal'] / r['dptransfer']:.1f}**",
                floor,
            )


def remarks(runs):
    for run in runs:
        fit, label = run["mnist fitting"], run["mnist labelling"]
        yield (
            f"- On {run['threads']} thread{'s' * (run['threads'] > 1)}: "
            f"{100 * fit['accuracy']:.2f} % of MNIST's test images are labelled rightly (literal: "
            f"{100 * fit['literal accuracy']:.2f} %); fitting took {fit['MiB above the data']:.0f} "
            f"MiB above the data. Labelling finished {label['parts finished a row']:.1f} of "
            f"{fit['parts']} parts a row, {label['every part finished'] / label['dptransfer']:.1f} "
            f"times as fast as the same code with every part finished, and "
            f"{label['labels that differ']} labels differed."
        )


def growth(found):
    headings = list(found[0])
    yield row(*headings)
    yield row(*["---"] * len(headings))
    for r in found:
        yield row(*(f"{r[h]:,.3g}" if isinstance(r[h], float) else f"{r[h]:,}" for h in headings))


def main():
    speed = json.loads((RESULTS / "speed.json").read_text())
    grown = json.loads((RESULTS / "growth.json").read_text())
    trained = json.loads((RESULTS / "self_training.json").read_text())
    lines = [HEAD.format(cores=speed["machine"]["cores"]), TASKS, *tasks(speed["runs"]), ""]
    lines += remarks(speed["runs"])
    lines += [
        "",
        "## The USPS iteration: five draws of the labels",
        "",
        "On the 2,007 test images, which take no part in the iteration; two threads.",
        "",
        row(*trained["headings"]),
        row(*["---"] * len(trained["headings"])),
    ]
    for draw in [*trained["draws"], ["mean", *trained["mean"]]]:
        lines.append(row(str(draw[0]), *(f"{value:.2f}" for value in draw[1:])))
    lines += [
        "",
        "## How time and memory grow",
        "",
        "`WideMembershipAutoencoder(10)`, rows on curved surfaces of ten dimensions, two workers.",
        "Fitting is linear in rows: each part of a thousand rows costs the same. Applying grows",
        "with the number of parts, for each is bounded, though few are finished.",
        "",
        *growth(grown["by rows"]),
        "",
        *growth(grown["by columns"]),
        "",
        "![Time against rows and against columns](../benchmarks/results/growth.png)",
        "",
    ]
    page = HERE.parent / "docs" / "speed.md"
    page.write_text("\n".join(lines))
    print(f"written: {page.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
