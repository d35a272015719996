"""Class counts of leaves, for records grouped by leaf or routed through a finished tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.records.kernels.prefetch import AHEAD, prefetch


@kernel()
def leaf_counts(
    labels: NDArray, order: NDArray, node_starts: NDArray, n_classes: int, out: NDArray
) -> None:
    """Class counts of records grouped by leaf.

    Parameters
    ----------
    labels : uint array of shape (n,)
    order : int32 array of shape (m,)
    node_starts : int64 array of shape (n_leaves + 1,)
    n_classes : int
    out : int64 array of shape (n_leaves, n_classes), overwritten
    """
    for leaf in range(out.shape[0]):
        out[leaf, :n_classes] = 0
        last = node_starts[leaf + 1] - 1
        for i in range(node_starts[leaf], node_starts[leaf + 1]):
            prefetch(labels, np.uint64(order[min(i + AHEAD, last)]))
            out[leaf, np.uint64(labels[np.uint64(order[i])])] += 1


@kernel()
def route_records(
    codes: NDArray,
    rows: NDArray,
    feature: NDArray,
    low: NDArray,
    high: NDArray,
    depth: int,
    out: NDArray,
) -> None:
    """Leaf of each listed record in one tree.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    rows : int32 array of shape (m,)
    feature, low, high : integer arrays of shape (2**depth - 1,)
        The tree's heap of splits.
    depth : int
    out : int32 array of shape (m,), overwritten
        Leaf numbers, 0 for the leftmost.
    """
    flat_codes = codes.reshape(codes.size)
    width = np.uint64(codes.shape[1])
    for i in range(rows.shape[0]):
        row = np.uint64(rows[i]) * width
        node = 0
        for _ in range(depth):
            f = feature[node]
            column = np.uint64(max(f, 0))
            bottom = np.int64(low[node])
            span = np.uint64(np.int64(high[node]) - bottom)
            code = np.int64(flat_codes[row + column])
            goes_left = (np.uint64(code - bottom) <= span) | (f < 0)
            node = 2 * node + 2 - int(goes_left)
        out[i] = node - ((1 << depth) - 1)


@kernel()
def routed_leaf_counts(
    leaves: NDArray, rows: NDArray, labels: NDArray, n_classes: int, out: NDArray
) -> None:
    """Class counts of the records ``rows``, whose leaves :func:`route_records` found.

    ``out`` is int64 of shape (n_leaves, n_classes), overwritten.
    """
    out[:, :n_classes] = 0
    for i in range(rows.shape[0]):
        out[leaves[i], np.uint64(labels[np.uint64(rows[i])])] += 1
