"""Compiled loops of the Safe-Bayesian forest: trees from the prior, leaves of records, evidence.

Trees are stored in depth-first order one after the other: the first child of an inner node is the
next node, ``second`` holds the other one; ``feature`` is -1 in leaves. A record goes to the first
child where its rank code of the node's feature is at most ``cut``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

_BLOCK = 256  # records that go down one tree together


@kernel()
def draw_structures(
    words: NDArray, limit: Any, second: NDArray, roots: NDArray, progress: NDArray
) -> None:
    """Structures of trees from the prior: a node is inner with a fixed probability, a root always.

    Node by node in depth-first order, one word each. Stops where words run out: call it again
    with more words and room, and the same ``progress``; the tree it was in is drawn anew from the
    same words.

    Parameters
    ----------
    words : uint64 array, as long as ``second`` or shorter
        Word i decides node i; that of a root decides nothing.
    limit : int
        A node is inner if its word is below this; probability times 2**64.
    second : int64 array, overwritten from ``progress[1]``
        Second child of an inner node; -1 for a leaf.
    roots : int64 array of shape (T + 1,), overwritten
        First node of each tree, and the number of nodes.
    progress : int64 array of shape (2,)
        Finished trees, and their nodes.
    """
    waiting = np.empty(words.size, np.int64)  # inner nodes with a subtree to come
    while progress[0] < roots.size - 1:
        first = node = progress[1]
        depth = 0
        while True:
            if node >= words.size:
                return
            if node == first or words[node] < limit:
                second[node] = 0  # known when its first subtree is finished
                waiting[depth] = node
                depth += 1
            else:
                second[node] = -1
                while depth > 0 and second[waiting[depth - 1]] > 0:
                    depth -= 1
                if depth == 0:
                    break
                second[waiting[depth - 1]] = node + 1
            node += 1
        roots[progress[0]] = first
        progress[0] += 1
        progress[1] = node + 1
        roots[progress[0]] = node + 1


@kernel(forceinline=True)
def _leaf(
    codes: NDArray, row: int, feature: NDArray, cut: NDArray, second: NDArray, root: int
) -> int:
    """Leaf (as a node number) that a record reaches from a root."""
    node = root
    while feature[node] >= 0:
        goes_first = codes[row, feature[node]] <= cut[node]
        node = node + 1 if goes_first else second[node]
    return node


@kernel()
def leaves_of_records(
    codes: NDArray, feature: NDArray, cut: NDArray, second: NDArray, roots: NDArray, out: NDArray
) -> None:
    """Leaf (as a node number) of every record in every tree.

    Parameters
    ----------
    codes : int32 array of shape (n, D)
    feature : int32 array of shape (nodes,)
    cut : int32 array of shape (nodes,)
    second : int64 array of shape (nodes,)
    roots : int64 array of shape (T + 1,)
    out : int32 array of shape (n, T), overwritten
    """
    for start in range(0, codes.shape[0], _BLOCK):
        stop = min(start + _BLOCK, codes.shape[0])
        for tree in range(roots.size - 1):
            for row in range(start, stop):
                out[row, tree] = _leaf(codes, row, feature, cut, second, roots[tree])


@kernel()
def count_leaves(
    codes: NDArray,
    labels: NDArray,
    feature: NDArray,
    cut: NDArray,
    second: NDArray,
    roots: NDArray,
    out: NDArray,
) -> None:
    """Add each record to its class in its leaves, in int32 ``out`` of shape (nodes, K)."""
    for start in range(0, codes.shape[0], _BLOCK):
        stop = min(start + _BLOCK, codes.shape[0])
        for tree in range(roots.size - 1):
            for row in range(start, stop):
                leaf = _leaf(codes, row, feature, cut, second, roots[tree])
                out[leaf, labels[row]] += 1


@kernel()
def log_evidence(
    counts: NDArray,
    feature: NDArray,
    roots: NDArray,
    class_terms: NDArray,
    total_terms: NDArray,
    out: NDArray,
) -> None:
    """Logarithm of the Dirichlet-multinomial likelihood of each tree.

    Parameters
    ----------
    counts : int32 array of shape (nodes, K)
    feature : int32 array of shape (nodes,)
    roots : int64 array of shape (T + 1,)
    class_terms : float64 array of shape (K, n + 1)
        ln Gamma(alpha_c + m) - ln Gamma(alpha_c) for each count m; its column 0 is zero.
    total_terms : float64 array of shape (n + 1,)
        The same of the sum of alpha.
    out : float64 array of shape (T,), overwritten
    """
    for tree in range(roots.size - 1):
        out[tree] = 0.0
        for node in range(roots[tree], roots[tree + 1]):
            if feature[node] >= 0:
                continue
            total = 0
            for label in range(counts.shape[1]):
                out[tree] += class_terms[label, counts[node, label]]
                total += counts[node, label]
            out[tree] -= total_terms[total]


@kernel()
def mix_predictions(leaves: NDArray, values: NDArray, weights: NDArray, out: NDArray) -> None:
    """Predictions of the trees, weighted, for several sets of weights at once.

    Each sum runs over trees in their order, whatever the block of records.

    Parameters
    ----------
    leaves : int32 array of shape (n, T)
    values : float64 array of shape (nodes, K)
    weights : float64 array of shape (M, T)
    out : float64 array of shape (M, n, K), overwritten
    """
    out[:] = 0.0
    for row in range(leaves.shape[0]):
        for tree in range(leaves.shape[1]):
            leaf = leaves[row, tree]
            for m in range(weights.shape[0]):
                weight = weights[m, tree]
                if weight > 0.0:
                    for label in range(values.shape[1]):
                        out[m, row, label] += weight * values[leaf, label]
