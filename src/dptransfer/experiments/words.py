"""What a table says, in sentences that are made from its figures and so cannot disagree with them.

Differences between columns are taken draw by draw, with the same rows and labels on both sides, and
told with their standard error over draws. Where a table has several rows at one ε, a sentence is
about their mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dptransfer.experiments.sources import EPSILONS, NOISE
from dptransfer.experiments.summary import Measured, Results, compare
from dptransfer.transfer.decision import KINDS

if TYPE_CHECKING:
    from dptransfer.experiments.experiment import Table

__all__ = ["BASELINES", "derived", "judged", "listed", "points"]

BASELINES = {
    "svm": "a linear SVM on the labelled rows",
    "label spreading": "label spreading",
    "self-training": "self-training of logistic regression",
    "sphere k-means": "k-means on the sphere",
}
CEILING = "svm on both"
RULE = "rule@"


def derived(table: Table, results: Results) -> str:
    """All that needs no person to say it: paragraphs, or nothing where nothing was measured."""
    said = [_beside_the_paper(table, results)]
    if table.ours.startswith(RULE):
        tasks_at: dict[str, list[str]] = {}
        for row in table.rows:
            tasks_at.setdefault(row.epsilon, []).append(row.task)
        said += [" ".join(_at(epsilon, tasks, results)) for epsilon, tasks in tasks_at.items()]
        epsilon, tasks = next(iter(tasks_at.items()))
        said += [
            " ".join(_over_the_grid(tasks, results)),
            " ".join(_beside_others(RULE + epsilon, tasks, results)),
        ]
    return "\n\n".join(filter(None, said))


def _beside_the_paper(table: Table, results: Results) -> str:
    met: list[str] = []
    missed: list[str] = []
    for row in table.rows:
        ours = results.get(row.task, table.ours.format(e=row.epsilon))
        if ours is None or row.paper is None:
            continue
        compared = compare(ours, row.paper)
        if compared.outside is not None:
            (missed if compared.outside else met).append(
                f"{row.heading} ({points(compared.difference, 1)})"
            )
    said = "Ours less the paper's, in points: "
    if missed and met:
        return f"{said}outside two standard errors {listed(missed)}; within them {listed(met)}."
    if missed or met:
        where = "outside" if missed else "within"
        return f"{said}{listed(missed + met)}, {where} two standard errors."
    return ""


def _at(epsilon: str, tasks: Sequence[str], results: Results) -> Iterator[str]:
    """Who decided at this ε, what the source was worth, and how well each error does alone."""
    rule = RULE + epsilon
    shares = [results.over(tasks, f"decided by {kind}@{epsilon}") for kind in KINDS]
    own, through, direct = (None if share is None else share.mean for share in shares)
    if own == 100:
        yield (
            f"{_at_epsilon(epsilon)} the target's own error is the least for every test row in "
            "every draw: the source decides none."
        )
    elif own is not None and through is not None and direct is not None:
        yield (
            f"{_at_epsilon(epsilon)} the source decides {_share(direct)} of the test rows, "
            f"source2target {_share(through)}, the target's own error {_share(own)}."
        )
    alone = results.difference(tasks, rule, "target")
    noise = results.difference(tasks, rule, RULE + NOISE)
    if alone is not None:
        said = f"The rule's accuracy less that of the target alone is {judged(alone)}"
        yield said + (
            "." if noise is None else f"; less that with noise for source {judged(noise)}."
        )
    keys = ("target", f"source2target@{epsilon}", f"source@{epsilon}")
    found = [results.over(tasks, key) for key in keys]
    told = [f"{value.mean:.1f} %" for value in found if value is not None]
    if len(told) == len(KINDS):
        through_noise = results.over(tasks, f"source2target@{NOISE}")
        yield (
            f"Taken alone, the target's own error is right on {told[0]} of the rows, that of "
            f"source2target on {told[1]} and that of the source on {told[2]}"
        ) + (
            "."
            if through_noise is None
            else f"; with noise for source that of source2target on {through_noise.mean:.1f} %."
        )


def _over_the_grid(tasks: Sequence[str], results: Results) -> Iterator[str]:
    """Where along ε the source changes anything, and where it alone knows more than the rule."""
    worth = {e: results.difference(tasks, RULE + e, "target") for e in EPSILONS}
    measured = {e: value for e, value in worth.items() if value is not None}
    if len(measured) < len(EPSILONS):
        return
    changed = [f"ε = {_shown(e)} ({points(v.mean)})" for e, v in measured.items() if _outside(v)]
    runs = min(value.runs for value in measured.values())
    told = ", ".join(map(_shown, EPSILONS))
    yield f"Over ε = {told} ({_count(runs, 'draw')} or more) " + (
        f"the rule differs from the target alone, outside two standard errors, at {listed(changed)}"
        "; at no other."
        if changed
        else "the rule nowhere differs from the target alone by more than two standard errors."
    )
    for kind in KINDS[1:]:
        unused = {e: results.difference(tasks, f"{kind}@{e}", RULE + e) for e in EPSILONS}
        better = [
            f"ε = {_shown(e)} ({points(value.mean, 1)})"
            for e, value in unused.items()
            if value is not None and value.mean > 0 and _outside(value)
        ]
        if better:
            yield f"The error of {_the(kind)} alone is right more often than the rule at " + (
                f"{listed(better)}: the rule leaves that unused."
            )


def _beside_others(rule: str, tasks: Sequence[str], results: Results) -> Iterator[str]:
    """The best of what needs no source, and what a source without privacy would give."""
    beside = {name: results.difference(tasks, rule, key) for key, name in BASELINES.items()}
    against = {name: value for name, value in beside.items() if value is not None}
    if against:
        best = min(against, key=lambda name: against[name].mean)
        yield (
            f"Of {_count(len(against), 'plain baseline')} on the same labels, the best is {best}: "
            f"the rule's accuracy less its is {judged(against[best])}."
        )
    ceiling = results.difference(tasks, rule, CEILING)
    if ceiling is not None:
        yield (
            "Less that of a linear SVM on raw source rows and the labelled rows, which keeps "
            f"nothing private, it is {judged(ceiling)}."
        )


# Figures in words --------------------------------------------------------------------------------


def points(value: float, digits: int = 2) -> str:
    """A difference with its sign.

    >>> points(-0.5), points(0.001), points(0)
    ('−0.50', '+0.00', '0')
    """
    return f"{value:+.{digits}f}".replace("-", "−") if value else "0"


def judged(difference: Measured) -> str:
    """A difference and how sure it is.

    >>> judged(Measured(1.0, 0.3, 9)), judged(Measured(0.0, 0.0, 9)), judged(Measured(2.0))
    ('+1.00 ± 0.10 points', '0 in each of 9 draws', '+2.00 points in one draw')
    """
    if difference.error is None:
        return f"{points(difference.mean)} points in one draw"
    if not difference.mean and not difference.error:
        return f"0 in each of {difference.runs} draws"
    return f"{points(difference.mean)} ± {difference.error:.2f} points"


def listed(parts: Sequence[str]) -> str:
    """The parts as one would say them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _outside(difference: Measured) -> bool:
    return difference.error is not None and abs(difference.mean) > 2 * difference.error


def _share(per_cent: float) -> str:
    if per_cent in {0.0, 100.0}:
        return "all" if per_cent else "none"
    return f"{per_cent:.1f} %" if 0.1 <= per_cent <= 99.9 else f"{per_cent:.4g} %"


def _shown(epsilon: str) -> str:
    return "∞" if epsilon == "inf" else epsilon


def _at_epsilon(epsilon: str) -> str:
    return "Without noise (ε = ∞)" if epsilon == "inf" else f"At ε = {epsilon}"


def _the(kind: str) -> str:
    return kind if kind == "source2target" else f"the {kind}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + "s" * (n != 1)
