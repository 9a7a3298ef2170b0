"""A release out to its file and in again, to the bit; and files that are none."""

import copy

import numpy as np
import pytest
from forgeries import array, changed
from guarantees import element
from sklearn.datasets import load_digits

from dptransfer import Release
from dptransfer.errors import BudgetExceeded, DPTransferError, ReleaseError
from dptransfer.privacy import Ledger
from dptransfer.transfer import container, making
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.release_file import arrays_of, release_of

DIGITS, LABELS = load_digits(return_X_y=True)
X, Y = DIGITS[:300], LABELS[:300]
SMALL = {"n_layers": 3, "max_inducing": 0.2, "random_state": 0}


def make(rows=X, labels=Y, **options):
    options = (
        {"epsilon": 1.0, "delta": 1e-5, "bounds": (0, 16), "classes": range(10)} | SMALL | options
    )
    return Release.from_samples(rows, labels, **options)


@pytest.fixture(scope="module")
def release():
    return make(name="digits", keep_samples=True)


@pytest.fixture
def saved(release, tmp_path):
    path = tmp_path / "digits.release"
    release.save(path)
    return path


def assert_same(found, expected, rows=DIGITS[300:500]):
    assert type(found) is type(expected)
    assert found.manifest == expected.manifest
    assert found.guarantee == expected.guarantee
    assert found.per_record == expected.per_record
    assert found.columns == expected.columns
    for name, ours, theirs in zip(
        expected.summary._fields, found.summary, expected.summary, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        assert ours.dtype == theirs.dtype
    assert (found.samples is None) == (expected.samples is None)
    if expected.samples is not None:
        for ours, theirs in zip(found.samples, expected.samples, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
    if isinstance(rows, np.ndarray):
        rows = rows[:, -len(expected.columns) :]
    rows = expected.encode(rows)
    np.testing.assert_array_equal(found.model.classes_, expected.model.classes_)
    np.testing.assert_array_equal(found.model.residuals(rows), expected.model.residuals(rows))
    np.testing.assert_array_equal(found.model.predict(rows), expected.model.predict(rows))


def test_it_comes_back_to_the_bit(release, saved):
    assert_same(Release.load(saved), release)


def test_what_was_loaded_is_saved_as_the_same_file(saved, tmp_path):
    Release.load(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def texts():
    return np.where(Y % 2, "an odd one", "évén")


RELEASES = {
    "without samples": make,
    "classes that are texts": lambda: make(labels=texts(), classes=["évén", "an odd one"]),
    "one column": lambda: make(X[:, 20:21], labels=Y % 2, classes=[0, 1]),
    "two rows": lambda: make(X[:2], labels=[0, 1], classes=[0, 1]),
    "constant rows": lambda: make(X[:1].repeat(9, 0), labels=np.arange(9) % 2, classes=[0, 1]),
    "more columns than rows": lambda: make(X[:20], labels=np.arange(20) % 2, classes=[1, 0]),
    "Laplace noise": lambda: make(mechanism="laplace", delta=0.0),
    "a distance a column": lambda: make(distance=np.linspace(1, 16, 64)),
    "with a seed": lambda: make(insecure_seed=3),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_every_release_comes_back(kind, tmp_path):
    release = RELEASES[kind]()
    release.save(tmp_path / "file")
    assert_same(Release.load(tmp_path / "file"), release)


def test_categories_and_fills_come_back(tmp_path):
    columns = Columns.parse_bounds(
        {
            "age": {"low": 0, "high": 120, "fill": 50},
            "sex": {"categories": ["f", "m"]},
            "pain": {"categories": ["none", "some", "much"], "fill": "none"},
        }
    )
    noise = making.CellNoise(columns, 1.0, 1e-5)
    maker = making.ReleaseMaker(columns, ["ill", "well"], noise, name="clinic", **SMALL)
    rng = np.random.default_rng(0)
    block = {
        "age": rng.uniform(0, 120, 40),
        "sex": rng.choice(np.array(["f", "m"], dtype=object), 40),
        "pain": rng.choice(np.array(["none", "some", "much", None], dtype=object), 40),
    }
    maker.add(block, np.array(["ill", "well"] * 20, dtype=object))
    release = maker.finish()
    release.save(tmp_path / "file")
    assert_same(Release.load(tmp_path / "file"), release, block)
    assert release.columns.features == ["age", "sex=m", "pain=none", "pain=some", "pain=much"]


def test_a_model_too_large_for_the_memory_is_the_same(monkeypatch, tmp_path):
    expected = make(insecure_seed=1)
    monkeypatch.setattr(making, "IN_MEMORY", 0)
    monkeypatch.setattr("dptransfer.transfer.release_file.IN_MEMORY", 0)
    on_disk = make(insecure_seed=1)
    layer = on_disk.model.autoencoders_[0].parts_[0].layers_[0]
    assert isinstance(layer.coef_.base, np.ndarray), "it was kept in memory"
    on_disk.save(tmp_path / "file")
    assert_same(Release.load(tmp_path / "file"), expected)


# The ledger ---------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    book = Ledger.create(tmp_path / "book.ledger")
    book.set_budget("digits", element(1.5, 1e-4, 16.0))
    return book


def test_it_is_entered_when_it_is_made(book):
    make(name="digits", ledger=book)
    assert [entry.release for entry in book.entries("digits")] == [1]
    with pytest.raises(BudgetExceeded):
        make(name="digits", ledger=book)
    assert len(book.entries("digits")) == 1


def test_no_noise_is_drawn_that_the_budget_does_not_allow(book, monkeypatch):
    monkeypatch.setattr(making.CellNoise, "perturb", None)
    with pytest.raises(BudgetExceeded):
        make(name="digits", ledger=book, epsilon=2.0)


def test_both_units_are_entered(book):
    book.set_budget("digits", element(1.5, 1e-4, 16.0).per_record(64))
    make(name="digits", ledger=book)
    assert {entry.guarantee.unit for entry in book.entries("digits")} == {"element", "record"}


def test_it_is_entered_before_it_can_be_seen(release, book, tmp_path):
    path = tmp_path / "digits.release"
    seen = []

    class Book:
        units = book.units

        def spend(self, *stated):
            seen.append(path.exists())
            return book.spend(*stated)

    release.save(path, ledger=Book())
    assert seen == [False]
    assert path.exists()
    assert len(book.entries("digits")) == 1


def test_what_the_ledger_refuses_is_no_file(release, book, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    release.save(folder / "first", ledger=book)
    with pytest.raises(BudgetExceeded):
        release.save(folder / "second", ledger=book)
    assert [path.name for path in folder.iterdir()] == ["first"]


# Files that are none ------------------------------------------------------------------------------


def test_a_file_is_not_overwritten_unasked(release, saved):
    with pytest.raises(DPTransferError, match="there already"):
        release.save(saved)
    release.save(saved, overwrite=True)


def test_files_of_another_kind_are_refused(tmp_path):
    container.write(tmp_path / "model", "model", {}, {})
    with pytest.raises(ReleaseError, match="kind 'model'"):
        Release.load(tmp_path / "model")
    with pytest.raises(ReleaseError, match="no file"):
        Release.load(tmp_path / "nowhere")


def added(manifest, arrays):
    arrays["model.extra"] = np.zeros(3)


def wide_names(manifest, arrays):
    """A file of a megabyte whose features' names would take a terabyte."""
    categories = [str(k) for k in range(10**5)]
    manifest["columns"][0] = {"name": "x" * 10**7, "categories": categories}


FORGED = {
    "no name": changed("name", to=KeyError),
    "a name on two lines": changed("name", to="a\nb"),
    "a name that is a number": changed("name", to=3),
    "no classes": changed("classes", to=KeyError),
    "a class twice": changed("classes", 1, to=0),
    "a class that is a list": changed("classes", 1, to=[[]]),
    "classes of two kinds": changed("classes", 1, to="one"),
    "one class fewer": changed("classes", to=lambda c: c[:-1]),
    "a class of no size": changed("class_sizes", 0, to=0),
    "a size that is true": changed("class_sizes", 0, to=True),
    "sizes moved": changed("class_sizes", to=lambda sizes: sizes[::-1]),
    "more rows": changed("n_rows", to=lambda n: n + 1),
    "no columns": changed("columns", to=[]),
    "columns that are texts": changed("columns", to="abc"),
    "a column without bounds": changed("columns", 0, to={"name": "x0"}),
    "a column of another name": changed("columns", 0, "name", to="y"),
    "a column fewer": changed("columns", to=lambda c: c[:-1]),
    "a column twice": changed("columns", 0, "name", to="x1"),
    "a bound that is a text": changed("columns", 0, "low", to="0"),
    "a category that is a list": changed("columns", 0, to={"name": "x0", "categories": [[], {}]}),
    "features of other names": changed("features", 0, to="y"),
    "a feature that is a number": changed("features", 0, to=0),
    "names without end": wide_names,
    "no guarantee": changed("guarantee", to=KeyError),
    "a guarantee that is a text": changed("guarantee", to="strong"),
    "a guarantee without delta": changed("guarantee", "delta", to=KeyError),
    "a guarantee with more": changed("guarantee", to=lambda g: g | {"more": 1}),
    "a negative epsilon": changed("guarantee", "epsilon", to=-1),
    "a better epsilon": changed("guarantee", "epsilon", to=0.1),
    "a better delta": changed("guarantee", "delta", to=0),
    "another distance": changed("guarantee", "distance", to=1.0),
    "distances that are a dict": changed("guarantee", "distance", to={"a": 1}),
    "a guarantee for a record": changed(
        "guarantee", to=lambda g: g | {"unit": "record", "adjacency": "replace-values"}
    ),
    "a record's guarantee for a cell": changed(
        "per_record", to=lambda g: g | {"unit": "element", "adjacency": "d-adjacency"}
    ),
    "no noise": changed("noise", to=KeyError),
    "another noise": changed("noise", "mechanism", to="none"),
    "a noise that is a list": changed("noise", "mechanism", to=[]),
    "an epsilon without end": changed("noise", "epsilon", to=1e300),
    "a noise's distances": changed("noise", "distances", to=[1.0] * 64),
    "a noise's distances, fewer": changed("noise", "distances", to=[16.0]),
    "a grid of nothing": changed("noise", "grid", to=0),
    "a grid too long": changed("noise", "grid", to=[0.5] * 65),
    "a grid that is a text": changed("noise", "grid", to="fine"),
    "seeded or not": changed("noise", "insecure_seed", to=None),
    "no parameters": changed("parameters", to=KeyError),
    "parameters of something else": changed("parameters", to={"hidden_layers": 3}),
    "a parameter that is a text": changed("parameters", "n_components", to="many"),
    "no model": array("model.coef", KeyError),
    "half a model": array("model.coef", lambda a: a[:-1]),
    "a model of other columns": array("model.coef", lambda a: np.hstack([a, a[:, :1]])),
    "an array too many": added,
    "rows without labels": array("samples.labels", KeyError),
    "labels without rows": array("samples.rows", KeyError),
    "samples of another class": array("samples.labels", lambda a: np.where(a, a, 1).astype("i4")),
    "samples of no class": array("samples.labels", lambda a: a - 1),
    "fewer samples": array("samples.rows", lambda a: a[:-1]),
    "samples of other columns": array("samples.rows", lambda a: a[:, :-1]),
    "samples of another type": array("samples.rows", lambda a: a.astype(np.float64)),
    "no sums": array("summary.sums", KeyError),
    "other counts": array("summary.counts", lambda a: a[::-1].copy()),
    "sums of fewer classes": array("summary.sums", lambda a: a[:-1]),
    "sums of another type": array("summary.sums", lambda a: a.astype(np.float32)),
    "no subspace": array("summary.subspace", lambda a: a[:0]),
    "a subspace that is a number": array("summary.subspace", lambda a: np.zeros(())),
    "a subspace too large": array("summary.subspace", lambda a: np.vstack([a, a, a])),
    "moments of fewer directions": array("summary.moments", lambda a: a[:, :-1]),
    "noise without variance": array("summary.noise_variance", lambda a: 0 * a),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_manifest_and_arrays_must_fit_each_other(release, tmp_path, forgery):
    """Forgeries with a digest of their own, so that only what they say gives them away."""
    manifest, arrays = copy.deepcopy(release.manifest), arrays_of(release)
    FORGED[forgery](manifest, arrays)
    path = tmp_path / "forged"
    container.write(path, "release", manifest, arrays)
    with pytest.raises(ReleaseError) as refused:
        Release.load(path)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)


def test_the_forger_changed_what_was_good(release):
    assert_same(release_of(release.manifest, arrays_of(release)), release)
