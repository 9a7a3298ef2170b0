import numpy as np
import pytest
from sklearn.datasets import load_digits

from dptransfer import DeepMembershipAutoencoder, MembershipClassifier, MembershipMapping
from dptransfer.errors import ParameterError, ReleaseError
from dptransfer.models.packing import (
    pack_mapping,
    pack_parts,
    unpack_classifier,
    unpack_mapping,
    unpack_parts,
)

DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS = DIGITS / 16.0
NEW = DIGITS[1000:1300]
ROWS = {
    "many": DIGITS[:200],
    "one row": DIGITS[:1],
    "two rows": DIGITS[:2],
    "constant rows": DIGITS[:1].repeat(5, axis=0),
}


def attributes(estimator):
    return {name for name in vars(estimator) if name.endswith("_")}


def assert_same_mapping(found, expected):
    assert attributes(found) == attributes(expected)
    for name in attributes(expected):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert type(ours) is type(theirs)
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
        np.testing.assert_array_equal(ours, theirs)


def assert_same_part(found, expected, new):
    assert attributes(found) == attributes(expected)
    assert found.n_features_in_ == expected.n_features_in_
    np.testing.assert_array_equal(found.components_, expected.components_)
    for ours, theirs in zip(found.layers_, expected.layers_, strict=True):
        assert_same_mapping(ours, theirs)
    for ours, theirs in zip(found.steps_, expected.steps_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(found.transform(new), expected.transform(new))
    np.testing.assert_array_equal(found.residuals(new), expected.residuals(new))


def deep(rows, dtype=np.float64, **params):
    return DeepMembershipAutoencoder(random_state=0, **params).fit(rows.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_autoencoders_come_back_to_the_bit(dtype):
    parts = [deep(rows, dtype, n_components=7, n_layers=9) for rows in ROWS.values()]
    groups = [parts[:1], [], parts[1:], []]
    found = unpack_parts(pack_parts(groups))
    assert [len(group) for group in found] == [1, 0, 3, 0]
    for ours, theirs in zip(found[0] + found[2], parts, strict=True):
        assert_same_part(ours, theirs, NEW.astype(dtype))
        assert ours.components_.dtype == dtype


def test_no_group_and_only_empty_groups():
    assert unpack_parts(pack_parts([])) == []
    assert unpack_parts(pack_parts([[], []])) == [[], []]


def test_several_models_share_a_file():
    first, second = deep(DIGITS[:50]), deep(DIGITS[50:90])
    arrays = pack_parts([[first]], "target.") | pack_parts([[second]], "joint.")
    assert_same_part(unpack_parts(arrays, "target.")[0][0], first, NEW)
    assert_same_part(unpack_parts(arrays, "joint.")[0][0], second, NEW)
    with pytest.raises(ReleaseError, match=r"'other\.groups' is missing"):
        unpack_parts(arrays, "other.")


def test_a_model_is_few_arrays_whatever_its_size():
    arrays = pack_parts([[deep(DIGITS[k : k + 9]) for k in range(9)]])
    assert len(arrays) == 8
    assert {array.dtype.name for array in arrays.values()} == {"int32", "float64"}
    assert all(np.isfinite(array).all() for array in arrays.values())


def test_what_cannot_lie_in_one_array_is_not_packed():
    with pytest.raises(ParameterError, match="one type and the same columns"):
        pack_parts([[deep(DIGITS[:9]), deep(DIGITS[:9], np.float32)]])
    with pytest.raises(ParameterError, match="one type and the same columns"):
        pack_parts([[deep(DIGITS[:9])], [deep(DIGITS[:9, :30])]])


def test_read_only_arrays_are_enough():
    arrays = pack_parts([[deep(DIGITS[:60])]])
    for array in arrays.values():
        array.flags.writeable = False
    part = unpack_parts(arrays)[0][0]
    assert np.shares_memory(part.layers_[2].coef_, arrays["coef"])
    part.residuals(NEW)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("outputs", [DIGITS[:200], DIGITS[:200, 20]], ids=["many", "one"])
def test_a_mapping_comes_back_to_the_bit(dtype, outputs):
    mapping = MembershipMapping(0.2, random_state=0)
    mapping.fit(DIGITS[:200, :30].astype(dtype), outputs)
    found = unpack_mapping(pack_mapping(mapping, "m."), "m.")
    assert_same_mapping(found, mapping)
    new = NEW[:, :30].astype(dtype)
    np.testing.assert_array_equal(found.predict(new), mapping.predict(new))


def test_the_mapping_of_one_point_comes_back():
    mapping = MembershipMapping()
    mapping.learn_constant(DIGITS[:1, :3], DIGITS[:1])
    assert_same_mapping(unpack_mapping(pack_mapping(mapping)), mapping)


# A classifier ------------------------------------------------------------------------------------

PARAMS = {"n_components": 5, "n_layers": 2, "max_inducing": 0.3, "partition_size": 40}


@pytest.fixture(scope="module")
def classifier():
    labels = np.where(np.arange(300) == 7, 11, LABELS[:300])  # a class of one row
    return MembershipClassifier(**PARAMS, random_state=0).fit(DIGITS[:300], labels)


def packed(classifier):
    return pack_parts([autoencoder.parts_ for autoencoder in classifier.autoencoders_])


def test_a_classifier_comes_back_to_the_bit(classifier):
    params = classifier.get_params() | {"n_jobs": 10**9, "random_state": "whatever"}
    found = unpack_classifier(packed(classifier), classifier.classes_.tolist(), params)
    assert attributes(found) == attributes(classifier)
    assert found.n_features_in_ == 64
    assert found.get_params() == PARAMS | {"n_jobs": None, "random_state": None}
    np.testing.assert_array_equal(found.classes_, classifier.classes_)
    np.testing.assert_array_equal(found.predict(NEW), classifier.predict(NEW))
    np.testing.assert_array_equal(found.residuals(NEW), classifier.residuals(NEW))
    np.testing.assert_array_equal(
        found.autoencoders_[3].transform(NEW), classifier.autoencoders_[3].transform(NEW)
    )


@pytest.mark.parametrize(
    "classes", [list("abcdefghijk"), np.arange(11), np.linspace(0, 1, 11), tuple(range(11))]
)
def test_labels_are_texts_or_numbers(classifier, classes):
    found = unpack_classifier(packed(classifier), classes, {})
    assert found.classes_.tolist() == list(classes)


@pytest.mark.parametrize(
    "classes",
    [
        list(range(10)),
        list(range(12)),
        [0, *range(10)],
        [],
        [*range(10), "ten"],
        [*range(10), None],
        [*range(10), [10]],
        [*range(10), 10.0],
        [*range(10), True],
        [*range(10), 2**70],
        [*map(float, range(10)), float("nan")],
        [[k] for k in range(11)],
        [*"abcdefghij", "a\0"],
        [*"abcdefghij", "k" * 2**23],
        "abcdefghijk",
        {"a": 1},
        None,
        7,
        np.zeros((11, 2)),
        np.array(5),
    ],
    ids=lambda classes: f"{type(classes).__name__} {str(classes)[-12:]}",
)
def test_other_classes_are_refused(classifier, classes):
    with pytest.raises(ReleaseError, match="classes"):
        unpack_classifier(packed(classifier), classes, PARAMS)


@pytest.mark.parametrize(
    "params",
    [
        {"n_layers": 0},
        {"n_layers": "2"},
        {"n_components": 2.5},
        {"partition_size": -1},
        {"partition_size": None},
        {"max_inducing": "0.5"},
        {"max_inducing": 1.5},
        {"max_inducing": float("nan")},
        {"depth": 3},
        {"__class__": 3},
        [1, 2],
        None,
    ],
)
def test_other_parameters_are_refused(classifier, params):
    with pytest.raises(ReleaseError, match=r"parameters|must be"):
        unpack_classifier(packed(classifier), range(11), params)


def test_a_class_without_autoencoders_is_refused(classifier):
    groups = [autoencoder.parts_ for autoencoder in classifier.autoencoders_]
    groups[4] = []
    with pytest.raises(ReleaseError, match="autoencoders for each"):
        unpack_classifier(pack_parts(groups), list(range(11)), PARAMS)


# What a file may try -----------------------------------------------------------------------------

HUGE = np.iinfo(np.int32).max


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def hostile_arrays():
    """Every array of a packed model: absent, of another type or shape, or with other numbers."""
    good = pack_parts([[deep(DIGITS[:60]), deep(DIGITS[60:90])], [deep(DIGITS[:1])]])
    for name, array in good.items():
        yield f"{name} absent", {k: v for k, v in good.items() if k != name}
        whole = array.dtype.kind == "i"
        types = [np.int64, np.uint8, np.float64] if whole else [np.int32, np.float16]
        for dtype in [*types, *([] if whole or name == "scalars" else [np.float32])]:
            yield f"{name} {np.dtype(dtype)}", good | {name: array.astype(dtype)}
        shapes = {
            "0-d": np.zeros((), array.dtype),
            "empty": np.zeros(0, array.dtype),
            "flat": array.ravel() if array.ndim == 2 else array[:, None],
            "deeper": array[None],
            "longer": np.concatenate([array, array[-1:]]),
            "shorter": array[:-1],
            "empty rows": np.zeros((len(array), 0), array.dtype),
        }
        if array.ndim == 2:
            shapes |= {"wider": np.hstack([array, array[:, :1]]), "narrower": array[:, 1:]}
        for what, other in shapes.items():
            yield f"{name} {what}", good | {name: other}
        values = [0, -1, HUGE, -HUGE - 1] if whole else [np.nan, np.inf, -np.inf]
        for value in values:
            for at in np.ndindex(array.shape) if whole else [(0,) * array.ndim]:
                if array[at] != value:
                    yield f"{name} {at} {value}", good | {name: changed(array, at, value)}
        if whole:
            yield f"{name} all huge", good | {name: np.full_like(array, HUGE)}
    weights, scalars = good["weights"], good["scalars"]
    yield "a negative weight", good | {"weights": changed(weights, 5, -1.0)}
    for column, value in [(0, 0.0), (0, -1.0), (1, -1.0), (2, -1.0)]:
        yield f"scalar {column} {value}", good | {"scalars": changed(scalars, (1, column), value)}
    yield "a step that overflows", good | {"coef": np.full_like(good["coef"], 1.7e308)}
    no_features = {"components": np.zeros((3, 0)), "coef": np.zeros((1, 0))}
    yield "no features", good | no_features


HOSTILE = dict(hostile_arrays())
HARMLESS = {f"layers ({row}, 1) {n}" for row in range(15) for n in (0, HUGE)}  # n_iter_ alone


def test_there_are_hostile_arrays_of_every_kind():
    assert len(HOSTILE) > 150


@pytest.mark.parametrize("what", sorted(HOSTILE.keys() - HARMLESS))
def test_arrays_that_do_not_fit_are_refused(what):
    with pytest.raises(ReleaseError, match="the model is broken"):
        unpack_parts(HOSTILE[what])


def test_numbers_without_sense_do_not_crash_what_uses_them():
    good = pack_parts([[deep(DIGITS[:60]), deep(DIGITS[60:90])], [deep(DIGITS[90:99])]])
    for name in ("components", "coef", "inducing", "weights"):
        wild = good | {name: np.full_like(good[name], 1e150)}
        with np.errstate(all="ignore"):
            assert unpack_classifier(wild, [0, 1], {}).predict(NEW).shape == (300,)


def hostile_mappings():
    good = pack_mapping(MembershipMapping(9, random_state=0).fit(DIGITS[:99, :4], DIGITS[:99]))
    for name, array in good.items():
        yield f"{name} absent", {k: v for k, v in good.items() if k != name}
        for what, other in {
            "0-d": np.zeros((), array.dtype),
            "empty": array[:0],
            "longer": np.concatenate([array, array[-1:]]),
            "shorter": array[:-1],
            "deeper": array[..., None, None],
            "float16": array.astype(np.float16),
        }.items():
            yield f"{name} {what}", good | {name: other}
        if array.ndim == 2:
            yield f"{name} no columns", good | {name: array[:, :0]}
        if array.dtype.kind == "f":
            yield f"{name} nan", good | {name: array * np.nan}
        if name not in {"coef", "inducing"}:
            yield f"{name} negative", good | {name: -array - 1}
    yield "inducing narrower", good | {"inducing": good["inducing"][:, 1:]}
    yield "no variance", good | {"scalars": good["scalars"] * [0, 1, 1]}


@pytest.mark.parametrize(("what", "arrays"), list(hostile_mappings()))
def test_a_mapping_that_does_not_fit_is_refused(what, arrays):
    with pytest.raises(ReleaseError, match="the model is broken"):
        unpack_mapping(arrays)
