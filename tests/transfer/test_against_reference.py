"""The room's own steps against Section 4.2 line by line.

The literal classifier and mapping stand in for the fast ones, which tests/models holds against
them: what is compared here is who learns from what, and who decides, and that to the last bit.
"""

import numpy as np
import pytest
from reference import transfer as literal
from reference.membership import Classifier, learn_mapping
from sklearn.datasets import load_digits

from dptransfer import Release
from dptransfer.transfer import self_training, source2target
from dptransfer.transfer.alignment import align, as_given
from dptransfer.transfer.decision import Domain, opinions
from dptransfer.transfer.self_training import Settings, self_train
from dptransfer.transfer.source2target import Source, learn_source2target

X, y = load_digits(n_class=3, return_X_y=True)
X = X / 16.0
SCHEDULE = (2, 4)


class LiteralClassifier:
    """Algorithm 4 as transcribed, with the face of the fast one."""

    def __init__(self, n_components, n_layers, max_inducing, *, n_jobs=None, random_state=0):
        self.n_components, self.n_layers = n_components, n_layers
        self.max_inducing, self.random_state = max_inducing, random_state

    def learn(self, rows, groups, classes):
        used = np.concatenate(groups)
        labels = np.concatenate(
            [np.full(len(group), c) for group, c in zip(groups, classes, strict=True)]
        )
        order = np.argsort(used)
        self.literal = Classifier(
            rows[used[order]],
            labels[order],
            self.n_components,
            self.max_inducing,
            self.n_layers,
            random_state=self.random_state,
        )
        self.classes_ = self.literal.classes
        self.autoencoders_ = [Filter(wide) for wide in self.literal.autoencoders]
        return self

    def predict(self, rows):
        return self.literal.predict(rows)

    def residuals(self, rows):
        return self.literal.residuals(rows)


class Filter:
    def __init__(self, wide):
        self.transform = wide.filter


class LiteralMapping:
    def __init__(self, max_inducing, *, random_state):
        self.max_inducing, self.random_state = max_inducing, random_state

    def fit(self, x, Y):
        self.learned = learn_mapping(x, Y, self.max_inducing, random_state=self.random_state)
        return self

    def predict(self, x):
        return self.learned.predict(x)


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(self_training, "MembershipClassifier", LiteralClassifier)
    monkeypatch.setattr(source2target, "MembershipMapping", LiteralMapping)


@pytest.mark.parametrize("labelled", [18, 120])
def test_self_training_and_all_decisions(plain, labelled):
    known, unknown, new = slice(0, labelled), slice(labelled, 120), slice(120, 150)
    numbers = np.where(np.arange(120) < labelled, y[:120], -1)
    settings = Settings(SCHEDULE, n_layers=2)
    trained = self_train(X[:120], numbers, settings, 0)
    if labelled < 120:
        history = literal.self_train(X[known], y[known], X[unknown], SCHEDULE, L=2)
        target = history[-1]
        labels = np.concatenate([y[known], target.predict(X[unknown])])
    else:  # nothing to label: every round learns from the same rows
        target, labels = Classifier(X[:120], y[:120], SCHEDULE[-1], 0.5, 2), y[:120]
    np.testing.assert_array_equal(trained.numbers, labels)
    np.testing.assert_array_equal(trained.classifier.residuals(X[new]), target.residuals(X[new]))

    groups = [200 + np.flatnonzero(y[200:350] == c) for c in range(3)]
    owners = LiteralClassifier(5, 2, 0.5).learn(X + 0.1, groups, np.arange(3))
    source = learn_source2target(Source("o", owners, np.arange(3)), X[:120], trained.numbers, 0)
    mapping = literal.source2target(owners.literal, X[:120], labels)
    said = opinions([Domain(as_given(), trained.classifier, (source,))], X[new], 3)
    assert said.advisers == ["target", "source2target", "source"]
    expected = literal.residuals(X[new], target, owners.literal, mapping)
    np.testing.assert_allclose(said.errors, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(
        said.least.argmin(axis=1), literal.predict(X[new], target, owners.literal, mapping)
    )
    deciders = np.array(said.advisers)[expected.min(axis=1).argmin(axis=1)]
    np.testing.assert_array_equal(said.deciders(), deciders)


@pytest.mark.parametrize("p_tg", [20, 50])
def test_alignment_of_other_columns(p_tg):
    release = Release.from_samples(
        X,
        y,
        epsilon=100.0,
        delta=1e-5,
        bounds=(0, 1),
        classes=range(3),
        keep_samples=True,
        insecure_seed=1,
        random_state=0,
    )
    Y = X[:200, np.flatnonzero(X.std(axis=0) > 0.01)[:p_tg]]
    ours = align(release, Y)
    assert ours.kind == "subspace"
    V_sr, V_tg = literal.subspaces(release.samples[0].astype(np.float64), Y)
    assert len(V_sr) == literal.n_st(64, Y.shape[1])
    np.testing.assert_allclose(ours(Y), literal.align(Y, 64, V_sr, V_tg), atol=1e-4)


def test_the_fast_ones_come_to_much_the_same_labels():
    numbers = np.where(np.arange(200) < 30, y[:200], -1)
    settings = Settings((5, 10))
    fast = self_train(X[:200], numbers, settings, 0)
    slow = literal.self_train(X[:30], y[:30], X[30:200], (5, 10))[-1]
    agree = fast.classifier.predict(X[200:400]) == slow.predict(X[200:400])
    assert agree.mean() > 0.97
