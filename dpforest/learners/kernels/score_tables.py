"""Where records' scores lie: class counts by bins of a score, and log scores of softmax pairs."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def add_score_histogram(scores: NDArray, labels: NDArray, edges: NDArray, counts: NDArray) -> None:
    """Count every record in the bin of its score, by class.

    Parameters
    ----------
    scores : float64 array of shape (n,)
    labels : uint array of shape (n,)
    edges : float64 array of shape (B - 1,), rising
        A score lies in the bin after the last edge that is not above it.
    counts : int64 array of shape (B, K), added to
    """
    for i in range(scores.size):
        bin_of = 0
        while bin_of < edges.size and scores[i] >= edges[bin_of]:
            bin_of += 1
        counts[bin_of, labels[i]] += 1


@njit(cache=True, nogil=True)
def add_target_histogram(
    scores: NDArray, targets: NDArray, steps: int, edges: NDArray, counts: NDArray
) -> None:
    """The same for targets: ``steps - t`` parts in column 0, ``t`` parts in column 1.

    Parameters
    ----------
    scores : float64 array of shape (n,)
    targets : int32 array of shape (n,), from 0 to ``steps``
    steps : int
    edges : float64 array of shape (B - 1,), rising
    counts : int64 array of shape (B, 2), added to
    """
    for i in range(scores.size):
        bin_of = 0
        while bin_of < edges.size and scores[i] >= edges[bin_of]:
            bin_of += 1
        counts[bin_of, 0] += steps - targets[i]
        counts[bin_of, 1] += targets[i]


@njit(cache=True, nogil=True)
def add_pair_scores(
    scores: NDArray,
    labels: NDArray,
    log_prior: NDArray,
    slopes: NDArray,
    prior_powers: NDArray,
    bound: float,
    steps: int,
    totals: NDArray,
) -> None:
    """Add every record's clipped log probability under every pair, in steps of a lattice.

    Under pair j a record of class y has log p = log softmax(slope_j score + power_j log_prior)_y,
    and counts for floor(steps max(log p + bound, 0) / bound), a whole number from 0 to ``steps``.

    Parameters
    ----------
    scores : float64 array of shape (n, K)
    labels : uint array of shape (n,)
    log_prior : float64 array of shape (K,)
    slopes, prior_powers : float64 arrays of shape (J,)
    bound : float
    steps : int
    totals : int64 array of shape (J,), added to
    """
    n_classes = scores.shape[1]
    values = np.empty(n_classes, np.float64)
    for i in range(scores.shape[0]):
        for j in range(slopes.size):
            top = -np.inf
            for k in range(n_classes):
                values[k] = slopes[j] * scores[i, k] + prior_powers[j] * log_prior[k]
                top = max(top, values[k])
            total = 0.0
            for k in range(n_classes):
                total += np.exp(values[k] - top)
            log_p = values[labels[i]] - top - np.log(total)
            # By force: the range of a record's part rests on it.
            kept = min(max(log_p + bound, 0.0), bound)
            totals[j] += min(np.int64(kept / bound * steps), steps)
