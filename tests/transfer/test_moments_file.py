"""Files of record-level releases that are none."""

import copy

import numpy as np
import pytest
from forgeries import array, changed
from sklearn.datasets import load_digits

from dptransfer import Release
from dptransfer.errors import ReleaseError
from dptransfer.transfer import container, moments_plan
from dptransfer.transfer.moment_file import arrays_of, release_of
from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.sample_release import SampleRelease

X, Y = load_digits(return_X_y=True)


def make(**options):
    options = {"epsilon": 1.0, "delta": 1e-5, "bounds": (0, 16), "classes": range(10)} | options
    return Release.from_moments(X, Y, name="digits", **options)


@pytest.fixture(scope="module")
def release():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments_plan, "MOST_DIRECTIONS", 12)
        return make()


def added(manifest, arrays):
    arrays["summary.extra"] = np.zeros(3)


def without_subspace(manifest, arrays):
    del manifest["noise"]["shares"]["subspace"]


def all_shares_at_once(manifest, arrays):
    shares = manifest["noise"]["shares"]
    manifest["noise"]["shares"] = dict.fromkeys(shares, 0.5)


def larger(a):
    return a * 2


def lopsided(a):
    a = a.copy()
    a[0, 0, 1] += 1
    return a


FORGED = {
    "no name": changed("name", to=KeyError),
    "no classes": changed("classes", to=KeyError),
    "one class fewer": changed("classes", to=lambda c: c[:-1]),
    "a column fewer": changed("columns", to=lambda c: c[:-1]),
    "features of other names": changed("features", 0, to="y"),
    "no guarantee": changed("guarantee", to=KeyError),
    "a guarantee that is a text": changed("guarantee", to="strong"),
    "a better epsilon": changed("guarantee", "epsilon", to=0.1),
    "a better delta": changed("guarantee", "delta", to=0),
    "a guarantee for a cell": changed(
        "guarantee", to=lambda g: g | {"unit": "element", "adjacency": "d-adjacency"}
    ),
    "other neighbours": changed("guarantee", "adjacency", to="replace-record"),
    "less left open": changed("guarantee", "not_covered", to=[]),
    "another mechanism": changed("guarantee", "mechanism", to="magic"),
    "two promises": changed("per_record", "epsilon", to=0.5),
    "no noise": changed("noise", to=KeyError),
    "noise that is a list": changed("noise", to=[]),
    "another noise": changed("noise", "mechanism", to="optimal"),
    "a better epsilon of the noise": changed("noise", "epsilon", to=0.1),
    "an epsilon that is a text": changed("noise", "epsilon", to="small"),
    "an epsilon without end": changed("noise", "epsilon", to=1e300),
    "no delta": changed("noise", "delta", to=0),
    "shares that are a list": changed("noise", "shares", to=[0.5, 0.5]),
    "a share that is a text": changed("noise", "shares", "sums", to="half"),
    "a share of nothing": changed("noise", "shares", "sums", to=0),
    "other shares": changed("noise", "shares", "sums", to=0.05),
    "a share for something else": changed("noise", "shares", to=lambda s: s | {"more": 0.001}),
    "a subspace without a share": without_subspace,
    "more than the whole budget": all_shares_at_once,
    "another radius": changed("noise", "radius", to=1.0),
    "a radius that is a text": changed("noise", "radius", to="1"),
    "a negative radius": changed("noise", "radius", to=-4.0),
    "a centre for other columns": changed("noise", "centre", to=[0.5] * 3),
    "a centre that is a text": changed("noise", "centre", to="middle"),
    "seeded or not": changed("noise", "insecure_seed", to=None),
    "seeded, and promised as if not": changed("noise", "insecure_seed", to=True),
    "no sums": array("summary.sums", KeyError),
    "an array too many": added,
    "counts of fewer classes": array("summary.counts", lambda a: a[:-1]),
    "counts that are whole": array("summary.counts", lambda a: a.astype(np.int64)),
    "counts beyond measure": array("summary.counts", lambda a: a * 1e200),
    "sums of another type": array("summary.sums", lambda a: a.astype(np.float32)),
    "sums of other columns": array("summary.sums", lambda a: a[:, :-1]),
    "lengths without number": array("summary.lengths", lambda a: a[:0]),
    "no subspace": array("summary.subspace", lambda a: a[:0]),
    "a subspace that is a number": array("summary.subspace", lambda a: np.zeros(())),
    "directions of other columns": array("summary.subspace", lambda a: a[:, :-1]),
    "directions not of length 1": array("summary.subspace", larger),
    "the same direction twice": array("summary.subspace", lambda a: a[[0] * len(a)]),
    "moments of fewer directions": array("summary.moments", lambda a: a[:, :-1]),
    "moments that are not symmetric": array("summary.moments", lopsided),
    "moments that are huge": array("summary.moments", lambda a: a * 1e90),
    "no noise at all": array("summary.deviations", lambda a: 0 * a),
    "more noise than was drawn": array("summary.deviations", larger),
    "deviations of fewer parts": array("summary.deviations", lambda a: a[:-1]),
    "radii that grow": array("summary.radii", lambda a: a[::-1].copy()),
    "a radius of nothing": array("summary.radii", lambda a: a * [1, 1, 0]),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_manifest_and_arrays_must_fit_each_other(release, tmp_path, forgery):
    """Forgeries with a digest of their own, so that only what they say gives them away."""
    manifest, arrays = copy.deepcopy(release.manifest), arrays_of(release)
    FORGED[forgery](manifest, arrays)
    path = tmp_path / "forged"
    container.write(path, "moments", manifest, arrays)
    with pytest.raises(ReleaseError) as refused:
        Release.load(path)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)


def test_the_forger_changed_what_was_good(release, tmp_path):
    assert type(release_of(release.manifest, arrays_of(release))) is MomentRelease


def test_one_kind_does_not_pass_for_the_other(release, tmp_path):
    release.save(tmp_path / "moments")
    with pytest.raises(ReleaseError, match="another kind of release than SampleRelease"):
        SampleRelease.load(tmp_path / "moments")
    assert type(MomentRelease.load(tmp_path / "moments")) is MomentRelease
    container.write(tmp_path / "mixed", "release", release.manifest, arrays_of(release))
    with pytest.raises(ReleaseError, match="no release that can be used"):
        Release.load(tmp_path / "mixed")


def test_any_byte_that_is_changed_is_seen(release, tmp_path):
    release.save(tmp_path / "file")
    content = bytearray((tmp_path / "file").read_bytes())
    for place in np.random.default_rng(0).integers(0, len(content), 50):
        content[place] ^= 1
        (tmp_path / "changed").write_bytes(content)
        with pytest.raises(ReleaseError):
            Release.load(tmp_path / "changed")
        content[place] ^= 1


def test_a_file_stays_small():
    """As large as MNIST's, if every number in it were as wide as this."""
    C, p, k = 10, 784, moments_plan.plan_for(784).n_directions
    assert 8 * (C + 2 * C * p + k * p + C * k + C * k * k) < 2**20
