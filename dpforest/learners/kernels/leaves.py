"""Leaves of all records in many trees, and sums of leaf values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.learners.kernels.joint import find_leaves, joint_tables

_BLOCK = 512


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
    tables = joint_tables(feature, mask, depth, codes.shape[0])
    node = np.empty(_BLOCK, np.int32)
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            find_leaves(codes, first, count, tree, feature, mask, depth, tables, node)
            own = values[tree]
            if out.shape[1] == 1:
                for i in range(count):
                    out[first + i, 0] += own[np.uint64(node[i]), 0]
                continue
            for i in range(count):
                for k in range(out.shape[1]):
                    out[first + i, k] += own[np.uint64(node[i]), k]
