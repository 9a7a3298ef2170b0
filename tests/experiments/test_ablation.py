"""The ablation is the estimator taken apart: put together again, it says the same."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dptransfer import TransferClassifier
from dptransfer.experiments.ablation import Target, ablate, labelled, look_at, rule_figures, turn
from dptransfer.experiments.baselines import Neighbours, baselines, sphere_kmeans
from dptransfer.experiments.sources import Sources
from dptransfer.transfer.alignment import align
from dptransfer.transfer.self_training import Settings

SETTINGS = Settings(schedule=(3, 6), n_layers=2)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    numbers = labelled(y[600:1200], 5, np.random.default_rng(0))
    sources = Sources(X[:600], y[:600], 10, 1, seed=0)
    return X, y, numbers, sources


def fitted(source, X, numbers):
    model = TransferClassifier(
        source, strategy="paper", schedule=SETTINGS.schedule, n_layers=2, random_state=0
    )
    return model.fit(X, numbers)


@pytest.mark.parametrize("name", ["1", "10", "inf", "noise"])
@pytest.mark.parametrize("columns", [64, 40])
def test_it_says_what_the_estimator_says(digits, name, columns):
    X, y, numbers, sources = digits
    mine = X[:, :columns]  # fewer columns than the source's: the spaces differ
    target = Target(mine[600:1200], mine[1200:], y[1200:], 10)
    turned = turn(target, 64)
    view = look_at(sources[name], *turned.towards(sources[name]))
    model = fitted(sources[name], mine[600:1200], numbers)
    _, errors = ablate(turned.target, {name: view}, numbers, SETTINGS, model._seed)
    said = model.opinions(mine[1200:])
    for kind, ours in errors[name]._asdict().items():
        theirs = said.of([kind]).least
        close = np.isclose(ours, theirs, rtol=1e-6).mean()
        assert close > 0.99, kind  # where spaces differ, rounding may turn one row's cluster
    figures = rule_figures(errors, y[1200:])
    assert figures[f"rule@{name}"] == pytest.approx(100 * model.score(mine[1200:], y[1200:]), abs=1)
    decided = [figures[f"decided by {kind}@{name}"] for kind in errors[name]._fields]
    assert sum(decided) == pytest.approx(100)


def test_the_turn_is_the_alignment_of_the_transfer(digits):
    X, y, _, sources = digits
    target = Target(X[600:1200, :40], X[1200:, :40], y[1200:], 10)
    rows, test = turn(target, 64).towards(sources["1"])
    alignment = align(sources["1"], target.X)
    np.testing.assert_allclose(rows, alignment(target.X), atol=1e-9)
    np.testing.assert_allclose(test, alignment(target.x_test), atol=1e-9)


def test_no_noise_is_no_noise_and_promises_nothing(digits):
    X, y, _, sources = digits
    release = sources["inf"]
    assert release.guarantee.epsilon == np.inf
    np.testing.assert_allclose(
        release.summary.means, [X[:600][y[:600] == c].mean(axis=0) for c in range(10)], atol=1e-5
    )


def test_pure_noise_knows_nothing(digits):
    X, y, _, sources = digits
    right = (sources["noise"].model.predict(X[600:].astype(np.float32)) == y[600:]).mean()
    assert right < 0.25


def test_labels_are_drawn_from_every_class():
    y = np.repeat([0, 1, 2], 20)
    numbers = labelled(y, 4, np.random.default_rng(0))
    known = numbers >= 0
    assert np.bincount(y[known]).tolist() == [4, 4, 4]
    assert np.array_equal(numbers[known], y[known])


def test_baselines_learn_digits(digits):
    X, y, numbers, _ = digits
    target = Target(X[600:1200], X[1200:], y[1200:], 10)
    found = baselines(target, numbers, Neighbours(target))
    assert set(found) == {"svm", "label spreading", "self-training", "sphere k-means"}
    assert min(found.values()) > 60


def test_label_spreading_is_scikit_learns(digits):
    from sklearn.semi_supervised import LabelSpreading

    X, y, numbers, _ = digits
    target = Target(X[600:1200], X[1200:], y[1200:], 10)
    ours = Neighbours(target).spread(target.X, numbers)
    theirs = LabelSpreading(kernel="knn", n_neighbors=10).fit(target.X, numbers)
    assert (ours == theirs.predict(target.x_test)).mean() > 0.99


def test_directions_without_length_and_classes_without_rows_are_no_trouble():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.1, 2.0]])
    found = sphere_kmeans(X, np.array([-1, 3, 7, -1]), X)
    assert found[1:].tolist() == [3, 7, 7]
