"""Algorithms 1 to 4, line by line.

A transcription to be read beside the paper, not to be run in earnest: every matrix is formed, every
solve is done anew, k-means is scikit-learn's. Where the paper is silent or cannot work as printed,
the decisions are those of ``docs/theory.md``, made here in the plainest way. Given arrays of
mpmath's numbers (``exact``) the equations are evaluated with fifty digits, so that a difference
found by a test is the fast code's.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import mpmath
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

NU = 2.1
KAPPA = 0.1
JITTERS = (0.0, 1e-8, 1e-7, 1e-6)
SMALLEST_PIVOT = 1e-8


mpmath.mp.dps = 50
exact = np.vectorize(mpmath.mpf, otypes=[object])


def kr(x, a, w, sigma2=1.0):
    """Kernel, eq. (membership1003_3), for every pair of rows."""
    if x.dtype == np.float64:
        return sigma2 * np.exp(-0.5 * cdist(x * np.sqrt(w), a * np.sqrt(w), "sqeuclidean"))
    exp = np.vectorize(mpmath.exp, otypes=[object])
    return np.array([sigma2 * exp(-0.5 * np.sum(w * abs(x_i - a) ** 2, axis=1)) for x_i in x])


def cluster_centroid(x, M, random_state):
    """Eq. (738496.4692); the distinct points themselves where there are no more than M."""
    distinct = np.unique(x, axis=0)
    if len(distinct) <= M:
        return distinct
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(M, n_init=1, random_state=random_state).fit(np.asarray(x, float))
    return means.cluster_centers_.astype(x.dtype)


def solve(A, B):
    """A⁻¹B by elimination with pivoting: LAPACK in float64, by hand in many digits."""
    if A.dtype == np.float64:
        return np.linalg.solve(A, B)
    A, B = A.copy(), B.copy()
    size = len(A)
    for k in range(size):
        pivot = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, pivot]], B[[k, pivot]] = A[[pivot, k]], B[[pivot, k]]
        factors = (A[k + 1 :, k] / A[k, k])[:, None]
        A[k + 1 :] -= factors * A[k]
        B[k + 1 :] -= factors * B[k]
    X = np.empty_like(B)
    for k in reversed(range(size)):
        X[k] = (B[k] - A[k, k + 1 :] @ X[k + 1 :]) / A[k, k]
    return X


def with_jitter(Kaa):
    """K_aa (of σ² = 1) with the smallest jitter of the ladder that lets it factorise."""
    eye = np.eye(len(Kaa), dtype=Kaa.dtype)
    for jitter in JITTERS:
        try:
            R = np.linalg.cholesky((Kaa + jitter * eye).astype(float))
        except np.linalg.LinAlgError:
            continue
        if np.min(np.diag(R)) ** 2 >= SMALLEST_PIVOT:
            break
    return Kaa + jitter * eye


def tau(x, a, w):
    """τ(M, 1), before eq. (738497.3805)."""
    Kaa, Kxa = with_jitter(kr(a, a, w)), kr(x, a, w)
    trace = len(x) - np.trace(solve(Kaa, Kxa.T @ Kxa))
    return trace / (NU + len(a) - 2)


@dataclass
class Mapping:
    """The parameters set 𝕄 of Algorithm 1, with the figures that led to it."""

    alpha: np.ndarray
    a: np.ndarray
    sigma2: float
    w: np.ndarray
    tau1: float
    beta: float
    n_iter: int

    @property
    def M(self):
        return len(self.a)

    def predict(self, x):
        """Eq. (738124.770095)."""
        return kr(x, self.a, self.w, self.sigma2) @ self.alpha


def weights(x):
    """Eq. (738496.4698); a constant dimension carries no distance."""
    spread = x.max(axis=0) - x.min(axis=0)
    w = np.zeros_like(spread)
    w[spread > 0] = spread[spread > 0] ** -2
    return w


def learn_mapping(
    x, y, M_max, *, inducing_points=None, random_state=0, tol=1e-6, max_iter=1000
) -> Mapping:
    """Algorithm 1."""
    w = weights(x)
    if inducing_points is None:
        M = M_max
        a = cluster_centroid(x, M, random_state)
        tau1 = tau(x, a, w)
        while tau1 < KAPPA and M > 1:
            M = min(math.ceil(0.9 * M), M - 1)
            a = cluster_centroid(x, M, random_state)
            tau1 = tau(x, a, w)
    else:
        a = inducing_points
        tau1 = tau(x, a, w)
    variance = np.mean(np.var(y, axis=0))
    tau1 = max(tau1, 0 * tau1)
    sigma2 = 1.0 if tau1 >= variance or tau1 == 0 else variance / tau1
    Kaa = sigma2 * with_jitter(kr(a, a, w))
    Kxa = kr(x, a, w, sigma2)
    tau_sigma = sigma2 * tau1

    def alpha_of(beta):
        return solve(Kxa.T @ Kxa + tau_sigma * Kaa + Kaa / beta, Kxa.T @ y)

    beta = 1.0
    floor = max(np.finfo(float).eps * float(np.mean(y**2)), np.finfo(float).tiny)
    for n_iter in range(1, max_iter + 1):
        alpha = alpha_of(beta)
        previous, beta = beta, 1 / max(np.mean((y - Kxa @ alpha) ** 2), floor)
        if abs(beta - previous) <= tol * beta:
            break
    return Mapping(alpha_of(beta), a, sigma2, w, tau1, beta, n_iter)


def subspace(Y, n):
    """P of Algorithm 2, step 3: the leading eigenvectors of the sample covariance, as rows."""
    if len(Y) == 1:
        return np.eye(Y.shape[1])[:1]
    values, vectors = np.linalg.eigh(np.cov(Y, rowvar=False, bias=True).reshape((Y.shape[1],) * 2))
    P = vectors[:, np.argsort(-values)[:n]].T
    return P * np.sign([row[np.argmax(np.abs(row))] for row in P])[:, None]


class Deep:
    """Algorithm 2 and its filtering, Definition (CDMMA filtering)."""

    def __init__(self, Y, n, M_max, L, *, inducing_points=None, random_state=0):
        rank = np.linalg.matrix_rank(Y - Y.mean(axis=0), tol=1e-7 * np.abs(Y).max())
        n = max(1, min(n, len(Y) - 1, rank))
        self.alone = Y[0] if np.all(Y[0] == Y) else None
        self.P, self.layers, x = [], [], Y
        if self.alone is not None:
            return
        for layer in range(L):
            P = subspace(Y, max(n - layer, 1))
            x = Y @ P.T if layer == 0 else self.layers[-1].predict(x) @ P.T
            M_max = M_max if layer == 0 else self.layers[-1].M
            points = None if inducing_points is None else inducing_points[layer]
            self.P.append(P)
            self.layers.append(
                learn_mapping(x, Y, M_max, inducing_points=points, random_state=random_state)
            )

    def layer_outputs(self, Y):
        if self.alone is not None:
            return np.broadcast_to(self.alone, (1, *Y.shape))
        outputs = []
        for P, layer in zip(self.P, self.layers, strict=True):
            outputs.append(layer.predict((outputs[-1] if outputs else Y) @ P.T))
        return np.array(outputs)

    def filter(self, Y):
        outputs = self.layer_outputs(Y)
        best = np.argmin(np.sum((Y - outputs) ** 2, axis=2), axis=0)
        return outputs[best, np.arange(len(Y))]


class Wide:
    """Algorithm 3 and its filtering, eq. (738500.4495)."""

    def __init__(self, Y, n, r_max, L, *, random_state=0):
        S = math.ceil(len(Y) / 1000)
        subsets = [Y]
        if S > 1:
            labels = KMeans(S, n_init=1, random_state=random_state).fit(Y).labels_
            subsets = [Y[labels == s] for s in range(S) if np.any(labels == s)]
        self.parts = [
            Deep(Ys, n, max(1, math.ceil(r_max * len(Ys) - 1e-9)), L, random_state=random_state)
            for Ys in subsets
        ]

    def filter(self, Y):
        outputs = [part.filter(Y) for part in self.parts]
        errors = np.array([np.sum((Y - output) ** 2, axis=1) for output in outputs])
        return np.array(outputs)[np.argmin(errors, axis=0), np.arange(len(Y))]

    def residuals(self, Y):
        errors = None
        for part in self.parts:
            new = np.sum((Y - part.filter(Y)) ** 2, axis=1)
            errors = new if errors is None else np.minimum(errors, new)
        return errors


class Classifier:
    """Algorithm 4 and Definition (A Classifier)."""

    def __init__(self, Y, labels, n, r_max, L, *, random_state=0):
        self.classes = np.unique(labels)
        self.autoencoders = [
            Wide(Y[labels == c], n, r_max, L, random_state=random_state) for c in self.classes
        ]

    def residuals(self, Y):
        return np.array([autoencoder.residuals(Y) for autoencoder in self.autoencoders]).T

    def predict(self, Y):
        return self.classes[np.argmin(self.residuals(Y), axis=1)]
