"""Sums of leaf values over trees.

Trees are complete heaps of one depth, so a record takes ``depth`` steps in each, with no branch.
Codes may have up to 32 bits.
Records go in blocks small enough to stay in cache while every tree passes over them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

_BLOCK = 256


@kernel()
def _pack_splits(feature: NDArray, low: NDArray, high: NDArray) -> tuple[NDArray, NDArray]:
    """Each split as a word ``feature << 32 | low`` and a span ``high - low``: two loads a step.

    No split becomes the one that takes every code, so descending needs no case for it.
    """
    words = np.empty(feature.shape, np.uint64)
    spans = np.empty(feature.shape, np.uint32)
    for tree in range(feature.shape[0]):
        for node in range(feature.shape[1]):
            words[tree, node] = 0
            spans[tree, node] = 0xFFFFFFFF
            if feature[tree, node] >= 0:
                bottom = np.int64(low[tree, node])
                words[tree, node] = (np.int64(feature[tree, node]) << 32) | bottom
                spans[tree, node] = np.int64(high[tree, node]) - bottom
    return words, spans


@kernel(forceinline=True)
def _descend(
    codes: NDArray,
    first: int,
    count: int,
    words: NDArray,
    spans: NDArray,
    depth: int,
    node: NDArray,
) -> None:
    """Walk records ``first … first + count`` down one tree; ``node`` (int32) gets leaf numbers."""
    flat_codes = codes.reshape(codes.size)
    width = np.uint64(codes.shape[1])
    node[:count] = 0
    for _ in range(depth):
        row = np.uint64(first) * width
        for i in range(count):
            place = np.uint64(node[i])
            word = words[place]
            code = np.int64(flat_codes[row + (word >> np.uint64(32))])
            # Below low wraps to a huge number: one unsigned comparison tests both ends.
            goes_left = np.uint32(code - np.int64(np.uint32(word))) <= spans[place]
            node[i] = 2 * node[i] + 2 - np.int32(goes_left)
            row += width
    first_leaf = np.int32((1 << depth) - 1)
    for i in range(count):
        node[i] -= first_leaf


@kernel()
def sum_leaf_values(
    codes: NDArray,
    feature: NDArray,
    low: NDArray,
    high: NDArray,
    depth: int,
    leaf_values: NDArray,
    out: NDArray,
) -> None:
    """Sum of leaf values over the trees, for every record.

    Each record's sum runs over trees 0, 1, … in turn, whatever the block, so it does not
    depend on how records are batched.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    feature, low, high : integer arrays of shape (T, 2**depth - 1)
    depth : int
    leaf_values : float64 array of shape (T, 2**depth, K)
    out : float64 array of shape (n, K), overwritten
    """
    words, spans = _pack_splits(feature, low, high)
    node = np.empty(_BLOCK, np.int32)
    out[:] = 0.0
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            _descend(codes, first, count, words[tree], spans[tree], depth, node)
            values = leaf_values[tree]
            for i in range(count):
                leaf = np.uint64(node[i])
                for label in range(out.shape[1]):
                    out[first + i, label] += values[leaf, label]
