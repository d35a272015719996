"""Class counts of every cell of every node: ``hist[node, offsets[f] + code, class]``.

A level costs one pass over at most half of its records: of two siblings the one with fewer
records is counted, and the other is their parent minus it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.records.kernels.prefetch import AHEAD, LINE, NEAR, prefetch


def label_dtype(n_classes: int) -> type[np.unsignedinteger]:
    """The dtype in which kernels take class codes: uint8 up to 256 classes, else uint16."""
    return np.uint8 if n_classes <= 256 else np.uint16


@kernel()
def _cell_bases(offsets: NDArray, n_classes: int) -> NDArray:
    """Flat position of code 0, class 0 of each feature, as unsigned integers."""
    bases = np.empty(offsets.shape[0] - 1, np.uint64)
    for f in range(bases.shape[0]):
        bases[f] = np.uint64(offsets[f] * n_classes)
    return bases


@kernel()
def _count_node(
    codes: NDArray,
    labels: NDArray,
    records: NDArray,
    bases: NDArray,
    n_classes: int,
    counts: NDArray,
) -> None:
    """Count ``records`` into the zeroed node histogram ``counts``, shape (total, K).

    Flat unsigned indices: signed ones would cost a wrap-around test at each cell.
    """
    flat_codes = codes.reshape(codes.size)
    cells = counts.reshape(counts.size)
    width = np.uint64(codes.shape[1])
    n_labels = np.uint64(n_classes)
    one = np.int32(1)
    last = records.shape[0] - 1
    far = codes.nbytes > NEAR
    for i in range(records.shape[0]):
        if far:
            soon = np.uint64(records[min(i + AHEAD, last)]) * width
            for at in range(0, width, LINE // codes.itemsize):
                prefetch(flat_codes, soon + np.uint64(at))
            prefetch(flat_codes, soon + width - np.uint64(1))
        record = np.uint64(records[i])
        label = np.uint64(labels[record])
        row = record * width
        for f in range(width):
            cells[bases[f] + np.uint64(flat_codes[row + f]) * n_labels + label] += one


@kernel()
def level_histogram(
    codes: NDArray,
    labels: NDArray,
    order: NDArray,
    node_starts: NDArray,
    offsets: NDArray,
    n_classes: int,
    out: NDArray,
) -> None:
    """Count every node of a level directly.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    labels : uint array of shape (n,)
    order : int32 array of shape (m,)
    node_starts : int64 array of shape (n_nodes + 1,)
    offsets : int64 array of shape (D + 1,)
    n_classes : int
    out : int32 array of shape (n_nodes, offsets[-1], n_classes), overwritten
    """
    bases = _cell_bases(offsets, n_classes)
    for node in range(out.shape[0]):
        out[node] = 0
        records = order[node_starts[node] : node_starts[node + 1]]
        _count_node(codes, labels, records, bases, n_classes, out[node])


@kernel()
def child_histograms(
    codes: NDArray,
    labels: NDArray,
    order: NDArray,
    node_starts: NDArray,
    offsets: NDArray,
    n_classes: int,
    parents: NDArray,
    out: NDArray,
) -> None:
    """Counts of a level's nodes from their parents': count the smaller child, derive the other.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    labels : uint array of shape (n,)
    order, node_starts : of the children, ``2 * n_parents`` nodes, left and right in turn
    offsets : int64 array of shape (D + 1,)
    n_classes : int
    parents : int32 array of shape (n_parents, total, K)
    out : int32 array of shape (2 * n_parents, total, K), overwritten; must not overlap ``parents``
    """
    bases = _cell_bases(offsets, n_classes)
    size = parents.shape[1] * parents.shape[2]
    for parent in range(parents.shape[0]):
        left = 2 * parent
        n_left = node_starts[left + 1] - node_starts[left]
        n_right = node_starts[left + 2] - node_starts[left + 1]
        small = left if n_left <= n_right else left + 1
        large = 2 * left + 1 - small
        out[small] = 0
        records = order[node_starts[small] : node_starts[small + 1]]
        _count_node(codes, labels, records, bases, n_classes, out[small])
        whole = parents[parent].reshape(size)
        part = out[small].reshape(size)
        rest = out[large].reshape(size)
        for cell in range(size):
            rest[cell] = whole[cell] - part[cell]


@kernel()
def add_code_counts(codes: NDArray, features: NDArray, starts: NDArray, counts: NDArray) -> None:
    """Count every record in its code of some features, one pass over the records for all.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    features : int64 array of shape (F,)
    starts : int64 array of shape (F,)
        Where each feature's counts begin.
    counts : int64 array, added to
    """
    for i in range(codes.shape[0]):
        for j in range(features.size):
            counts[np.uint64(starts[j]) + np.uint64(codes[i, features[j]])] += 1
