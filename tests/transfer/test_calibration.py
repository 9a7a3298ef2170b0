import numpy as np
import pytest

from dptransfer.transfer.calibration import probabilities, temperature

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("T", [0.3, 2.0, 40.0])
def test_the_temperature_that_drew_the_labels_is_found(T):
    errors = T * RNG.exponential(2, size=(4000, 3))
    shares = probabilities(errors, T)
    labels = np.array([RNG.choice(3, p=p) for p in shares])
    assert temperature(errors, labels) == pytest.approx(T, rel=0.15)


def test_a_unit_of_the_errors_does_not_matter():
    errors = RNG.exponential(size=(200, 4))
    labels = (errors + RNG.exponential(0.5, size=errors.shape)).argmin(axis=1)
    ours, scaled = temperature(errors, labels), temperature(1000 * errors, labels)
    assert scaled == pytest.approx(1000 * ours, rel=1e-3)


@pytest.mark.parametrize(
    "errors",
    [
        np.zeros((5, 2)),
        np.array([[0.0, np.inf], [1.0, np.inf]]),
        np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]),
        np.full((3, 2), 1e-30),
        np.full((3, 2), 1e30),
    ],
)
def test_errors_that_say_nothing_still_give_probabilities(errors):
    T = temperature(errors, np.zeros(len(errors), int))
    shares = probabilities(errors, T)
    assert T > 0
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_the_order_of_classes_is_that_of_the_errors():
    errors = RNG.exponential(size=(50, 6))
    shares = probabilities(errors, 0.7)
    np.testing.assert_array_equal(shares.argsort(axis=1), (-errors).argsort(axis=1))
    assert np.all((shares > 0) & (shares < 1))


def test_single_precision_gives_doubles():
    assert probabilities(np.ones((2, 2), np.float32), 1.0).dtype == np.float64
