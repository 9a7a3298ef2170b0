"""What can be told of where classes lie by a source of other columns."""

from types import SimpleNamespace

import numpy as np
import pytest
from digits import NEW, OWN, X, element, y

from dptransfer.experiments.geometry import geometry_figures, told_by_others

FEW = {"by few", "by few and geometry", "geometry off few"}
MANY = {"by many", "by many and geometry", "geometry off many"}
COLUMNS = slice(8, 40)
"""The target's; so few that all their directions are looked at."""


def turn(rng, of, into):
    """A matrix that takes rows of so many numbers into as many or more dimensions, all lengths and
    angles kept."""
    return np.linalg.qr(rng.standard_normal((into, into)))[0][:of]


def told(means):
    """A release, as far as its means."""
    return SimpleNamespace(summary=SimpleNamespace(means=means))


def few(each, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.full(300, -1)
    for c in range(10):
        rows = rng.permutation(np.flatnonzero(y[OWN] == c))[:each]
        labels[rows] = c
    return labels


def figures(release, labels, said=None):
    return geometry_figures(
        release,
        X[OWN, COLUMNS].astype(np.float32),
        labels,
        y[NEW] if said is None else said,
        X[NEW, COLUMNS].astype(np.float32),
        y[NEW],
    )


def true_means(rows=slice(0, 1000), columns=COLUMNS):
    return np.array([X[rows, columns][y[rows] == c].mean(axis=0) for c in range(10)])


# The map -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("of_source", "of_target"), [(4, 4), (4, 9), (9, 4), (1, 6), (30, 40)])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_a_turned_scaled_and_shifted_copy_is_told_exactly(of_source, of_target, scale):
    """As long as the others of ten classes reach wherever the tenth may lie."""
    rng = np.random.default_rng(of_source)
    inner = rng.standard_normal((10, min(of_source, of_target, 8)))
    S = inner @ turn(rng, inner.shape[1], of_source) + 5 * rng.standard_normal(of_source)
    T = scale * inner @ turn(rng, inner.shape[1], of_target) + 5 * rng.standard_normal(of_target)
    np.testing.assert_allclose(told_by_others(S, T), T, atol=1e-9 * max(scale, 1))


def test_a_class_is_told_by_the_others_alone():
    rng = np.random.default_rng(0)
    S, T = rng.standard_normal((6, 3)), rng.standard_normal((6, 4))
    elsewhere = T.copy()
    elsewhere[2] += 100
    before, after = told_by_others(S, T), told_by_others(S, elsewhere)
    np.testing.assert_allclose(after[2], before[2])
    assert np.all(np.abs(np.delete(after - before, 2, axis=0)).max(axis=1) > 0.1)


@pytest.mark.parametrize(("of_source", "of_target"), [(3, 3), (3, 5), (5, 3)])
def test_no_turn_and_no_scale_bring_the_others_nearer(of_source, of_target):
    """Procrustes: of all that are tried, none is better than the map that is used."""
    rng = np.random.default_rng(0)
    S, T = rng.standard_normal((9, of_source)), rng.standard_normal((9, of_target))
    A, B = S[1:] - S[1:].mean(axis=0), T[1:] - T[1:].mean(axis=0)
    # where each unit vector would lie shows the map that the others make
    places = np.eye(of_source) + S[1:].mean(axis=0)
    told = [told_by_others(np.vstack([place, S[1:]]), T)[0] for place in places]
    M = np.array(told) - T[1:].mean(axis=0)
    strengths = np.linalg.svd(M, compute_uv=False)
    np.testing.assert_allclose(strengths, strengths[0])  # it turns, and stretches no direction more
    best = np.sum((A @ M - B) ** 2)
    for scale in (0.97, 1.03):
        assert np.sum((scale * A @ M - B) ** 2) > best
    for _ in range(100):
        little, R = np.linalg.qr(np.eye(of_target) + 0.1 * rng.standard_normal((of_target,) * 2))
        assert np.sum((A @ M @ (little * np.sign(np.diag(R))) - B) ** 2) > best


# The figures -------------------------------------------------------------------------------------


def test_a_source_of_the_same_geometry_helps_a_few_labels():
    """What of a class's mean the other nine do not reach into is told by nobody."""
    copy = told(3 * true_means() @ turn(np.random.default_rng(0), 32, 50) + 1)
    added = []
    for seed in range(6):
        found = figures(copy, few(2, seed))
        added.append(found["by few and geometry"] - found["by few"])
        assert found["geometry off many"] < 60
    assert np.mean(added) > 1


@pytest.mark.parametrize("dimensions", [20, 100])
def test_an_unrelated_one_is_wrong_by_what_classes_differ_and_adds_nothing(dimensions):
    added, off = [], []
    for seed in range(8):
        unrelated = told(np.random.default_rng(seed).standard_normal((10, dimensions)))
        found = figures(unrelated, few(3, seed))
        for name in ("few", "many"):
            added.append(found[f"by {name} and geometry"] - found[f"by {name}"])
            off.append(found[f"geometry off {name}"])
    assert min(off) > 90
    assert np.mean(off) > 100
    assert np.mean(added) < 0.5
    assert max(added) < 3


def test_means_are_those_of_labelled_rows_and_of_all_as_they_are_said_to_be():
    """All directions of the columns are looked at, so distances are those of the rows."""
    labels, said = few(3), np.random.default_rng(0).integers(10, size=len(y[NEW]))
    found = figures(told(true_means()), labels, said)
    mine, new = X[OWN, COLUMNS], X[NEW, COLUMNS]
    for name, rows, classes in (("few", mine, labels), ("many", new, said)):
        means = [rows[classes == c].mean(axis=0) for c in range(10)]
        nearest = [np.argmin([np.linalg.norm(row - mean) for mean in means]) for row in new]
        assert found[f"by {name}"] == pytest.approx(100 * np.mean(nearest == y[NEW]), abs=0.3)


def test_how_wrong_it_is_and_how_it_is_weighed():
    """The error of what is told against that of a mean of so few rows, each by the other's."""
    labels, said = few(4), y[NEW]
    S = true_means(columns=slice(0, 20))
    found = figures(told(S), labels, said)
    mine, new = X[OWN, COLUMNS], X[NEW, COLUMNS]
    for name, rows, classes in (("few", mine, labels), ("many", new, said)):
        members = [rows[classes == c] for c in range(10)]
        T = np.array([each.mean(axis=0) for each in members])
        other = told_by_others(S, T)
        off = np.mean((other - T) ** 2)
        unsure = np.mean([np.mean(each.var(axis=0)) / len(each) for each in members])
        means = T + unsure / (unsure + off) * (other - T)
        nearest = [np.argmin([np.linalg.norm(row - mean) for mean in means]) for row in new]
        right = 100 * np.mean(nearest == y[NEW])
        assert found[f"by {name} and geometry"] == pytest.approx(right, abs=0.3)
        apart = np.mean((T - T.mean(axis=0)) ** 2)
        assert found[f"geometry off {name}"] == pytest.approx(100 * off / apart, rel=1e-3)


def test_a_release_of_other_columns_has_every_figure():
    release = element(30.0, columns=slice(0, 48))
    found = figures(release, few(3))
    assert set(found) == FEW | MANY
    assert all(0 <= value <= 100 for name, value in found.items() if name.startswith("by"))
    assert found["geometry off many"] < 100


@pytest.mark.parametrize("left", [0, 1])
def test_a_class_with_fewer_than_two_rows_leaves_out_the_figures_of_its_set(left):
    copy = told(true_means())
    labels, said = few(3), y[NEW].copy()
    labels[np.flatnonzero(labels == 4)[left:]] = -1
    assert set(figures(copy, labels)) == MANY
    said[np.flatnonzero(said == 4)[left:]] = 5
    assert set(figures(copy, few(3), said)) == FEW
    assert figures(copy, labels, said) == {}


def test_of_two_classes_there_is_no_geometry():
    for classes, names in ((2, set()), (3, FEW | MANY)):
        mine, new = y[OWN] < classes, y[NEW] < classes
        found = geometry_figures(
            told(true_means(columns=slice(0, 30))[:classes]),
            *(X[OWN][mine], y[OWN][mine]),
            *(y[NEW][new], X[NEW][new], y[NEW][new]),
        )
        assert set(found) == names
