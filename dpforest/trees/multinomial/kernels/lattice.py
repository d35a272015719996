"""Ordered features on a lattice too fine to count cell by cell: intervals of equal score.

Between two consecutive codes of a node's records every cut makes the same children, so it has the
same score. Records of each node are kept in the order of each feature's codes, and one pass over
them meets every interval.

``words``
    uint64 ``(D, m)``, ``code << 32 | record``: row f holds the records of node ``v`` in the order
    of feature f's codes in ``words[f, node_starts[v]:node_starts[v + 1]]``. Here a feature is one
    of the D *ordered* ones, by its place among them.

How many intervals a node has is a function of its records, hence as secret as its counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.multinomial.kernels.scoring import (
    _largest,
    _normalise,
    _score_candidates,
    _x_log_x_table,
)

_CODE_SHIFT = np.uint64(32)
_RECORD = np.uint64(2**32 - 1)


@kernel()
def keep_words(words: NDArray, kept: NDArray, out: NDArray) -> None:
    """Words of the records with ``kept[record]``, order kept; ``out`` is overwritten.

    ``words`` has shape (D, n), ``kept`` (uint8) n entries, ``out`` as many columns as are kept.
    """
    for f in range(words.shape[0]):
        place = 0
        for i in range(words.shape[1]):
            word = words[f, i]
            if kept[word & _RECORD]:
                out[f, place] = word
                place += 1


@kernel()
def split_words(
    words: NDArray, order: NDArray, node_starts: NDArray, n_records: int, new_words: NDArray
) -> None:
    """Group the words of a level by its children, keeping their order within each.

    Parameters
    ----------
    words : uint64 array of shape (D, m)
        Grouped by parent.
    order, node_starts : of the children, left and right in turn, as routing made them
    n_records : int
        More than every record number.
    new_words : uint64 array of shape (D, m), overwritten; must not overlap ``words``
    """
    goes_left = np.empty(n_records, np.uint8)
    n_parents = (node_starts.shape[0] - 1) // 2
    for child in range(2 * n_parents):
        for i in range(node_starts[child], node_starts[child + 1]):
            goes_left[np.uint64(order[i])] = 1 - child % 2
    one = np.uint64(1)
    for f in range(words.shape[0]):
        old, new = words[f], new_words[f]
        for parent in range(n_parents):
            left = np.uint64(node_starts[2 * parent])
            right = np.uint64(node_starts[2 * parent + 1])
            for i in range(node_starts[2 * parent], node_starts[2 * parent + 2]):
                word = old[np.uint64(i)]
                is_left = np.uint64(goes_left[word & _RECORD])
                # A select, not a branch: sides are as good as random.
                new[left if is_left else right] = word
                left += is_left
                right += one - is_left


@kernel(forceinline=True)
def _cut_of_two(
    words: NDArray, labels: NDArray, low: int, left_0: NDArray, left_1: NDArray, firsts: NDArray
) -> tuple[int, int]:
    """:func:`_cut` for two classes, without a branch."""
    width = np.uint64(0)
    ones = np.int64(0)
    previous = np.int64(low)
    for i in range(words.shape[0]):
        word = words[np.uint64(i)]
        code = np.int64(word >> _CODE_SHIFT)
        # Written for every record, kept where a new code begins.
        firsts[width] = previous
        left_0[width] = i - ones
        left_1[width] = ones
        width += np.uint64(code != previous)
        previous = code
        ones += np.int64(labels[word & _RECORD])
    firsts[width] = previous
    left_0[width] = words.shape[0] - ones
    left_1[width] = ones
    return int(width), int(previous)


@kernel(forceinline=True)
def _cut_of_many(
    words: NDArray, labels: NDArray, low: int, left: NDArray, firsts: NDArray
) -> tuple[int, int]:
    """:func:`_cut` for any number of classes; the interval being filled is at ``width``."""
    width = 0
    previous = np.int64(low)
    left[:, 0] = 0
    for i in range(words.shape[0]):
        word = words[np.uint64(i)]
        code = np.int64(word >> _CODE_SHIFT)
        if code != previous:
            firsts[width] = previous
            for label in range(left.shape[0]):
                left[label, width + 1] = left[label, width]
            width += 1
            previous = code
        left[np.uint64(labels[word & _RECORD]), width] += 1
    firsts[width] = previous
    return width, int(previous)


@kernel(forceinline=True)
def _cut(
    words: NDArray,
    labels: NDArray,
    low: int,
    high: int,
    left: NDArray,
    firsts: NDArray,
) -> int:
    """Cut the candidates ``low … high - 1`` of one node into intervals of equal children.

    The first interval begins at ``low`` even where no record is that low: a cut with an empty
    child is a candidate too. Interval j begins at ``firsts[j]`` and ends before the next; the
    last ends at ``high - 1``. ``left[:, j]`` gets the class counts of its left child. Both need
    one place more than there are records. Returns the number of intervals, none of them empty.
    """
    if left.shape[0] == 2:
        width, last = _cut_of_two(words, labels, low, left[0], left[1], firsts)
    else:
        width, last = _cut_of_many(words, labels, low, left, firsts)
    # What follows the largest code is an interval only if the box goes on.
    return width + 1 if last < high else width


@kernel(forceinline=True)
def _count_labels(words: NDArray, labels: NDArray, totals: NDArray) -> None:
    totals[:] = 0
    for i in range(words.shape[0]):
        totals[np.uint64(labels[words[np.uint64(i)] & _RECORD])] += 1


@kernel()
def _best_interval_scores(
    words: NDArray,
    node_starts: NDArray,
    labels: NDArray,
    n_classes: int,
    box_low: NDArray,
    box_high: NDArray,
    criterion: int,
    table: NDArray,
    out: NDArray,
) -> None:
    widest = np.diff(node_starts).max() + 1
    left = np.empty((n_classes, widest), np.int64)
    firsts = np.empty(widest, np.int64)
    scores = np.empty(widest, np.float64)
    scratch = np.empty((3, widest), np.int64)
    totals = np.empty(n_classes, np.int64)
    for node in range(out.shape[0]):
        start, end = node_starts[node], node_starts[node + 1]
        _count_labels(words[0, start:end], labels, totals)
        for f in range(out.shape[1]):
            width = _cut(
                words[f, start:end], labels, box_low[node, f], box_high[node, f], left, firsts
            )
            _score_candidates(left, totals, end - start, width, criterion, table, scratch, scores)
            out[node, f] = _largest(scores, width)


def best_interval_scores(
    words: NDArray,
    node_starts: NDArray,
    labels: NDArray,
    n_classes: int,
    box_low: NDArray,
    box_high: NDArray,
    criterion: int,
    out: NDArray,
) -> None:
    """Largest score that each ordered feature offers in each node, over all points of its box.

    Parameters
    ----------
    words : uint64 array of shape (D, m), D > 0
    node_starts : int64 array of shape (n_nodes + 1,)
    labels : uint array of shape (n,)
    n_classes : int
    box_low, box_high : int64 arrays of shape (n_nodes, D)
    criterion : int
        Code of a :class:`~dpforest.trees.multinomial.criteria.Criterion`.
    out : float64 array of shape (n_nodes, D), overwritten
        As :func:`~dpforest.trees.multinomial.kernels.scoring.score_level` scores candidates;
        ``-inf`` for a box of one code.
    """
    table = _x_log_x_table()
    _best_interval_scores(
        words, node_starts, labels, n_classes, box_low, box_high, criterion, table, out
    )


@kernel()
def _offer_intervals(
    words: NDArray,
    node_starts: NDArray,
    labels: NDArray,
    n_classes: int,
    box_low: NDArray,
    box_high: NDArray,
    features: NDArray,
    criterion: int,
    normalised: bool,
    table: NDArray,
    starts: NDArray,
    scores: NDArray,
    firsts: NDArray,
    lengths: NDArray,
    ends: NDArray,
) -> None:
    widest = np.diff(node_starts).max() + 1
    left = np.empty((n_classes, widest), np.int64)
    scratch = np.empty((3, widest), np.int64)
    totals = np.empty(n_classes, np.int64)
    for node in range(features.shape[0]):
        f = features[node]
        if f < 0:
            continue
        own = words[f, node_starts[node] : node_starts[node + 1]]
        row = slice(starts[node], starts[node] + own.shape[0] + 1)
        begin, high = firsts[row], box_high[node, f]
        _count_labels(own, labels, totals)
        width = _cut(own, labels, box_low[node, f], high, left, begin)
        points = scores[row][:width]
        _score_candidates(left, totals, own.shape[0], width, criterion, table, scratch, points)
        if normalised:
            _normalise(points)
        for j in range(width):
            after = begin[j + 1] if j + 1 < width else high
            lengths[starts[node] + j] = after - begin[j]
        ends[node] = starts[node] + width


def offer_intervals(
    words: NDArray,
    node_starts: NDArray,
    labels: NDArray,
    n_classes: int,
    box_low: NDArray,
    box_high: NDArray,
    features: NDArray,
    criterion: int,
    normalised: bool,
    starts: NDArray,
    scores: NDArray,
    firsts: NDArray,
    lengths: NDArray,
    ends: NDArray,
) -> None:
    """Intervals of the ordered feature that each node drew, ready for selection.

    Parameters
    ----------
    words, node_starts, labels, n_classes, box_low, box_high, criterion
        As in :func:`best_interval_scores`.
    features : int64 array of shape (n_nodes,)
        Drawn feature; nodes with -1 are left alone.
    normalised : bool
        Whether to take the scores to 0 … 1 over the box's points and floor them to the lattice.
    starts : int64 array of shape (n_nodes,)
        Where each node's row begins; a row has one place more than the node has records.
    scores : float64 array, firsts and lengths : int64 arrays, one place for each of all rows
        Score in lattice steps, first code and number of codes of each interval.
    ends : int64 array of shape (n_nodes,)
        Gets where the intervals of each row end.
    """
    table = _x_log_x_table()
    _offer_intervals(
        words, node_starts, labels, n_classes, box_low, box_high, features, criterion, normalised,
        table, starts, scores, firsts, lengths, ends,
    )  # fmt: skip


@kernel()
def offer_values(
    cell_scores: NDArray,
    cell_starts: NDArray,
    cell_ends: NDArray,
    starts: NDArray,
    scores: NDArray,
    firsts: NDArray,
    lengths: NDArray,
    ends: NDArray,
) -> None:
    """Copy the values of the categorical feature that each node drew: one point each.

    Parameters
    ----------
    cell_scores : float64 array, cell_starts and cell_ends : int64 arrays of shape (n_nodes,)
        The node's values in code order, ready for selection; an empty span is left alone.
    starts, scores, firsts, lengths, ends
        As in :func:`offer_intervals`.
    """
    for node in range(starts.shape[0]):
        size = cell_ends[node] - cell_starts[node]
        if size == 0:
            continue
        for code in range(size):
            place = starts[node] + code
            scores[place] = cell_scores[cell_starts[node] + code]
            firsts[place] = code
            lengths[place] = 1
        ends[node] = starts[node] + size
