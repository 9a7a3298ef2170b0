"""Section 4.2, line by line: alignment, self-training, source2target, the three residuals.

A transcription to be read beside the paper, on top of ``membership.py``. Rows are rows of arrays,
the target's classes all have labels, and all of it is slow.
"""

from __future__ import annotations

import math

import numpy as np

from reference.membership import Classifier, learn_mapping, subspace


def align(y_tg, p_sr, V_sr, V_tg):
    """y_{tg→sr}: as it is where the dimensions agree, else (V⁺)ᵀ V^{tg} y."""
    if y_tg.shape[1] == p_sr:
        return y_tg
    return np.array([V_sr.T @ (V_tg @ y) for y in y_tg])


def n_st(p_sr, p_tg):
    """Section 5: the dimension of the common subspace."""
    return min(math.ceil(p_sr / 2), p_tg)


def subspaces(Y_source_perturbed, Y_target):
    """V^{+sr} and V^{tg}."""
    n = n_st(Y_source_perturbed.shape[1], Y_target.shape[1])
    return subspace(Y_source_perturbed, n), subspace(Y_target, n)


def self_train(Y, labels, Y_unlabelled, schedule=(5, 10, 15, 20), r_max=0.5, L=5, seed=0):
    """Eqs. (iterative_target_classification, iterative_target_samples_class_c)."""
    sizes = np.unique(labels, return_counts=True)[1]
    classifier = Classifier(Y, labels, max(1, min(20, sizes.min() - 1)), 1.0, 1, random_state=seed)
    history = [classifier]
    for n in schedule:
        predicted = classifier.predict(Y_unlabelled)
        classifier = Classifier(
            np.vstack([Y, Y_unlabelled]),
            np.concatenate([labels, predicted]),
            n,
            r_max,
            L,
            random_state=seed,
        )
        history.append(classifier)
    return history


def source2target(source, Y, labels, seed=0):
    """Eqs. (738522.588685, 738522.588899): the data set 𝒟 and the mapping that it teaches."""
    x = np.empty_like(Y)
    for c, autoencoder in zip(source.classes, source.autoencoders, strict=True):
        if np.any(labels == c):
            x[labels == c] = autoencoder.filter(Y[labels == c])
    M_max = min(math.ceil(len(Y) / 2), 1000)
    return learn_mapping(x, Y, M_max, random_state=seed)


def residuals(Y, target, source, mapping):
    """The three squared errors of eq. (predicted_target_label_multitask), shape (N, C, 3)."""
    N, C = len(Y), len(target.classes)
    errors = np.empty((N, C, 3))
    for i, y in enumerate(Y):
        for c in range(C):
            filtered = source.autoencoders[c].filter(y[None])[0]
            errors[i, c, 0] = np.sum((y - target.autoencoders[c].filter(y[None])[0]) ** 2)
            errors[i, c, 1] = np.sum((y - mapping.predict(filtered[None])[0]) ** 2)
            errors[i, c, 2] = np.sum((y - filtered) ** 2)
    return errors


def predict(Y, target, source, mapping):
    """Eq. (predicted_target_label_multitask)."""
    return target.classes[residuals(Y, target, source, mapping).min(axis=2).argmin(axis=1)]
