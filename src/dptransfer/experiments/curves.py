"""Three pictures that the paper lacks, drawn from finished trials.

Accuracy against ε with the source, without it, and with noise in its place; which of the three
errors decides, against ε; and accuracy against the number of labelled rows. Every line of a panel
is over the same draws: those in which all of its figures were measured.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dptransfer.experiments.experiment import Experiment
from dptransfer.experiments.sources import EPSILONS, NOISE, PAPER
from dptransfer.experiments.store import Store
from dptransfer.experiments.summary import Measured, Results, measure
from dptransfer.report.layers import new_figure
from dptransfer.report.results import Figure as Drawing
from dptransfer.transfer.decision import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CURVES", "Curves", "draw_curves"]


class _Style(NamedTuple):
    colour: str
    marker: str
    dashes: str


COLUMNS = 3
TARGET, THROUGH, DIRECT = (
    "the target's own error",
    "that of source2target",
    "that of the source",
)
# told apart in black and white too, and seen on a light page and on a dark one
STYLES = (
    _Style("#c44e52", "o", "-"),
    _Style("#4c72b0", "s", "--"),
    _Style("#8c8c8c", "^", ":"),
    _Style("#dd8452", "D", "-."),
    _Style("#55a868", "v", "--"),
)
SHARES = (STYLES[1], STYLES[4], STYLES[3])
"""Those of the same errors among the lines."""
EPSILON_NAMES = ["∞" if e == "inf" else e for e in EPSILONS]
WITH_AND_WITHOUT = {
    "the rule, with the source": "rule@{e}",
    f"{TARGET} alone": "target",
    f"the rule, with noise for source (ε = {PAPER})": f"rule@{NOISE}",
    f"{DIRECT} alone": "source@{e}",
    f"{THROUGH} alone": "source2target@{e}",
}
DECIDED = {
    name: f"decided by {kind}@{{e}}"
    for name, kind in zip((TARGET, THROUGH, DIRECT), KINDS, strict=True)
}
BY_LABELS = {
    "the rule, with the source": f"rule@{PAPER}",
    f"{TARGET} alone": "target",
    "linear SVM": "svm",
    "k-means on the sphere": "sphere k-means",
    "label spreading": "label spreading",
}


class Curves(NamedTuple):
    """A picture of several panels, and its words."""

    name: str
    figure: Figure
    caption: str
    description: str

    def drawing(self) -> Drawing:
        """As SVG for a page; the same text each time."""
        import matplotlib as mpl  # noqa: PLC0415 - an extra

        text = io.StringIO()
        with mpl.rc_context({"svg.hashsalt": self.name}):
            self.figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        return Drawing(text.getvalue(), self.caption, self.description)


class _Panel(NamedTuple):
    title: str
    places: Sequence[str]
    lines: Mapping[str, Sequence[Measured]]
    runs: int


class _Kind(NamedTuple):
    """One of the pictures."""

    caption: str
    across: str
    up: str
    panels: Callable[[Experiment, Results], list[_Panel]]
    shares: bool = False


def draw_curves(experiments: Sequence[Experiment], store: Store) -> list[Curves]:
    """Every picture of ``CURVES`` for which there are trials enough."""
    measured = [
        (experiment, Results(store.read(experiment.name, experiment.protocol)))
        for experiment in experiments
    ]
    found = []
    for name, kind in CURVES.items():
        panels = [panel for each in measured for panel in kind.panels(*each)]
        if panels:
            figure = _draw(kind, panels)
            found.append(Curves(name, figure, kind.caption, _described(kind, panels)))
    return found


def _by_epsilon(keys: Mapping[str, str]) -> Callable[[Experiment, Results], list[_Panel]]:
    def panels(experiment: Experiment, results: Results) -> list[_Panel]:
        found = []
        for title, tasks in experiment.grids().items():
            lines = {
                name: [results.together(tasks, key.format(e=e)) for e in EPSILONS]
                for name, key in keys.items()
            }
            found += _panel(title, EPSILON_NAMES, lines)
        return found

    return panels


def _by_labels(experiment: Experiment, results: Results) -> list[_Panel]:
    tasks = dict(sorted(experiment.by_labels().items()))
    lines = {
        name: [results.values(task, key) for task in tasks.values()]
        for name, key in BY_LABELS.items()
    }
    if len(tasks) < 2:
        return []
    # what is measured at some numbers of labels only makes no line
    whole = {name: values for name, values in lines.items() if all(values)}
    return _panel(experiment.title.split(",")[0], list(map(str, tasks)), whole)


def _panel(
    title: str, places: Sequence[str], lines: Mapping[str, Sequence[Mapping[int, float]]]
) -> list[_Panel]:
    """A panel over the draws that all points have; none where there is no such draw."""
    points = [point for line in lines.values() for point in line]
    draws = set.intersection(*(set(point) for point in points)) if points else set()
    if not draws:
        return []
    means = {
        name: [value for point in line if (value := measure([point[d] for d in sorted(draws)]))]
        for name, line in lines.items()
    }
    return [_Panel(title, places, means, len(draws))]


CURVES: Mapping[str, _Kind] = {
    "accuracy-epsilon": _Kind(
        "Accuracy on the test rows against ε for one element, with the source and without it; bars "
        "are one standard deviation over draws.",
        "ε",
        "accuracy, %",
        _by_epsilon(WITH_AND_WITHOUT),
    ),
    "accuracy-labels": _Kind(
        f"Accuracy on the test rows against the number of labelled rows, at ε = {PAPER}; bars are "
        "one standard deviation over draws.",
        "labelled rows",
        "accuracy, %",
        _by_labels,
    ),
    "decided-epsilon": _Kind(
        "Which of the three errors is the least, against ε for one element.",
        "ε",
        "test rows decided, %",
        _by_epsilon(DECIDED),
        shares=True,
    ),
}


def _draw(kind: _Kind, panels: Sequence[_Panel]) -> Figure:
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(figsize=(3.3 * columns, 2.7 * rows + 0.6), dpi=160, layout="constrained")
    grid: Any = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    most = max(panels, key=lambda panel: len(panel.lines))  # the others have some of its lines
    styles = dict(zip(most.lines, SHARES if kind.shares else STYLES, strict=False))
    for panel, axes in zip(panels, grid.flat, strict=False):
        (_stack if kind.shares else _lines)(axes, panel, styles)
        draws = f"{panel.runs} draw" + "s" * (panel.runs > 1)
        axes.set_title(f"{panel.title} ({draws})", fontsize=9)
        axes.set_xticks(range(len(panel.places)), panel.places)
        axes.set_xlabel(kind.across, fontsize=8)
        axes.set_ylabel(kind.up, fontsize=8)
        axes.tick_params(labelsize=8)
    named = {
        label: handle
        for axes in grid.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=2, fontsize=8, frameon=False
    )
    return figure


def _lines(axes: Axes, panel: _Panel, styles: Mapping[str, _Style]) -> None:
    for name, values in panel.lines.items():
        colour, marker, dashes = styles[name]
        means = [value.mean for value in values]
        errors = [value.sd or 0.0 for value in values]
        axes.errorbar(
            range(len(means)),
            means,
            errors,
            label=name,
            markersize=4,
            linewidth=1.2,
            capsize=2,
            color=colour,
            marker=marker,
            linestyle=dashes,
        )
    axes.grid(alpha=0.3)


def _stack(axes: Axes, panel: _Panel, styles: Mapping[str, _Style]) -> None:
    below = [0.0] * len(panel.places)
    for name, values in panel.lines.items():
        heights = [value.mean for value in values]
        axes.bar(range(len(heights)), heights, bottom=below, label=name, color=styles[name].colour)
        below = [one + other for one, other in zip(below, heights, strict=True)]


def _described(kind: _Kind, panels: Sequence[_Panel]) -> str:
    """The figures themselves, for who does not see the picture."""
    told = [f"{kind.up} against {kind.across}."]
    for panel in panels:
        lines = [
            f"{name}: " + ", ".join(f"{value.mean:.1f}" for value in values)
            for name, values in panel.lines.items()
        ]
        told.append(f"{panel.title}, at {', '.join(panel.places)}. {'; '.join(lines)}.")
    return " ".join(told)
