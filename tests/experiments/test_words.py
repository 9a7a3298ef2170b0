"""What is said of a table is what its figures say."""

import pytest
from coins import Coins

from dptransfer.experiments.experiment import Row, Table
from dptransfer.experiments.mnist import Mnist
from dptransfer.experiments.office_caltech import PAIRS, OfficeCaltechPairs, task_of
from dptransfer.experiments.sources import EPSILONS
from dptransfer.experiments.store import Kept, Trial
from dptransfer.experiments.summary import Measured, Results
from dptransfer.experiments.words import derived


def results(changes=None, runs=3, experiment=None, keep=None):
    experiment = experiment or Coins()
    kept = {}
    for trial in experiment.trials(runs):
        figures = Coins().run(trial, 1) | (changes or {})
        if keep is not None:
            figures = {key: figures[key] for key in keep}
        kept[trial] = Kept(figures, 1.0)
    return Results(kept)


def said(**how):
    return derived(Coins().tables()[0], results(**how))


def test_who_decided_and_what_the_source_was_worth():
    text = said()
    assert (
        "At ε = 0.1 the target's own error is the least for every test row in every draw: the "
        "source decides none. The rule's accuracy less that of the target alone is 0 in each of 3 "
        "draws; less that with noise for source 0 in each of 3 draws." in text
    )


def test_where_along_epsilon_the_source_changes_anything():
    text = said()
    assert "at ε = 10 (+1.00) and ε = ∞ (+1.00); at no other." in text
    assert "The error of the source alone is right more often than the rule" not in text
    better = {f"source@{e}": 99.0 for e in EPSILONS}
    assert "that unused" in said(changes=better)
    assert "Over ε" not in said(keep=["rule@0.1", "target"])


def test_a_share_that_is_not_quite_all_is_not_called_all():
    shares = {
        "decided by target@0.1": 99.99,
        "decided by source2target@0.1": 0.01,
        "decided by source@0.1": 0.0,
    }
    text = said(changes=shares)
    assert "the source decides none of the test rows, source2target 0.01 %" in text
    assert "the target's own error 99.99 %" in text


def test_the_best_of_the_baselines_and_the_ceiling():
    text = said()
    assert "the best is label spreading: the rule's accuracy less its is +2.00 ± 0.00" in text
    assert "keeps nothing private, it is −4.00 ± 0.00 points" in text


def test_beside_the_paper_what_is_met_and_what_is_missed():
    rows = [
        Row("near", "10 labels", "0.1", Measured(80.0, 1.0, 3)),
        Row("far", "20 labels", "0.1", Measured(99.0)),
    ]
    text = derived(Table("coins", "Coins", rows, ()), results())
    assert "outside two standard errors far (−" in text
    assert "; within them near (" in text


def test_of_one_draw_no_chance_is_spoken_of():
    text = said(runs=1)
    assert "standard errors" not in text.split("\n\n")[0]
    assert "points in one draw" in text


def test_nothing_is_said_of_nothing():
    assert derived(Coins().tables()[0], Results({})) == ""
    assert said(keep=[]) == ""


@pytest.mark.parametrize("place", [0, 1])
def test_the_papers_own_pairs_are_counted(place):
    experiment = OfficeCaltechPairs()
    table = experiment.tables()[place]
    found = results(experiment=experiment, runs=2)
    text = experiment.text(table, found)
    # the paper's table_overall_performance: best in 7
    assert "proposed method +4.4 points" in text
    assert "its tables in 7 of them" in text
    told = "the rule is +3.00 ± 0.00 points from that SVM, and at or above all plain baselines in "
    assert f"{told}{len(PAIRS)} of {len(PAIRS)} pairs" in text
    assert "On features that cannot be downloaded, the paper prints" in text
    assert Trial(task_of("cnn", *PAIRS[0]), 0) in experiment.trials(1)


def test_where_the_papers_features_are_at_hand_it_is_said_and_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr("dptransfer.experiments.office_caltech.mat_folder", lambda _: tmp_path)
    experiment = OfficeCaltechPairs()
    text = experiment.text(experiment.tables()[-1], results(experiment=experiment, runs=2))
    assert "On the same features, the paper prints" in text
    assert "Office+Caltech, VGG-FC6" in experiment.grids()


@pytest.mark.parametrize(
    ("right", "told"),
    [
        ((91.0, 94.9, 96.0, 97.0), "alone with fewer than 300 labels, and not with 300 labels."),
        ((91.0, 92.0, 93.0, 94.0), "alone with each of these numbers of labels."),
        ((96.0, 96.0, 97.0, 98.0), "alone with none of these numbers of labels."),
    ],
)
def test_how_many_labels_the_printed_figure_would_take(right, told):
    experiment = Mnist()
    kept = {
        trial: Kept({"target": value}, 1.0)
        for task, value in zip(experiment.tasks, right, strict=True)
        for trial in (Trial(task, 0), Trial(task, 1))
    }
    assert experiment.text(experiment.tables()[1], Results(kept)).endswith(told)
