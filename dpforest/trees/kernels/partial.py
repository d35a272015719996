"""Mean leaf values at the codes of one feature, where all others are averaged over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def add_partial_scores(
    nodes: NDArray, starts: NDArray, sent: NDArray, masses: NDArray, values: NDArray, total: NDArray
) -> None:
    """Add, at every code of one feature, the mean leaf value of each tree.

    A node's mean is made of those of its children: of one of them where it looks at the feature,
    else of both, by their sizes. From one code to the next only nodes that send it elsewhere
    change, and those above them: where these are few, as of ranges, a tree costs its nodes once and
    a few paths.

    Parameters
    ----------
    nodes : int64 array of shape (k,)
        Nodes that look at the feature, tree after tree, as places in a heap.
    starts : int64 array of shape (n_trees + 1,)
        Where those of each tree begin.
    sent : bool array of shape (k, n_codes)
        Whether such a node sends a code left.
    masses : float64 array of shape (n_trees, n_leaves)
        Nothing negative.
    values : float64 array of shape (n_trees, n_leaves, C)
    total : float64 array of shape (n_codes, C), added to
    """
    n_leaves, depth = masses.shape[1], 0
    while 1 << depth < n_leaves:
        depth += 1
    left = np.empty(n_leaves - 1, np.float64)
    sizes = np.empty(2 * n_leaves - 1, np.float64)
    means = np.empty((2 * n_leaves - 1, values.shape[2]), np.float64)
    for tree in range(masses.shape[0]):
        sizes[n_leaves - 1 :] = masses[tree]
        means[n_leaves - 1 :] = values[tree]
        for node in range(n_leaves - 2, -1, -1):
            sizes[node] = sizes[2 * node + 1] + sizes[2 * node + 2]
            left[node] = sizes[2 * node + 1] / sizes[node] if sizes[node] > 0 else 0.5
        first, last = starts[tree], starts[tree + 1]
        for j in range(first, last):
            left[nodes[j]] = 1.0 if sent[j, 0] else 0.0
        for node in range(n_leaves - 2, -1, -1):
            _average(node, left, means)
        total[0] += means[0]
        for code in range(1, total.shape[0]):
            n_moved = 0
            for j in range(first, last):
                if sent[j, code] != sent[j, code - 1]:
                    left[nodes[j]] = 1.0 if sent[j, code] else 0.0
                    n_moved += 1
            if n_moved * depth > n_leaves:
                for node in range(n_leaves - 2, -1, -1):
                    _average(node, left, means)
            elif n_moved:
                for j in range(first, last):
                    if sent[j, code] != sent[j, code - 1]:
                        _average_up(nodes[j], left, means)
            total[code] += means[0]


@kernel(forceinline=True)
def _average(node: int, left: NDArray, means: NDArray) -> None:
    """Mean of a node by the part that goes left."""
    for k in range(means.shape[1]):
        means[node, k] = (
            left[node] * means[2 * node + 1, k] + (1.0 - left[node]) * means[2 * node + 2, k]
        )


@kernel(forceinline=True)
def _average_up(node: int, left: NDArray, means: NDArray) -> None:
    """Means of a node and of all above it."""
    _average(node, left, means)
    while node > 0:
        node = (node - 1) // 2
        _average(node, left, means)
