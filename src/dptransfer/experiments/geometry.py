"""What can cross between different columns: the geometry among classes.

With other columns, no direction of one table is a direction of the other. What both sides know,
beside how large classes are, is where they lie among each other: 4 and 9 are near in either. So
the class means of the source are turned and scaled onto those that the target knows (Procrustes),
and tell where a class lies. Told by a map that was made of the same means, a class would only be
told what the target knew; so each class is told by a map made of the *others*, and how wrong that
is can be seen on the classes that are known. Where it is wrong by as much as classes are apart, the
source has nothing to tell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dptransfer.experiments.store import Figures
from dptransfer.numerics.subspace import principal_subspace
from dptransfer.transfer.release import Release

__all__ = ["geometry_figures", "told_by_others"]

Array = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.intp]

DIRECTIONS = 40
FEWEST = 3
"""Classes: of two, the other one tells no direction."""


def told_by_others(S: Array, T: Array) -> Array:
    """Where each class's mean lies in the target, by the source's and the other classes' map.

    The map of class c is x ↦ t̄ + s (x − s̄) O, the orthogonal O and the s that bring the source's
    means of all other classes nearest to the target's.

    >>> rng = np.random.default_rng(0)
    >>> S, (turn, _) = rng.standard_normal((5, 3)), np.linalg.qr(rng.standard_normal((3, 3)))
    >>> bool(np.allclose(told_by_others(S, 2 * S @ turn + 1), 2 * S @ turn + 1))
    True
    """
    told = np.empty_like(T)
    for c in range(len(S)):
        others = np.arange(len(S)) != c
        A, B = S[others] - S[others].mean(axis=0), T[others] - T[others].mean(axis=0)
        U, strength, Vt = np.linalg.svd(A.T @ B, full_matrices=False)
        known = strength > 1e-9 * strength[0]
        U, Vt = U[:, known], Vt[known]
        scale = strength.sum() / np.sum((A @ U) ** 2)
        told[c] = T[others].mean(axis=0) + scale * (S[c] - S[others].mean(axis=0)) @ U @ Vt
    return told


def geometry_figures(
    release: Release, X: Array, labels: Numbers, said: Numbers, x_test: Array, y_test: Numbers
) -> Figures:
    """What the geometry adds to class means, of which rows take the nearest, in per cent.

    Parameters
    ----------
    release : Release
        Of other columns.
    X, labels : arrays
        The target's rows, −1 where there is no label.
    said : array
        What the target alone takes the rows of the test for.
    x_test, y_test : arrays
        Rows of the test and their classes.

    Returns
    -------
    dict
        For the means of the labelled rows, "few", and of the test's rows as they are said to be,
        "many": the accuracy of the nearest mean, "by few", the same with the geometry, "by few and
        geometry", and how wrong the geometry is, in per cent of the squared distance from the
        classes to their middle, "geometry off few". With fewer than three classes, nothing.
    """
    S = np.asarray(release.summary.means, dtype=np.float64)
    P = principal_subspace(X.astype(np.float64), min(DIRECTIONS, X.shape[1]))
    test = x_test @ P.T
    known = labels >= 0
    figures: Figures = {}
    for name, rows, classes in (("few", X[known] @ P.T, labels[known]), ("many", test, said)):
        if len(S) < FEWEST:
            break
        members = [rows[classes == c] for c in range(len(S))]
        if min(map(len, members)) < 2:
            continue
        T = np.array([each.mean(axis=0) for each in members])
        told = told_by_others(S, T)
        off = float(np.mean((told - T) ** 2))
        unsure = float(np.mean([each.var(axis=0).mean() / len(each) for each in members]))
        both = (T / unsure + told / off) / (1 / unsure + 1 / off)
        figures[f"by {name}"] = _right(test, y_test, T)
        figures[f"by {name} and geometry"] = _right(test, y_test, both)
        figures[f"geometry off {name}"] = 100 * off / float(np.mean((T - T.mean(axis=0)) ** 2))
    return figures


def _right(Z: Array, y: Numbers, means: Array) -> float:
    away = np.sum(means**2, axis=1) - 2 * Z @ means.T
    return 100 * float(np.mean(away.argmin(axis=1) == y))
