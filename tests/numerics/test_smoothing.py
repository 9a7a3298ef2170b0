import mpmath
import numpy as np
import pytest
from reference import membership as reference

from dptransfer.numerics.kernel import kernel
from dptransfer.numerics.smoothing import (
    COLUMNS,
    JITTERS,
    Outputs,
    divide,
    factorise,
    precision,
    project,
)


def kernel_of(points):
    return kernel(points, points, np.ones(points.shape[1]))


def test_no_jitter_where_none_is_needed():
    K = kernel_of(np.random.default_rng(0).standard_normal((6, 4)))
    R = factorise(K)
    np.testing.assert_allclose(R.T @ R, K, atol=1e-14)
    np.testing.assert_array_equal(R, np.triu(R))


@pytest.mark.parametrize("apart", [0.0, 1e-9])
def test_the_smallest_jitter_where_points_coincide(apart):
    assert JITTERS == reference.JITTERS == (0.0, 1e-8, 1e-7, 1e-6)
    points = np.array([[0.0], [1.0], [apart]])
    R = factorise(kernel_of(points))
    assert (R.T @ R)[0, 0] - 1 == pytest.approx(JITTERS[1], rel=1e-6)
    assert np.min(np.diag(R)) ** 2 >= 1e-8


@pytest.mark.parametrize("size", [1, COLUMNS - 1, COLUMNS, COLUMNS + 1, 3 * COLUMNS + 5])
def test_dividing_by_a_triangle_is_solving_with_it(size):
    rng = np.random.default_rng(0)
    R = factorise(kernel_of(rng.standard_normal((size, 8))))
    K = rng.random((20, size))
    np.testing.assert_allclose(divide(K.copy(), R) @ R, K, rtol=1e-9, atol=1e-11)


def test_a_fit_that_leaves_almost_nothing_keeps_its_digits():
    """‖Y‖² less what is explained has no digits left here; the sum of positive terms has."""
    x = np.linspace(0, 1, 12)[:, None]
    a = x[::4]
    found = project(x, a, np.ones(1), 2.1)
    coefficients = np.random.default_rng(0).standard_normal((3, 2))
    Y = 1e-3 * (found.V @ coefficients)
    Y[0] += 1e-9
    tau, sigma2 = 1e-9, 1.0
    beta, n_iter, converged, _ = precision(
        found.V, Outputs.of(Y), found.V.T @ Y, tau, sigma2, tol=1e-6, max_iter=50
    )
    V, y = reference.exact(found.V), reference.exact(Y)
    exact = mpmath.mpf(1)
    for _ in range(n_iter):
        c = tau + 1 / exact
        fitted = V @ reference.solve(V.T @ V + c * reference.exact(np.eye(3)), V.T @ y)
        exact = 1 / np.mean((y - fitted) ** 2)
    assert converged
    assert float(np.mean((y - fitted) ** 2)) < 1e-9 * np.mean(Y**2)
    assert beta == pytest.approx(float(exact), rel=1e-6)


def test_the_inverse_belongs_to_the_last_precision():
    rng = np.random.default_rng(0)
    V, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 2))
    found = precision(V, Outputs.of(Y), V.T @ Y, 0.3, 2.0, tol=1e-6, max_iter=1000)
    c = 0.3 + 1 / (2.0 * found.beta)
    np.testing.assert_allclose(found.inverse, np.linalg.inv(V.T @ V + c * np.eye(4)), rtol=1e-9)
