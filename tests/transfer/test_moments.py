"""Record-level releases: what is summed, by how far a record moves it, and what is made of it."""

import math

import numpy as np
import pytest
from guarantees import element, record
from sklearn.datasets import load_digits

from dptransfer import Release, TransferClassifier
from dptransfer.errors import (
    BudgetExceeded,
    DataError,
    DeclarationError,
    LedgerError,
    OutsideBoundsError,
    ParameterError,
)
from dptransfer.privacy import Ledger
from dptransfer.privacy.clipping import pack_symmetric
from dptransfer.privacy.gaussian_budget import ShareNoise
from dptransfer.privacy.passes import directions, project
from dptransfer.transfer import making, moment_making, moments_plan
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.moment_making import MomentMaker
from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.moment_steps import centres_of
from dptransfer.transfer.noise_twin import noise_twin

X, Y = load_digits(return_X_y=True)
DECLARED = {"epsilon": 1.0, "delta": 1e-5, "bounds": (0, 16), "classes": range(10)}


def make(rows=X, labels=Y, **options):
    return Release.from_moments(rows, labels, **DECLARED | options)


@pytest.fixture
def few_directions(monkeypatch):
    """So that the 64 pixels of a digit need a subspace."""
    monkeypatch.setattr(moments_plan, "MOST_DIRECTIONS", 12)


@pytest.fixture
def totals(monkeypatch):
    """Releases without noise, and what was given to it: (distance, total) by part."""
    given = {}

    def perturb(self, X, *, progress=None):
        given[self.name] = (self.distance, X.copy())
        return X

    monkeypatch.setattr(ShareNoise, "perturb", perturb)
    return given


# Totals -------------------------------------------------------------------------------------------


def test_the_totals_are_those_of_a_plain_transcription(totals, few_directions):
    made = make(radius=3.0, centre=0.25).summary
    z = X / 16 - 0.25
    z *= np.minimum(1, 3.0 / np.linalg.norm(z, axis=1))[:, None]
    members = np.eye(10)[Y]
    np.testing.assert_array_equal(made.counts, np.bincount(Y))
    np.testing.assert_allclose(made.lengths, (z**2).sum(), rtol=1e-4)
    np.testing.assert_allclose(made.sums, members.T @ z, atol=0.02)

    w = z - made.centres[Y]
    R, near, nearest = made.radii
    assert R == 3.0
    between = np.bincount(Y) @ (made.centres**2).sum(axis=1)  # lengths within are what is left
    assert near**2 == pytest.approx(
        moments_plan.NEARER * ((z**2).sum() - between) / len(z), rel=1e-3
    )
    w *= np.minimum(1, near / np.linalg.norm(w, axis=1))[:, None]
    scatter = totals["subspace"][1]
    np.testing.assert_allclose(scatter, pack_symmetric(w.T @ w), atol=0.05)
    apart = made.centres - np.bincount(Y) @ made.centres / len(Y)
    spread = w.T @ w + (apart.T * np.bincount(Y)) @ apart
    leading = np.linalg.eigvalsh(spread)[-12:].sum()
    V = made.subspace
    assert np.trace(V @ spread @ V.T) == pytest.approx(leading, rel=1e-4)

    v = w @ V.T
    assert nearest**2 == pytest.approx(moments_plan.NEAREST * (v**2).sum() / len(v), rel=1e-3)
    v *= np.minimum(1, nearest / np.linalg.norm(v, axis=1))[:, None]
    np.testing.assert_allclose(made.offsets, members.T @ v, atol=0.02)
    moments = np.einsum("nc,ni,nj->cij", members, v, v)
    np.testing.assert_allclose(made.moments, moments, atol=0.02)


@pytest.mark.parametrize("directions", [12, 64])
def test_no_record_moves_a_total_by_more_than_its_distance(monkeypatch, directions):
    """Given what was released before, in any order of rows and any cut into blocks."""
    monkeypatch.setattr(moments_plan, "MOST_DIRECTIONS", directions)
    perturb, released, given, replay = ShareNoise.perturb, {}, {}, False

    def recorded(self, X, *, progress=None):
        given.setdefault(self.name, []).append((self.distance, X.copy()))
        if not replay:
            released[self.name] = perturb(self, X)
        return released[self.name]

    monkeypatch.setattr(ShareNoise, "perturb", recorded)
    rng = np.random.default_rng(0)
    edge = rng.choice([0.0, 16.0], 64)  # as far from the centre as a record can be
    near, far = [], []
    for row, label in ((edge, 3), (X[5], Y[5]), (np.full(64, 8.0), 0)):
        given.clear()
        replay = False
        make(X[:300], Y[:300], radius=3.0, epsilon=8.0)
        replay = True
        order = rng.permutation(301)
        monkeypatch.setattr(making, "BLOCK_VALUES", int(rng.integers(64, 5000)))
        rows, labels = np.vstack([X[:300], row])[order], np.append(Y[:300], label)[order]
        make(rows, labels, radius=3.0, epsilon=8.0)
        parts = set(moments_plan.plan_for(64).shares)
        assert given.keys() == parts
        for part, ((distance, before), (same, after)) in given.items():
            assert distance == same
            moved = np.linalg.norm((after - before).ravel())
            assert moved <= distance, part
            (near if moved < distance / 2 else far).append(part)
    assert set(far) == parts, "no record was far enough to test the distance"


@pytest.mark.parametrize("values", [64, 64 * 7, 2**20])
def test_the_cut_into_blocks_changes_no_digit(monkeypatch, few_directions, values):
    expected = make(X[:300], Y[:300], insecure_seed=1)
    monkeypatch.setattr(making, "BLOCK_VALUES", values)
    found = make(X[:300], Y[:300], insecure_seed=1)
    for ours, theirs in zip(found.summary, expected.summary, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_are_seen_through_directions_without_rounding(monkeypatch, few_directions):
    """Which `test_passes.py` shows of `project`; a matrix product of floats is not enough."""
    rows = []

    def counted(*arguments):
        rows.append(len(arguments[0]))
        return project(*arguments)

    monkeypatch.setattr(moment_making, "project", counted)
    made = make()
    assert sum(rows) == len(X)
    np.testing.assert_array_equal(made.summary.subspace, directions(made.summary.subspace))


def test_noise_is_on_everything_and_as_large_as_it_says(monkeypatch, few_directions):
    noisy = make()
    drawn = {}

    def replaced(self, X, *, progress=None):
        drawn[self.name] = (self.sigma, X.shape)
        return X

    assert not np.any(noisy.summary.counts == np.bincount(Y))
    apart = []
    for _ in range(10):
        again = make(X[:50], Y[:50]).summary
        apart.append((again.counts - np.bincount(Y[:50])) / again.deviations[0])
    assert np.std(apart) == pytest.approx(1, abs=0.25)
    monkeypatch.setattr(ShareNoise, "perturb", replaced)
    make()
    assert list(drawn) == list(moments_plan.PARTS)
    for (sigma, _), told in zip(drawn.values(), noisy.summary.deviations[:3], strict=False):
        assert sigma == told


# The promise --------------------------------------------------------------------------------------


def test_it_speaks_of_a_record_wherever_it_speaks():
    made = make()
    assert isinstance(made, MomentRelease)
    assert made.guarantee.unit == "record"
    assert made.guarantee.adjacency == "add-or-remove"
    assert made.per_record == made.guarantee
    assert (made.guarantee.epsilon, made.guarantee.delta) == (1.0, 1e-5)
    said = made.guarantee.statement()
    assert "one whole row with its label, and whether it is there at all" in said
    assert "the labels" not in said
    assert "one cell" not in said
    assert "several records of one person" in said
    assert "n_rows" not in made.manifest
    assert "class_sizes" not in made.manifest
    assert "INSECURE" in make(insecure_seed=1).guarantee.statement()


def test_a_class_without_rows_is_not_told_from_one_with_few():
    made = make(X[Y < 9], Y[Y < 9])
    assert len(made.summary.counts) == 10
    labels = made.model.predict(made.encode(X))
    assert labels.shape == Y.shape
    assert np.all(np.isfinite(made.model.decision_function(made.encode(X))))


def test_it_is_entered_for_a_record_before_it_is_returned(tmp_path):
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("digits", record(1.5, 1e-4))
    make(name="digits", ledger=book)
    assert [entry.guarantee.unit for entry in book.entries("digits")] == ["record"]
    with pytest.raises(BudgetExceeded):
        make(name="digits", ledger=book)


def test_no_noise_is_drawn_that_the_budget_does_not_allow(tmp_path, monkeypatch):
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("digits", record(0.5, 1e-4))
    monkeypatch.setattr(ShareNoise, "perturb", None)
    with pytest.raises(BudgetExceeded):
        make(name="digits", ledger=book)


def test_a_budget_for_cells_is_not_passed_over(tmp_path):
    """A cell of a record costs no more than the record going and another one coming."""
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("digits", record(1.5, 1e-4))
    book.set_budget("digits", element(2.0, 1e-4, 16.0))
    make(name="digits", ledger=book)
    entered = {entry.guarantee.unit: entry.guarantee for entry in book.entries("digits")}
    assert entered["element"].epsilon == 2.0
    assert entered["element"].delta == pytest.approx(1e-5 * (1 + math.e))
    assert entered["element"].distance == 16.0


def test_a_budget_for_another_kind_of_neighbours_is_refused(tmp_path):
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("digits", record(1.5, 1e-4, "replace-record"))
    with pytest.raises(ParameterError, match="adjacency"):
        make(name="digits", ledger=book)
    with pytest.raises(LedgerError, match="no budget"):
        make(name="others", ledger=book)


# What is refused, and what is not -----------------------------------------------------------------


def changed(value):
    rows = X.copy()
    rows[7, 3] = value
    return rows


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"radius": 0}, DeclarationError, "distance|radius"),
        ({"radius": -1.0}, DeclarationError, "distance|radius"),
        ({"radius": math.nan}, DeclarationError, "distance|radius"),
        ({"radius": "wide"}, DeclarationError, "distance|radius"),
        ({"centre": math.inf}, DeclarationError, "centre"),
        ({"centre": [0.5] * 3}, DeclarationError, "centre"),
        ({"delta": 0}, ParameterError, "delta"),
        ({"epsilon": -1.0}, ParameterError, "epsilon"),
        ({"classes": None}, DeclarationError, "classes"),
        ({"classes": range(5)}, DataError, "none of the declared classes"),
        ({"bounds": None}, DeclarationError, "bounds"),
        ({"rows": changed(math.nan)}, DataError, "row 8"),
        ({"rows": changed(math.inf)}, DataError, "row 8"),
        ({"rows": changed(17.0)}, OutsideBoundsError, "row 8"),
        ({"rows": X[:0], "labels": Y[:0]}, DataError, "no rows"),
        ({"rows": X[:5]}, DataError, "a label for each"),
    ],
)
def test_what_is_refused(options, error, said):
    with pytest.raises(error, match=said):
        make(**options)


def test_too_many_features_are_refused_before_anything_is_read():
    with pytest.raises(ParameterError, match="fewer columns"):
        make(np.zeros((4, 2049)), [0, 1, 2, 3])
    with pytest.raises(ParameterError, match="fewer columns"):
        make(np.zeros((4, 1000)), [0, 1, 2, 3], epsilon=1e-3)


def test_rows_that_change_between_passes_make_no_release():
    maker = MomentMaker(Columns.of_array(2, (0, 1)), [0, 1], 1.0, 1e-5, name="changing")
    passes = maker.passes()
    next(passes)
    maker.add(np.zeros((3, 2)), np.array([0, 1, 1]))
    next(passes)
    maker.add(np.zeros((3, 2)), np.array([0, 0, 1]))
    with pytest.raises(DataError, match="changed"):
        next(passes)
    with pytest.raises(ParameterError, match="after all passes"):
        maker.finish()


TABLES = {
    "one row": (X[:1], Y[:1], {}),
    "two classes": (X[Y < 2], Y[Y < 2], {"classes": [0, 1]}),
    "constant columns": (np.full((50, 6), 8.0), np.arange(50) % 2, {"classes": [0, 1]}),
    "one column": (X[:, 20], Y, {}),
    "labels that are texts": (
        X,
        np.array(list("abcdefghij"))[Y],
        {"classes": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]},
    ),
    "a tiny epsilon": (X, Y, {"epsilon": 0.01}),
    "a large epsilon": (X, Y, {"epsilon": 20.0}),
    "a tiny radius": (X, Y, {"radius": 1e-9}),
    "a huge radius": (X, Y, {"radius": 1e9}),
    "a centre a column": (X, Y, {"centre": np.linspace(0, 1, 64)}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_comes_to_a_release_that_is_read_again(kind, tmp_path):
    rows, labels, options = TABLES[kind]
    made = make(rows, labels, **options)
    made.save(tmp_path / "file")
    read = Release.load(tmp_path / "file")
    assert type(read) is MomentRelease
    assert read.manifest == made.manifest
    assert read.guarantee == made.guarantee
    for ours, theirs in zip(read.summary, made.summary, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    features = made.encode(np.reshape(rows, (len(rows), -1)))
    np.testing.assert_array_equal(
        read.model.decision_function(features), made.model.decision_function(features)
    )
    assert set(read.model.predict(features)) <= set(made.classes)
    np.testing.assert_allclose(read.model.predict_proba(features).sum(axis=1), 1)


def test_categories_and_fills_stream():
    columns = Columns.parse_bounds(
        {"age": {"low": 0, "high": 120, "fill": 50}, "pain": {"categories": ["no", "some", "much"]}}
    )
    maker = MomentMaker(columns, ["ill", "well"], 1.0, 1e-5, name="clinic")
    passes = []
    for doing in maker.passes():
        passes.append(doing)
        for age in (30.0, math.nan):
            maker.add({"age": np.array([age]), "pain": np.array(["some"])}, np.array(["ill"]))
    made = maker.finish()
    assert len(passes) == 2
    assert made.columns.features == ["age", "pain=no", "pain=some", "pain=much"]


# What is made of it -------------------------------------------------------------------------------


@pytest.mark.parametrize("directions", [20, 64])
def test_it_knows_digits(monkeypatch, directions):
    monkeypatch.setattr(moments_plan, "MOST_DIRECTIONS", directions)
    made = make(X[::2], Y[::2], epsilon=8.0, insecure_seed=0)
    right = made.model.predict(made.encode(X[1::2])) == Y[1::2]
    assert right.mean() > 0.8
    twin = noise_twin(made, None, np.random.default_rng(0))
    assert type(twin) is MomentRelease
    assert twin.classes == made.classes
    np.testing.assert_array_equal(twin.summary.counts, made.summary.counts)
    np.testing.assert_array_equal(twin.summary.deviations, made.summary.deviations)
    right = twin.model.predict(twin.encode(X[1::2])) == Y[1::2]
    assert right.mean() < 0.4


def test_estimates_and_their_errors(few_directions):
    made = make(insecure_seed=2, radius=4.0, epsilon=4.0)
    told = made.summary
    z = made.clip(made.encode(X))
    assert np.linalg.norm(z, axis=1).max() <= 4.0
    means = np.array([z[c == Y].mean(axis=0) for c in range(10)])
    apart = (told.means - means) / told.mean_errors
    assert apart.std() == pytest.approx(1, abs=0.2)  # noise of the counts comes to a little more
    # what is drawn to the common mean is nearer to the truth
    assert np.linalg.norm(told.centres - means) < np.linalg.norm(told.means - means)
    covariances = told.covariances
    np.testing.assert_allclose(covariances, np.swapaxes(covariances, 1, 2))
    assert np.linalg.eigvalsh(covariances).min() > 0
    np.testing.assert_allclose(told.subspace @ told.subspace.T, np.eye(12), atol=1e-8)


def test_centres_of_nothing_but_noise_are_not_believed():
    noise = np.random.default_rng(0).normal(size=(10, 500))
    assert np.linalg.norm(centres_of(noise, np.full(10, 1.0), 1.0)) < np.linalg.norm(noise) / 3
    known = noise + 1000 * np.arange(10)[:, None]
    np.testing.assert_allclose(
        centres_of(known, np.full(10, 1.0), 1.0), known, atol=0.01, rtol=1e-3
    )


def test_the_papers_strategy_says_that_it_needs_rows():
    with pytest.raises(ParameterError, match="record-level release"):
        TransferClassifier(make(), strategy="paper").fit(X[:60], Y[:60])
