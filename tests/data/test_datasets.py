import numpy as np
import pytest

from dptransfer.data.datasets import load_digits, load_mnist
from dptransfer.errors import DataError


def test_digits_come_with_scikit_learn():
    images = load_digits()
    assert images.X.shape == (1797, 64)
    assert (images.X.min(), images.X.max()) == (0, 1)


def test_mnist_is_read_from_the_folder_named(tmp_path, monkeypatch):
    x = np.arange(2 * 784, dtype=np.uint8).reshape(2, 28, 28)
    np.savez(tmp_path / "mnist.npz", x_train=x, y_train=[3, 4], x_test=x, y_test=[5, 6])
    monkeypatch.setenv("DPTRANSFER_DATA", str(tmp_path))
    images = load_mnist()
    np.testing.assert_allclose(images.X * 255, x.reshape(2, 784))
    assert images.y.tolist() == [3, 4]


def test_without_mnist_the_error_says_what_to_put_where(tmp_path, monkeypatch):
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="set DPTRANSFER_DATA"):
        load_mnist()
    monkeypatch.setenv("DPTRANSFER_DATA", str(tmp_path))
    (tmp_path / "mnist.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(DataError, match="cannot be read"):
        load_mnist()
    np.savez(tmp_path / "mnist.npz", x=np.ones(3))
    with pytest.raises(DataError, match="lacks the array 'x_train'"):
        load_mnist()
