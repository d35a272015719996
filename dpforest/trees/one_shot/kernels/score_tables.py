"""Tables of records' scores: class counts by bins of a score, and log scores of softmax pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.block_math import exp_of, log_of

_BLOCK = 512


@kernel()
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
    bins = np.empty(_BLOCK, np.int32)
    for first in range(0, scores.size, _BLOCK):
        own = scores[first : first + _BLOCK]
        _find_bins(own, edges, bins)
        for i in range(own.size):
            counts[bins[i], labels[first + i]] += 1


@kernel()
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
    bins = np.empty(_BLOCK, np.int32)
    for first in range(0, scores.size, _BLOCK):
        own = scores[first : first + _BLOCK]
        _find_bins(own, edges, bins)
        for i in range(own.size):
            counts[bins[i], 0] += steps - targets[first + i]
            counts[bins[i], 1] += targets[first + i]


@kernel()
def _find_bins(scores: NDArray, edges: NDArray, bins: NDArray) -> None:
    """Edges that are not above each score: all edges of many records, which takes no branch."""
    bins[: scores.size] = 0
    for edge in edges:
        for i in range(scores.size):
            bins[i] += np.int32(scores[i] >= edge)


# Without numpy's error model a division is a branch, and the loops are no vector loops.
@kernel(error_model="numpy")
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

    Under (slope, power) a record of class y has log p = log softmax(slope score + power
    log_prior)_y, and counts for floor(steps max(log p + bound, 0) / bound), a whole number from 0
    to ``steps``. exp(slope score) serves all powers, and a block of records goes through each
    step before the next, so that every loop is one over vectors.

    Parameters
    ----------
    scores : float64 array of shape (n, K)
    labels : uint array of shape (n,)
    log_prior : float64 array of shape (K,)
    slopes : float64 array of shape (S,), none negative
    prior_powers : float64 array of shape (P,)
    bound : float
    steps : int
        At most 2**20: a block's sum stays below 2**31.
    totals : int64 array of shape (S P,), added to; slopes run slowest
    """
    n_classes, n_powers = scores.shape[1], prior_powers.size
    weights = prior_powers.reshape(n_powers, 1) * log_prior
    exp_of(weights.reshape(weights.size), np.empty(weights.size))
    below = np.empty((n_classes, _BLOCK))
    raised = np.empty((n_classes, _BLOCK))
    own, own_prior = np.empty(_BLOCK), np.empty(_BLOCK)
    total, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        for i in range(count):
            top = scores[first + i, 0]
            for k in range(1, n_classes):
                top = max(top, scores[first + i, k])
            for k in range(n_classes):
                below[k, i] = scores[first + i, k] - top
            own[i] = below[labels[first + i], i]
            own_prior[i] = log_prior[labels[first + i]]
        for s in range(slopes.size):
            for k in range(n_classes):
                row = raised[k, :count]
                for i in range(count):
                    row[i] = slopes[s] * below[k, i]
                exp_of(row, scratch)
            for p in range(n_powers):
                total[:count] = 0.0
                for k in range(n_classes):
                    weight = weights[p, k]
                    for i in range(count):
                        total[i] += weight * raised[k, i]
                log_of(total[:count], scratch)
                slope, power = slopes[s], prior_powers[p]
                for i in range(count):
                    total[i] = slope * own[i] + power * own_prior[i] - total[i]
                totals[s * n_powers + p] += _steps_kept(total, count, bound, steps)


@kernel(error_model="numpy")
def _steps_kept(log_p: NDArray, count: int, bound: float, steps: int) -> np.int64:
    """Lattice steps of the first log probabilities, each from 0 to ``steps`` by force."""
    scale = steps / bound
    added = np.int32(0)
    for i in range(count):
        # The range of a record's part rests on this. The comparison is false for NaN too.
        kept = log_p[i] + bound if log_p[i] + bound > 0.0 else 0.0
        added += min(np.int32(min(kept * scale, float(steps))), np.int32(steps))
    return np.int64(added)
