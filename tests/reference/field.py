"""The field of labels and what a source tells of it, with every matrix written out.

N × N throughout and no trick: the weights of the neighbourhood graph from all pairs of rows, the
prior covariance by inversion, and the textbook's conditional mean of one Gaussian given another.
"""

from __future__ import annotations

import math

import numpy as np


def coordinates(Y, d):
    """Rows in the d leading principal directions about their mean."""
    centred = Y - Y.mean(axis=0)
    values, V = np.linalg.eigh(centred.T @ centred)
    return centred @ V[:, np.argsort(-values)[:d]]


def weights(Z, k):
    """Each row joined to its k nearest by angle, whoever of the two counts the other as near."""
    N = len(Z)
    q = np.array([z / np.linalg.norm(z) for z in Z])
    away = np.array([[np.sum((q[i] - q[j]) ** 2) for j in range(N)] for i in range(N)])
    near = [[j for j in np.argsort(away[i]) if j != i][:k] for i in range(N)]
    s = [math.sqrt(max(away[i, j] for j in near[i])) for i in range(N)]
    W = np.zeros((N, N))
    for i in range(N):
        for j in near[i]:
            W[i, j] = W[j, i] = math.exp(-away[i, j] / (s[i] * s[j]))
    return W


def normalised(W):
    """S = D^{-1/2} W D^{-1/2}, and D in units of its mean."""
    D = W.sum(axis=1)
    return W / np.sqrt(np.outer(D, D)), D / D.mean()


def prior_covariance(S, D, alpha):
    """D^{1/2} (I − αS)^{-1} D^{1/2}."""
    root = np.diag(np.sqrt(D))
    return root @ np.linalg.inv(np.eye(len(S)) - alpha * S) @ root


def observed(Z):
    """The matrix that takes a class's labels to its share and its share times its mean."""
    return np.column_stack([np.ones(len(Z)), Z]).T / len(Z)


def posterior_mean(prior_mean, prior, H, b, R):
    """E[f | H f + e = b] for f ~ N(prior_mean, prior) and e ~ N(0, R)."""
    covariance = H @ prior @ H.T + R
    return prior_mean + prior @ H.T @ np.linalg.inv(covariance) @ (b - H @ prior_mean)


def log_evidence(prior_mean, prior, H, b, R):
    """ln of the density of b."""
    covariance = H @ prior @ H.T + R
    missed = b - H @ prior_mean
    _, volume = np.linalg.slogdet(2 * math.pi * covariance)
    return -(missed @ np.linalg.inv(covariance) @ missed + volume) / 2
