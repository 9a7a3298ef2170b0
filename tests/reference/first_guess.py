"""What a few labels say of all rows, with every step written out.

The walk by inversion of an N × N matrix, each class's mean as the conditional mean of one Gaussian
given another, and for every hidden label everything once more from the start.
"""

from __future__ import annotations

import math

import numpy as np

from reference import field


def spread(W, P, alpha):
    """(1 − α) D^{-1/2} (I − αS)^{-1} D^{1/2} P."""
    S, D = field.normalised(W)
    root = np.sqrt(D)[:, None]
    return (1 - alpha) * np.linalg.solve(np.eye(len(S)) - alpha * S, root * P) / root


def by_neighbours(W, numbers, n_classes, alpha):
    """Labels spread over the graph, every class of equal mass; else all classes seen alike."""
    P = np.zeros((len(numbers), n_classes))
    for i, c in enumerate(numbers):
        if c >= 0:
            P[i, c] = 1
    mass = spread(W, P, alpha)
    shares = np.zeros_like(mass)
    seen = sorted(set(numbers[numbers >= 0]))
    for c in seen:
        shares[:, c] = mass[:, c] / mass[:, c].sum()
    for i, each in enumerate(shares):
        if each.sum() > 0:
            shares[i] /= each.sum()
        else:
            shares[i, seen] = 1 / len(seen)
    return shares


def class_mean(Z, variances, told, within, elsewhere):
    """E[m | the labelled rows Z, what sources tell] of a class's mean m, along each direction.

    Before anything is seen m ~ N(0, (1 − within) v), since the classes' means lie about the mean of
    all rows; a row is m + e with e ~ N(0, within v), and a source tells m + e with its own variance
    and elsewhere v. Along a direction in which all rows are alike, so are the means.
    """
    mean = np.zeros(len(variances))
    for k, v in enumerate(variances):
        if v < 1e-12 * variances.max():
            continue
        seen = [(z[k], within * v) for z in Z]
        seen += [(m[k], s + elsewhere * v) for m, s in told if math.isfinite(s)]
        b, R = np.array([x for x, _ in seen]), np.diag([r for _, r in seen])
        prior = np.array([[(1 - within) * v]])
        mean[k] = field.posterior_mean(np.zeros(1), prior, np.ones((len(b), 1)), b, R)[0]
    return mean


def by_means(Z, variances, numbers, n_classes, told, within, elsewhere):
    """exp(−‖z − m_c‖² / 2v̄) of every row and class, v̄ the mean variance, as shares."""
    P = np.zeros((len(Z), n_classes))
    for c in range(n_classes):
        of_class = [(means[c], noise[c]) for means, noise in told]
        if np.any(numbers == c) or any(math.isfinite(s) for _, s in of_class):
            m = class_mean(Z[numbers == c], variances, of_class, within, elsewhere)
            P[:, c] = [math.exp(-np.sum((z - m) ** 2) / (2 * variances.mean())) for z in Z]
    return P / P.sum(axis=1, keepdims=True)


def product(P, Q, least):
    """Of two opinions on a row; what either rules out is out."""
    both = np.where((P > 0) & (Q > 0), (P + least) * (Q + least), 0)
    return both / both.sum(axis=1, keepdims=True)


def without_labels(P, means, numbers):
    """Classes without a label have what the means give them; the others share the rest by P."""
    whole = P.copy()
    for i, said in enumerate(means):
        unlabelled = [c for c in range(P.shape[1]) if not np.any(numbers == c)]
        whole[i] *= 1 - sum(said[unlabelled])
        whole[i, unlabelled] = said[unlabelled]
    return whole


def judged(neighbours, means, numbers, least, tie):
    """Who of the two and both together finds more labels that are hidden in turn; and how many.

    `neighbours` and `means` give the shares of all rows for some numbers.
    """
    judges = {
        "neighbours": neighbours,
        "means": means,
        "both": lambda numbers: product(neighbours(numbers), means(numbers), least),
    }
    hidden = [i for i, c in enumerate(numbers) if c >= 0 and np.sum(numbers == c) > 1]
    found, worth = {}, {}
    for name, judge in judges.items():
        right, sure = [], []
        for i in hidden:
            without = numbers.copy()
            without[i] = -1
            said = judge(without)[i]
            right.append(int(said.argmax()) == numbers[i])
            sure.append(said[numbers[i]])
        found[name] = np.array(right)
        worth[name] = np.mean(right) + tie * np.mean(sure)
    best = max(worth, key=worth.get)
    P = judges[best](numbers)
    return best, found, P if best == "means" else without_labels(P, means(numbers), numbers)
