"""From released counts of nodes to class shares: post-processing, which costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.boosted.steps import combined_levels
from dpforest.trees.scored.gradients import GRADIENT_STEPS

#: Records of its parent that a node's shares are mixed with, and weight of the noise beside them.
_RECORDS, _NOISE = 2.0, 1.5
#: Smallest share of a class in a leaf.
_LEAST = 1e-6


def whole_shares(counts: NDArray[np.floating | np.int64]) -> NDArray[np.int64]:
    """Class shares of nodes in whole steps, `GRADIENT_STEPS` in all, from their released counts.

    Parameters
    ----------
    counts : ndarray, shape (n_nodes, K)
        With noise; those below nothing are taken for nothing.
    """
    kept = np.maximum(counts.astype(np.float64), 0.0)
    totals = kept.sum(axis=1, keepdims=True)
    even = np.full_like(kept, 1.0 / kept.shape[1])
    shares = np.divide(kept, totals, out=even, where=totals > 0)
    whole = np.floor(shares * GRADIENT_STEPS).astype(np.int64)
    whole[np.arange(whole.shape[0]), whole.argmax(axis=1)] += GRADIENT_STEPS - whole.sum(axis=1)
    return whole


def leaf_shares(
    prior: NDArray[np.float64],
    released: Sequence[NDArray[np.int64]],
    variances: Sequence[float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Class shares and sizes of the leaves.

    A node's counts are its own release and the sums of those below, by their noise. From the root
    downward its shares are mixed with its parent's, with weight n^2 / (n^2 + b n + c v) of its own:
    n records, v the variance of the noise on n.

    Returns
    -------
    shares : ndarray of float64, shape (n_leaves, K)
    sizes : ndarray of float64, shape (n_leaves,)
    """
    shares = (prior / prior.sum())[None]
    estimates = combined_levels(released, variances)
    for counts, variance in estimates:
        own = np.maximum(counts, 0.0)
        n = own.sum(axis=1, keepdims=True)
        weight = n**2 / (n**2 + _RECORDS * n + _NOISE * variance * own.shape[1])
        parents = np.repeat(shares, 2, axis=0)
        shares = parents + weight * (own / np.maximum(n, 1e-9) - parents)
    return np.maximum(shares, _LEAST), np.maximum(estimates[-1][0].sum(axis=1), 0.0)
