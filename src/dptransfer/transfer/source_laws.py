"""What a source's second moments say of each row: a normal law for every class.

A record-level release brings its own laws. For perturbed rows they follow from their second moments
in V⁺, looked at along the *target's* principal directions u, which have no noise. With U = u V⁺ᵀ,

    Σ_c = U (1/n_c Σ z zᵀ) Uᵀ − m_c m_cᵀ − U V⁺ diag(s²) V⁺ᵀ Uᵀ,

s² the variance of the noise. An entry is known up to about s²/√n_c, and where that is more than
what classes differ by, they are given what they have in common (Wiener's weight). Where V⁺ does not
hold the target's directions, it is itself noise, and there are no laws.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dptransfer.transfer.gaussian_classes import joint_densities
from dptransfer.transfer.moment_release import MomentRelease
from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.release import Release

__all__ = ["source_laws"]

Array = npt.NDArray[np.floating]

DIRECTIONS = 20
HELD = 0.9
"""Of the squared length of the target's directions, so much must lie in V⁺."""

FLOOR = 3.0
NARROWEST = 0.1


def source_laws(release: Release, X: Array, graph: Neighbourhood) -> Array | None:
    """The logarithm of Pr{x, c}, for every row and class; None where it cannot be told."""
    if isinstance(release, MomentRelease):
        if not release.summary.second_moments_known:
            return None
        likely: Array = release.model.decision_function(X)
        return likely
    told = release.summary
    u = graph.directions[:DIRECTIONS]
    k = len(u)
    V = np.asarray(told.subspace[: told.moments.shape[1]], dtype=np.float64)
    U = u @ V.T
    if np.sum(U**2) < HELD * k or np.any(told.counts < 2):
        return None
    n = told.counts.astype(np.float64)
    own_means = told.means @ V.T @ U.T
    seen_through = U @ V
    noise = (seen_through * told.noise_variance) @ seen_through.T
    own = (
        np.einsum("ij,cjk,lk->cil", U, told.moments / n[:, None, None], U)
        - own_means[:, :, None] * own_means[:, None, :]
        - noise
    )
    N = n.sum()
    pooled = np.einsum("c,cij->ij", n / N, own)
    values, Q = np.linalg.eigh(pooled)
    size = float(np.diag(noise).mean())
    values = np.maximum(values, FLOOR * size * np.sqrt(k / N) + 1e-9)
    units = Q / np.sqrt(values)
    apart = units.T @ (own - pooled) @ units
    # an entry of the second moments of n rows whose numbers have variances v + s²
    whole = (values + size) / values
    variance = whole[:, None] * whole * (1 + np.eye(k)) / n[:, None, None]
    signal = max(float(np.mean(apart**2 - variance)), 1e-6)
    spread, W = np.linalg.eigh(np.eye(k) + apart * signal / (signal + variance))
    roots = (Q * np.sqrt(values)) @ W * np.sqrt(np.maximum(spread, NARROWEST))[:, None, :]
    error = np.asarray(told.mean_errors, dtype=np.float64)[:, 0] ** 2
    laws = roots @ np.swapaxes(roots, 1, 2) + error[:, None, None] * np.eye(k)
    means = (told.means - graph.mean) @ u.T
    return joint_densities(graph.coordinates[:, :k], means, np.linalg.cholesky(laws), n / N)
