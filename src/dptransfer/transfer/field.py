"""Labels that are smooth among neighbours and whose class means are those that a source tells.

Let F_ic be how much row i is of class c. A Gaussian field that differs little between neighbours
is the prior around a first guess P,

    F_c ~ N(P_c, τ D^{1/2} (I − αS)^{-1} D^{1/2}),

and a source observes, for each class, the share of its rows and their mean along each principal
direction, up to noise of a known size: with φ(x) = (1, z), b_c = (1/N) Σ_i φ(x_i) F_ic + e,
b_c = π_c (1, m_c), e ~ N(0, R_c). Both are linear in F, so that its mean, given all this, is the
solution of one linear system,

    F_c = P_c + τ G (τ K + R_c)^{-1} (b_c − Φᵀ P_c),    Φ_i = φ(x_i)/N,   A = D^{1/2} Φ,
    G = D^{1/2} (I − αS)^{-1} A,    K = Aᵀ (I − αS)^{-1} A,

whose small part has as many unknowns as there are directions. τ, how freely labels may leave the
guess, is the likeliest of a grid for what was observed. What is too noisy to tell (R large) moves
nothing, and what is not observed at all follows from the neighbours.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from dptransfer.transfer.neighbours import Neighbourhood
from dptransfer.transfer.source_means import WITHIN, SourceMeans

__all__ = ["Field"]

Array = npt.NDArray[np.floating]

ALPHA = 0.999
TAUS = np.logspace(-4, 2, 25)
SHARE_TOLERANCE = 0.05
"""By how much, of itself, a class's share may differ from the source's."""


class Field:
    """The linear system for one table and the means that a source tells of it.

    Parameters
    ----------
    graph : Neighbourhood
        Of the target's rows in the source's space.
    told : SourceMeans
    classes : array of int
        The target's number of each of the source's classes.
    """

    def __init__(
        self, graph: Neighbourhood, told: SourceMeans, classes: npt.NDArray[np.intp]
    ) -> None:
        self._classes = classes
        N = len(graph.coordinates)
        roots = np.sqrt(graph.degrees)[:, None]
        self._Phi = np.column_stack([np.ones(N), graph.coordinates]) / N
        A = roots * self._Phi
        solved = graph.solve(A, ALPHA)
        K = A.T @ solved
        share = told.shares[:, None]
        means = told.means @ graph.directions.T
        self._b = share * np.column_stack([np.ones(len(means)), means])
        # the mean of the target's own rows of a class is itself one of a sample
        spread = told.variances[:, None] + WITHIN * graph.variances / (share * N)
        R = np.column_stack([(SHARE_TOLERANCE * share) ** 2, share**2 * spread])
        # R^{-1/2} K R^{-1/2} = U diag(λ) Uᵀ serves every τ
        self._white = 1 / np.sqrt(R)
        systems = [scipy.linalg.eigh(w[:, None] * K * w, check_finite=False) for w in self._white]
        self._values = np.maximum([values for values, _ in systems], 0)
        self._vectors = np.array([vectors for _, vectors in systems])
        self._G = roots * solved

    def correct(self, P: Array) -> Array:
        """The labels nearest to P, neighbours considered, whose class means are the source's."""
        missed = self._b - (self._Phi.T @ P[:, self._classes]).T
        seen = np.einsum("cij,ci->cj", self._vectors, self._white * missed)
        evidence = [
            -np.sum(seen**2 / spread + np.log(spread))
            for spread in (tau * self._values + 1 for tau in TAUS)
        ]
        tau = TAUS[int(np.argmax(evidence))]
        weighed = seen / (tau * self._values + 1)
        moved = self._white * np.einsum("cij,cj->ci", self._vectors, weighed)
        corrected = P.copy()
        corrected[:, self._classes] += tau * (self._G @ moved.T)
        return corrected
