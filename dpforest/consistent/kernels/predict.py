"""Records down the trees: votes with ties broken at random, and means.

Trees lie one after the other; ``roots[t]`` is tree t's first node and children are numbered from
it. Records go in blocks small enough to stay in cache while every tree passes over them.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpforest.consistent.kernels.streams import mix

_BLOCK = 128

#: What breaks a tie, in votes. Far below one vote and far above rounding.
TIE_BREAK = 2.0**-20


@njit(cache=True, nogil=True)
def _leaf(feature, low, high, child, root, row):
    node = np.uint64(root)
    f = feature[node]
    while f >= 0:
        x = row[np.uint64(f)]
        goes_left = (low[node] <= x) & (x < high[node])
        node = np.uint64(root + child[node] + 1 - np.int64(goes_left))
        f = feature[node]
    return np.int64(node)


@njit(cache=True, nogil=True)
def find_leaves(
    X: NDArray, roots: NDArray, feature: NDArray, low: NDArray, high: NDArray, child: NDArray,
    out: NDArray,
) -> None:  # fmt: skip
    """Leaf of every record in every tree, numbered within its tree; ``out`` is int64 (n, T)."""
    for first in range(0, X.shape[0], _BLOCK):
        for tree in range(roots.shape[0]):
            root = roots[tree]
            for i in range(first, min(first + _BLOCK, X.shape[0])):
                out[i, tree] = _leaf(feature, low, high, child, root, X[i]) - root


@njit(cache=True, nogil=True)
def sum_votes(
    X: NDArray, roots: NDArray, feature: NDArray, low: NDArray, high: NDArray, child: NDArray,
    value: NDArray, tie_word, out: NDArray,
) -> None:  # fmt: skip
    """Votes for each class; of tied first classes one gets ``TIE_BREAK`` of a vote more.

    Which one is drawn by a hash of the record's leaves, so it is at random over records but a
    record's answer depends neither on the others nor on the call.

    Parameters
    ----------
    X : float64 array of shape (n, D)
    roots : int64 array of shape (T,)
    feature, low, high, child, value : arrays of all nodes
    tie_word : uint64
    out : float64 array of shape (n, K), overwritten
    """
    out[:] = 0.0
    hashes = np.empty(_BLOCK, np.uint64)
    for first in range(0, X.shape[0], _BLOCK):
        last = min(first + _BLOCK, X.shape[0])
        hashes[:] = tie_word
        for tree in range(roots.shape[0]):
            for i in range(first, last):
                leaf = _leaf(feature, low, high, child, roots[tree], X[i])
                out[i, np.int64(value[leaf])] += 1.0
                hashes[i - first] = mix(hashes[i - first] + np.uint64(leaf))
        for i in range(first, last):
            _break_tie(out[i], hashes[i - first])


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def mean_values(
    X: NDArray, roots: NDArray, feature: NDArray, low: NDArray, high: NDArray, child: NDArray,
    value: NDArray, out: NDArray,
) -> None:  # fmt: skip
    """Mean of the trees' values; ``out`` is float64 of shape (n,), overwritten."""
    out[:] = 0.0
    for first in range(0, X.shape[0], _BLOCK):
        last = min(first + _BLOCK, X.shape[0])
        for tree in range(roots.shape[0]):
            for i in range(first, last):
                out[i] += value[_leaf(feature, low, high, child, roots[tree], X[i])]
        for i in range(first, last):
            out[i] /= roots.shape[0]
