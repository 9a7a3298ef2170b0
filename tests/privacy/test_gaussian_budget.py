from __future__ import annotations

import copy
import math
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from reference.noise import ExactLaw
from scipy import stats

from dptransfer.errors import DataError, DeclarationError, ParameterError
from dptransfer.privacy import gaussian
from dptransfer.privacy.discrete_gaussian import GROUPS, WHOLE, DiscreteGaussian, _thresholds
from dptransfer.privacy.gaussian import GaussianNoise, gaussian_delta
from dptransfer.privacy.gaussian_budget import SMALLEST_SHARE, GaussianBudget
from dptransfer.privacy.sampler import UNITS

HALVES = {"sums": 0.25, "moments": 0.75}


def budget(epsilon=1.0, delta=1e-5, shares=None, **more):
    return GaussianBudget(epsilon, delta, HALVES if shares is None else shares, **more)


# The noise ---------------------------------------------------------------------------------------


def test_a_share_of_everything_has_the_noise_of_the_single_mechanism():
    whole = budget(shares={"all": 1}).noise("all", 2.5)
    assert whole.sigma == GaussianNoise(1.0, 1e-5, 2.5).sigma
    assert whole.variance == whole.sigma**2


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8), st.floats(0.01, 100.0))
def test_squared_ratios_add_up_to_that_of_the_single_mechanism(weights, distance):
    total = math.fsum(weights) * (1 + 1e-12)
    shares = {f"part {i}": w / total for i, w in enumerate(weights)}
    cut = budget(shares=shares)
    ratios = [cut.noise(name, distance * (i + 1)) for i, name in enumerate(shares)]
    together = math.fsum((noise.distance / noise.sigma) ** 2 for noise in ratios)
    assert together == pytest.approx(1 / GaussianNoise(1.0, 1e-5, 1.0).sigma ** 2, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("cut", [{"a": 1.0}, HALVES, {"a": 0.5, "b": 0.3, "c": 0.2}])
def test_the_accounting_of_others_finds_delta_and_hardly_less(epsilon, cut):
    """dp-accounting composes the Gaussians numerically; its bounds enclose the truth."""
    shares = budget(epsilon, 1e-5, cut)
    deltas = {}
    for pessimistic in (True, False):
        composed = None
        for i, name in enumerate(cut):
            noise = budget(epsilon, 1e-5, cut).noise(name, 1.0 + i)
            one = pld.from_gaussian_mechanism(
                noise.sigma / noise.distance,
                pessimistic_estimate=pessimistic,
                value_discretization_interval=1e-4,
            )
            composed = one if composed is None else composed.compose(one)
        deltas[pessimistic] = composed.get_delta_for_epsilon(epsilon)
    assert deltas[False] <= shares.delta * (1 + 1e-9)
    assert 0.97 * shares.delta <= deltas[True] <= 1.01 * shares.delta


# The law that is drawn ---------------------------------------------------------------------------


def drawn_law(sigma):
    """P(k) for |k| ≤ 12σ from the tables that sampling uses, divided by its sum."""
    law = DiscreteGaussian(sigma)
    proposal, (tables, eight) = ExactLaw(law.proposal), _thresholds()
    reach = math.floor(12 * sigma)
    weights = []
    for k in range(-reach, reach + 1):
        units = int(law.gamma(np.array([k]))[0])
        kept = Fraction(int(eight) + 1, UNITS) ** (units >> WHOLE)
        for (place, count), table in zip(GROUPS, tables, strict=True):
            kept *= Fraction(int(table[units >> place & 2**count - 1]) + 1, UNITS)
        weights.append(proposal.tails(k) * kept)
    whole = sum(weights)
    return np.array([float(weight / whole) for weight in weights])


def moved(law, steps):
    """The law of the noise plus so many steps, at the same whole numbers."""
    by = np.zeros_like(law)
    by[max(0, steps) : len(law) + min(0, steps)] = law[max(0, -steps) : len(law) - max(0, steps)]
    return by


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.5, 1e-3)])
@pytest.mark.parametrize("adaptive", [False, True])
def test_two_drawn_laws_together_diverge_by_delta(epsilon, delta, adaptive):
    """The second quantity's distance, and so its noise, may follow the first release."""
    cut = budget(epsilon, delta, {"first": 0.4, "second": 0.6})
    first, unit = cut.noise("first", 1.0), cut.noise("second", 1.0).sigma
    shift, far, near = 24, 20, 12  # in steps of a coarse grid
    one = drawn_law(first.sigma * shift)
    others = {steps: drawn_law(unit * steps) for steps in (far, near)}
    middle = len(one) // 2
    total = 0.0
    for wide, law in others.items():
        before = np.zeros(len(one), dtype=bool)  # after which first releases this law is used
        if adaptive:
            before[:middle] = wide == far
            before[middle:] = wide == near
        else:
            before[:] = wide == far
        here = np.multiply.outer(one[before], law)
        there = np.multiply.outer(moved(one, shift)[before], moved(law, wide))
        total += np.maximum(here - math.exp(epsilon) * there, 0).sum()
    # PROOF.md, sections 7 and 8, at these coarse σ: two values, 2^-42 becomes 2·(6/σ²).
    error = 2 * 2 * 6 / (unit * near) ** 2
    allowed = math.exp(error) * gaussian_delta(
        epsilon - 2 * error, 1.0, GaussianNoise(epsilon, delta, 1.0).sigma
    )
    assert total <= allowed
    assert total == pytest.approx(delta, rel=0.02)


def test_the_values_of_all_shares_are_paid_for_together():
    for epsilon, delta in ((0.01, 1e-12), (1.0, 1e-5), (10.0, 0.3)):
        alone = GaussianNoise(epsilon, delta, 1.0).max_values
        for parts in (1, 3, 7):
            cut = budget(epsilon, delta, {f"part {i}": 1 / 8 for i in range(parts)})
            assert alone - parts < cut.max_values * parts <= alone


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.5])
def test_the_steps_of_the_noise_are_floats_exactly(epsilon, delta):
    smallest = budget(epsilon, delta, {"part": SMALLEST_SHARE})
    if smallest.max_values:
        noise = smallest.noise("part", 3.0)
        assert gaussian.FINE <= noise.sigma / noise.grid(smallest.max_values) <= 2.0**49


def test_the_rounded_array_moves_little_further_than_the_array():
    noise = budget().noise("sums", 5.0)
    for n in (1, 1000, 10**6):
        assert math.sqrt(n) <= gaussian.SLACK * noise.distance / noise.grid(n)


def test_released_values_are_on_the_grid_with_the_noise_that_is_said():
    noise = budget(0.5, 1e-6).noise("moments", 4.0)
    out = noise.perturb(np.zeros((500, 400)))
    assert out.shape == (500, 400)
    assert np.all(out % noise.grid(out.size) == 0)
    assert out.std() == pytest.approx(noise.sigma, rel=6 / math.sqrt(2 * out.size))
    assert stats.kstest(out.ravel() / noise.sigma, "norm").pvalue > 1e-6


# Once, and only once -----------------------------------------------------------------------------


def test_a_share_is_given_out_once():
    cut = budget()
    assert cut.unspent == ("sums", "moments")
    cut.noise("sums", 1.0)
    assert cut.unspent == ("moments",)
    with pytest.raises(ParameterError, match="'sums' is spent"):
        cut.noise("sums", 1.0)
    cut.noise("moments", 1.0)
    assert cut.unspent == ()


def test_its_noise_perturbs_one_array():
    noise = budget().noise("sums", 1.0)
    noise.perturb([1.0])
    with pytest.raises(ParameterError, match="has perturbed its array"):
        noise.perturb([1.0])


def test_an_interruption_spends_it_too():
    noise = budget().noise("sums", 1.0)
    X = np.ones(200_000)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        noise.perturb(X, progress=interrupt)
    assert np.all(X == 1)
    with pytest.raises(ParameterError, match="needs a share of its own"):
        noise.perturb(X)


def test_what_is_refused_spends_nothing():
    cut = budget()
    with pytest.raises(DeclarationError, match="distance"):
        cut.noise("sums", math.nan)
    noise = cut.noise("sums", 1.0)
    with pytest.raises(DataError) as caught:
        noise.perturb([8263.5771, math.nan])
    assert "8263" not in str(caught.value)
    assert noise.perturb([1.0, 2.0]).shape == (2,)


def test_of_eight_threads_one_gets_the_share():
    for _ in range(20):
        cut = budget()

        def ask(_, cut=cut):
            try:
                return cut.noise("sums", 1.0)
            except ParameterError:
                return None

        with ThreadPoolExecutor(8) as pool:
            assert sum(noise is not None for noise in pool.map(ask, range(8))) == 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_budget_nor_noise_can_be_copied(copied):
    cut = budget()
    for one in (cut, cut.noise("sums", 1.0)):
        with pytest.raises(ParameterError, match="cannot be copied or pickled"):
            copied(one)


def test_a_forked_process_has_nothing_to_spend():
    cut = budget()
    noise = cut.noise("sums", 1.0)
    child = os.fork()
    if not child:
        refused = 0
        for spend in (lambda: cut.noise("moments", 1.0), lambda: noise.perturb([1.0])):
            try:
                spend()
            except ParameterError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert noise.perturb([1.0]).shape == (1,)


def test_the_shares_are_fixed_when_the_budget_is_made():
    given_shares = dict(HALVES)
    cut = budget(shares=given_shares)
    given_shares["sums"] = 1.0
    assert cut.shares == HALVES
    with pytest.raises(TypeError):
        cut.shares["sums"] = 1.0


# What is said ------------------------------------------------------------------------------------


def test_the_guarantee_is_one_for_all_shares():
    cut = budget(adjacency="replace-record")
    said = cut.guarantee
    assert (said.unit, said.epsilon, said.delta) == ("record", 1.0, 1e-5)
    assert said.adjacency == "replace-record"
    assert "sums 0.25, moments 0.75" in said.mechanism
    assert "INSECURE" not in said.statement()


def test_an_insecure_seed_repeats_the_noise_of_a_share_and_is_told():
    X = np.zeros(1000)
    first, again = budget(insecure_seed=3), budget(insecure_seed=3)
    assert np.array_equal(first.noise("sums", 1.0).perturb(X), again.noise("sums", 1.0).perturb(X))
    # A share of the same size would have the same noise, had it no stream of its own.
    even = budget(insecure_seed=3, shares={"a": 0.5, "b": 0.5})
    assert not np.array_equal(even.noise("a", 1.0).perturb(X), even.noise("b", 1.0).perturb(X))
    assert not np.array_equal(*(budget().noise("sums", 1.0).perturb(X) for _ in range(2)))
    assert "INSECURE: seeded noise" in first.guarantee.statement()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"delta": 0.0}, ParameterError),
        ({"epsilon": 0.0}, ParameterError),
        ({"adjacency": "d-adjacency"}, ParameterError),
        ({"insecure_seed": "x"}, ParameterError),
        ({"shares": {}}, DeclarationError),
        ({"shares": [0.5, 0.5]}, DeclarationError),
        ({"shares": {"a": 0.5, "b": 0.5000001}}, DeclarationError),
        ({"shares": {"a": 0.0}}, DeclarationError),
        ({"shares": {"a": -0.5, "b": 1.5}}, DeclarationError),
        ({"shares": {"a": math.nan}}, DeclarationError),
        ({"shares": {"a": True}}, DeclarationError),
        ({"shares": {"a": "half"}}, DeclarationError),
        ({"shares": {"": 0.5}}, DeclarationError),
        ({"shares": {1: 0.5}}, DeclarationError),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, error):
    with pytest.raises(error):
        GaussianBudget(**({"epsilon": 1.0, "delta": 1e-5, "shares": HALVES} | arguments))


def test_a_name_that_is_no_share_is_refused_and_told_which_are():
    with pytest.raises(ParameterError, match="sums, moments"):
        budget().noise("counts", 1.0)


def test_more_values_than_the_proof_pays_for_are_refused():
    cut = budget(1e-6)
    assert 0 < cut.max_values < 1000
    with pytest.raises(ParameterError, match="at most"):
        cut.noise("sums", 1.0).perturb(np.zeros(1000))
