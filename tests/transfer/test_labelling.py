import numpy as np
import pytest
from digits import OWN, X, element, few, y

from dptransfer.models import MembershipClassifier
from dptransfer.transfer.field import Field
from dptransfer.transfer.labelling import Evidence, label_all, surest
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.source_laws import source_laws
from dptransfer.transfer.source_means import source_means

MODEL = {"n_components": 5, "n_layers": 1, "random_state": 0}


@pytest.fixture(scope="module")
def graph():
    return Neighbourhood(X[OWN])


def labelled(graph, numbers, evidence=None, n_classes=10, seed=0, **options):
    return label_all(
        X[OWN],
        numbers,
        n_classes,
        graph,
        evidence or Evidence(),
        [MembershipClassifier(**MODEL)],
        seed,
        **options,
    ).scores


def heard(graph, epsilon=3.0, laws=True):
    release = element(epsilon)
    told = source_means(release, graph)
    found = source_laws(release, X[OWN], graph) if laws else None
    return Evidence(
        [Field(graph, told, np.arange(10))], [] if found is None else [found], told.shares
    )


@pytest.mark.parametrize("rounds", [0, 2])
def test_own_labels_are_kept_whatever_sources_say(graph, rounds):
    numbers = (few(60) + 3) % 10
    numbers[60:] = -1
    for evidence in (Evidence(), heard(graph)):
        scores = labelled(graph, numbers, evidence, rounds=rounds)
        assert scores.shape == (300, 10)
        np.testing.assert_array_equal(scores[:60].argmax(axis=1), numbers[:60])


def test_few_labels_label_all_rows(graph):
    scores = labelled(graph, few(60))
    assert np.mean(scores[60:].argmax(axis=1) == y[OWN][60:]) > 0.9


@pytest.mark.parametrize("laws", [True, False])
def test_means_through_noise_label_all_rows_without_a_label(graph, laws):
    scores = labelled(graph, few(0), heard(graph, 10.0, laws))
    assert np.mean(scores.argmax(axis=1) == y[OWN]) > 0.75


def test_the_shares_that_a_source_tells_are_kept(graph):
    scores = labelled(graph, few(0), heard(graph))
    taken = np.bincount(scores.argmax(axis=1), minlength=10)
    np.testing.assert_allclose(taken, 30, atol=6)


def test_a_seed_makes_the_same_labels(graph):
    first, again = (labelled(graph, few(30), seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_class_of_which_nothing_is_known_is_no_rows_label(graph):
    scores = labelled(graph, few(60), n_classes=11)
    assert np.all(scores.argmax(axis=1) < 10)


def test_the_surest_of_every_class():
    scores = np.array([[5.0, 0], [3, 0], [1, 0], [0, 0.1], [0, 9], [0, 4]])
    assert surest(scores, 0.5).tolist() == [True, True, False, False, True, True]
    assert surest(scores, 1.0).all()
    assert surest(scores[:4], 0.0).tolist() == [True, False, False, True]
    assert surest(scores[:, :1], 0.1).all()
