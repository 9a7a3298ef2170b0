import numpy as np
import pytest
from reference import field as literal
from sklearn.datasets import load_digits

from dptransfer.transfer import neighbours
from dptransfer.transfer.neighbours import NEIGHBOURS, Neighbourhood

X, y = load_digits(n_class=4, return_X_y=True)
X = X[:120] / 16.0
y = y[:120]
ALPHA = 0.95


@pytest.fixture(scope="module")
def graph():
    return Neighbourhood(X)


def dense(graph):
    """S of the graph, from a transcription that looks at all pairs."""
    return literal.normalised(literal.weights(graph.coordinates[:, :40], NEIGHBOURS))


def test_the_graph_is_that_of_all_pairs(graph):
    S, D = dense(graph)
    np.testing.assert_allclose(graph._S.toarray(), S, atol=1e-5)
    np.testing.assert_allclose(graph.degrees, D, rtol=1e-5)
    assert graph.degrees.mean() == pytest.approx(1)


def test_coordinates_are_the_rows_in_their_principal_directions(graph):
    np.testing.assert_allclose(graph.mean, X.mean(axis=0))
    np.testing.assert_allclose(
        graph.directions @ graph.directions.T, np.eye(len(graph.directions)), atol=1e-9
    )
    np.testing.assert_allclose(graph.coordinates, (X - graph.mean) @ graph.directions.T, atol=1e-9)
    np.testing.assert_allclose(graph.variances, graph.coordinates.var(axis=0), atol=1e-12)
    assert np.all(np.diff(graph.variances) < 1e-9)
    expected = literal.coordinates(X, 5)
    np.testing.assert_allclose(np.abs(graph.coordinates[:, :5]), np.abs(expected), atol=1e-8)


def test_solve_is_the_inverse(graph):
    S, _ = dense(graph)
    B = np.random.default_rng(0).standard_normal((len(X), 7))
    found = graph.solve(B, ALPHA)
    expected = np.linalg.solve(np.eye(len(X)) - ALPHA * S, B)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    assert graph.solve(np.zeros((len(X), 2)), ALPHA).any() == np.False_


def test_spread_is_where_a_walk_that_may_stop_at_any_step_stands(graph):
    W = literal.weights(graph.coordinates[:, :40], NEIGHBOURS)
    step = W / W.sum(axis=1, keepdims=True)
    P = np.eye(4)[y]
    stands, here = np.zeros_like(P), (1 - ALPHA) * P
    for _ in range(600):
        stands += here
        here = ALPHA * step @ here
    found = graph.spread(P, ALPHA)
    np.testing.assert_allclose(found, stands, atol=2e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=2e-3)
    assert np.mean(found.argmax(axis=1) == y) > 0.95


def test_the_cut_into_blocks_changes_nothing(graph, monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK_VALUES", 7 * len(X))
    np.testing.assert_allclose(Neighbourhood(X)._S.toarray(), graph._S.toarray(), atol=1e-6)


def test_more_columns_than_rows_and_single_precision():
    wide = np.random.default_rng(0).standard_normal((15, 40))
    graph = Neighbourhood(wide)
    assert graph.directions.shape == (14, 40)
    np.testing.assert_allclose(graph.coordinates, (wide - graph.mean) @ graph.directions.T)
    again = Neighbourhood(wide.astype(np.float32))
    np.testing.assert_allclose(again._S.toarray(), graph._S.toarray(), atol=1e-4)


@pytest.mark.parametrize(
    "rows",
    [
        np.eye(3),
        np.arange(3.0)[:, None],
        np.repeat(X[:4], 8, axis=0),
        np.repeat(X[:1], 10, axis=0),
        np.column_stack([X[:20], np.ones(20)]),
        np.vstack([X[:20], X[:20].mean(axis=0)]),
    ],
    ids=["3 rows", "one column", "copies", "all equal", "a flat column", "a row at the mean"],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_and_degenerate_tables(rows, dtype):
    graph = Neighbourhood(rows.astype(dtype))
    P = np.eye(len(rows))
    spread = graph.spread(P, 0.9)
    assert np.isfinite(spread).all()
    np.testing.assert_allclose(spread.sum(axis=1), 1, atol=1e-3)
    assert np.isfinite(graph.coordinates).all()


def test_copies_of_a_row_are_its_nearest():
    rows = np.repeat(X[:5], NEIGHBOURS + 1, axis=0)
    group = np.repeat(np.arange(5), NEIGHBOURS + 1)
    linked = Neighbourhood(rows)._S.toarray() > 1e-6
    assert np.all(group[np.nonzero(linked)[0]] == group[np.nonzero(linked)[1]])
