"""Write what the benchmarks found into the pages that quote it, from ``benchmarks/results/``.

``python -m benchmarks.page`` writes docs/speed.md whole, and the tables in README.md and
docs/noise.md between the marks that name them. None of these is edited by hand; a test holds them
against the results.
"""

from __future__ import annotations

import json
import re

from benchmarks.common import HERE, RESULTS
from dptransfer.experiments.catalogue import make
from dptransfer.experiments.pages import digest
from dptransfer.experiments.store import Store

ROOT = HERE.parent
TASKS = {
    "usps iteration": "USPS iteration",
    "mnist fitting": "MNIST fitting",
    "mnist labelling": "MNIST labelling",
}

HEAD = """# Speed

Written by `python -m benchmarks.page` from `benchmarks/results/`; `make bench` measures anew.
Times are seconds on {cores} cores, and mean little elsewhere: what carries over is the ratios,
each from one run. How fast the noise is stands [beside the noise](noise.md#speed).

## Against the literal transcription

*USPS iteration*: the paper's four rounds of self-training on 7,291 images with ten labels a class.
*MNIST fitting*: the classifier on 60,000 labelled images, n = 20, L = 5, r_max = 0.5. *MNIST
labelling*: 10,000 images with that classifier. "Literal" is the transcription in
`tests/reference`, which uses scikit-learn's k-means. On one thread, both sides use one; on two,
the transcription's libraries use two threads and ours two workers. Each side ran once.
"""

FLOOR = """
*Floor*: the multiply-adds that fitting cannot avoid once it knows how many inducing points it
wants, and those that labelling does, at the rate of a large matrix product in the same run.
"""

GROWTH = """
## How time and memory grow

`WideMembershipAutoencoder(10)`, rows on curved surfaces of ten dimensions, two workers. Fitting is
linear in rows: each part of about a thousand rows costs the same, and from 10,000 rows on a row
takes the same time within {spread:.0f} %. Applying grows with the number of parts, for each is
bounded, though few are finished: {fold:.0f} times the parts of 10,000 rows take {slower:.1f} times
as long.
"""

TRANSFER = """
## From one table to predictions on another

`python -m benchmarks.transfer timing`, one run: MNIST's 60,000 labelled images are released at
(0.1, 1e-5) an element, the file is written and read, and USPS with ten labels a class is learned
with it and its {rows} test images labelled: {seconds:.1f} s, of which {source:.0f} % are the
owner's. The file is {size:.0f} MB.
"""

TRIAL = """
`transfer_gain_` then tries what the source was worth, on labels held out, anew for each part of
them. That takes {trial:.1f} s more, once and only when it is asked for with `strategy="paper"`.
"""


ADAPTING = """
## Strategies

`python -m benchmarks.adapting`, one run: {rows} rows of MNIST and the same release, by the paper's
strategy and by "noise-aware"; labelling is of {new} other rows.
"""


def read(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def rule(n):
    return row(*["---"] * n)


def tasks(runs):
    yield row("task", "threads", "literal: s", "here: s", "**times faster**", "times the floor")
    yield rule(6)
    for task, name in TASKS.items():
        for run in runs:
            r = run[task]
            floor = f"{r['dptransfer'] / r['floor']:.1f}" if "floor" in r else ""
            times = f"**{r['literal'] / r['dptransfer']:.1f}**"
            literal, ours = f"{r['literal']:.1f}", f"{r['dptransfer']:.2f}"
            yield row(name, str(run["threads"]), literal, ours, times, floor)


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
    best = {
        side: min(run["usps iteration"][side] for run in runs) for side in ("literal", "dptransfer")
    }
    yield (
        f"- A second thread does not always help: of the USPS iteration the transcription's best "
        f"time is {best['literal']:.1f} s and ours {best['dptransfer']:.2f} s, on whichever number "
        f"of threads; that is {best['literal'] / best['dptransfer']:.1f} times as fast."
    )


def draws(trained):
    yield row(*trained["headings"])
    yield rule(len(trained["headings"]))
    for draw in [*trained["draws"], ["mean", *trained["mean"]]]:
        yield row(str(draw[0]), *(f"{value:.2f}" for value in draw[1:]))


def growth(found):
    headings = list(found[0])
    yield row(*headings)
    yield rule(len(headings))
    for r in found:
        yield row(*(f"{r[h]:,.3g}" if isinstance(r[h], float) else f"{r[h]:,}" for h in headings))


def growing(grown):
    many = [r for r in grown["by rows"] if r["rows"] >= 10_000]
    a_row = [r["fit: s"] / r["rows"] for r in many]
    applied = [r["5,000 new rows: s"] for r in many]
    return GROWTH.format(
        spread=100 * (max(a_row) / min(a_row) - 1),
        fold=many[-1]["parts"] / many[0]["parts"],
        slower=applied[-1] / applied[0],
    )


def transfer(timing):
    steps, total = timing["steps"], timing["table_to_predictions"]
    owners = sum(s["seconds"] for s in steps if s["side"] == "owner")
    yield TRANSFER.format(
        rows=f"{timing['rows_labelled']:,}",
        seconds=total,
        source=100 * owners / total,
        size=timing["release_bytes"] / 1e6,
    )
    yield row("side", "step", "seconds", "share")
    yield rule(4)
    for s in steps:
        seconds, share = f"{s['seconds']:.2f}", f"{100 * s['seconds'] / total:.0f} %"
        yield row(s["side"], s["step"], seconds, share)
    yield TRIAL.format(trial=timing["trial_seconds"])


def adapting(found):
    yield ADAPTING.format(rows=f"{found['rows']:,}", new=f"{found['labelled']:,}")
    yield row("strategy", "learning, s", "times the paper's", "labelling, s")
    yield rule(4)
    for name, times in found["seconds"].items():
        yield row(name, f"{times['fit']:.1f}", f"{times['ratio']:.1f}", f"{times['predict']:.2f}")


def speed_page():
    """docs/speed.md."""
    speed, grown = read("speed"), read("growth")
    return "\n".join(
        [
            HEAD.format(cores=speed["machine"]["cores"]),
            *tasks(speed["runs"]),
            FLOOR,
            *remarks(speed["runs"]),
            "",
            "## The USPS iteration: five draws of the labels",
            "",
            "On the 2,007 test images, which take no part in the iteration; two threads.",
            "",
            *draws(read("self_training")),
            growing(grown),
            *growth(grown["by rows"]),
            "",
            *growth(grown["by columns"]),
            "",
            "![Time against rows and against columns](../benchmarks/results/growth.png)",
            *transfer(read("transfer")["timing"]),
            *adapting(read("adapting")),
        ]
    )


def readme_table():
    """What README.md quotes."""
    runs = read("speed")["runs"]
    threads = [f"{run['threads']} thread{'s' * (run['threads'] > 1)}" for run in runs]
    yield row("", *threads)
    yield rule(1 + len(runs))
    for task, name in TASKS.items():
        cells = []
        for run in runs:
            r = run[task]
            times = r["literal"] / r["dptransfer"]
            cells.append(f"{r['literal']:.1f} s → {r['dptransfer']:.2f} s, **{times:.1f}×**")
        yield row(name, *cells)


def worth_table():
    """What README.md quotes of docs/results.md."""
    (found,) = digest(make("worth"), Store(RESULTS / "reproduce"))
    table = found["tables"][0]
    told = ["target only", "noise for source"]
    yield row("", "with the source", *told)
    yield rule(2 + len(told))
    for each in table["rows"]:
        others = [
            "refused" if name in each["refused"] else shown(each["columns"][name]) for name in told
        ]
        yield row(each["row"], f"**{shown(each['ours'])}**", *others)


def shown(value):
    return "–" if value is None else f"{value['mean']:.1f}"


def noise_table():
    """What docs/noise.md says of speed."""
    noise = read("noise")
    per_value, ratios = noise["nanoseconds_per_value"], noise["times_numpy_laplace"]
    yield row("", "ns a value", "× NumPy's Laplace")
    yield rule(3)
    theirs = "OpenDP vector Laplace on integers"
    for name, nanoseconds in per_value.items():
        if name != theirs:
            called = re.sub(r"^\w+\.perturb", r"`\g<0>`", name)
            yield row(called, f"{nanoseconds:.1f}", f"{ratios[name]:.2f}")
    yield ""
    yield (
        f"OpenDP's exact vector Laplace on integers takes {per_value[theirs]:.0f} ns a value: "
        f"{noise['times_faster_than_opendp']:.0f} times as long as `perturb` on integers. Memory "
        f"over the array is {noise['mebibytes_over_the_array']:.0f} MiB, of which "
        f"{noise['mebibytes_of_the_result']:.0f} MiB are the result; `out=` and `perturb_blocks` "
        f"do without."
    )


def between(text, name, lines):
    """The page with what stands between the marks of that name replaced."""
    begin, end = f"<!-- {name}: written by python -m benchmarks.page -->", f"<!-- end {name} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"the marks {begin} and {end} are missing")
    return "\n".join([before + begin, "", *lines, "", end + after])


def pages():
    """Every page that quotes figures, by path, as the results have it."""
    quoting = {
        "README.md": {"speed": readme_table, "worth": worth_table},
        "docs/noise.md": {"noise speed": noise_table},
    }
    found = {ROOT / "docs" / "speed.md": speed_page()}
    for page, tables in quoting.items():
        text = (ROOT / page).read_text()
        for name, lines in tables.items():
            text = between(text, name, lines())
        found[ROOT / page] = text
    return found


def main():
    for path, text in pages().items():
        path.write_text(text)
        print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
