"""What the trial keeps of the rows held out, for whoever reports on them."""

import numpy as np
from sklearn.datasets import load_digits

from dptransfer import Release, TransferClassifier

X, y = load_digits(n_class=3, return_X_y=True)


def learn(source=None, labels=30):
    few = np.where(np.arange(200) < labels, y[300:500], -1)
    return TransferClassifier(source, schedule=(5,), n_layers=1, random_state=0).fit(
        X[300:500], few
    )


def test_answers_agree_with_the_gain_that_they_were_counted_for():
    owner = Release.from_samples(
        X[:300],
        y[:300],
        epsilon=1.0,
        delta=1e-5,
        bounds=(0, 16),
        classes=range(3),
        random_state=0,
        insecure_seed=1,
    )
    adopter = learn(owner)
    held_out, gain = adopter.held_out_, adopter.transfer_gain_
    assert held_out.errors.shape == (gain.repeats, gain.rows, 3)
    np.testing.assert_array_equal(adopter.classes_[held_out.numbers], y[300 + held_out.rows])
    right = held_out.errors.argmin(axis=2) == held_out.numbers
    assert right.mean() == gain.with_source.value
    assert set(held_out.deciders.ravel()) <= {"target", "source2target", "source"}


def test_without_a_source_rows_are_held_out_as_well():
    adopter = learn()
    assert adopter.transfer_gain_ is None
    assert len(adopter.held_out_.rows) == 30
    assert set(adopter.held_out_.deciders.ravel()) == {"target"}


def test_where_no_class_has_two_labels_nothing_is_held_out():
    few = np.full(200, -1)
    one_each = np.unique(y[300:500], return_index=True)[1]
    few[one_each] = y[300 + one_each]
    assert TransferClassifier(schedule=(5,), n_layers=1).fit(X[300:500], few).held_out_ is None
