import numpy as np
import pytest
from releases import release_of_cells
from sklearn.datasets import load_digits

from dptransfer import Release
from dptransfer.transfer.columns import Columns
from dptransfer.transfer.noise_twin import noise_twin

X, y = load_digits(n_class=3, return_X_y=True)


@pytest.fixture(scope="module", params=["optimal", "laplace"])
def release(request):
    return Release.from_samples(
        X,
        y,
        epsilon=5.0,
        delta=1e-3,
        bounds=(0, 16),
        classes=range(3),
        mechanism=request.param,
        random_state=0,
    )


def test_the_twin_has_the_shape_of_the_release_and_knows_nothing(release):
    twin = noise_twin(release, None, np.random.default_rng(0))
    assert twin.classes == release.classes
    assert twin.columns == release.columns
    np.testing.assert_array_equal(twin.summary.counts, release.summary.counts)
    np.testing.assert_array_equal(twin.summary.noise_variance, release.summary.noise_variance)
    apart = (twin.summary.means - 0.5) / twin.summary.mean_errors
    assert np.abs(apart).max() < 5
    assert apart.std() == pytest.approx(1, abs=0.2)
    known = (release.summary.means - 0.5) / release.summary.mean_errors
    assert np.abs(known).max() > 5  # while the release itself does know


def test_the_twins_model_labels_no_better_than_chance(release):
    twin = noise_twin(release, None, np.random.default_rng(1))
    right = np.mean(twin.model.predict(X / 16.0) == y)
    assert right < 0.75  # one of three at chance, and a single draw varies
    assert twin.model.get_params()["n_layers"] == release.model.get_params()["n_layers"]


def test_a_seed_makes_the_same_twin(release):
    first, again = (noise_twin(release, None, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.summary.sums, again.summary.sums)


def test_columns_of_several_kinds_and_distances():
    columns = Columns.parse_bounds({"age": [0, 100], "sex": {"categories": ["f", "m", "x"]}})
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m", "x"], 60).astype(object)
    cells = {"age": rng.uniform(0, 100, 60), "sex": sex}
    release = release_of_cells(
        columns, cells, np.repeat(["a", "b"], 30), ["a", "b"], distance=[10.0, 1.0]
    )
    twin = noise_twin(release, None, np.random.default_rng(0))
    assert twin.n_features == 4
    np.testing.assert_array_equal(twin.summary.noise_variance, release.summary.noise_variance)
