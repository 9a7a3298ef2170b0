"""Office+Caltech256 from arrays and from the MATLAB files that authors hand around."""

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from dptransfer.data.office_caltech import DOMAINS, N_SPLITS, PAIRS, load_office_caltech
from dptransfer.errors import DataError, ParameterError
from dptransfer.experiments.office_caltech import OfficeCaltechPairs
from dptransfer.experiments.published import OFFICE_CALTECH

WIDTH = 7
EACH = {"amazon": 6, "caltech": 5, "dslr": 4, "webcam": 4}  # rows of each class
OF_SOURCE, KNOWN = 2, 1


def domain(name):
    rng = np.random.default_rng(DOMAINS.index(name))
    y = np.repeat(np.arange(10), EACH[name])
    return rng.random((len(y), WIDTH)), y


def splits(source, target):
    """Rows that count from 0, the same number of each class."""
    found = []
    for k in range(N_SPLITS):
        rng = np.random.default_rng(k)
        of_source = [
            rng.permutation(EACH[source])[:OF_SOURCE] + EACH[source] * c for c in range(10)
        ]
        turned = [rng.permutation(EACH[target]) + EACH[target] * c for c in range(10)]
        known = np.concatenate([rows[:KNOWN] for rows in turned])
        test = np.concatenate([rows[KNOWN:] for rows in turned])
        found.append((np.concatenate(of_source), known, test))
    return found


def cells(lists):
    array = np.empty((1, len(lists)), dtype=object)
    for k, rows in enumerate(lists):
        array[0, k] = np.asarray(rows)
    return array


def save_split(folder, pair, lists=None):
    of_source, known, test = zip(*(lists or splits(*pair)), strict=True)
    one_based = [cells([rows + 1.0 for rows in each]) for each in (of_source, known, test)]
    savemat(
        folder / f"SameCategory_{pair[0]}-{pair[1]}_20RandomTrials_10Categories.mat",
        {
            "train": {"source": one_based[0], "target": one_based[1]},
            "test": {"source": one_based[0], "target": one_based[2]},
            "param": {"num_trials": 20},
        },
    )


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "mat"
    place.mkdir()
    for name in DOMAINS:
        X, y = domain(name)
        savemat(place / f"{name}.mat", {"fts": X, "labels": (y + 1)[:, None]})
    for pair in PAIRS:
        save_split(place, pair)
    return place


@pytest.fixture(autouse=True)
def nothing_else_at_hand(tmp_path, monkeypatch):
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def check(data):
    for name in DOMAINS:
        X, y = domain(name)
        np.testing.assert_allclose(data.domains[name][0], X)
        np.testing.assert_array_equal(data.domains[name][1], y)
    for pair in PAIRS:
        for k, rows in enumerate(splits(*pair)):
            for found, right in zip(data.split(*pair, k), rows, strict=True):
                np.testing.assert_array_equal(found, right)


def test_a_folder_of_matlab_files(folder):
    data = load_office_caltech(folder=folder)
    check(data)
    with pytest.raises(ParameterError, match="no split 20"):
        data.split("amazon", "dslr", 20)


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("amazon_VGG-FC6.mat", lambda X, y: {"FTS": X, "LABELS": y + 1}),
        ("amazon_decaf.mat", lambda X, y: {"feas": X.T, "labels": (y + 1)[:, None]}),
        (
            "AMAZON_SURF_L10.MAT",
            lambda X, y: {"features": X.astype(np.float32), "label": (y + 1)[None]},
        ),
        ("amazon.mat", lambda X, y: {"fts": X, "labels": y.astype(np.uint8)}),
    ],
)
def test_the_names_and_shapes_that_authors_use(folder, name, held):
    (folder / "amazon.mat").unlink()
    savemat(folder / name, held(*domain("amazon")), appendmat=False, do_compression=True)
    savemat(folder / "amazon_SURF_L10_imgs.mat", {"imgNames": ["a", "b"]})
    check(load_office_caltech(folder=folder))


def test_splits_in_a_folder_of_their_own_and_from_the_file(folder, tmp_path, monkeypatch):
    within = folder / "DataSplitsOfficeCaltech"
    within.mkdir()
    for path in folder.glob("SameCategory*"):
        path.rename(within / path.name)
    check(load_office_caltech(folder=folder))
    for path in within.iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"office_caltech_splits\.npz is in none of the folders"):
        load_office_caltech(folder=folder)
    arrays = {
        f"{s}-{t}/{k}/{which}": rows
        for s, t in PAIRS
        for k, three in enumerate(splits(s, t))
        for which, rows in zip(("source", "target", "test"), three, strict=True)
    }
    np.savez(tmp_path / "office_caltech_splits.npz", **arrays)
    monkeypatch.setenv("DPTRANSFER_DATA", str(tmp_path))
    check(load_office_caltech(folder=folder))
    save_split(within, PAIRS[3])
    with pytest.raises(DataError, match="lacks SameCategory_amazon-caltech"):
        load_office_caltech(folder=folder)


def test_the_papers_features_come_into_the_tables_where_they_are_at_hand(
    folder, tmp_path, monkeypatch
):
    assert not any("vgg" in task for task in OfficeCaltechPairs().tasks)
    folder.rename(tmp_path / "office_caltech_vgg")
    monkeypatch.setenv("DPTRANSFER_DATA", str(tmp_path))
    check(load_office_caltech("vgg"))
    assert sum("vgg" in task for task in OfficeCaltechPairs().tasks) == len(PAIRS)
    table = OfficeCaltechPairs().tables()[-1]
    assert "VGG-FC6" in table.title
    assert len(table.context) == sum(theirs == "VGG-FC6" for _, theirs in OFFICE_CALTECH)


def test_without_files_the_error_says_what_to_put_where(tmp_path):
    with pytest.raises(DataError, match=r"put office_caltech_cnn\.npz with the arrays amazon_x"):
        load_office_caltech()
    with pytest.raises(DataError, match=r"needs one file amazon\*\.mat .* found: none"):
        load_office_caltech(folder=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"fts": np.ones((3, 7))}, "one array called labels or label; it has 0"),
        ({"labels": np.ones(3)}, "one array called fts or feas or features; it has 0"),
        ({"fts": 1.0, "feas": 1.0, "labels": 1.0}, "fts or feas or features; it has 2"),
        ({"fts": np.ones((3, 7)), "labels": np.ones(4)}, "4 labels, but features of the shape 3"),
        ({"fts": np.ones((2, 2, 2)), "labels": np.ones(2)}, "no table of numbers"),
        ({"fts": "some text", "labels": np.ones(2)}, "no table of numbers"),
        ({"fts": csc_array(np.eye(2)), "labels": np.ones(2)}, "no table of numbers"),
        ({"fts": np.ones((2, 2)) * 1j, "labels": np.ones(2)}, "no table of numbers"),
        ({"fts": {"a": 1.0}, "labels": np.ones(2)}, "no table of numbers"),
        ({"fts": np.full((10, 7), np.nan), "labels": np.arange(10)}, "missing or infinite"),
        ({"fts": np.ones((10, 7)), "labels": np.arange(10) + 2}, "ten whole numbers"),
        ({"fts": np.ones((10, 7)), "labels": np.full(10, np.nan)}, "ten whole numbers"),
        ({"fts": np.ones((60, 8)), "labels": np.arange(60) % 10}, r"several lengths: \[7, 8\]"),
    ],
)
def test_files_that_hold_something_else(folder, held, words):
    savemat(folder / "amazon.mat", held)
    with pytest.raises(DataError, match=words) as caught:
        load_office_caltech(folder=folder)
    assert "\n" not in str(caught.value)


def test_more_numbers_than_memory_should_take(folder, monkeypatch):
    X, _ = domain("amazon")
    monkeypatch.setattr("dptransfer.data.matlab_folder.MOST", X.size)
    load_office_caltech(folder=folder)
    monkeypatch.setattr("dptransfer.data.matlab_folder.MOST", X.size - 1)
    with pytest.raises(DataError, match=r"amazon\.mat holds 420 numbers; at most 419 are read"):
        load_office_caltech(folder=folder)


def test_two_files_of_one_domain(folder):
    savemat(folder / "amazon_decaf.mat", {"feas": 1.0})
    with pytest.raises(DataError, match=r"found: amazon\.mat, amazon_decaf\.mat"):
        load_office_caltech(folder=folder)


def test_the_format_of_version_7_3_is_named(folder):
    (folder / "dslr.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(500))
    with pytest.raises(DataError, match=r"dslr\.mat is of MATLAB's version 7\.3.*'-v7'"):
        load_office_caltech(folder=folder)


def test_damaged_files_give_one_kind_of_error(folder):
    path = folder / "webcam.mat"
    whole = path.read_bytes()
    for raw in (b"", b"junk", whole[:100], whole[: len(whole) // 2], bytes(400)):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"webcam\.mat cannot be read as a MATLAB file"):
            load_office_caltech(folder=folder)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda three: three[:19], r"train\.source has 19 splits, not 20"),
        (lambda three: [(s - 1, k, t) for s, k, t in three], "something else than rows from 1"),
        (lambda three: [(s + 0.5, k, t) for s, k, t in three], "something else than rows from 1"),
        (
            lambda three: [(s + np.inf, k, t) for s, k, t in three],
            "something else than rows from 1",
        ),
        (lambda three: [(s, k, t + 99) for s, k, t in three], "of caltech, which has 50"),
        (lambda three: [(s, k, np.append(t, k[0])) for s, k, t in three], "tests on labelled rows"),
        (lambda three: [(s[1:], k, t) for s, k, t in three], "must lie in another order"),
    ],
)
def test_splits_that_do_not_fit(folder, spoil, words):
    save_split(folder, PAIRS[0], spoil(splits(*PAIRS[0])))
    with pytest.raises(DataError, match=words):
        load_office_caltech(folder=folder)


@pytest.mark.parametrize("held", [{"test": 1.0}, {"train": {"source": "abc"}}, {"train": "abc"}])
def test_splits_that_are_something_else(folder, held):
    savemat(folder / "SameCategory_dslr-amazon_20RandomTrials_10Categories.mat", held)
    with pytest.raises(DataError, match=r"SameCategory_dslr-amazon.* lacks the cells train\."):
        load_office_caltech(folder=folder)


def test_rows_in_another_order_are_noticed(folder):
    X, y = domain("caltech")
    order = np.random.default_rng(0).permutation(len(y))
    savemat(folder / "caltech.mat", {"fts": X[order], "labels": y[order] + 1})
    with pytest.raises(DataError, match="must lie in another order"):
        load_office_caltech(folder=folder)
