from __future__ import annotations

import math
import pickle
import re
import tracemalloc

import numpy as np
import pytest
from reference.noise import ExactLaw
from scipy import stats

from dptransfer.errors import DataError, DeclarationError, OutsideBoundsError, ParameterError
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise

KINDS = [OptimalNoise, LaplaceNoise]


def table(n=200, p=7, seed=0):
    return np.random.default_rng(seed).random((n, p))


# What comes out ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_added_follows_the_exact_law(kind):
    noise = kind(0.5, 0.02, 1.0, grid=1 / 8)
    X = np.full((1000, 1000), 0.375)
    steps = (noise.perturb(X, bounds=(0, 1)) - 0.375) / noise.grid
    exact = ExactLaw(noise._law(noise._steps[0]))
    span = 60
    cells = np.array([float(exact.probability(k)) for k in range(-span, span + 1)])
    inside = np.abs(steps) <= span
    counts = np.bincount(steps[inside].astype(int) + span, minlength=2 * span + 1)
    counts, cells = np.append(counts, X.size - inside.sum()), np.append(cells, 1 - cells.sum())
    assert stats.chisquare(counts, cells * X.size).pvalue > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_moments_of_the_default_grid_are_those_of_the_formulas(kind):
    noise = kind(0.1, 1e-5, 1.0)
    X = table(1000, 1000)
    V = noise.perturb(X, bounds=(0, 1)) - X
    n = V.size
    assert abs(V.mean()) < 6 * math.sqrt(noise.variance / n) + noise.grid
    assert V.var() == pytest.approx(noise.variance, rel=6 * math.sqrt(5 / n) + 0.001)
    assert np.abs(V).mean() == pytest.approx(noise.mean_magnitude, rel=6 / math.sqrt(n) + 0.001)


def test_elements_are_independent():
    V = OptimalNoise(1.0, 1e-5).perturb(np.zeros((200_000, 2)), bounds=(0, 1))
    for one, other in [(V[:, 0], V[:, 1]), (V[1:, 0], V[:-1, 0]), (V[1:, 0], V[:-1, 1])]:
        assert abs(np.corrcoef(one, other)[0, 1]) < 6 / math.sqrt(len(one))
        assert abs(np.corrcoef(abs(one), abs(other))[0, 1]) < 6 / math.sqrt(len(one))


@pytest.mark.parametrize("kind", KINDS)
def test_each_column_has_its_own_distance(kind):
    distances = [0.5, 3.0, 0.5, 20.0]
    noise = kind(1.0, 1e-5, distances)
    V = noise.perturb(np.zeros((250_000, 4)), bounds=[(0, 0.5), (0, 3), (-1, 1), (0, 20)])
    assert np.allclose(np.abs(V).mean(axis=0), noise.mean_magnitude, rtol=0.02)
    assert np.all(V % noise.grid == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_call_has_fresh_noise(kind):
    X, noise = table(), kind(1.0, 1e-5)
    one, two = noise.perturb(X, bounds=(0, 1)), noise.perturb(X, bounds=(0, 1))
    assert np.mean(one == two) < 0.1


def test_only_a_seed_named_insecure_repeats_the_noise():
    X, noise = table(), OptimalNoise(1.0, 1e-5, insecure_seed=3)
    assert np.array_equal(noise.perturb(X, bounds=(0, 1)), noise.perturb(X, bounds=(0, 1)))
    np.random.seed(0)  # noqa: NPY002 - what must not matter
    one = OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1))
    np.random.seed(0)  # noqa: NPY002
    assert not np.array_equal(one, OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1)))


def test_noise_that_is_pickled_is_the_same_mechanism():
    noise = OptimalNoise(0.3, 1e-5, [1.0, 2.0])
    again = pickle.loads(pickle.dumps(noise))
    assert again.guarantee == noise.guarantee
    assert not np.array_equal(
        again.perturb(table(50, 2), bounds=(0, 1)), noise.perturb(table(50, 2), bounds=(0, 1))
    )


# What may go in ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        table().astype(np.float32),
        table().astype(np.float16),
        (table() * 255).astype(np.uint8),
        (table() * 255).astype(np.int64) - 100,
        table() > 0.5,
        np.asfortranarray(table()),
        table()[::2, ::-3],
        table(1, 1),
        table(1, 5),
        table()[0],
        np.empty((0, 3)),
        np.empty((3, 0)),
        [[1, 2], [3, 4]],
        table(70_000, 1),
        table(2, 100_000),
    ],
)
@pytest.mark.parametrize("clip", [False, True])
def test_every_kind_of_table_of_numbers(X, clip):
    noise = OptimalNoise(1000.0, 0.0, 0.001)  # noise too small to hide the values
    out = noise.perturb(X, bounds=(-200, 300), clip=clip)
    assert out.dtype == np.float64
    assert out.shape == np.shape(X)
    assert np.allclose(out, np.asarray(X, dtype=float), atol=1e-4)


def test_a_read_only_table_is_enough():
    X = table()
    X.setflags(write=False)
    assert OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1)).flags.writeable


@pytest.mark.parametrize(
    "X",
    [
        [["1.5", "a"]],
        [[1.0, None]],
        [[1.0], [1.0, 2.0]],
        np.ones((2, 2), dtype=complex),
        np.ones((2, 2), dtype=np.longdouble),
        np.ones((2, 2, 2)),
        np.float64(1.0),
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        np.array(["2020-01-01"], dtype="M8[D]"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X):
    with pytest.raises(DataError):
        OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1))


def test_a_sparse_table_is_refused():
    from scipy.sparse import csr_matrix

    with pytest.raises(DataError, match="sparse"):
        OptimalNoise(1.0, 1e-5).perturb(csr_matrix(np.eye(3)), bounds=(0, 1))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("clip", [False, True])
def test_values_that_are_not_finite_are_refused(bad, clip):
    X = table()
    X[17, 3] = bad
    with pytest.raises(DataError, match="not finite"):
        OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1), clip=clip)


# Declared, never measured ------------------------------------------------------------------------


def test_bounds_must_be_declared():
    with pytest.raises(DeclarationError, match="not read off the data"):
        OptimalNoise(1.0, 1e-5).perturb(table())


@pytest.mark.parametrize(
    "bounds",
    [
        (1, 0),
        (0, math.inf),
        (0, math.nan),
        (0,),
        (0, 1, 2),
        "wide",
        [(0, 1)] * 6,
        [(0, 1)] * 6 + [(1, 0)],
        (0, 2.0**60),
        {"low": 0},
        5,
    ],
)
def test_broken_bounds_are_refused(bounds):
    with pytest.raises(DeclarationError):
        OptimalNoise(1.0, 1e-5).perturb(table(), bounds=bounds)


def test_whole_numbers_that_floats_cannot_hold_are_refused():
    noise = OptimalNoise(1.0, 1e-5, 2.0**40)
    noise.perturb(np.array([2**53]), bounds=(0, 2.0**53))
    with pytest.raises(DeclarationError, match="too wide"):
        noise.perturb(np.array([2**60]), bounds=(0, 2.0**60))


def test_distances_must_match_the_columns():
    with pytest.raises(DeclarationError, match="2 distances"):
        OptimalNoise(1.0, 1e-5, [1.0, 2.0]).perturb(table(), bounds=(0, 1))


def test_values_outside_the_bounds_are_refused_with_a_count_for_the_owner():
    X = table()
    X[3, 2], X[9, 0], X[100, 6] = 1.5, -0.25, 7.0
    with pytest.raises(OutsideBoundsError) as caught:
        OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1))
    assert caught.value.count == 3
    assert "3" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).count == 3
    per_column = [(0, 1)] * 7
    per_column[6] = (0, 10)
    with pytest.raises(OutsideBoundsError) as caught:
        OptimalNoise(1.0, 1e-5).perturb(X, bounds=per_column)
    assert caught.value.count == 2


@pytest.mark.parametrize("distance", [1e-3, [1e-3, 1.5e-3]])
def test_clipping_brings_values_to_the_nearest_bound(distance):
    X = np.array([[-5.0, 9.0], [0.5, 2.0], [3.0, -1.0]])
    noise = OptimalNoise(1000.0, 0.0, distance)
    out = noise.perturb(X, bounds=[(0, 1), (-0.5, 4)], clip=True)
    assert np.allclose(out, [[0, 4], [0.5, 2], [1, -0.5]], atol=1e-4)


# Where it is written -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 7), (300,)])
def test_out_takes_the_result(shape):
    X = np.random.default_rng(0).random(shape)
    noise = OptimalNoise(1.0, 1e-5, insecure_seed=1)
    plain = noise.perturb(X, bounds=(0, 1))
    out = np.full(shape, np.nan)
    assert noise.perturb(X, bounds=(0, 1), out=out) is out
    assert np.array_equal(out, plain)
    wide = np.full((*shape, 2), np.nan)[..., 0]  # not contiguous
    assert np.array_equal(noise.perturb(X, bounds=(0, 1), out=wide), plain)
    assert np.array_equal(wide, plain)
    assert noise.perturb(X, bounds=(0, 1), out=X) is X
    assert np.array_equal(X, plain)


def test_out_that_cannot_take_the_result_is_refused():
    X, noise = table(), OptimalNoise(1.0, 1e-5)
    frozen = np.empty(X.shape)
    frozen.setflags(write=False)
    overlapping = np.empty((201, 7))
    for out in (np.empty((7, 200)), np.empty(X.shape, np.float32), [1.0], frozen):
        with pytest.raises(ParameterError, match="out"):
            noise.perturb(X, bounds=(0, 1), out=out)
    overlapping[:] = 0.5
    before = overlapping.copy()
    with pytest.raises(ParameterError, match="overlaps"):
        noise.perturb(overlapping[1:], bounds=(0, 1), out=overlapping[:-1])
    assert np.array_equal(overlapping, before)


def test_a_refused_table_is_left_alone():
    X = table(70_000, 3)
    X[-1, -1] = 2.0
    before = X.copy()
    with pytest.raises(OutsideBoundsError):
        OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1), out=X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_the_table_unchanged(kind):
    X = table(200_000, 2)
    before = X.copy()

    def interrupt(done, total):
        raise kind

    with pytest.raises(kind):
        OptimalNoise(1.0, 1e-5).perturb(X, bounds=(0, 1), progress=interrupt)
    assert np.array_equal(X, before)


def test_progress_counts_rows():
    seen = []
    OptimalNoise(1.0, 1e-5).perturb(
        table(100_000, 2), bounds=(0, 1), progress=lambda *rows: seen.append(rows)
    )
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == (100_000, 100_000)


def test_blocks_of_a_stream():
    X = table(1000, 3)
    noise = OptimalNoise(1.0, 1e-5, insecure_seed=2)
    blocks = list(noise.perturb_blocks(np.array_split(X, 7), bounds=(0, 1)))
    assert [len(b) for b in blocks] == [len(b) for b in np.array_split(X, 7)]
    V = np.concatenate(blocks) - X
    # Noise that began anew with every block would be the same in each.
    assert not np.allclose(V[:100], V[len(blocks[0]) :][:100], atol=0.1)
    with pytest.raises(OutsideBoundsError):
        list(noise.perturb_blocks([X, X + 1], bounds=(0, 1)))
    with pytest.raises(DeclarationError):
        list(noise.perturb_blocks([X]))


def test_memory_beyond_the_result_is_small():
    X = np.zeros((20_000, 784))
    noise = OptimalNoise(0.1, 1e-5)
    out = np.empty(X.shape)
    tracemalloc.start()
    noise.perturb(X, bounds=(0, 1), out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 10


# What is said ------------------------------------------------------------------------------------

MARK = 8263.5771


def test_no_message_holds_a_private_value():
    marked = np.full((50, 3), MARK)
    spoiled = marked.copy()
    spoiled[5, 1] = math.nan
    noise = OptimalNoise(1.0, 1e-5)
    seen = []
    for X, arguments in [
        (marked, {}),
        (marked, {"bounds": (0, 1)}),
        (marked, {"bounds": (0, 1, 2)}),
        (marked, {"bounds": (0, 2.0**60)}),
        (spoiled, {"bounds": (0, 1e4)}),
        (spoiled, {"bounds": (0, 1e4), "clip": True}),
        (marked, {"bounds": (0, 1e4), "out": np.empty(2)}),
        (marked, {"bounds": (0, 1e4), "out": marked[::-1]}),
        (marked.astype(str), {"bounds": (0, 1e4)}),
        (marked.astype(object), {"bounds": (0, 1e4)}),
        (marked.astype(complex), {"bounds": (0, 1e4)}),
        ([[MARK], [MARK, MARK]], {"bounds": (0, 1e4)}),
        (marked[None], {"bounds": (0, 1e4)}),
        (np.ma.masked_array(marked, marked > 0), {"bounds": (0, 1e4)}),
    ]:
        with pytest.raises((DataError, DeclarationError, ParameterError)) as caught:
            noise.perturb(X, **arguments)
        error = caught.value
        while error is not None:
            seen.append(str(error) + repr(error))
            error = error.__cause__ or error.__context__
    said = " ".join([*seen, repr(noise), noise.guarantee.statement()])
    assert not re.search(r"8263|5771|U\d\d", said)
    assert len(seen) >= 14


def test_progress_says_nothing_of_the_values(capsys, caplog):
    seen = []
    noise = OptimalNoise(1.0, 1e-5)
    noise.perturb(np.full((9, 2), MARK), bounds=(0, 1e4), progress=lambda *a: seen.append(a))
    captured = capsys.readouterr()
    assert captured.out + captured.err + caplog.text == ""
    assert seen == [(9, 9)]
