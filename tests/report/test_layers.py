import numpy as np
import pytest
from sklearn.datasets import load_digits

from dptransfer import DeepMembershipAutoencoder
from dptransfer.errors import ParameterError
from dptransfer.report.layers import draw_layers, draw_row, save

X = load_digits().data[:100]


def test_draws_the_input_and_every_layers_output(tmp_path):
    autoencoder = DeepMembershipAutoencoder(5, 4, random_state=0).fit(X)
    figure = draw_layers(autoencoder, X[0], (8, 8))
    drawn = [np.asarray(axes.images[0].get_array()) for axes in figure.axes]
    np.testing.assert_array_equal(drawn[0], X[0].reshape(8, 8))
    outputs = autoencoder.layer_outputs(X[:1])[:, 0].reshape(4, 8, 8)
    np.testing.assert_allclose(drawn[1:], outputs)
    path = save(figure, tmp_path / "new" / "layers.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == ["layers.png"]


def test_images_that_do_not_fit_the_shape_are_refused():
    with pytest.raises(ParameterError, match="64 values"):
        draw_row([X[0][:10]], ["short"], (8, 8))


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    class Full:
        def savefig(self, path, **_):
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        save(Full(), tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
