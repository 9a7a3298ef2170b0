import numpy as np
import pytest
from digits import NEW, X, y

from dptransfer.models import MembershipClassifier
from dptransfer.transfer import decision
from dptransfer.transfer.alignment import Alignment, as_given
from dptransfer.transfer.decision import Domain, opinions
from dptransfer.transfer.source2target import Source

ROWS = X[NEW][:50]


def classifier(n, rows=slice(0, 60), classes=range(5), dtype=np.float64):
    of = np.flatnonzero(np.isin(y[rows], list(classes)))
    return MembershipClassifier(n, 1, random_state=0).fit(X[rows][of].astype(dtype), y[rows][of])


@pytest.fixture(scope="module")
def judges():
    return [classifier(n) for n in (2, 5, 9)]


def errors_of(*domains, rows=ROWS, n_classes=5):
    return opinions(domains, rows, n_classes).errors


@pytest.mark.parametrize("several", [1, 2, 3])
def test_what_a_targets_classifiers_miss_is_averaged(judges, several):
    one, *others = judges[:several]
    expected = np.mean([judge.residuals(ROWS) for judge in judges[:several]], axis=0)
    said = opinions([Domain(as_given(), one, others=tuple(others))], ROWS, 5)
    assert said.advisers == ["target"]
    np.testing.assert_allclose(said.errors[:, :, 0], expected, rtol=1e-12)
    np.testing.assert_array_equal(said.least, said.errors[:, :, 0])


def test_the_average_is_in_the_units_of_the_space(judges):
    one, two, _ = judges
    plain = errors_of(Domain(as_given(), one, others=(two,)))
    told = errors_of(Domain(as_given(), one, unit=4.0, others=(two,)))
    np.testing.assert_allclose(told, plain / 4)


def test_all_look_at_the_rows_in_the_space(judges):
    one, two, _ = judges
    there = Alignment("same columns", np.full(64, 0.25), np.full(64, 0.5))
    mean = (one.residuals(there(ROWS)) + two.residuals(there(ROWS))) / 2
    np.testing.assert_allclose(errors_of(Domain(there, one, others=(two,)))[:, :, 0], mean)


def test_of_several_spaces_the_best_average_counts(judges):
    one, two, three = judges
    pair = errors_of(Domain(as_given(), one, others=(two,)))
    single = errors_of(Domain(as_given(), three))
    both = errors_of(Domain(as_given(), one, others=(two,)), Domain(as_given(), three))
    np.testing.assert_array_equal(both, np.minimum(pair, single))


def test_a_source_is_asked_by_itself(judges):
    one, two, three = judges
    source = Source("owner", three, np.arange(5))
    errors = errors_of(Domain(as_given(), one, (source,), others=(two,)))
    alone = errors_of(Domain(as_given(), one, (source,)))
    np.testing.assert_array_equal(errors[:, :, 1:], alone[:, :, 1:])
    assert np.all(errors[:, :, 0] != alone[:, :, 0])


def test_classes_that_the_target_does_not_know_are_infinitely_far():
    one, two = (classifier(n, classes=(0, 3)) for n in (2, 5))
    errors = errors_of(Domain(as_given(), one, others=(two,)))[:, :, 0]
    assert np.isinf(errors[:, [1, 2, 4]]).all()
    assert np.isfinite(errors[:, [0, 3]]).all()


def test_blocks_and_single_precision_change_little(judges, monkeypatch):
    one, two, _ = judges
    whole = errors_of(Domain(as_given(), one, others=(two,)))
    singles = [classifier(n, dtype=np.float32) for n in (2, 5)]
    single = errors_of(
        Domain(as_given(), singles[0], others=(singles[1],)), rows=ROWS.astype(np.float32)
    )
    np.testing.assert_allclose(single, whole, rtol=1e-3)
    monkeypatch.setattr(decision, "BLOCK", 7)
    np.testing.assert_allclose(errors_of(Domain(as_given(), one, others=(two,))), whole, rtol=1e-9)
