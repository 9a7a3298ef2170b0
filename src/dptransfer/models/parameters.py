"""What a user may ask of a model, said in one sentence where it cannot be had."""

from __future__ import annotations

import math
import numbers

from dptransfer.errors import ParameterError

__all__ = ["check_positive", "components", "inducing_limit"]

DEFAULT_COMPONENTS = 20


def check_positive(name: str, value: float, *, integer: bool = False) -> None:
    """Refuse what is not a positive (whole) number."""
    kind = numbers.Integral if integer else numbers.Real
    if not isinstance(value, kind) or isinstance(value, bool) or not value > 0:
        what = "a whole number of at least 1" if integer else "a positive number"
        raise ParameterError(f"{name} must be {what}, but is {value!r}")


def inducing_limit(max_inducing: float | None, N: int) -> int:
    """M_max for N rows: an int is M_max, a float in (0, 1] is r_max, None is N; never above N.

    >>> inducing_limit(0.5, 7), inducing_limit(500, 7), inducing_limit(None, 7)
    (4, 7, 7)
    """
    if max_inducing is None:
        return N
    if isinstance(max_inducing, bool):
        pass
    elif isinstance(max_inducing, numbers.Integral):
        if max_inducing >= 1:
            return min(int(max_inducing), N)
    elif isinstance(max_inducing, numbers.Real) and 0 < max_inducing <= 1:
        # 0.07 of 100 rows is 7, though 0.07 * 100 is a little more in floating point
        return max(1, math.ceil(float(max_inducing) * N - 1e-9))
    raise ParameterError(
        "max_inducing must be a share of the rows in (0, 1] or a whole number of points "
        f"of at least 1, but is {max_inducing!r}"
    )


def components(n_components: int, n_features: int) -> int:
    """The subspace dimension n; the default of 20 means min(20, p), as in the paper's Section 5."""
    check_positive("n_components", n_components, integer=True)
    if n_components > n_features and n_components != DEFAULT_COMPONENTS:
        raise ParameterError(
            f"n_components must be at most the number of columns: {n_components} were asked for, "
            f"X has {n_features}"
        )
    return min(n_components, n_features)
