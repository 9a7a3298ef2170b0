import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import membership as reference
from sklearn.exceptions import ConvergenceWarning

from dptransfer import MembershipMapping
from dptransfer.errors import ParameterError


def problem(seed, N, n, p, M, scale, offset, constant, near):
    """Rows, outputs and inducing points, with what makes them awkward."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((N, n)) + offset) * 10.0**scale
    if constant:
        x[:, rng.integers(n)] = offset
    y = np.sin(x[:, :1] / 10.0**scale) + 0.3 * rng.standard_normal((N, p)) + rng.standard_normal(p)
    a = x[rng.choice(N, M)] + 0.1 * 10.0**scale * rng.standard_normal((M, n))
    if near and M > 1:
        a[-1] = a[0] * (1 + 10.0**near)
    return x, y, a


@given(
    st.integers(0, 10**6),
    st.integers(2, 60),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 14),
    st.integers(-4, 4),
    st.sampled_from([0, 10, -300]),
    st.booleans(),
    st.sampled_from([0, -3, -9]),
)
@example(0, 60, 1, 1, 14, 0, 0, False, 0)  # far more points than one dimension can tell apart
@example(1, 2, 6, 5, 14, 0, 0, False, 0)  # more points than rows
@example(2, 30, 2, 2, 5, 0, 0, True, -9)
@example(3, 60, 6, 2, 3, 0, 0, False, -9)  # points that coincide, and much that is left to smooth
def test_agrees_with_the_equations(seed, N, n, p, M, scale, offset, constant, near):
    x, y, a = problem(seed, N, n, p, M, scale, offset, constant, near)
    exact = reference.exact
    expected = reference.learn_mapping(exact(x), exact(y), M, inducing_points=exact(a))
    found = MembershipMapping(inducing_points=a).fit(x, y)
    close = {"rtol": 1e-6}
    np.testing.assert_allclose(found.weights_, expected.w.astype(float), **close)
    np.testing.assert_allclose(found.smoothing_, float(expected.tau1), rtol=1e-6, atol=1e-10)
    if expected.tau1 > 1e-4:  # far below κ = 0.1 the difference of traces has lost its digits
        np.testing.assert_allclose(found.variance_, float(expected.sigma2), **close)
        np.testing.assert_allclose(found.noise_precision_, float(expected.beta), **close)
        error = np.linalg.norm(found.coef_ - expected.alpha.astype(float))
        assert error <= 1e-6 * np.linalg.norm(expected.alpha.astype(float))
        predicted = expected.predict(exact(x)).astype(float)
        np.testing.assert_allclose(found.predict(x), predicted, rtol=1e-5, atol=1e-5)


def test_the_search_agrees_with_the_loop_as_printed():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 3))
    y = np.stack([np.sin(x[:, 0]), x[:, 1] * x[:, 2]], axis=1) + 0.1 * rng.standard_normal((400, 2))
    expected = reference.learn_mapping(x, y, 400)
    found = MembershipMapping(random_state=0).fit(x, y)
    assert abs(len(found.coef_) - expected.M) <= 0.11 * expected.M + 1
    ours, theirs = np.mean((y - found.predict(x)) ** 2), np.mean((y - expected.predict(x)) ** 2)
    assert ours <= 1.1 * theirs
    assert found.smoothing_ >= 0.1


def test_constant_inputs_and_outputs():
    x, y = np.ones((20, 3)), np.full(20, 5.0)
    mapping = MembershipMapping(random_state=0).fit(x, y)
    np.testing.assert_allclose(mapping.predict(x), y, rtol=0.05)
    np.testing.assert_array_equal(mapping.weights_, 0)
    assert len(mapping.coef_) == 1


def test_one_output_has_one_dimension_and_float32_stays():
    x = np.random.default_rng(0).random((50, 2)).astype(np.float32)
    mapping = MembershipMapping(random_state=0).fit(x, x[:, 0])
    assert mapping.coef_.ndim == 1
    assert mapping.predict(x).shape == (50,)
    assert mapping.predict(x).dtype == np.float32
    double = MembershipMapping(random_state=0).fit(x.astype(float), x[:, 0].astype(float))
    np.testing.assert_allclose(mapping.predict(x), double.predict(x), atol=1e-3)


def test_the_limit_is_a_number_or_a_share():
    x = np.random.default_rng(0).random((100, 8))
    assert len(MembershipMapping(7, random_state=0).fit(x, x).coef_) <= 7
    assert len(MembershipMapping(0.05, random_state=0).fit(x, x).coef_) <= 5
    assert len(MembershipMapping(10**9, random_state=0).fit(x, x).coef_) <= 100


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_inducing": 0},
        {"max_inducing": 1.5},
        {"max_inducing": "half"},
        {"max_inducing": True},
        {"dof": 2},
        {"min_smoothing": 0},
        {"max_iter": 0},
        {"max_iter": 2.5},
        {"dof": float("nan")},
        {"dof": None},
        {"tol": -1.0},
        {"tol": None},
        {"inducing_points": np.ones((2, 5))},
    ],
)
def test_what_cannot_be_had_is_one_sentence(wrong):
    with pytest.raises(ParameterError) as error:
        MembershipMapping(**wrong).fit(np.random.default_rng(0).random((9, 2)), np.arange(9.0))
    assert "\n" not in str(error.value)
    assert next(iter(wrong)) in str(error.value)


def test_an_iteration_cut_short_is_said():
    rng = np.random.default_rng(0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        MembershipMapping(max_iter=1, random_state=0).fit(rng.random((50, 4)), rng.random(50))
