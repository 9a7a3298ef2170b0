import numpy as np
import pytest
from releases import release_of_cells
from sklearn.datasets import load_digits

from dptransfer import Release
from dptransfer.errors import DataError
from dptransfer.transfer.alignment import align, covers
from dptransfer.transfer.columns import Columns

X, y = load_digits(n_class=2, return_X_y=True)
RNG = np.random.default_rng(0)


def released(columns, rows, name="owner"):
    return Release.from_samples(
        rows,
        np.arange(len(rows)) % 2,
        epsilon=50.0,
        delta=1e-3,
        bounds=columns,
        classes=[0, 1],
        name=name,
        random_state=0,
    )


@pytest.fixture(scope="module")
def clinic():
    columns = Columns.parse_bounds({"age": [0, 100], "pulse": [40, 240]})
    return released(columns, RNG.uniform([0, 40], [100, 240], (40, 2)))


def test_rows_come_to_the_owners_units(clinic):
    rows = RNG.uniform([0, 40], [100, 240], (10, 2))
    found = align(clinic, rows)
    assert found.kind == "same columns"
    np.testing.assert_allclose(found(rows), clinic.encode(rows))
    assert found(rows.astype(np.float32)).dtype == np.float32


def test_columns_are_found_by_name_whatever_their_order_and_units(clinic):
    ours = Columns.parse_bounds({"note": [0, 9], "pulse": [0, 250], "age": [0, 50]})
    cells = {
        "note": RNG.uniform(0, 9, 8),
        "pulse": RNG.uniform(40, 240, 8),
        "age": RNG.uniform(0, 50, 8),
    }
    found = align(clinic, ours.encode(cells), ours)
    assert found.kind == "same columns"
    expected = clinic.columns.encode(cells)
    np.testing.assert_allclose(found(ours.encode(cells)), expected, atol=1e-12)


def test_the_same_declarations_need_no_arithmetic(clinic):
    found = align(clinic, RNG.random((5, 2)), clinic.columns)
    assert found.kind == "same columns"
    assert found.offset is found.matrix is found.picked is None


def test_categories_are_matched_as_features():
    theirs = Columns.parse_bounds({"sex": {"categories": ["f", "m", "x"]}, "age": [0, 100]})
    ours = Columns.parse_bounds({"age": [0, 200], "sex": {"categories": ["f", "m", "x"]}})
    sex = RNG.choice(["f", "m", "x"], 30).astype(object)
    cells = {"sex": sex, "age": RNG.uniform(0, 100, 30)}
    release = release_of_cells(theirs, cells, np.repeat(["a", "b"], 15), ["a", "b"])
    found = align(release, ours.encode(cells), ours)
    assert found.kind == "same columns"
    np.testing.assert_allclose(found(ours.encode(cells)), theirs.encode(cells), atol=1e-12)


def test_other_names_are_other_columns_even_if_they_are_as_many(clinic):
    ours = Columns.parse_bounds({"height": [0, 2], "weight": [0, 200]})
    assert align(clinic, RNG.random((9, 2)), ours).kind == "subspace"


def test_names_that_only_count_are_trusted_only_if_all_are_there():
    assert covers(["x1", "x0"], ["x0", "x1"])
    assert not covers(["x0", "x1", "x2"], ["x0", "x1"])
    assert covers(["age", "id", "pulse"], ["age", "pulse"])
    assert covers(["x0", "y"], ["x0"])
    assert not covers(["age"], ["age", "pulse"])


@pytest.mark.parametrize("rows", [X[:1, :30], np.ones((5, 30))])
def test_a_table_without_spread_cannot_be_aligned(rows):
    release = released((0, 16), X)
    with pytest.raises(DataError, match="at least two rows that differ"):
        align(release, rows)


def test_units_that_are_plainly_others_are_refused(clinic):
    with pytest.raises(DataError, match="in the owner's units"):
        align(clinic, np.array([[40.0, 80.0], [36500.0, 80.0]]))


def test_aligned_rows_lie_in_a_space_of_the_common_dimension():
    release = released((0, 16), X)
    found = align(release, X[:, 8:40])
    assert np.linalg.matrix_rank(found.matrix) <= 32
    assert found(X[:, 8:40]).shape == (len(X), 64)
    lengths = np.linalg.norm(found(X[:, 8:40]), axis=1)
    assert np.all(lengths <= np.linalg.norm(X[:, 8:40], axis=1) * (1 + 1e-9))
