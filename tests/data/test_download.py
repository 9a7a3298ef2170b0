"""Downloads, from a server of the tests' own on this computer."""

import dataclasses
import gzip
import http.server
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from dptransfer.data import published, transport
from dptransfer.data.datasets import HEART, MNIST, USPS, load_mnist_split, load_usps_split
from dptransfer.data.digests import compared
from dptransfer.data.heart import HOSPITALS, load_heart
from dptransfer.data.published import at_hand_or_downloaded, digest, load, numbers
from dptransfer.errors import DataError
from dptransfer.progress import reporting_to

PIXELS = 4
LEARN, TEST = 25, 15


class StandIn(http.server.ThreadingHTTPServer):
    """Answers as its script says, one entry a request and the last one ever after."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = []
        self.asked = []

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_port}/mirror"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        script, asked = self.server.script, self.server.asked
        asked.append(self.path)
        code, body, told = script.pop(0) if len(script) > 1 else script[0]
        self.send_response(code)
        if told is not None:
            self.send_header("Content-Length", str(told))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def good(body):
    return 200, body, len(body)


def cut(body):
    return 200, body[: len(body) // 2], len(body)


def status(code):
    return code, b"no", 2


def arff(rows, quote=""):
    names = "".join(f"@ATTRIBUTE pixel{k} real\n" for k in range(len(rows[0]) - 1))
    lines = (",".join(f"{v:g}" for v in row[:-1]) + f",{quote}{row[-1]:g}{quote}" for row in rows)
    header = f"% of the tests\n@RELATION made\n{names}@ATTRIBUTE class {{0,1}}\n@DATA\n"
    return (header + "\n".join(lines) + "\n").encode()


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (LEARN + TEST, PIXELS))
    return np.column_stack([pixels, np.arange(LEARN + TEST) % 10])


@pytest.fixture
def data(rows):
    """A small MNIST."""
    n, m = LEARN, TEST
    shapes = {"x_train": (n, PIXELS), "y_train": (n,), "x_test": (m, PIXELS), "y_test": (m,)}
    made = dataclasses.replace(
        MNIST, shapes=shapes, decode=lambda raw: MNIST.decode.func(raw, learned_from=n, grid=1)
    )
    return dataclasses.replace(made, sha256=digest(made.decode([arff(rows)]), 1))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DPTRANSFER_DATA", raising=False)
    return tmp_path / "cache" / "dptransfer"


@pytest.fixture
def server(cache, monkeypatch):
    monkeypatch.delenv("DPTRANSFER_OFFLINE")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(transport, "PAUSES", (0.0, 0.0, 0.0))
    with serving() as stand_in:
        monkeypatch.setenv("DPTRANSFER_DOWNLOAD", stand_in.base)
        yield stand_in


@contextmanager
def serving():
    with StandIn() as stand_in:
        thread = threading.Thread(target=stand_in.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield stand_in
        finally:
            stand_in.shutdown()
            thread.join()


def left_behind(cache):
    return sorted(path.name for path in cache.glob("*"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_is_downloaded_is_kept_and_not_asked_for_again(server, data, rows, cache, pack):
    server.script = [good(pack(arff(rows, quote="'")))]
    for _ in range(2):
        arrays = load(data)
        np.testing.assert_array_equal(arrays["x_train"], rows[:LEARN, :-1])
        np.testing.assert_array_equal(arrays["y_test"], rows[LEARN:, -1])
        assert arrays["x_train"].dtype == np.uint8
    assert server.asked == ["/mirror/mnist_784.arff"]
    assert left_behind(cache) == ["mnist.npz"]


def test_progress_is_told(server, data, rows):
    server.script = [good(arff(rows))]
    told = []
    with reporting_to(lambda *args: told.append(args)):
        load(data)
    size = len(arff(rows))
    assert told[-1] == ("downloading MNIST", size, size)


@pytest.mark.parametrize("first", [cut(b"x" * 999), status(503), status(500), status(429)])
def test_what_may_pass_is_tried_again(server, data, rows, first):
    server.script = [first, good(arff(rows))]
    load(data)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [(cut(b"x" * 998), "broke off after 499 of 998 bytes"), (status(503), "answered 503")],
)
def test_what_does_not_pass_ends_with_what_was_tried(server, data, cache, answer, words):
    server.script = [answer]
    with pytest.raises(DataError, match=words) as caught:
        load(data)
    assert len(server.asked) == 4
    said = str(caught.value)
    assert f"{server.base}/mnist_784.arff" in said
    assert "tried 4 times" in said
    assert f"Put mnist.npz with the arrays x_train ({LEARN}, {PIXELS})" in said
    assert str(cache) in said
    assert "\n" not in said
    assert left_behind(cache) == []


def test_pauses_grow():
    assert list(transport.PAUSES) == sorted(set(transport.PAUSES))
    assert 0 < sum(transport.PAUSES) < 60


def test_a_file_that_is_not_there_is_asked_for_once(server, data, cache):
    server.script = [status(404)]
    with pytest.raises(DataError, match="answered 404"):
        load(data)
    assert len(server.asked) == 1
    assert left_behind(cache) == []


def test_other_values_are_not_kept(server, data, rows, cache):
    changed = rows.copy()
    changed[3, 2] ^= 1
    server.script = [good(arff(changed))]
    with pytest.raises(DataError, match="checksum differs"):
        load(data)
    assert left_behind(cache) == []


@pytest.mark.parametrize(
    "body", [b"", b"<html>sign in</html>", b"\x1f\x8b cut", b"@DATA\n1,2\n3\n", b"\xff\xfe" * 40]
)
def test_what_is_something_else_is_not_kept(server, data, cache, body):
    server.script = [good(body)]
    with pytest.raises(DataError, match="cannot be read as MNIST"):
        load(data)
    assert left_behind(cache) == []


def test_an_answer_without_end_is_refused(server, data, cache, monkeypatch):
    monkeypatch.setattr(transport, "LARGEST", 1000)
    server.script = [(200, b"x" * 5000, None)]
    with pytest.raises(DataError, match="larger than 1000 bytes"):
        load(data)


def test_a_server_that_is_not_there(server, data, cache, monkeypatch):
    with StandIn() as gone:
        address = gone.base
    monkeypatch.setenv("DPTRANSFER_DOWNLOAD", address)
    with pytest.raises(DataError, match=r"could not be reached: .*\(tried 4 times\)"):
        load(data)


def test_a_server_that_is_silent(server, data, cache, monkeypatch):
    monkeypatch.setattr(transport, "PATIENCE", 0.05)
    wait = threading.Event()
    monkeypatch.setattr(Handler, "do_GET", lambda _: wait.wait())
    try:
        with pytest.raises(DataError, match=r"was silent .*\(tried 4 times\)"):
            load(data)
    finally:
        wait.set()


@pytest.mark.parametrize("mirror", ["file:///etc", "ftp://mirror", "mirror/data", "http://a b/"])
def test_a_mirror_that_is_no_web_address(server, data, monkeypatch, mirror):
    monkeypatch.setenv("DPTRANSFER_DOWNLOAD", mirror)
    with pytest.raises(DataError, match="no address"):
        load(data)


def test_offline_nobody_is_asked(server, data, cache, monkeypatch):
    monkeypatch.setenv("DPTRANSFER_OFFLINE", "yes")
    with pytest.raises(DataError, match="DPTRANSFER_OFFLINE forbids"):
        load(data)
    assert server.asked == []
    assert not cache.exists()


def test_a_file_at_hand_is_preferred(server, tmp_path, monkeypatch):
    x = np.zeros((1, 784), dtype=np.uint8)
    np.savez(tmp_path / "mnist.npz", x_train=x, y_train=[3], x_test=x, y_test=[5])
    monkeypatch.setenv("DPTRANSFER_DATA", str(tmp_path))
    assert load_mnist_split().y_train.tolist() == [3]
    assert server.asked == []


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"junk"])
def test_a_damaged_file_in_the_cache_is_named(server, data, rows, cache, damage):
    server.script = [good(arff(rows))]
    path = at_hand_or_downloaded(data)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="cannot be read") as caught:
        load(data)
    assert f"delete {path}" in str(caught.value)
    path.unlink()
    load(data)


def test_a_flipped_bit_in_the_cache_is_noticed(server, data, rows, cache):
    server.script = [good(arff(rows))]
    path = at_hand_or_downloaded(data)
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"x_train.npy") + 40] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DataError, match="delete"):
        load(data)


def test_an_interrupt_leaves_nothing(server, data, rows, cache, monkeypatch):
    server.script = [good(arff(rows))]

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), reporting_to(interrupted):
        load(data)
    monkeypatch.setattr(published.np, "savez_compressed", lambda file, **_: interrupted(file))
    with pytest.raises(KeyboardInterrupt):
        load(data)
    assert left_behind(cache) == []


def test_two_at_once_do_not_spoil_the_cache(server, data, rows, cache):
    server.script = [good(arff(rows))]
    found = []
    threads = [threading.Thread(target=lambda: found.append(load(data))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all((arrays["x_test"] == rows[LEARN:, :-1]).all() for arrays in found)
    assert left_behind(cache) == ["mnist.npz"]


def test_a_cache_that_cannot_be_written_is_told_before_the_download(server, data, cache):
    cache.parent.write_text("a file where the folder should be")
    with pytest.raises(DataError, match="cannot be written"):
        load(data)
    assert server.asked == []


def test_pixels_from_minus_one_to_one_and_labels_from_one(server, cache, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.integers(-1000, 1001, (LEARN + TEST, PIXELS)) / 1000
    y = np.arange(LEARN + TEST) % 10
    decode = USPS.decode.func
    made = [
        decode([arff(np.column_stack([pixels, y + 1]))], learned_from=LEARN, grid=2000)
        for pixels in (X, (X + 1) / 2)
    ]
    first = [np.column_stack([y + 1, X]).tolist()]
    text = "@data\n" + "\n".join(",".join(map(str, row)) for row in first[0])
    made.append(decode([text.encode()], learned_from=LEARN, grid=2000))
    for arrays in made:
        np.testing.assert_allclose(arrays["x_train"], (X[:LEARN] + 1) / 2, atol=1e-6)
        assert arrays["y_test"].tolist() == y[LEARN:].tolist()
    assert len({digest(arrays, 2000) for arrays in made}) == 1


def test_the_hospitals_tables(server, cache, monkeypatch):
    line = "63.0,1,1,145,?,1,2,150,0,{},3,0,?,{}\n"
    files = [(line.format(".7", 0) + line.format(k / 10, k)).encode() for k in range(1, 5)]
    server.script = [good(file) for file in files]
    arrays = HEART.decode(files)
    monkeypatch.setattr(
        "dptransfer.data.heart.HEART", dataclasses.replace(HEART, sha256=digest(arrays, HEART.grid))
    )
    hospitals = load_heart()
    assert server.asked == [f"/mirror/processed.{hospital}.data" for hospital in HOSPITALS]
    X, y = hospitals["va"]
    assert y.tolist() == [0, 1]
    np.testing.assert_allclose(X[:, 9], [0.7, 0.4], atol=1e-6)
    assert np.isnan(X[:, [4, 12]]).all()


def test_a_file_of_numbers_may_lack_a_header_and_end_in_comments():
    assert numbers(b"1,?\r\n2,3\r\n\r\n% end\r\n").tolist()[1] == [2, 3]


def test_the_checksum_is_of_values_not_types():
    a = {"x": np.array([[1, 2], [3, 4]], dtype=np.uint8)}
    assert digest(a, 1) == digest({"x": a["x"].astype(np.float64)}, 1)
    assert digest(a, 1) == digest({"x": a["x"].reshape(2, 2, 1)}, 1)
    assert digest(a, 1) != digest({"x": a["x"].T}, 1)
    assert digest(a, 1) != digest({"x": a["x"].reshape(4, 1)}, 1)
    assert digest(a, 1) != digest({"z": a["x"]}, 1)


@pytest.mark.slow
def test_the_checksums_are_those_of_the_data_at_hand():
    folder = os.environ.get("DPTRANSFER_DATA")
    found = list(compared(Path(folder))) if folder else []
    if not found:
        pytest.skip("set DPTRANSFER_DATA to a folder with mnist.npz, usps.npz or heart.npz")
    assert [name for name, _, right in found if not right] == []


def test_the_command_prints_checksums(tmp_path):
    usual = {name: np.zeros(shape) for name, shape in HEART.shapes.items()}
    np.savez(tmp_path / "heart.npz", **usual)
    command = [sys.executable, "-m", "dptransfer.data.digests", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{digest(usual, HEART.grid)}  heart.npz  differs\n"


def test_what_is_missing_is_named_with_its_shape(cache):
    with pytest.raises(DataError, match=r"usps\.npz with the arrays x_train \(7291, 256\)"):
        load_usps_split()
    with pytest.raises(DataError, match=r"heart\.npz with the arrays cleveland_x \(303, 13\)"):
        load_heart()
