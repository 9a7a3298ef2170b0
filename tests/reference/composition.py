"""Composition by the definition: every outcome of the worst-case mechanisms, one by one."""

from itertools import product
from math import exp, inf, prod


def composed_delta(losses, epsilon):
    """δ(ε) of the worst mechanisms with these (ε, δ): hockey-stick divergence over 2ᵏ outcomes."""
    told = 1 - prod(1 - delta for _, delta in losses)
    divergence = 0.0
    for signs in product((1, -1), repeat=len(losses)):
        p = prod(
            exp(s * e / 2) / (exp(e / 2) + exp(-e / 2))
            for s, (e, _) in zip(signs, losses, strict=True)
        )
        q = prod(
            exp(-s * e / 2) / (exp(e / 2) + exp(-e / 2))
            for s, (e, _) in zip(signs, losses, strict=True)
        )
        divergence += max(0.0, p - exp(epsilon) * q)
    return told + (1 - told) * divergence


def composed_epsilon(losses, delta, tol=1e-10):
    """Smallest ε with δ(ε) ≤ δ, by bisection."""
    low, high = 0.0, sum(e for e, _ in losses) + tol
    if composed_delta(losses, high) > delta:
        return inf
    while high - low > tol:
        middle = (low + high) / 2
        low, high = (middle, high) if composed_delta(losses, middle) > delta else (low, middle)
    return high
