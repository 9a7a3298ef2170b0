"""The reader of MATLAB files, against SciPy on sound files and against damage."""

import io

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from scipy.sparse import csc_array

from dptransfer.data.matlab import read_mat

CELLS = np.empty((1, 3), dtype=object)
CELLS[0, :] = [np.arange(3.0), np.ones((2, 2)), np.zeros((0, 0))]
TABLES = {
    "fts": np.arange(12.0).reshape(4, 3),
    "labels": np.arange(4, dtype=np.uint8)[:, None],
    "x": np.array([[-7]], dtype=np.int64),
    "a_rather_long_name": np.linspace(0, 1, 5, dtype=np.float32)[None],
    "empty": np.zeros((0, 3)),
    "cube": np.arange(24, dtype=np.int16).reshape(2, 3, 4),
    "flag": np.array([[True, False]]),
}
OTHERS = {"words": "some text", "sparse": csc_array(np.eye(3)), "z": 1 + 2j}
HELD = TABLES | OTHERS | {"train": {"source": CELLS, "target": {"deep": 3.0}}}
TYPE_OF_FTS = 176  # where the file says of what type the numbers of fts are
DAMAGE = (ValueError, TypeError, LookupError, OverflowError)


def saved(held=HELD, **options):
    stream = io.BytesIO()
    savemat(stream, held, long_field_names=True, **options)
    return bytearray(stream.getvalue())


@pytest.mark.parametrize("packed", [False, True])
def test_sound_files_are_read_as_scipy_reads_them(packed):
    raw = bytes(saved(do_compression=packed))
    found, theirs = read_mat(raw), loadmat(io.BytesIO(raw))
    for name in TABLES:
        np.testing.assert_array_equal(found[name], theirs[name])
        assert found[name].shape == theirs[name].shape
    assert all(found[name] is None for name in OTHERS)
    assert list(found["train"]) == ["source", "target"]
    for cell, right in zip(found["train"]["source"], CELLS[0], strict=True):
        np.testing.assert_array_equal(cell, np.atleast_2d(right))
    assert found["train"]["target"]["deep"].tolist() == [[3.0]]


def test_the_other_order_of_bytes():
    raw = saved({"x": np.array([[1.5, 2.5]])})
    assert len(raw) == 200
    words = np.frombuffer(bytes(raw[128:176]), "<u4").astype(">u4").tobytes()
    # a name in a small element is a half-word of size, one of type, and the letters
    words = words[:40] + b"\x00\x01\x00\x01x\x00\x00\x00"
    tag = np.frombuffer(bytes(raw[176:184]), "<u4").astype(">u4").tobytes()
    numbers = np.array([1.5, 2.5], ">f8").tobytes()
    turned = bytes(raw[:124]) + b"\x01\x00MI" + words + tag + numbers
    assert read_mat(turned)["x"].tolist() == loadmat(io.BytesIO(turned))["x"].tolist()


@pytest.mark.parametrize("kind", [0, 8, 10, 11, 14, 15, 19, 20, 99, 65535])
def test_a_type_that_there_is_not(kind):
    raw = saved()
    assert raw[TYPE_OF_FTS] == 9  # double
    raw[TYPE_OF_FTS : TYPE_OF_FTS + 2] = kind.to_bytes(2, "little")
    with pytest.raises(DAMAGE):
        read_mat(bytes(raw))


def test_numbers_called_complex_that_have_no_imaginary_part_are_not_read_on_into_the_next():
    raw = saved()
    raw[145] = 8
    assert read_mat(bytes(raw))["fts"] is None


def test_a_small_element_holds_four_bytes_at_most():
    raw = saved()
    assert raw[168:175] == b"\x01\x00\x03\x00fts"
    raw[170] = 5
    with pytest.raises(ValueError, match="larger than what is around it"):
        read_mat(bytes(raw))


def test_many_levels_are_refused():
    deep = 1.0
    for _ in range(40):
        cell = np.empty((1, 1), dtype=object)
        cell[0, 0] = deep
        deep = cell
    with pytest.raises(ValueError, match="too deep"):
        read_mat(bytes(saved({"x": deep})))


def test_what_unpacks_without_end_is_refused(monkeypatch):
    raw = bytes(saved({"x": np.zeros((1000, 100))}, do_compression=True))
    assert len(raw) < 2000
    monkeypatch.setattr("dptransfer.data.matlab.LARGEST", 1000)
    with pytest.raises(ValueError, match="endless"):
        read_mat(raw)


def test_what_unpacks_to_too_much_in_many_parts_is_refused(monkeypatch):
    raw = bytes(saved({name: np.zeros(100) for name in "abc"}, do_compression=True))
    monkeypatch.setattr("dptransfer.data.matlab.LARGEST", 3 * 856)
    assert set(read_mat(raw)) == set("abc")
    monkeypatch.setattr("dptransfer.data.matlab.LARGEST", 3 * 856 - 1)
    with pytest.raises(ValueError, match="endless"):
        read_mat(raw)
    monkeypatch.setattr("dptransfer.data.matlab.LARGEST", 2 * 856)  # nothing left for the third
    with pytest.raises(ValueError, match="endless"):
        read_mat(raw)


@pytest.mark.parametrize("packed", [False, True])
def test_damage_of_any_kind_is_an_ordinary_error(packed):
    rng = np.random.default_rng(0)
    whole = saved(do_compression=packed)
    errors = []
    for trial in range(1500):
        raw = whole.copy()
        for place in rng.integers(124, len(raw), rng.integers(1, 4)):
            raw[place] = rng.integers(256)
        if trial % 5 == 0:
            raw = raw[: rng.integers(len(raw))]
        try:
            read_mat(bytes(raw))
        except Exception as error:
            errors.append(type(error))
    assert len(errors) > 300
    assert not {MemoryError, RecursionError} & set(errors)
