import numpy as np
import pytest

from dptransfer.transfer.proportions import balance

SHARES = np.array([0.5, 0.3, 0.15, 0.05])


def test_every_class_gets_its_share():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((1000, 4)) + np.array([0.0, 3.0, -1.0, 1.0])
    taken = np.bincount(balance(scores, SHARES).argmax(axis=1), minlength=4)
    np.testing.assert_allclose(taken, 1000 * SHARES, atol=15)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_scale_of_scores_does_not_matter(scale):
    scores = np.random.default_rng(1).standard_normal((500, 4))
    np.testing.assert_array_equal(
        balance(scale * scores, SHARES).argmax(axis=1), balance(scores, SHARES).argmax(axis=1)
    )


def test_rows_of_a_class_keep_their_order():
    """One offset a class: of two rows the one with the higher difference is still the higher."""
    scores = np.random.default_rng(2).standard_normal((50, 4))
    offsets = balance(scores, SHARES) - scores
    np.testing.assert_allclose(offsets, np.broadcast_to(offsets[0], offsets.shape), atol=1e-12)


def test_it_is_the_assignment_of_the_highest_total():
    """No exchange of labels keeps the class sizes and raises the total (it is the dual)."""
    scores = np.random.default_rng(3).standard_normal((60, 3))
    labels = balance(scores, np.full(3, 1 / 3)).argmax(axis=1)
    taken = scores[np.arange(60), labels]
    swapped = scores[:, labels]  # row i with the label of row j
    gain = swapped + swapped.T - taken[:, None] - taken[None, :]
    assert gain.max() < 1e-9


def test_little_to_share():
    scores = np.array([[1.0], [2.0]])
    np.testing.assert_array_equal(balance(scores, np.array([1.0])), scores)
    equal = np.zeros((6, 2))
    assert np.isfinite(balance(equal, np.array([0.5, 0.5]))).all()
    assert balance(scores, None) is scores
