"""Features of many values: a node's records in the order of their values, and one pass over them.

Scores are those of :mod:`~dpforest.consistent.kernels.cells`, updated record by record: with one
record of class k more on the left, ``sum l**2`` grows by ``2 l_k + 1`` and ``dot`` by ``t_k``,
however many classes there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.cells import error_score
from dpforest.consistent.kernels.compiling import part

_SHIFT = np.uint64(32)
_RECORD = np.uint64(2**32 - 1)
_ONE = np.uint64(1)
_RUN = 16


@part()
def keep_words(words: NDArray, kept: NDArray, out: NDArray) -> None:
    """Words of the records with ``kept[record]`` (uint8), order kept.

    ``out`` has one column more than records are kept.
    """
    for f in range(words.shape[0]):
        place = np.uint64(0)
        for i in range(words.shape[1]):
            word = words[f, i]
            out[f, place] = word
            place += np.uint64(kept[word & _RECORD])


@part()
def split_words(
    words: NDArray, start: int, end: int, is_left: NDArray, is_split: int, buffer: NDArray
) -> None:
    """Bring the words of left records to the front, for every feature; order is kept.

    In row ``is_split`` (-1: in none) they are there already.
    """
    for f in range(words.shape[0]):
        if f == is_split:
            continue
        row = words[f]
        left = np.uint64(start)
        right = np.uint64(0)
        for i in range(np.uint64(start), np.uint64(end)):
            word = row[i]
            side = np.uint64(is_left[word & _RECORD])
            # Written on both sides, kept on one: sides are as good as random.
            row[left] = word
            buffer[right] = word
            left += side
            right += _ONE - side
        for i in range(right):
            row[left + i] = buffer[i]


@part()
def sort_words(
    rows: NDArray, feature: int, records: NDArray, start: int, end: int, out: NDArray
) -> None:
    """Words of a node's records in ascending order, from ``out[0]`` on; ``out`` has twice the
    room.

    Short runs are sorted by insertion, then merged.
    """
    count = end - start
    for i in range(count):
        record = np.uint64(records[start + i])
        out[i] = (np.uint64(rows[record, np.uint64(feature)]) << _SHIFT) | record
    for first in range(0, count, _RUN):
        for i in range(first + 1, min(first + _RUN, count)):
            word = out[i]
            j = i
            while j > first and out[j - 1] > word:
                out[j] = out[j - 1]
                j -= 1
            out[j] = word
    run = _RUN
    while run < count:
        for first in range(0, count - run, 2 * run):
            _merge(out, first, first + run, min(first + 2 * run, count), count)
        run *= 2


@part()
def _merge(words, first, middle, last, spare):
    """Merge two neighbouring runs; the first one is moved to ``words[spare:]`` before."""
    length = np.uint64(middle - first)
    for i in range(length):
        words[np.uint64(spare) + i] = words[np.uint64(first) + i]
    left, right = np.uint64(spare), np.uint64(middle)
    left_end, end = np.uint64(spare) + length, np.uint64(last)
    place = np.uint64(first)
    while left < left_end and right < end:
        is_left = np.uint64(words[left] < words[right])  # all words differ
        words[place] = words[left] if is_left else words[right]
        place += _ONE
        left += is_left
        right += _ONE - is_left
    while left < left_end:
        words[place] = words[left]
        place += _ONE
        left += _ONE


@part()
def scan_classes(
    words, start, end, labels, totals,
    against_rest, left, sizes, dots, scores, codes,
):  # fmt: skip
    """Candidates from the words ``start … end - 1`` of a node, in order; returns how many.

    ``sizes`` and ``dots`` are float64, written over. Scores are computed last, without a branch, so
    that they are computed in parallel.
    """
    previous = words[start] >> _SHIFT
    if previous == words[end - 1] >> _SHIFT:
        return 0
    node_squares = np.int64(0)
    for k in range(totals.shape[0]):
        node_squares += totals[k] * totals[k]
        left[k] = 0
    width = np.uint64(0)
    squares = dot = np.int64(0)
    begun = np.uint64(start)  # where the left child, or the value being read, began
    for i in range(np.uint64(start), np.uint64(end)):
        word = words[i]
        code = word >> _SHIFT
        if code != previous:
            codes[width], sizes[width] = previous, np.int64(i - begun)
            scores[width], dots[width] = squares, dot
            width += _ONE
            previous = code
            if against_rest:
                for j in range(begun, i):
                    left[np.uint64(labels[words[j] & _RECORD])] = 0
                begun = i
                squares = dot = 0
        k = np.uint64(labels[word & _RECORD])
        squares += 2 * left[k] + 1
        dot += totals[k]
        left[k] += 1
    codes[width] = previous
    if against_rest:
        sizes[width] = np.int64(end) - np.int64(begun)
        scores[width], dots[width] = squares, dot
        width += _ONE
    _purities(scores, sizes, dots, np.int64(width), np.float64(node_squares), end - start)
    return np.int64(width)


@part(error_model="numpy")
def _purities(squares, sizes, dots, width, node_squares, n_node):
    """Turn left children's squares into scores."""
    n = np.float64(n_node)
    for j in range(width):
        right = node_squares - 2.0 * dots[j] + squares[j]
        squares[j] = squares[j] / sizes[j] + right / (n - sizes[j])


@part()
def scan_targets(
    words: NDArray, start: int, end: int, targets: NDArray, moments: NDArray,
    against_rest: bool, criterion: int, scores: NDArray, codes: NDArray,
) -> int:  # fmt: skip
    """As :func:`scan_classes`, in regression."""
    previous = words[start] >> _SHIFT
    if previous == words[end - 1] >> _SHIFT:
        return 0
    n_node, sum_node, square_node, mean = moments[0], moments[1], moments[2], moments[3]
    sum_left = square_left = 0.0
    width = 0
    begun = start
    for i in range(start, end):
        word = words[i]
        code = word >> _SHIFT
        if code != previous:
            codes[width] = previous
            scores[width] = error_score(
                np.float64(i - begun), sum_left, square_left, n_node, sum_node, square_node,
                criterion,
            )  # fmt: skip
            width += 1
            previous = code
            if against_rest:
                begun = i
                sum_left = square_left = 0.0
        off = targets[word & _RECORD] - mean
        sum_left += off
        square_left += off * off
    codes[width] = previous
    if against_rest:
        scores[width] = error_score(
            np.float64(end - begun), sum_left, square_left, n_node, sum_node, square_node,
            criterion,
        )  # fmt: skip
        width += 1
    return width
