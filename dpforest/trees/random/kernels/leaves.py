"""Leaves of all records in many trees, and sums of leaf values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.joint import find_leaves, joint_tables

_BLOCK = 2048


@kernel()
def tree_leaves(codes: NDArray, feature: NDArray, mask: NDArray, depth: int, out: NDArray) -> None:
    """Leaf number of every record in every tree.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    feature, mask : arrays of shape (T, 2**depth - 1) and (T, 2**depth - 1, W)
    depth : int
    out : integer array of shape (T, n), overwritten
    """
    tables = joint_tables(feature, mask, depth, codes.shape[0])
    node = np.empty(_BLOCK, np.int32)
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            find_leaves(codes, first, count, tree, feature, mask, depth, tables, node)
            for i in range(count):
                out[tree, first + i] = node[i]


@kernel()
def add_leaf_values(
    codes: NDArray, feature: NDArray, mask: NDArray, depth: int, values: NDArray, out: NDArray
) -> None:
    """Add the leaf values of every tree to every record's scores, tree after tree.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    feature, mask : arrays of shape (T, 2**depth - 1) and (T, 2**depth - 1, W)
    depth : int
    values : float64 array of shape (T, 2**depth, C)
    out : float64 array of shape (n, C), added to
    """
    n_columns = out.shape[1]
    tables = joint_tables(feature, mask, depth, codes.shape[0])
    node = np.empty(_BLOCK, np.int32)
    padded = _padded(values) if n_columns > 1 else values
    scores = np.zeros((_BLOCK, padded.shape[2]))
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        # Slices set from arrays would take seconds to compile.
        for i in range(count):
            for k in range(n_columns):
                scores[i, k] = out[first + i, k]
        for tree in range(feature.shape[0]):
            find_leaves(codes, first, count, tree, feature, mask, depth, tables, node)
            if n_columns == 1:
                own = padded[tree]
                for i in range(count):
                    scores[i, 0] += own[np.uint64(node[i]), 0]
            else:
                _add_rows(padded[tree], node, count, scores)
        for i in range(count):
            for k in range(n_columns):
                out[first + i, k] = scores[i, k]


@kernel()
def _padded(values: NDArray) -> NDArray:
    """Values with zeros up to a multiple of four columns, which are added at once."""
    n_trees, n_leaves, n_columns = values.shape
    padded = np.zeros((n_trees, n_leaves, (n_columns + 3) // 4 * 4))
    for tree in range(n_trees):
        for leaf in range(n_leaves):
            for k in range(n_columns):
                padded[tree, leaf, k] = values[tree, leaf, k]
    return padded


@kernel()
def _add_rows(values: NDArray, node: NDArray, count: int, scores: NDArray) -> None:
    """Add a row of values to every record's scores, four columns at a time."""
    for k in range(0, scores.shape[1], 4):
        for i in range(count):
            row, own = scores[i, k : k + 4], values[np.uint64(node[i]), k : k + 4]
            s0, s1, s2, s3 = row[0] + own[0], row[1] + own[1], row[2] + own[2], row[3] + own[3]
            row[0], row[1], row[2], row[3] = s0, s1, s2, s3
