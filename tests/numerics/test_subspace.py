import numpy as np
import pytest

from dptransfer.numerics.subspace import principal_subspace


@pytest.mark.parametrize(("N", "p", "n"), [(200, 30, 5), (300, 150, 8), (40, 200, 10), (12, 5, 5)])
def test_spans_the_leading_eigenvectors(N, p, n):
    Y = np.random.default_rng(0).standard_normal((N, p)) * np.linspace(5, 1, p) + 3
    P = principal_subspace(Y, n)
    values, vectors = np.linalg.eigh(np.cov(Y, rowvar=False))
    expected = vectors[:, np.argsort(-values)[:n]].T
    np.testing.assert_allclose(np.abs(np.sum(P * expected, axis=1)), 1, atol=1e-9)
    np.testing.assert_allclose(P @ P.T, np.eye(n), atol=1e-10)


@pytest.mark.parametrize(("N", "p"), [(300, 150), (30, 150), (50, 8)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_directions_without_spread_are_left_out(N, p, dtype):
    rng = np.random.default_rng(0)
    Y = (rng.standard_normal((N, 2)) @ rng.standard_normal((2, p)) + 3).astype(dtype)
    P = principal_subspace(Y, 6)
    assert P.shape == (2, p)
    np.testing.assert_allclose(P @ P.T, np.eye(2), atol=1e-8)
    centred = Y - Y.mean(axis=0)
    np.testing.assert_allclose(centred @ P.T @ P, centred, atol=1e-4)


def test_the_same_rows_give_the_same_bits():
    Y = np.random.default_rng(0).standard_normal((500, 200))
    np.testing.assert_array_equal(principal_subspace(Y, 5), principal_subspace(Y.copy(), 5))
