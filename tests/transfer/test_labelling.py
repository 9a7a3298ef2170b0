import numpy as np
import pytest
from digits import OWN, X, element, few, y

from dptransfer.models import MembershipClassifier
from dptransfer.transfer import labelling
from dptransfer.transfer.cross_labelling import cross_residuals
from dptransfer.transfer.field import Field
from dptransfer.transfer.labelling import Evidence, label_all, surest
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.source_laws import source_laws
from dptransfer.transfer.source_means import ClassMeans, SourceMeans, source_means

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


# Which autoencoders go on -------------------------------------------------------------------------


def of_dimensions(*dimensions):
    return [MembershipClassifier(**MODEL | {"n_components": n}) for n in dimensions]


def found_with(graph, models, numbers, evidence=None, rounds=2):
    return label_all(X[OWN], numbers, 10, graph, evidence or Evidence(), models, 0, rounds)


def say(monkeypatch, errors):
    """Autoencoders that miss the rows by so much, by their n."""
    monkeypatch.setattr(
        labelling, "cross_residuals", lambda model, *_: errors[model.n_components].copy()
    )


def missed_by(labels, changed, seed=0):
    """Errors under which the class of so many rows is another, by lot."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(labels))[:changed]
    labels = labels.copy()
    labels[rows] = (labels[rows] + rng.integers(1, 10, changed)) % 10
    return 1 + rng.random((len(labels), 10)) - np.eye(10)[labels]


def test_the_two_in_whose_labels_fewest_rows_change_go_on(graph, monkeypatch):
    models, changed = of_dimensions(60, 5, 12, 1), {}
    given = [model.get_params() for model in models]

    def noted(model, X, labels, taught, *more):
        errors = cross_residuals(model, X, labels, taught, *more)
        changes = np.mean(errors.argmin(axis=1)[taught] != labels[taught])
        changed.setdefault(model.n_components, []).append(changes)
        return errors

    monkeypatch.setattr(labelling, "cross_residuals", noted)
    kept = found_with(graph, models, few(60), rounds=3).models
    first = {n: changes[0] for n, changes in changed.items()}
    best = sorted(first, key=first.get)[:2]
    assert [model.n_components for model in kept] == [n for n in first if n in best]
    assert best != [60, 5]
    assert {n: len(each) for n, each in changed.items()} == {
        n: 3 if n in best else 1 for n in first
    }
    assert [model.get_params() for model in models] == given


def test_of_dimensions_that_are_alike_the_larger_go_on(graph, monkeypatch):
    labels = y[OWN]
    alike, worse = missed_by(labels, 5), missed_by(labels, 60)
    say(monkeypatch, {3: alike, 5: worse, 8: alike, 13: alike})
    for order in ((3, 5, 8, 13), (13, 8, 5, 3)):
        kept = found_with(graph, of_dimensions(*order), few(60)).models
        assert [model.n_components for model in kept] == [n for n in order if n in (8, 13)]


def test_rows_too_doubtful_to_be_taught_do_not_count(graph, monkeypatch):
    def errors(model, X, labels, taught, *_):
        others = {3: ~taught, 5: taught & (np.arange(300) % 9 == 0), 8: np.zeros(300, dtype=bool)}
        return 1 - np.eye(10)[np.where(others[model.n_components], (labels + 1) % 10, labels)]

    monkeypatch.setattr(labelling, "cross_residuals", errors)
    kept = found_with(graph, of_dimensions(3, 5, 8), few(60), rounds=1).models
    assert [model.n_components for model in kept] == [3, 8]


def test_a_single_one_is_kept_as_it_came(graph):
    """With more dimensions than the table has columns, of which it can use as many as there are."""
    (model,) = of_dimensions(100)
    given = model.get_params()
    (kept,) = found_with(graph, [model], few(60), rounds=1).models
    assert kept is model
    assert kept.get_params() == given


@pytest.mark.parametrize("rounds", [1, 2])
def test_what_two_miss_is_averaged(graph, rounds, monkeypatch):
    one, two, bad = (missed_by(y[OWN], changed, changed) for changed in (60, 61, 200))
    say(monkeypatch, {3: one, 5: two, 8: (one + two) / 2, 13: bad})

    def scores(*dimensions):
        return found_with(graph, of_dimensions(*dimensions), few(60), rounds=rounds).scores

    np.testing.assert_array_equal(scores(3, 5), scores(8))
    np.testing.assert_array_equal(scores(13, 3, 5), scores(8))
    assert np.any(scores(3) != scores(8))


@pytest.mark.parametrize("told", [True, False])
def test_without_a_round_no_autoencoder_is_asked(graph, told, monkeypatch):
    monkeypatch.setattr(labelling, "cross_residuals", None)
    evidence = heard(graph) if told else Evidence()
    models = of_dimensions(3, 5, 8)
    found = found_with(graph, models, few(60), evidence, rounds=0)
    assert np.mean(found.scores.argmax(axis=1) == y[OWN]) > 0.8
    assert list(found.models) == models


# Who knows nothing is not heard -------------------------------------------------------------------


def test_autoencoders_that_find_known_labels_by_luck_change_no_label(graph, monkeypatch):
    numbers = few(60)
    before = found_with(graph, [], numbers, rounds=0).scores
    lots = np.random.default_rng(1).random((300, 10))
    say(monkeypatch, {5: lots})
    found = found_with(graph, of_dimensions(5), numbers)
    assert not found.heard
    np.testing.assert_array_equal(found.scores, before)
    lots[:60] = missed_by(y[OWN], 30)[:60]
    found = found_with(graph, of_dimensions(5), numbers)
    assert found.heard
    assert np.any(found.scores != before)


def test_what_they_said_before_is_taken_back(graph, monkeypatch):
    errors = [missed_by(y[OWN], 30), missed_by(y[OWN], 300), missed_by(y[OWN], 30)]
    rounds = iter(errors)
    monkeypatch.setattr(labelling, "cross_residuals", lambda *_: next(rounds))
    found = found_with(graph, of_dimensions(5), few(60), rounds=3)
    assert not found.heard
    assert len(list(rounds)) == 1  # nobody was asked once more
    before = found_with(graph, [], few(60), rounds=0).scores
    np.testing.assert_array_equal(found.scores, before)


def test_luck_is_that_of_the_classes_that_have_labels(graph, monkeypatch):
    """Of two classes half are found by luck, however many more a source may know."""
    numbers = np.where(np.isin(y[OWN], [3, 4]), few(200), -1)
    known = np.flatnonzero(numbers >= 0)
    errors = 1 - np.eye(10)[y[OWN]]
    errors[known[::2]] = 1 - np.eye(10)[7 - y[OWN][known[::2]]]
    say(monkeypatch, {5: errors})
    assert len(known) > 30
    assert not found_with(graph, of_dimensions(5), numbers, heard(graph)).heard


def test_without_a_label_nobody_can_say_that_it_is_luck(graph, monkeypatch):
    say(monkeypatch, {5: np.random.default_rng(1).random((300, 10))})
    assert found_with(graph, of_dimensions(5), few(0), heard(graph)).heard


def two_ends(labels=30):
    """Rows of one cloud and labels that neighbours cannot find, but class means can."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((120, 20))
    truth = (rows[:, 0] > 0).astype(int)
    return rows, truth, np.where(np.arange(120) < labels, truth, -1)


@pytest.mark.parametrize("rounds", [0, 2])
def test_where_neighbours_know_nothing_no_field_and_no_shares_are_heard(rounds):
    rows, truth, numbers = two_ends()
    graph = Neighbourhood(rows)
    means = np.array([rows[truth == c].mean(axis=0) for c in range(2)]) - graph.mean
    shares = np.array([0.3, 0.7])
    told = SourceMeans(means, np.full(2, 0.01), shares)
    field = Field(graph, told, np.arange(2))
    seen = told.seen(graph.directions, np.arange(2), 2)
    laws = np.random.default_rng(1).standard_normal((120, 2))

    def scores(**evidence):
        models = of_dimensions(3)
        return label_all(
            rows, numbers, 2, graph, Evidence(means=[seen], **evidence), models, 0, rounds
        ).scores

    for heard_all_the_same in ({}, {"laws": [laws]}):
        np.testing.assert_array_equal(
            scores(fields=[field], shares=shares, **heard_all_the_same),
            scores(**heard_all_the_same),
        )
    assert np.any(scores(laws=[laws]) != scores())


def test_neighbours_that_are_not_asked_are_not_asked_again(monkeypatch):
    rows, _, numbers = two_ends()
    graph, asked = Neighbourhood(rows), []
    spread = graph.spread
    monkeypatch.setattr(graph, "spread", lambda *given: asked.append(given) or spread(*given))
    for rounds in (0, 2):
        label_all(rows, numbers, 2, graph, Evidence(), of_dimensions(3), 0, rounds)
    assert len(asked) == 4  # labels, and each of them alone, for either first guess


@pytest.mark.parametrize("rounds", [0, 1])
def test_whether_neighbours_are_asked_can_be_said(graph, rounds):
    told = heard(graph)
    numbers = few(60)

    def scores(evidence, neighbours):
        models = of_dimensions(5)
        return label_all(
            X[OWN], numbers, 10, graph, evidence, models, 0, rounds, neighbours=neighbours
        ).scores

    np.testing.assert_array_equal(scores(told, None), scores(told, True))
    assert np.any(scores(told, True) != scores(told, False))
    np.testing.assert_array_equal(
        scores(told, False), scores(told._replace(fields=(), shares=None), False)
    )


def test_means_that_sources_tell_take_part_in_the_first_guess():
    rows, truth, numbers = two_ends(labels=16)
    graph = Neighbourhood(rows)
    means = np.array([graph.coordinates[truth == c].mean(axis=0) for c in range(2)])

    def right(*told):
        found = label_all(rows, numbers, 2, graph, Evidence(means=told), [], 0, 0)
        return np.mean(found.scores.argmax(axis=1) == truth)

    assert right(ClassMeans(means, np.zeros(2))) > right() + 0.1


def test_the_surest_of_every_class():
    scores = np.array([[5.0, 0], [3, 0], [1, 0], [0, 0.1], [0, 9], [0, 4]])
    assert surest(scores, 0.5).tolist() == [True, True, False, False, True, True]
    assert surest(scores, 1.0).all()
    assert surest(scores[:4], 0.0).tolist() == [True, False, False, True]
    assert surest(scores[:, :1], 0.1).all()
