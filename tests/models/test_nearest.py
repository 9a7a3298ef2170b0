import numpy as np
import pytest
from reference import membership as reference
from sklearn.datasets import load_digits

from dptransfer import MembershipClassifier, WideMembershipAutoencoder
from dptransfer.models import nearest

X, Y = load_digits(return_X_y=True)


@pytest.fixture(params=[np.float64, np.float32])
def classifier(request):
    model = MembershipClassifier(8, 3, partition_size=40, random_state=0)
    return model.fit((X[:1200] / 16).astype(request.param), Y[:1200])


def everything(model, rows):
    """The errors of every part, finished one by one."""
    return np.array(
        [
            np.min([part.residuals(rows) for part in autoencoder.parts_], axis=0)
            for autoencoder in model.autoencoders_
        ]
    ).T


def count_finished(monkeypatch):
    finished = []
    cls = nearest.DeepMembershipAutoencoder
    least_error = cls.least_error
    monkeypatch.setattr(
        cls,
        "least_error",
        lambda self, rows, *enough: (finished.append(len(rows)), least_error(self, rows, *enough))[
            1
        ],
    )
    return finished


def test_few_are_finished_and_the_answer_is_that_of_all(classifier, monkeypatch):
    rows = np.vstack([X[1200:], X[1200:] + 1, X[1200:, ::-1]]) / 16
    expected = everything(classifier, rows)
    n_parts = sum(len(autoencoder.parts_) for autoencoder in classifier.autoencoders_)
    finished = count_finished(monkeypatch)
    labels = classifier.predict(rows)
    assert n_parts > 20
    assert sum(finished) < 0.5 * len(rows) * n_parts
    np.testing.assert_array_equal(labels, classifier.classes_[expected.argmin(axis=1)])
    np.testing.assert_allclose(classifier.residuals(rows), expected, rtol=1e-4)


def test_bounds_lie_below_the_errors(classifier):
    rows = X[1200:].astype(classifier.autoencoders_[0].parts_[0].components_.dtype) / 16
    parts = [part for autoencoder in classifier.autoencoders_ for part in autoencoder.parts_]
    bounds = nearest.Screen(parts, rows[:200])(rows)
    errors = np.stack([part.residuals(rows) for part in parts], axis=1)
    assert np.all(bounds <= errors * (1 + 1e-5))
    assert np.median(bounds / errors) > 0.3


def test_coefficients_that_single_precision_cannot_hold_prune_nothing_wrongly():
    model = MembershipClassifier(4, 2, partition_size=60, random_state=0).fit(X[:900], Y[:900])
    rng = np.random.default_rng(0)
    for autoencoder in model.autoencoders_:
        for part in autoencoder.parts_:
            for layer in part.layers_:
                # two inducing points on the same spot, with large coefficients that cancel
                layer.inducing_points_[-1] = layer.inducing_points_[0] + 1e-7
                push = 1e6 * rng.standard_normal(layer.coef_.shape[1])
                layer.coef_[0] += push
                layer.coef_[-1] -= push
    rows = X[900:]
    np.testing.assert_array_equal(
        model.predict(rows), model.classes_[everything(model, rows).argmin(axis=1)]
    )


def test_a_wide_autoencoder_gives_the_nearest_parts_output():
    wide = WideMembershipAutoencoder(6, 2, partition_size=100, random_state=0).fit(X[:700])
    rows = X[700:1000]
    outputs = np.array([part.transform(rows) for part in wide.parts_])
    errors = ((rows - outputs) ** 2).sum(axis=2)
    assert len(wide.parts_) == 7
    np.testing.assert_allclose(wide.residuals(rows), errors.min(axis=0))
    np.testing.assert_allclose(
        wide.transform(rows), outputs[errors.argmin(axis=0), np.arange(len(rows))]
    )


def test_as_good_as_the_literal_classifier():
    expected = reference.Classifier(X[:1000] / 16, Y[:1000], 10, 0.5, 3)
    found = MembershipClassifier(10, 3, random_state=0).fit(X[:1000] / 16, Y[:1000])
    theirs = np.mean(expected.predict(X[1000:] / 16) == Y[1000:])
    assert found.score(X[1000:] / 16, Y[1000:]) == pytest.approx(theirs, abs=0.02)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_every_number_of_workers_gives_the_same(backend):
    from joblib import parallel_config

    alone = MembershipClassifier(8, 3, partition_size=50, random_state=3).fit(X[:600], Y[:600])
    with parallel_config(backend=backend):
        shared = MembershipClassifier(8, 3, partition_size=50, n_jobs=2, random_state=3)
        shared.fit(X[:600], Y[:600])
        np.testing.assert_array_equal(shared.residuals(X[600:]), alone.residuals(X[600:]))
    for ours, theirs in zip(shared.autoencoders_, alone.autoencoders_, strict=True):
        for part, other in zip(ours.parts_, theirs.parts_, strict=True):
            for layer, twin in zip(part.layers_, other.layers_, strict=True):
                np.testing.assert_array_equal(layer.coef_, twin.coef_)


def test_many_rows_are_partitioned_from_a_sample(monkeypatch):
    monkeypatch.setattr("dptransfer.models.wide.SAMPLE", 200)
    monkeypatch.setattr("dptransfer.models.wide.SAMPLE_OF_CLUSTER", 20)
    sampled = WideMembershipAutoencoder(6, 2, partition_size=100, random_state=0).fit(X)
    monkeypatch.undo()
    whole = WideMembershipAutoencoder(6, 2, partition_size=100, random_state=0).fit(X)
    assert len(sampled.parts_) == len(whole.parts_) == 18
    assert np.mean(sampled.residuals(X)) == pytest.approx(np.mean(whole.residuals(X)), rel=0.1)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scales_beyond_single_precision_prune_nothing_wrongly(scale):
    model = MembershipClassifier(6, 2, partition_size=60, random_state=0)
    model.fit(X[:900] * scale, Y[:900])
    rows = X[900:] * scale
    np.testing.assert_array_equal(
        model.predict(rows), model.classes_[everything(model, rows).argmin(axis=1)]
    )


def test_rows_unlike_the_first_of_a_batch_prune_nothing_wrongly():
    """The margin goes by a row's length: a batch may hold rows of very different size."""
    rng = np.random.default_rng(0)
    far = 1e6 + X[:600]
    model = MembershipClassifier(6, 2, partition_size=60, random_state=0)
    model.fit(np.vstack([X[:600], far]), np.concatenate([Y[:600], Y[:600]]))
    rows = np.vstack([X[600:900], X[600:900] + 1e6 + rng.standard_normal((300, 64))])
    errors = everything(model, rows)
    chosen = np.searchsorted(model.classes_, model.predict(rows))
    lost = errors[np.arange(len(rows)), chosen] - errors.min(axis=1)
    assert np.all(lost <= 1e-9 * np.sum(rows**2, axis=1))
