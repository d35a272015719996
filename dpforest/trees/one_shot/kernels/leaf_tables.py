"""Class counts of every leaf of every tree in one pass, and class counts of a coarse score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.joint import find_leaves, joint_tables

_BLOCK = 2048


@kernel()
def add_leaf_tables(
    codes: NDArray, labels: NDArray, feature: NDArray, mask: NDArray, depth: int, tables: NDArray
) -> None:
    """Count every record in its leaf of every tree, by class.

    A block of records walks down all trees while its codes are in the cache.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    labels : uint array of shape (n,)
    feature, mask : arrays of shape (T, 2**depth - 1) and (T, 2**depth - 1, W)
    depth : int
    tables : int64 array of shape (T, 2**depth, K), added to
    """
    lookup = joint_tables(feature, mask, depth, codes.shape[0])
    node = np.empty(_BLOCK, np.int32)
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            find_leaves(codes, first, count, tree, feature, mask, depth, lookup, node)
            table = tables[tree]
            for i in range(count):
                table[np.uint64(node[i]), np.uint64(labels[first + i])] += 1


@kernel()
def add_target_tables(
    codes: NDArray,
    targets: NDArray,
    steps: int,
    feature: NDArray,
    mask: NDArray,
    depth: int,
    tables: NDArray,
) -> None:
    """The same for targets: ``steps - t`` parts in column 0, ``t`` parts in column 1.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    targets : int32 array of shape (n,), from 0 to ``steps``
    steps : int
    feature, mask, depth
        As in `add_leaf_tables`.
    tables : int64 array of shape (T, 2**depth, 2), added to
    """
    lookup = joint_tables(feature, mask, depth, codes.shape[0])
    node = np.empty(_BLOCK, np.int32)
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            find_leaves(codes, first, count, tree, feature, mask, depth, lookup, node)
            table = tables[tree]
            for i in range(count):
                table[node[i], 0] += steps - targets[first + i]
                table[node[i], 1] += targets[first + i]
