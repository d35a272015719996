"""Compiled loops of comparison trees: draw pivots, ask which is closer, move records, sum answers.

Conventions of this file:

``rows``, ``starts``
    int32 record numbers grouped by node, and int64 offsets: node ``v`` holds
    ``rows[starts[v]:starts[v + 1]]``. A record is in as many nodes as there are trees in the block.
``metric``
    One of the codes below. For ``COSINE`` the records must have been scaled to length one
    (:func:`scale_rows_to_length_one`).
``pivots``
    int32 of shape (m, 2), record numbers; -1 where a node has no admissible pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

EUCLIDEAN, MANHATTAN, CHEBYSHEV, HAMMING, COSINE, PRECOMPUTED = range(6)

_BLOCK = 64  # records that go down one tree together, so that its upper nodes stay in cache


@njit(cache=True, nogil=True)
def _below(word: Any, bound: Any) -> Any:
    """A number in 0 … bound-1 from a 64-bit word; uneven by less than bound / 2**53."""
    drawn = np.int64(np.float64(word >> np.uint64(11)) * 2.0**-53 * np.float64(bound))
    return min(drawn, bound - 1)


@njit(cache=True, nogil=True)
def _member(rows: NDArray, labels: NDArray, at: int, label: int, rank: Any, inside: bool) -> Any:
    """The record of this rank among those of a class (or, not ``inside``, of the others)."""
    while True:
        if (labels[rows[at]] == label) == inside:
            if rank == 0:
                return rows[at]
            rank -= 1
        at += 1


@njit(cache=True, nogil=True)
def draw_pairs(words: NDArray, rows: NDArray, starts: NDArray, out: NDArray) -> None:
    """Two different records of each node, every ordered pair alike; labels are not looked at.

    Parameters
    ----------
    words : uint64 array of shape (m, 2)
    rows, starts : records of the m nodes
    out : int32 array of shape (m, 2), overwritten; -1 in nodes of fewer than two records
    """
    for node in range(starts.size - 1):
        start, size = starts[node], starts[node + 1] - starts[node]
        out[node] = -1
        if size >= 2:
            first = _below(words[node, 0], size)
            second = _below(words[node, 1], size - 1)
            second += second >= first
            out[node, 0] = rows[start + first]
            out[node, 1] = rows[start + second]


@njit(cache=True, nogil=True)
def draw_pairs_of_different_classes(
    words: NDArray, rows: NDArray, starts: NDArray, labels: NDArray, counts: NDArray, out: NDArray
) -> None:
    """Two records of different classes of each node, every such ordered pair alike.

    Parameters
    ----------
    words : uint64 array of shape (m, 2)
    rows, starts : records of the m nodes
    labels : int32 array, class code of every record
    counts : int64 array of shape (m, K), records of each class in each node
    out : int32 array of shape (m, 2), overwritten; -1 in nodes of a single class
    """
    for node in range(starts.size - 1):
        start, size = starts[node], starts[node + 1] - starts[node]
        out[node] = -1
        pairs = np.int64(0)
        for label in range(counts.shape[1]):
            pairs += counts[node, label] * (size - counts[node, label])
        if pairs == 0:
            continue
        # A first pivot of class c can be paired with size - m_c others: m_c times as many pairs.
        drawn = _below(words[node, 0], pairs)
        label = 0
        while drawn >= counts[node, label] * (size - counts[node, label]):
            drawn -= counts[node, label] * (size - counts[node, label])
            label += 1
        others = size - counts[node, label]
        out[node, 0] = _member(rows, labels, start, label, drawn // others, True)
        rank = _below(words[node, 1], others)
        out[node, 1] = _member(rows, labels, start, label, rank, False)


@njit(cache=True, nogil=True)
def count_classes(rows: NDArray, starts: NDArray, labels: NDArray, out: NDArray) -> None:
    """Class counts of each node, int64 ``out`` of shape (m, K), overwritten."""
    out[:] = 0
    for node in range(starts.size - 1):
        for at in range(starts[node], starts[node + 1]):
            out[node, labels[rows[at]]] += 1


@njit(cache=True, nogil=True)
def scale_rows_to_length_one(records: NDArray) -> None:
    """Divide each row by its Euclidean length, in place; a row of zeros stays one.

    Rows are divided by their largest entry first, so that squares neither overflow nor vanish.
    """
    for i in range(records.shape[0]):
        largest = 0.0
        for j in range(records.shape[1]):
            largest = max(largest, abs(records[i, j]))
        if largest == 0.0:
            continue
        length = 0.0
        for j in range(records.shape[1]):
            records[i, j] /= largest
            length += records[i, j] * records[i, j]
        length = np.sqrt(length)
        for j in range(records.shape[1]):
            records[i, j] /= length


@njit(cache=True, nogil=True)
def _euclidean_side(x: NDArray, p: NDArray, q: NDArray) -> bool:
    # Squares order as their roots do. Both sums run in one pass.
    to_p = to_q = 0.0
    for j in range(x.size):
        a, b = x[j] - p[j], x[j] - q[j]
        to_p += a * a
        to_q += b * b
    return to_p <= to_q


@njit(cache=True, nogil=True)
def _manhattan_side(x: NDArray, p: NDArray, q: NDArray) -> bool:
    to_p = to_q = 0.0
    for j in range(x.size):
        to_p += abs(x[j] - p[j])
        to_q += abs(x[j] - q[j])
    return to_p <= to_q


@njit(cache=True, nogil=True)
def _chebyshev_side(x: NDArray, p: NDArray, q: NDArray) -> bool:
    to_p = to_q = 0.0
    for j in range(x.size):
        to_p = max(to_p, abs(x[j] - p[j]))
        to_q = max(to_q, abs(x[j] - q[j]))
    return to_p <= to_q


@njit(cache=True, nogil=True)
def _hamming_side(x: NDArray, p: NDArray, q: NDArray) -> bool:
    nearer: Any = 0
    for j in range(x.size):
        nearer += np.int64(x[j] != q[j]) - np.int64(x[j] != p[j])
    return nearer >= 0


@njit(cache=True, nogil=True)
def _cosine_side(x: NDArray, p: NDArray, q: NDArray) -> bool:
    with_p = with_q = 0.0
    for j in range(x.size):
        with_p += x[j] * p[j]
        with_q += x[j] * q[j]
    return with_p >= with_q


@njit(cache=True, nogil=True)
def _is_closer_to_first(
    records: NDArray, row: int, fitted: NDArray, p: int, q: int, metric: int
) -> bool:
    """Whether d(record, pivot p) <= d(record, pivot q): a tie goes to the first pivot."""
    if metric == EUCLIDEAN:
        return _euclidean_side(records[row], fitted[p], fitted[q])
    if metric == MANHATTAN:
        return _manhattan_side(records[row], fitted[p], fitted[q])
    if metric == CHEBYSHEV:
        return _chebyshev_side(records[row], fitted[p], fitted[q])
    if metric == HAMMING:
        return _hamming_side(records[row], fitted[p], fitted[q])
    if metric == COSINE:
        return _cosine_side(records[row], fitted[p], fitted[q])
    return records[row, p] <= records[row, q]


@njit(cache=True, nogil=True)
def closer_to_first(
    records: NDArray,
    rows: NDArray,
    starts: NDArray,
    fitted: NDArray,
    pivots: NDArray,
    metric: int,
    out: NDArray,
) -> None:
    """Which records are at least as close to their node's first pivot as to its second.

    Parameters
    ----------
    records : float64 array of shape (n, D)
        Records to place; for ``PRECOMPUTED`` their distances to all training records.
    rows, starts : which of them are in which node
    fitted : float64 array of shape (n_train, D)
        Training records, of which the pivots are; not read for ``PRECOMPUTED``.
    pivots : int32 array of shape (m, 2)
    metric : int
    out : bool array of the shape of ``rows``, overwritten; True in nodes without pivots
    """
    for node in range(starts.size - 1):
        p, q = pivots[node, 0], pivots[node, 1]
        for at in range(starts[node], starts[node + 1]):
            out[at] = p < 0 or _is_closer_to_first(records, rows[at], fitted, p, q, metric)


@njit(cache=True, nogil=True)
def first_side_first(rows: NDArray, starts: NDArray, sides: NDArray, out: NDArray) -> None:
    """Records of each node with those on the first side in front, order kept within a side."""
    for node in range(starts.size - 1):
        at = starts[node]
        for wanted in (True, False):
            for i in range(starts[node], starts[node + 1]):
                if sides[i] == wanted:
                    out[at] = rows[i]
                    at += 1


@njit(cache=True, nogil=True)
def sum_answers(
    records: NDArray,
    fitted: NDArray,
    pivots: NDArray,
    child: NDArray,
    roots: NDArray,
    values: NDArray,
    metric: int,
    out: NDArray,
) -> None:
    """Sum over trees of the answers of the leaves that each record reaches.

    A record's sum runs over trees in their order, whatever the block.

    Parameters
    ----------
    records : float64 array of shape (n, D)
    fitted, metric : as in :func:`closer_to_first`
    pivots : int32 array of shape (nodes, 2)
    child : int64 array of shape (nodes,)
        First child of an inner node, its second is the next; for a leaf ``-1 - leaf number``.
    roots : int64 array of shape (T,)
    values : float64 array of shape (leaves, K)
    out : float64 array of shape (n, K), overwritten
    """
    out[:] = 0.0
    for start in range(0, records.shape[0], _BLOCK):
        stop = min(start + _BLOCK, records.shape[0])
        for tree in range(roots.size):
            for row in range(start, stop):
                node: Any = roots[tree]
                while child[node] >= 0:
                    p, q = pivots[node, 0], pivots[node, 1]
                    closer = _is_closer_to_first(records, row, fitted, p, q, metric)
                    node = child[node] + (0 if closer else 1)
                leaf = -1 - child[node]
                for label in range(values.shape[1]):
                    out[row, label] += values[leaf, label]
