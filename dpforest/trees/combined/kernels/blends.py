"""Log scores of blends: two models' scores of classes, each with a weight, over a prior."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def add_blend_scores(
    first: NDArray,
    second: NDArray,
    labels: NDArray,
    log_prior: NDArray,
    weights: NDArray,
    bound: float,
    steps: int,
    totals: NDArray,
) -> None:
    """Add every record's clipped log probability under every blend, in steps of a lattice.

    Under blend j with weights (a, b) a record of class y has log p = log softmax(a first +
    b second + (1 - a - b) log_prior)_y, and counts for floor(steps max(log p + bound, 0) / bound),
    a whole number from 0 to ``steps``.

    Parameters
    ----------
    first, second : float64 arrays of shape (n, K)
    labels : uint array of shape (n,)
    log_prior : float64 array of shape (K,)
    weights : float64 array of shape (J, 2)
    bound : float
    steps : int
    totals : int64 array of shape (J,), added to
    """
    n_classes = first.shape[1]
    values = np.empty(n_classes, np.float64)
    for i in range(first.shape[0]):
        for j in range(weights.shape[0]):
            a, b = weights[j, 0], weights[j, 1]
            top = -np.inf
            for k in range(n_classes):
                values[k] = a * first[i, k] + b * second[i, k] + (1.0 - a - b) * log_prior[k]
                top = max(top, values[k])
            total = 0.0
            for k in range(n_classes):
                total += np.exp(values[k] - top)
            log_p = values[labels[i]] - top - np.log(total)
            # By force: the range of a record's part rests on it. False for NaN too.
            part = np.int64(0)
            if log_p + bound > 0.0:
                part = np.int64(min(log_p + bound, bound) / bound * steps)
            totals[j] += min(max(part, np.int64(0)), np.int64(steps))
