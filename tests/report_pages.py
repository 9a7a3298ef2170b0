"""Pages to test with, among them names that somebody means harm with."""

from guarantees import element

from dptransfer.report.page import AdaptationPage, Answers, HardRow, Promise
from dptransfer.report.results import Figure, Line, Part, ResultsPage, ResultTable
from dptransfer.transfer.gain import TransferGain, paired_difference, wilson

EVIL = "<script>alert('x')</script>"
EVIL_TOO = "\"><img src=x onerror=alert(1)> '{{ 7*7 }} &amp;"
VERSIONS = {"dptransfer": "0", "Python": "3"}


def adaptation(classes=("cat", EVIL, EVIL_TOO), **changes):
    n = len(classes)
    counts = tuple(tuple(16 if i == j else (i + j) % 2 for j in range(n)) for i in range(n))
    gain = TransferGain(
        30,
        5,
        2,
        70,
        wilson(26, 30),
        wilson(20, 30),
        wilson(19, 30),
        paired_difference(19, 7, 1, 3),
        paired_difference(18, 8, 1, 3),
    )
    hard = tuple(
        HardRow(
            str(number),
            (classes[0], classes[1], None)[number % 3],
            classes[1],
            0.9 - number / 50,
            classes[0],
            number / 50,
            ("target", "source2target", "source")[number % 3],
        )
        for number in range(1, 13)
    )
    cell = element(1.0)
    plain = {
        "title": f"Cats {EVIL}",
        "lead": "Learned with one release from 100 rows.",
        "promises": (
            Promise(EVIL_TOO, cell, {"One whole row": cell.per_record(64)}, facts={"rows": EVIL}),
        ),
        "gain": gain,
        "answers": Answers(classes, counts, 2),
        "hard": hard,
        "decided": {"target": 60, f"source:{EVIL}": 10},
        "notes": (EVIL,),
        "parameters": {"table": EVIL_TOO},
        "versions": VERSIONS,
    }
    return AdaptationPage(**(plain | changes))


DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20pt" height="10pt" viewBox="0 0 20 10">'
    "<style>*{stroke-linecap: butt}</style><script>alert(1)</script>"
    '<defs><path id="a" d="M 0 0 L 1 1" style="stroke: #000000; fill: none"/></defs>'
    '<g onclick="alert(2)"><use href="#a" x="1" y="2"/><use href="http://elsewhere.test/#a"/>'
    '<image href="http://elsewhere.test/x.png"/>'
    '<rect width="20" height="10" style="fill: #ffffff"/>'
    '<rect width="2" height="2" clip-path="url(#a)" fill="url(http://elsewhere.test/)"/>'
    "<text x='1' y='1'>ε &lt; <tspan>1</tspan> or so</text></g></svg>"
)


def results():
    table = ResultTable(
        f"Accuracy {EVIL}",
        ("labels", "paper", "ours", "difference", "mark"),
        (
            Line(("100", "92.3", "92.4 ± 0.8", "+0.1", "")),
            Line((EVIL, "95.9", "95.3 ± 0.4", "−0.6", "outside"), mark=3),
            Line(("1,000", "–", "97.7", "–", "")),
            Line(("mean of all", "94.1", "95.1", "–", ""), closing=True),
        ),
        compares=True,
    )
    drawn = Figure(DRAWING, f"Under it {EVIL}", f"What it shows {EVIL_TOO}")
    part = Part(
        f"Digits {EVIL}",
        ("The source contributed **nothing** at `ε < 1`.",),
        (table,),
        (drawn, drawn),
    )
    promise = Promise("a source", element(), {"One image": element().per_record(64)})
    return ResultsPage(
        "The tables", "Beside the paper.", (promise,), (part,), {"runs": "3"}, VERSIONS
    )
