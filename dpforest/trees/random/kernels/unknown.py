"""Sides of what is not declared: a coin for every node that splits its feature.

A node that sends everything left, and one whose feature declares every code, throws none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

_ALL = ~np.uint64(0)


@kernel()
def _throws(feature: NDArray, mask: NDArray, unknown: NDArray, tree: int, node: int) -> bool:
    """True if a node throws a coin."""
    throws = False
    for word in range(mask.shape[2]):
        throws |= mask[tree, node, word] != _ALL
    return throws and unknown[feature[tree, node]] >= 0


@kernel()
def count_coins(feature: NDArray, mask: NDArray, unknown: NDArray) -> int:
    """Nodes that throw a coin.

    Parameters
    ----------
    feature : int32 array of shape (m, n_nodes)
    mask : uint64 array of shape (m, n_nodes, W)
    unknown : int64 array of shape (D,)
        Code of what is not declared, or -1.
    """
    found = 0
    for tree in range(feature.shape[0]):
        for node in range(feature.shape[1]):
            found += _throws(feature, mask, unknown, tree, node)
    return found


@kernel()
def throw_coins(feature: NDArray, mask: NDArray, unknown: NDArray, words: NDArray) -> None:
    """Set the bit of what is not declared in the masks, by the highest bit of a word a node."""
    thrown = 0
    for tree in range(feature.shape[0]):
        for node in range(feature.shape[1]):
            if _throws(feature, mask, unknown, tree, node):
                code = unknown[feature[tree, node]]
                bit = np.uint64(1) << np.uint64(code & 63)
                left = words[thrown] >> np.uint64(63) > 0
                own = mask[tree, node, code >> 6]
                mask[tree, node, code >> 6] = own | bit if left else own & ~bit
                thrown += 1
