"""Complete trees that cut a few features evenly, level after level: coarse public grids.

A tree has its own few features and takes them in turn. A node halves the bins that its ancestors
left of the feature, so a leaf is a cell of a grid and the leaves hold alike many bins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.random_trees import _below, _by_list, _next


@kernel()
def _place_bins(n_bins: int, in_order: bool, place: NDArray, state: NDArray) -> None:
    """Places of a feature's bins: their own order, or a random one."""
    for b in range(n_bins):
        place[b] = b
    if in_order:
        return
    for b in range(n_bins - 1):
        other = b + _below(n_bins - b, state)
        place[b], place[other] = place[other], place[b]


@kernel()
def _turn(node: int, first: int, low: NDArray, high: NDArray, n_own: int) -> int:
    """First feature in turn that the node can still cut, or -1."""
    for step in range(n_own):
        own = (first + step) % n_own
        if high[node, own] - low[node, own] > 1:
            return own
    return -1


@kernel()
def draw_grid_trees(
    words: NDArray,
    features: NDArray,
    depth: int,
    bins: NDArray,
    bin_starts: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    listed: NDArray,
    feature_out: NDArray,
    mask_out: NDArray,
) -> None:
    """Draw one grid tree a word.

    Parameters
    ----------
    words : uint64 array of shape (T,)
    features : int32 array of shape (T, k)
        Each tree's own features; -1 after the last.
    depth : int
    bins : int64 array of shape (total codes,)
        Bin of every code within its feature.
    bin_starts, offsets : int64 arrays of shape (D + 1,)
    ordered : bool array of shape (D,)
    listed : uint8 array of shape (D,)
        Of two trees, how many place a categorical feature's bins as its list does.
    feature_out : int32 array of shape (T, 2**depth - 1), overwritten
    mask_out : uint64 array of shape (T, 2**depth - 1, W), overwritten
        Bits of the codes that go left. A node that nothing can cut looks at feature 0 and sends
        every code left.
    """
    n_nodes = (1 << depth) - 1
    widest = 1
    for f in range(ordered.size):
        widest = max(widest, bin_starts[f + 1] - bin_starts[f])
    place = np.empty((features.shape[1], widest), np.int64)
    low = np.zeros((2 * n_nodes + 1, features.shape[1]), np.int64)
    high = np.zeros((2 * n_nodes + 1, features.shape[1]), np.int64)
    turn = np.zeros(2 * n_nodes + 1, np.int64)
    state = np.empty(1, np.uint64)
    for tree in range(words.size):
        state[0] = words[tree]
        n_own = 0
        while n_own < features.shape[1] and features[tree, n_own] >= 0:
            f = features[tree, n_own]
            n_bins = bin_starts[f + 1] - bin_starts[f]
            in_order = ordered[f] or _by_list(listed[f], state)
            _place_bins(n_bins, in_order, place[n_own], state)
            high[0, n_own] = n_bins
            n_own += 1
        for node in range(n_nodes):
            for child in (2 * node + 1, 2 * node + 2):
                low[child] = low[node]
                high[child] = high[node]
                turn[child] = turn[node]
            own = _turn(node, turn[node], low, high, n_own)
            if own < 0:
                feature_out[tree, node] = 0
                mask_out[tree, node, :] = ~np.uint64(0)
                continue
            f = features[tree, own]
            # An odd number of bins is halved either way.
            width = high[node, own] - low[node, own]
            middle = low[node, own] + (width + (_next(state) >> np.uint64(63))) // 2
            high[2 * node + 1, own] = middle
            low[2 * node + 2, own] = middle
            turn[2 * node + 1] = turn[2 * node + 2] = own + 1
            feature_out[tree, node] = f
            mask_out[tree, node, :] = 0
            for code in range(offsets[f + 1] - offsets[f]):
                at = place[own, bins[offsets[f] + code]]
                bit = np.uint64(low[node, own] <= at < middle)
                mask_out[tree, node, code >> 6] |= bit << np.uint64(code & 63)
