"""The curves show the kept figures, over draws that all points share."""

import pytest
from coins import Coins

from dptransfer.experiments.curves import CURVES, draw_curves
from dptransfer.experiments.sources import EPSILONS
from dptransfer.experiments.store import Kept, Store

pytest.importorskip("matplotlib")


@pytest.fixture
def kept(tmp_path):
    experiment, store = Coins(), Store(tmp_path)
    for trial in experiment.trials(3):
        figures = experiment.run(trial, 1)
        if trial.draw == 2:  # the grid on the first draws only
            figures = {key: value for key, value in figures.items() if "@10" not in key}
        store.add("coins", 1, trial, Kept(figures, 1.0))
    return experiment, store


def lines(curve):
    return {
        each.get_label(): each[0].get_ydata().tolist()
        for each in curve.figure.axes[0].containers
        if hasattr(each, "has_yerr")
    }


def test_lines_are_means_over_the_draws_that_all_points_have(kept):
    experiment, _ = kept
    against, by_labels, decided = draw_curves([experiment], kept[1])
    assert [each.name for each in (against, by_labels, decided)] == list(CURVES)
    drawn = lines(against)
    own = sum(experiment.run(trial, 1)["target"] for trial in experiment.trials(2)[::2]) / 2
    assert drawn["the target's own error alone"] == pytest.approx([own] * len(EPSILONS), abs=1e-3)
    assert drawn["the rule, with the source"] == pytest.approx(
        [own, own, own, own + 1, own + 1], abs=1e-3
    )
    assert "2 draws" in against.figure.axes[0].get_title()
    assert "3 draws" in by_labels.figure.axes[0].get_title()
    heights = [bar.get_height() for bar in decided.figure.axes[0].patches]
    assert heights == [100, 100, 100, 50, 50] + [0] * 5 + [0, 0, 0, 50, 50]


def test_the_figures_are_told_to_who_does_not_see_them(kept):
    decided = draw_curves([kept[0]], kept[1])[2]
    assert "the target's own error: 100.0, 100.0, 100.0, 50.0, 50.0" in decided.description


def test_a_drawing_is_the_same_text_each_time_and_stands_in_a_page(kept):
    for curve, again in zip(*(draw_curves([kept[0]], kept[1]) for _ in range(2)), strict=True):
        drawing = curve.drawing()
        assert drawing.svg == again.drawing().svg
        assert "<path" in drawing.inline("f")


def test_without_trials_nothing_is_drawn(tmp_path):
    assert draw_curves([Coins()], Store(tmp_path)) == []


def test_a_line_looks_alike_in_every_panel(kept, tmp_path):
    class Few(Coins):
        name = "few"

    few = Few()
    for trial in few.trials(2):
        Store(tmp_path).add("few", 1, trial, Kept({"target": 80.0}, 1.0))
    curve = next(c for c in draw_curves([few, kept[0]], kept[1]) if c.name == "accuracy-labels")
    first, second = curve.figure.axes
    looks = {line.get_label(): line[0].get_color() for line in second.containers}
    assert [line.get_label() for line in first.containers] == ["the target's own error alone"]
    assert first.containers[0][0].get_color() == looks["the target's own error alone"]
