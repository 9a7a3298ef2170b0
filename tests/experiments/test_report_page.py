"""The page tells what the digest tells, the guarantee first."""

from dptransfer.experiments.report_page import results_page
from dptransfer.report.rendering import render


def figure(mean, sd=0.5, runs=10):
    return {"mean": mean, "sd": sd, "runs": runs}


def row(name, ours, task="t", **columns):
    return {
        "row": name,
        "task": task,
        "epsilon": "0.1",
        "paper": figure(92.0),
        "ours": figure(ours),
        "difference": ours - 92,
        "outside": abs(ours - 92) > 1,
        "columns": {name.replace("_", " "): figure(value) for name, value in columns.items()},
        "bar": None,
        "others": "",
        "refused": [],
    }


def digested(*rows):
    table = {
        "name": "coins",
        "title": "Coins: ten of them",
        "columns": list(rows[0]["columns"]),
        "rows": list(rows),
        "context": [{"method": "another <method>", "values": ["91.0"] * len(rows)}],
        "measured": "the paper's rule",
        "text": "The source contributed **nothing**.\n\nAt no\nε.",
    }
    return [
        {
            "experiment": "coins",
            "title": "Coins",
            "trials": 10,
            "seconds": 90.0,
            "tables": [table],
        }
    ]


CONTROLS = {"target_only": 91.0, "noise_for_source": 92.5}


def test_it_says_what_the_digest_says():
    found = digested(row("heads", 92.4, **CONTROLS), row("tails", 90.1, **CONTROLS))
    page = results_page(found, {})
    worth, coins = page.parts
    assert [line.cells for line in worth.tables[0].lines] == [
        ("Coins: heads", "92.4", "91.0", "92.5", "+1.4", "−0.1"),
        ("Coins: tails", "90.1", "91.0", "92.5", "−0.9", "−2.4"),
    ]
    compared, parts, context = coins.tables
    assert [line.mark for line in compared.lines] == [None, 3]
    assert compared.lines[1].cells == ("tails", "92.0 ± 0.5", "90.1 ± 0.5", "−1.9 *", "10")
    assert not parts.compares
    assert context.lines[0].cells == ("another <method>", "91.0", "91.0")
    assert coins.paragraphs == ("The source contributed **nothing**.", "At no ε.")
    html = render(page)
    assert html.index("What is protected is one element") < html.index("Coins: heads")
    assert "<strong>nothing</strong>" in html
    assert "another &lt;method&gt;" in html


def test_of_a_long_table_the_mean_tells_what_the_source_was_worth():
    rows = [row(f"coin {n}", 90.0 + n, **CONTROLS) for n in range(5)]
    mean = row("mean of all", 92.0, task=None, **CONTROLS)
    page = results_page(digested(*rows, mean), {})
    assert [line.cells[0] for line in page.parts[0].tables[0].lines] == ["Coins: mean of all"]
    compared = page.parts[1].tables[0]
    assert [line.closing for line in compared.lines] == [False] * 5 + [True]


def test_without_the_controls_nothing_is_said_of_the_source():
    page = results_page(digested(row("heads", 92.4, SVM=80.0)), {})
    assert page.parts[0].tables == ()
    render(page)
