"""Records down the trees: votes with ties broken at random, and means.

Trees lie one after the other; ``roots[t]`` is tree t's first node and children are numbered from
it. Records go in blocks: a tree stays in the cache while a block passes, and the block while all
trees do. Within a block some records take their steps in turn, since one alone would wait for the
memory at every node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.streams import mix
from dpforest.kernels.compiling import kernel

_BLOCK = 8192
_TOGETHER = 64

_CHILD = np.uint64(2**32 - 1)

#: What breaks a tie, in votes. Far below one vote and far above rounding.
TIE_BREAK = 2.0**-20


def pack_nodes(feature: NDArray, low: NDArray, high: NDArray, child: NDArray) -> NDArray:
    """Put side by side the numbers that a step needs, so that it reads one place of memory.

    A node is two doubles. The first is what is compared, the upper end or, where one value is split
    from the rest, that value. The second is a whole number in disguise:
    ``feature * 2**33 + is_value * 2**32 + child``; negative in leaves.
    """
    is_value = (feature >= 0) & (low > -np.inf)
    nodes = np.empty((feature.size, 2))
    nodes[:, 0] = np.where(is_value, low, high)
    nodes.view(np.int64)[:, 1] = (feature.astype(np.int64) * 2 + is_value) * 2**32 + child
    return nodes


def unpack_nodes(nodes: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """``feature, low, high, child`` of packed nodes."""
    key, words = nodes[:, 0], nodes.view(np.int64)[:, 1]
    feature, child = (words >> 33).astype(np.int32), (words & (2**32 - 1)).astype(np.int32)
    is_value = (words >> 32) & (words >= 0) == 1
    low = np.where(is_value | (feature < 0), key, -np.inf)
    high = np.where(is_value, np.nextafter(key, np.inf), key)
    return feature, low, high, child


@kernel()
def _walk(nodes, words, root, X, first, last, places):
    """Leaves of the records ``first … last - 1`` in one tree, to ``places`` (uint64)."""
    root, offset = np.uint64(root), np.uint64(first)
    places[: last - first] = root
    if words[root, 1] < 0:
        return
    moving = np.empty(_TOGETHER, np.uint64)
    for begin in range(first, last, _TOGETHER):
        n_moving = np.uint64(min(_TOGETHER, last - begin))
        for j in range(n_moving):
            moving[j] = np.uint64(begin) + j
        while n_moving > 0:
            kept = np.uint64(0)
            for j in range(n_moving):
                i = moving[j]
                node = places[i - offset]
                key, word = nodes[node, 0], np.uint64(words[node, 1])
                x = X[i, word >> np.uint64(33)]
                is_value = (word >> np.uint64(32)) & np.uint64(1) > 0
                goes_left = x == key if is_value else x < key
                node = root + (word & _CHILD) + np.uint64(not goes_left)
                places[i - offset] = node
                moving[kept] = i
                kept += np.uint64(words[node, 1] >= 0)
            n_moving = kept


@kernel()
def find_leaves(X: NDArray, roots: NDArray, nodes: NDArray, words: NDArray, out: NDArray) -> None:
    """Leaf of every record in every tree, numbered within its tree; ``out`` is int64 (n, T)."""
    places = np.empty(_BLOCK, np.uint64)
    for first in range(0, X.shape[0], _BLOCK):
        last = min(first + _BLOCK, X.shape[0])
        for tree in range(roots.shape[0]):
            _walk(nodes, words, roots[tree], X, first, last, places)
            for i in range(first, last):
                out[i, tree] = np.int64(places[i - first]) - roots[tree]


@kernel()
def sum_votes(
    X: NDArray, roots: NDArray, nodes: NDArray, words: NDArray, value: NDArray, tie_word,
    out: NDArray,
) -> None:  # fmt: skip
    """Votes for each class; of tied first classes one gets ``TIE_BREAK`` of a vote more.

    Which one is drawn by a hash of the record's leaves, so it is at random over records but a
    record's answer depends neither on the others nor on the call.

    Parameters
    ----------
    X : float64 array of shape (n, D)
    roots : int64 array of shape (T,)
    nodes, words : float64 and int64 arrays of shape (n_nodes, 2)
        See :func:`pack_nodes`; the same memory.
    value : float64 array of shape (n_nodes,)
    tie_word : uint64
    out : float64 array of shape (n, K), overwritten
    """
    out[:] = 0.0
    hashes, places = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    for first in range(0, X.shape[0], _BLOCK):
        last = min(first + _BLOCK, X.shape[0])
        hashes[:] = tie_word
        for tree in range(roots.shape[0]):
            _walk(nodes, words, roots[tree], X, first, last, places)
            for i in range(first, last):
                leaf = places[i - first]
                out[i, np.int64(value[leaf])] += 1.0
                hashes[i - first] = mix(hashes[i - first] + leaf)
        for i in range(first, last):
            _break_tie(out[i], hashes[i - first])


@kernel()
def _break_tie(votes: NDArray, word) -> None:
    most = votes.max()
    n_tied = 0
    for k in range(votes.shape[0]):
        n_tied += votes[k] == most
    if n_tied < 2:
        return
    chosen = np.int64(word % np.uint64(n_tied))
    for k in range(votes.shape[0]):
        if votes[k] == most:
            if chosen == 0:
                votes[k] += TIE_BREAK
                return
            chosen -= 1


@kernel()
def mean_values(
    X: NDArray, roots: NDArray, nodes: NDArray, words: NDArray, value: NDArray, out: NDArray,
) -> None:  # fmt: skip
    """Mean of the trees' values; ``out`` is float64 of shape (n,), overwritten."""
    out[:] = 0.0
    places = np.empty(_BLOCK, np.uint64)
    for first in range(0, X.shape[0], _BLOCK):
        last = min(first + _BLOCK, X.shape[0])
        for tree in range(roots.shape[0]):
            _walk(nodes, words, roots[tree], X, first, last, places)
            for i in range(first, last):
                out[i] += value[places[i - first]]
        for i in range(first, last):
            out[i] /= roots.shape[0]
