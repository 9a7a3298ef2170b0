import numpy as np
from reference import membership as reference

from dptransfer.numerics.kernel import kernel, weights


def test_agrees_with_the_equation_far_from_the_origin():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 4)) + 1e5
    a = rng.standard_normal((7, 4)) + 1e5
    w = rng.random(4)
    expected = reference.kr(reference.exact(x), reference.exact(a), w, 2.5)
    np.testing.assert_allclose(kernel(x, a, w, 2.5), expected.astype(float), rtol=1e-9)


def test_is_one_at_no_distance_and_keeps_the_type():
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    K = kernel(x, x, np.ones(3, dtype=np.float32))
    assert K.dtype == np.float32
    np.testing.assert_allclose(np.diag(K), 1, rtol=1e-5)


def test_a_constant_dimension_carries_no_distance():
    x = np.array([[0.0, 7.0], [4.0, 7.0]])
    w = weights(x)
    np.testing.assert_array_equal(w, [1 / 16, 0])
    assert kernel(x, np.array([[0.0, -100.0]]), w)[0, 0] == 1


def test_a_range_of_rounding_counts_as_constant():
    x = np.array([[0.1 + 0.2, 1e-12], [0.3, 2e-12]])
    np.testing.assert_array_equal(weights(x) > 0, [False, True])


def test_a_range_without_a_finite_inverse_square_counts_as_constant():
    np.testing.assert_array_equal(weights(np.array([[0.0], [1e-200]])), [0.0])
