"""Records of a node: what they agree on, which of them are picked, and where they go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.compiling import part
from dpforest.consistent.kernels.streams import shuffle_first
from dpforest.kernels.compiling import kernel

_ONE = np.uint64(1)


@kernel()
def mark_so_many(uniforms: NDArray, n_marked: int, out: NDArray) -> None:
    """Mark a uniformly drawn set of ``n_marked`` records.

    One by one, each with the share of marks among the records that are left: Fan, Muller,
    Rezucha (1962), Development of sampling plans by using sequential selection techniques.
    """
    marks, left = np.float64(n_marked), np.float64(uniforms.shape[0])
    for i in range(uniforms.shape[0]):
        marked = uniforms[i] * left < marks
        out[i] = marked
        marks -= 1.0 if marked else 0.0
        left -= 1.0


@part()
def group_by_class(labels: NDArray, records: NDArray, totals: NDArray, buffer: NDArray) -> None:
    """Bring records of a class together, classes ascending, order kept within; ``totals`` gets
    their numbers. ``buffer`` is int32 with as much room as there are records."""
    totals[:] = 0
    for i in range(records.shape[0]):
        buffer[i] = records[i]
        totals[labels[records[i]]] += 1
    begin = 0
    for k in range(totals.shape[0]):  # for a while, totals are places
        totals[k], begin = begin, begin + totals[k]
    for i in range(records.shape[0]):
        k = labels[buffer[i]]
        records[totals[k]] = buffer[i]
        totals[k] += 1
    begin = 0
    for k in range(totals.shape[0]):
        totals[k], begin = totals[k] - begin, totals[k]


@part()
def are_alike(totals: NDArray) -> bool:
    """Say if all counted records have one class."""
    n_classes = 0
    for k in range(totals.shape[0]):
        n_classes += totals[k] > 0
    return n_classes < 2


@part()
def count_labels(labels: NDArray, records: NDArray, start: int, end: int, totals: NDArray) -> None:
    """Class counts of some records."""
    totals[:] = 0
    for i in range(np.uint64(start), np.uint64(end)):
        totals[np.uint64(labels[np.uint64(records[i])])] += 1


@part()
def take_moments(
    targets: NDArray, records: NDArray, start: int, end: int, moments: NDArray
) -> bool:
    """Number, sum and sum of squares of a node's targets minus their mean, and the mean;
    returns whether all are equal."""
    total = 0.0
    low, high = np.inf, -np.inf
    for i in range(start, end):
        target = targets[records[i]]
        total += target
        low, high = min(low, target), max(high, target)
    mean = total / max(end - start, 1)
    off_sum = off_squares = 0.0
    for i in range(start, end):
        off = targets[records[i]] - mean
        off_sum += off
        off_squares += off * off
    moments[0], moments[1], moments[2], moments[3] = end - start, off_sum, off_squares, mean
    return low >= high


@part()
def pick_records(
    records: NDArray, start: int, end: int, n_points: int, stream: NDArray, picked: NDArray
) -> int:
    """``n_points`` random records of a node, to ``picked``; returns how many, 0 for all of them."""
    count = end - start
    if n_points == 0 or count <= n_points:
        return 0
    own = picked[:count]
    for i in range(count):
        own[i] = records[start + i]
    shuffle_first(stream, own, 0, n_points)
    return n_points


@part()
def keep_in_range(
    rows: NDArray, feature: int, picked: NDArray, n_picked: int, against_rest: bool,
    width: int, marks: NDArray, scores: NDArray, codes: NDArray,
) -> None:  # fmt: skip
    """Give ``-inf`` to a feature's candidates outside what the picked records span.

    Ordered: both values beside a cut must lie between the smallest and the largest picked one. One
    value against the rest: the value must be a picked one, and there must be two of them.
    ``marks`` is False everywhere, before and after.
    """
    low = high = np.int64(rows[picked[0], feature])
    for i in range(n_picked):
        code = np.int64(rows[picked[i], feature])
        low, high = min(low, code), max(high, code)
        marks[code] = True
    for j in range(width):
        if against_rest:
            inside = low != high and marks[codes[j]]
        else:
            inside = low <= codes[j] and codes[j + 1] <= high
        if not inside:
            scores[j] = -np.inf
    for i in range(n_picked):
        marks[rows[picked[i], feature]] = False


@part()
def split_records(
    rows, records, start, end, feature, low, high,
    buffer, is_left, says_sides,
):  # fmt: skip
    """Bring records with ``low <= code <= high`` to the front, order kept; returns how many.

    ``is_left`` (uint8) gets each record's side, where ``says_sides``.
    """
    left = np.uint64(start)
    right = np.uint64(0)
    span = np.uint64(high - low)
    column = np.uint64(feature)
    for i in range(np.uint64(start), np.uint64(end)):
        record = records[i]
        code = np.int64(rows[np.uint64(record), column])
        side = np.uint64(np.uint64(code - low) <= span)  # below low wraps to a huge number
        if says_sides:
            is_left[np.uint64(record)] = side
        records[left] = record
        buffer[right] = record
        left += side
        right += _ONE - side
    for i in range(right):
        records[left + i] = buffer[i]
    return np.int64(left) - start
