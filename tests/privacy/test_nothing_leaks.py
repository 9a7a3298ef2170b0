"""Marked private values go in; no message, log, warning, progress line or ledger shows them.

The values are like nothing else in the project, and are searched for as digits, as floats in
memory, and by what could be computed from them without noise (their least, greatest, mean, sum,
and how many lie outside the bounds). What is released is not searched: it is meant to be seen.
"""

import io
import logging
import struct
import traceback
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from dptransfer import Release
from dptransfer.cli.app import app
from dptransfer.errors import DPTransferError
from dptransfer.privacy import (
    GaussianBudget,
    GaussianNoise,
    Guarantee,
    LaplaceNoise,
    Ledger,
    OptimalNoise,
)
from dptransfer.privacy.attacks import membership, recover_element
from dptransfer.privacy.audit import audit
from dptransfer.privacy.clipping import (
    class_counts,
    class_sums,
    clip,
    distance_of_record,
    pack_symmetric,
    second_moment,
)

ROWS = 2_039  # as odd as the values, but public
MARKED = np.array([7.3918264, -3.2718459, 5.9137486, 8.6172939])
OUTLIER = 941.83726
OUTLIERS = 1_237


def private():
    """Values that are marked, in an order that is too."""
    return MARKED[np.random.default_rng(3).integers(0, len(MARKED), size=(ROWS, 3))]


def outlying():
    values = private()
    values[:OUTLIERS, 1] = OUTLIER
    return values


def traces(values):
    """Everything that may not be seen, as bytes."""
    finite = values[np.isfinite(values)]
    told = [
        *MARKED,
        OUTLIER,
        -OUTLIER,
        finite.mean(),
        finite.sum(),
        finite.std(),
        np.median(finite),
    ]
    told += [*values.mean(axis=0), *values.sum(axis=0)]
    found = set()
    for number in map(float, told):
        if not np.isfinite(number):
            continue
        digits = f"{abs(number):.4f}"
        found.add(digits[:-1] if len(digits) < 8 else digits[:7])  # cut, not rounded
        found |= {f"{number:.6g}", float(number).hex()}
    texts = {text.encode() for text in found} | {str(OUTLIERS).encode()}
    memory = {struct.pack(kind, number) for number in told for kind in ("<d", ">d", "<f", ">f")}
    return texts | memory


def everything(error):
    """All that an exception says, and all that it was raised from."""
    said = []
    while error is not None:
        said += [str(error), repr(error), *map(str, getattr(error, "__notes__", []))]
        said += ["".join(traceback.format_exception(error))]
        error = error.__cause__ or error.__context__
    return "\n".join(said)


@pytest.fixture
def seen(caplog, capfd):
    """Collects what anybody could see, and at the end searches it."""
    collected = io.BytesIO()
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield lambda text: collected.write(text if isinstance(text, bytes) else text.encode())
    out, err = capfd.readouterr()
    collected.write("\n".join([out, err, caplog.text, *(str(w.message) for w in warned)]).encode())
    whole = collected.getvalue()
    assert len(whole) > 20, "nothing was collected, so nothing was tested"
    for values in (private(), outlying()):
        for trace in traces(values):
            assert trace not in whole, f"{trace!r} can be seen"


NOISES = [OptimalNoise(0.5, 1e-5, distance=20.0), LaplaceNoise(0.5, 1e-5, distance=20.0)]
BOUNDS = (-10.0, 10.0)


def spoilt(place, value):
    values = private()
    values[place] = value
    return values


WRONG = {
    "no bounds": lambda n: n.perturb(private()),
    "bounds the wrong way round": lambda n: n.perturb(private(), bounds=(10.0, -10.0)),
    "bounds of another width": lambda n: n.perturb(private(), bounds=[BOUNDS] * 2),
    "outside the bounds": lambda n: n.perturb(outlying(), bounds=BOUNDS),
    "not a number": lambda n: n.perturb(spoilt((5, 1), np.nan), bounds=BOUNDS),
    "infinite": lambda n: n.perturb(spoilt((5, 1), np.inf), bounds=BOUNDS, clip=True),
    "three dimensions": lambda n: n.perturb(private()[None], bounds=BOUNDS),
    "texts": lambda n: n.perturb(private().astype(str).astype(object), bounds=BOUNDS),
    "a list with a hole": lambda n: n.perturb([[1.0], [*MARKED]], bounds=BOUNDS),
    "written over something else": lambda n: n.perturb(
        private(), bounds=BOUNDS, out=np.empty((2, 2))
    ),
    "a later block": lambda n: list(n.perturb_blocks([private(), outlying()], bounds=BOUNDS)),
}


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_refusal_says_nothing_of_the_values(seen, noise, wrong):
    with pytest.raises(DPTransferError) as refused:
        WRONG[wrong](noise)
    seen(everything(refused.value))


def test_the_gaussian_refuses_in_silence(seen):
    noise = GaussianNoise(1.0, 1e-5, distance=1.0)
    for wrong in (spoilt((5, 1), np.nan), private().astype(str).astype(object), [[1.0], [*MARKED]]):
        with pytest.raises(DPTransferError) as refused:
            noise.perturb(wrong)
        seen(everything(refused.value))


def test_totals_of_records_are_refused_and_released_in_silence(seen):
    """Clip, add up, spend the shares of a budget: what is said on the way, and what is refused."""
    values, labels = private(), np.arange(ROWS) % 3
    nan, words = spoilt((5, 1), np.nan), private().astype(str).astype(object)
    for attempt in (
        lambda: clip(nan, 0.0, 4.0),
        lambda: clip(words, 0.0, 4.0),
        lambda: clip(values, values, 4.0),
        lambda: clip(values, 0.0, values),
        lambda: class_counts(values[:, 0], 3),
        lambda: class_counts((values[:, 0] * 1e6).astype(int), 3),
        lambda: class_sums(values, labels, 3, 4.0),
        lambda: class_sums(clip(values, 0.0, 4.0), labels[:5], 3, 4.0),
        lambda: second_moment(values, 20.0),
        lambda: pack_symmetric(values),
        lambda: distance_of_record(4.0, sums=float("nan")),
        lambda: GaussianBudget(1.0, 1e-5, values),
        lambda: GaussianBudget(1.0, 1e-5, {"sums": values}),
        lambda: GaussianBudget(1.0, 1e-5, dict.fromkeys(map(float, MARKED), 0.1)),
        lambda: GaussianBudget(1.0, 1e-5, {"sums": 1.0}).noise("sums", values),
        lambda: GaussianBudget(1.0, 1e-5, {"sums": 1.0}).noise("sums", 1.0).perturb(nan),
    ):
        with pytest.raises(DPTransferError) as refused:
            attempt()
        seen(everything(refused.value))
    budget = GaussianBudget(1.0, 1e-5, {"sums": 0.5, "moments": 0.5})
    sums = budget.noise("sums", distance_of_record(4.0, sums=1.0))
    rows = clip(values, 0.0, 4.0)
    sums.perturb(
        class_sums(rows, labels, 3, 4.0), progress=lambda done, of: seen(f"{done} of {of}\n")
    )
    with pytest.raises(DPTransferError) as refused:
        sums.perturb(second_moment(rows, 4.0))
    seen(everything(refused.value))
    seen(f"{budget!r}{sums!r}{budget.guarantee!r}{budget.guarantee.statement()}")


def test_a_release_for_records_is_refused_and_made_in_silence(seen):
    """Values, labels and how many there are of each: nothing but what has noise on it is told."""
    values, labels = private(), np.arange(ROWS) % 3
    declared = {"epsilon": 1.0, "delta": 1e-5, "bounds": (-10, 10), "classes": range(3)}
    for attempt in (
        lambda: Release.from_moments(spoilt((5, 1), np.nan), labels, **declared),
        lambda: Release.from_moments(outlying(), labels, **declared),
        lambda: Release.from_moments(values, values[:, 0], **declared),
        lambda: Release.from_moments(values, labels, **declared | {"classes": range(2)}),
        lambda: Release.from_moments(values, labels, **declared | {"bounds": (-1, 1)}),
        lambda: Release.from_moments(values, labels, radius=values, **declared),
        lambda: Release.from_moments(values, labels, centre=values, **declared),
    ):
        with pytest.raises(DPTransferError) as refused:
            attempt()
        seen(everything(refused.value))
    release = Release.from_moments(values, labels, **declared)
    seen(f"{release!r}{release.manifest}{release.guarantee.statement()}")


def test_data_in_the_wrong_place_is_not_repeated(seen):
    """An array where a word or a number is meant: the message must not print it."""
    book_words = {"mechanism": "m", "adjacency": "d-adjacency", "not_covered": ()}
    for attempt in (
        lambda: Guarantee(private(), 1.0, 0.0, 1.0, **book_words),
        lambda: Guarantee("element", private(), 0.0, 1.0, **book_words),
        lambda: Guarantee("element", 1.0, private(), 1.0, **book_words),
        lambda: Guarantee("element", 1.0, 0.0, private(), **book_words),
        lambda: Guarantee("element", 1.0, 0.0, 1.0, **book_words | {"adjacency": private()}),
        lambda: Guarantee("element", 1.0, 0.0, 1.0, **book_words | {"mechanism": private()}),
        lambda: Guarantee("element", 1.0, 0.0, 1.0, **book_words | {"not_covered": private()}),
        lambda: Guarantee.from_dict({"unit": private()}),
        lambda: Guarantee.from_dict({"unit": "element", **{str(v): v for v in MARKED}}),
        lambda: OptimalNoise(private(), 1e-5),
        lambda: OptimalNoise(1.0, private()),
        lambda: OptimalNoise(1.0, 1e-5, distance=spoilt((5, 1), np.nan)),
        lambda: OptimalNoise(1.0, 1e-5, grid=private()),
        lambda: audit(lambda values: private(), epsilon=1.0, delta=0.0, distance=1.0, cells=9),
        lambda: membership(lambda values: values, private(), scale=1.0, rows=ROWS),
        lambda: Ledger(private().tobytes().hex()[:50]).spend(private(), None),
    ):
        with pytest.raises(DPTransferError) as refused:
            attempt()
        seen(everything(refused.value))


def test_a_release_from_end_to_end(seen, tmp_path):
    """Perturb, speak, enter, show, audit: with every line and byte that comes of it."""
    values, noise = private(), NOISES[0]
    path = tmp_path / "book.ledger"
    book = Ledger.create(path)
    element, record = noise.guarantee, noise.guarantee.per_record(3)
    book.set_budget(
        "marked", Guarantee.from_dict(element.to_dict() | {"epsilon": 1.2, "delta": 1e-3})
    )
    for _ in range(2):
        book.spend("marked", element)
        noise.perturb(
            values, bounds=BOUNDS, progress=lambda done, rows: seen(f"{done} of {rows}\n")
        )
    clipped = noise.perturb(outlying(), bounds=BOUNDS, clip=True)
    with pytest.raises(DPTransferError) as refused:
        book.spend("marked", element)
    seen(everything(refused.value))
    for guarantee in (element, record, element.compose(element)):
        seen(f"{guarantee!r}\n{guarantee.statement()}\n{guarantee.to_dict()}\n")
    seen(repr(noise) + repr(book.entries("marked")) + repr(book.remaining("marked")))
    for arguments in (
        ["ledger", "show", str(path)],
        ["ledger", "show", str(path), "marked"],
        ["ledger", "show", str(path), "marked", "--json"],
    ):
        seen(CliRunner().invoke(app, arguments).output)
    for file in tmp_path.iterdir():
        seen(file.read_bytes())
    assert clipped.shape == values.shape


def test_an_audit_and_attacks(seen):
    noise = NOISES[0]

    def mechanism(inputs):
        return noise.perturb(inputs, bounds=(-10.0, 10.0))

    report = audit(
        mechanism, epsilon=0.5, delta=1e-5, distance=20.0, lowest=-10.0, cells=2_000, calls=20
    )
    seen(f"{report!r}{report.statement()}{report.to_dict()}")
    seen(repr(recover_element(mechanism, distance=20.0, lowest=-10.0, trials=100)))
    seen(repr(membership(mechanism, private()[:60], scale=40.0, rows=20, trials=20)))


def test_the_search_would_find_them():
    """The searcher searched: each form in which a value could be seen is one it knows."""
    known = traces(private())
    value = float(MARKED[0])
    for form in (f"{value}", f"{value:.5f}", f"{value:.6g}", f"at row 5: {value!r}", value.hex()):
        assert any(trace in form.encode() for trace in known), form
    assert any(trace in np.array([1.0, value]).tobytes() for trace in known)
    assert any(trace in f"{OUTLIERS} values".encode() for trace in known)
    assert any(trace in f"mean {private().mean()}".encode() for trace in known)
