"""Leaves of records in trees that use few features, by look-up instead of walking.

What one feature's code says about a leaf is a set of leaves: those on the right side of every node
that looks at this feature. With at most 64 leaves such a set is one word, the sets of the features
of a record have exactly one leaf in common, and finding it takes one load a feature where walking
takes three dependent ones a level. (The sets are those of QuickScorer: Lucchese, Nardini, Orlando,
Perego, Tonellotto, Venturini 2015, "QuickScorer: a fast algorithm to rank documents with additive
ensembles of regression trees".)

A word with one bit set, times a de Bruijn word, has a number of its own in its six highest bits:
that is the place of the leaf.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

#: Depth up to which the leaves of a tree fit in a word.
MAX_DEPTH = 6
#: Places of leaves in a table, whatever the depth.
N_PLACES = 64

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_TOP = np.uint64(58)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel(forceinline=True)
def place_of(reached: np.uint64) -> np.uint64:
    """Place of the only leaf in a set."""
    return (reached * _DE_BRUIJN) >> _TOP


@kernel()
def leaves_of_places(depth: int) -> NDArray:
    """Leaf at every place, uint8 of shape (N_PLACES,)."""
    leaves = np.zeros(N_PLACES, np.uint8)
    for leaf in range(1 << depth):
        leaves[place_of(np.uint64(1) << np.uint64(leaf))] = leaf
    return leaves


@kernel()
def features_used(feature: NDArray, mask: NDArray, out: NDArray) -> int:
    """Features that a tree's splits look at, each once, into ``out`` (int64); how many.

    Nodes that send every code left look at none. A tree that looks at none is said to look at
    feature 0, one that looks at more than ``out`` holds at ``out.size + 1``.
    """
    n_used = 0
    for node in range(feature.size):
        known = True
        for word in range(mask.shape[1]):
            known &= mask[node, word] == _ALL
        for j in range(n_used):
            known |= out[j] == feature[node]
        if not known:
            if n_used == out.size:
                return n_used + 1
            out[n_used] = feature[node]
            n_used += 1
    if n_used == 0:
        out[0] = 0
    return max(n_used, 1)


@kernel()
def fill_leaf_sets(
    feature: NDArray, mask: NDArray, depth: int, used: NDArray, leaf_sets: NDArray
) -> None:
    """Sets of leaves that a record may lie in by each code of each used feature.

    Parameters
    ----------
    feature : int32 array of shape (2**depth - 1,)
    mask : uint64 array of shape (2**depth - 1, W)
    depth : int
        At most ``MAX_DEPTH``.
    used : int64 array
        From :func:`features_used`, as many as there are.
    leaf_sets : uint64 array of shape (at least used.size, 64 W), overwritten
        Rows past the used features get all leaves.
    """
    # No bits but those of leaves.
    leaf_sets[:] = _ALL >> np.uint64(64 - (1 << depth))
    for level in range(depth):
        n_below = np.uint64(1 << (depth - level - 1))
        half = (np.uint64(1) << n_below) - np.uint64(1)
        for number in range(1 << level):
            node = (1 << level) - 1 + number
            # Where every code goes left any feature may say so.
            row = 0
            for j in range(used.size):
                if used[j] == feature[node]:
                    row = j
            without_left = ~(half << (np.uint64(2 * number) * n_below))
            without_right = ~(half << (np.uint64(2 * number + 1) * n_below))
            changed = without_left ^ without_right
            sets = leaf_sets[row]
            for word in range(mask.shape[1]):
                bits = mask[node, word]
                for bit in range(64):
                    goes_left = -((bits >> np.uint64(bit)) & np.uint64(1))
                    sets[64 * word + bit] &= without_left ^ (changed & goes_left)
