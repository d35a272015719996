"""Paired differences over splits: a one-sided test, and Holm's correction for many of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t


def p_below_zero(differences: Sequence[float]) -> float:
    """p-value of the one-sided paired t-test that a mean difference is below 0.

    Splits of one table share records, so their differences are alike, and p is rather too small:
    the test finds more than a stricter one would.

    Parameters
    ----------
    differences : sequence of float, shape (n,)
        At least two.

    Raises
    ------
    ValueError
        If there are fewer: they have no spread.
    """
    values = np.asarray(differences, dtype=float)
    if values.size < 2:
        raise ValueError(f"{values.size} difference has no spread; give at least 2")
    error = values.std(ddof=1) / values.size**0.5
    if error <= 1e-12:
        return 0.0 if values.mean() < -1e-12 else 1.0
    return float(t.cdf(values.mean() / error, values.size - 1))


def holm(p_values: Sequence[float]) -> np.ndarray:
    """p-values corrected by Holm's step-down method, shape (m,), in the order given.

    The smallest counts m times, the next m - 1 times, and none less than a smaller one before it.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(values[order] * np.arange(values.size, 0, -1), 1.0)
    corrected = np.empty(values.size)
    corrected[order] = np.maximum.accumulate(stepped)
    return corrected
