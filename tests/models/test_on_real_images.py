"""The science, on MNIST and USPS; skipped where the data are not at hand."""

import numpy as np
import pytest

from dptransfer import MembershipClassifier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(mnist):
    X, T = mnist["x_train"] / 255.0, mnist["x_test"] / 255.0
    models = {
        dtype: MembershipClassifier(random_state=0, n_jobs=2).fit(X.astype(dtype), mnist["y_train"])
        for dtype in (np.float64, np.float32)
    }
    return models, T


def test_mnist_labels_are_right_in_both_precisions(trained, mnist):
    models, T = trained
    right = {
        dtype: np.mean(model.predict(T.astype(dtype)) == mnist["y_test"])
        for dtype, model in models.items()
    }
    assert right[np.float64] >= 0.975
    assert abs(right[np.float64] - right[np.float32]) <= 0.005


def test_mnist_labels_are_those_of_finishing_every_part(trained):
    models, T = trained
    model, rows = models[np.float64], T[::5]
    errors = np.array(
        [
            np.min([part.residuals(rows) for part in autoencoder.parts_], axis=0)
            for autoencoder in model.autoencoders_
        ]
    )
    np.testing.assert_array_equal(model.predict(rows), errors.argmin(axis=0))


def test_usps_with_ten_labels_a_class(usps):
    """The paper's iteration (Section 4.2) on USPS alone, its mean over five draws."""
    from benchmarks.self_training import self_train

    right = [
        np.mean(self_train(usps, seed, n_jobs=2).predict(usps["x_test"]) == usps["y_test"])
        for seed in range(5)
    ]
    assert 0.90 <= np.mean(right) <= 0.925
