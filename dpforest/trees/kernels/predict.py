"""Leaves of records in many trees, and sums of leaf values over trees.

Trees are complete heaps of one depth, so a record takes ``depth`` steps in each, with no branch.
Records go in blocks small enough to stay in cache while every tree passes over them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_BLOCK = 256


@njit(cache=True, nogil=True)
def _descend(codes, first, count, feature, low, high, depth, node):
    """Walk records ``first … first + count`` down one tree; ``node`` (int32) gets leaf numbers."""
    flat_codes = codes.reshape(codes.size)
    width = np.uint64(codes.shape[1])
    node[:count] = 0
    for _ in range(depth):
        row = np.uint64(first) * width
        for i in range(count):
            place = np.uint64(node[i])
            f = feature[place]
            bottom = np.int64(low[place])
            span = np.uint64(np.int64(high[place]) - bottom)
            code = np.int64(flat_codes[row + np.uint64(max(f, 0))])
            # Below low wraps to a huge number: one unsigned comparison tests both ends.
            goes_left = (np.uint64(code - bottom) <= span) | (f < 0)
            node[i] = 2 * node[i] + 2 - np.int32(goes_left)
            row += width
    for i in range(count):
        node[i] -= (1 << depth) - 1


@njit(cache=True, nogil=True)
def predict_leaves(codes, feature, low, high, depth, out):
    """Leaf number of every record in every tree.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    feature, low, high : integer arrays of shape (T, 2**depth - 1)
    depth : int
    out : int32 array of shape (n, T), overwritten
    """
    node = np.empty(_BLOCK, np.int32)
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            _descend(codes, first, count, feature[tree], low[tree], high[tree], depth, node)
            for i in range(count):
                out[first + i, tree] = node[i]


@njit(cache=True, nogil=True)
def sum_leaf_values(codes, feature, low, high, depth, leaf_values, out):
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
    node = np.empty(_BLOCK, np.int32)
    out[:] = 0.0
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            _descend(codes, first, count, feature[tree], low[tree], high[tree], depth, node)
            values = leaf_values[tree]
            for i in range(count):
                leaf = np.uint64(node[i])
                for label in range(out.shape[1]):
                    out[first + i, label] += values[leaf, label]
