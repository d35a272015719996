"""Bounds of both children of every root cut, many cuts of a child at a time.

The same numbers as `stump_bounds` and `close_node` give a child by itself, which is how a drawn
tree's children are gone through. Layout: cuts of a child lie row by row, first the first cuts of
all directions, then the second ones of those that have two, and so on, directions with most cuts
first; each row is filled up to whole blocks of lanes, where cuts are of no weight. So loops go
over neighbours, and counts below a cut are sums of comparisons, a byte a cut.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel
from dpforest.trees.rules.kernels.trees import scaled_up

#: Cuts of a row come in multiples of this.
_LANES = 32
#: Records whose comparisons a byte can hold: a multiple of four.
_MOST = 252


@kernel()
def root_bounds(bins, labels, sizes, offsets, weights, stop, label_bounds, factors):
    """Best score and bound of both children of every root cut.

    Returns arrays (left score, left bound, right score, right bound), one entry a cut.
    """
    n_records, n_directions, n_classes = labels.size, offsets.size - 1, sizes.size
    order, firsts = child_rows(offsets)
    rows, weighed = in_rows(bins, order, firsts, offsets, weights)
    near = near_bounds(label_bounds)
    records = np.empty(n_records, dtype=np.int64)
    column = np.zeros(n_records, dtype=np.uint8)
    small = np.empty(weighed.size, dtype=np.uint8)
    whole = np.zeros((n_classes, weighed.size), dtype=np.int32)
    starts = by_bin_and_label(column, labels, 1, n_classes, records)
    add_group(rows, records, starts, 0, firsts, small, whole)
    # Counts below each cut, of a child and of its leaves; tops and sums of the leaves.
    left, right, rest = np.zeros_like(whole), np.zeros_like(whole), np.zeros_like(whole)
    tops = np.empty((2, weighed.size), dtype=np.int32)
    sums = np.empty((2, weighed.size), dtype=np.int32)
    by_score = np.zeros(n_records + 1, dtype=np.int64)
    result = np.empty((4, offsets[n_directions] - n_directions), dtype=np.int64)
    left_sizes, right_sizes = np.zeros_like(sizes), np.zeros_like(sizes)
    for m in range(n_directions):
        for i in range(n_records):
            column[i] = bins[i, m]
        n_bins = offsets[m + 1] - offsets[m]
        starts = by_bin_and_label(column, labels, n_bins, n_classes, records)
        left[:] = 0
        for b in range(n_bins - 1):
            cut = offsets[m] - m + b
            if b > 0 and starts[b * n_classes] == starts[(b + 1) * n_classes]:
                for part in range(4):
                    result[part, cut] = result[part, cut - 1]
                continue
            add_group(rows, records, starts, b * n_classes, firsts, small, left)
            for k in range(n_classes):
                last = starts[b * n_classes + k + 1]
                left_sizes[k] = last - starts[b * n_classes + k] + (left_sizes[k] if b else 0)
                right_sizes[k] = sizes[k] - left_sizes[k]
                for j in range(weighed.size):
                    right[k, j] = whole[k, j] - left[k, j]
            result[0, cut], result[1, cut] = child_bound(
                left, left_sizes, weighed, stop, near, factors, rest, tops, sums, by_score
            )
            result[2, cut], result[3, cut] = child_bound(
                right, right_sizes, weighed, stop, near, factors, rest, tops, sums, by_score
            )
    return result


@kernel()
def child_rows(offsets):
    """Directions by number of cuts, most first, and where each row of cuts begins."""
    n_directions = offsets.size - 1
    most = 0
    for m in range(n_directions):
        most = max(most, offsets[m + 1] - offsets[m] - 1)
    order = np.empty(n_directions, dtype=np.int64)
    place = 0
    for n_cuts in range(most, -1, -1):
        for m in range(n_directions):
            if offsets[m + 1] - offsets[m] - 1 == n_cuts:
                order[place] = m
                place += 1
    firsts = np.zeros(most + 1, dtype=np.int64)
    for b in range(most):
        longer = 0
        for m in range(n_directions):
            longer += offsets[m + 1] - offsets[m] - 1 > b
        firsts[b + 1] = firsts[b] + (longer + _LANES - 1) // _LANES * _LANES
    return order, firsts


@kernel()
def in_rows(bins, order, firsts, offsets, weights):
    """Bins with directions in their order, and weights of cuts in rows; 0 where there is none."""
    width = (order.size + _LANES - 1) // _LANES * _LANES
    rows = np.full((bins.shape[0], width), 255, dtype=np.uint8)
    weighed = np.zeros(firsts[firsts.size - 1], dtype=np.int64)
    for i in range(bins.shape[0]):
        for place in range(order.size):
            rows[i, place] = bins[i, order[place]]
    for place in range(order.size):
        m = order[place]
        for b in range(offsets[m + 1] - offsets[m] - 1):
            weighed[firsts[b] + place] = weights[m]
    return rows, weighed


@kernel()
def near_bounds(label_bounds):
    """The bounds of labels, up to the first gap from which on all are 1."""
    last = label_bounds.size - 1
    while last > 0 and label_bounds[last - 1] == 1:
        last -= 1
    near = np.empty(last + 1, dtype=np.int32)
    for gap in range(last + 1):
        near[gap] = label_bounds[gap]
    return near


@kernel()
def by_bin_and_label(column, labels, n_bins, n_classes, records):
    """Put records in order of bin, then label; returns where each group begins."""
    starts = np.zeros(n_bins * n_classes + 1, dtype=np.int64)
    for i in range(labels.size):
        starts[column[i] * n_classes + labels[i] + 1] += 1
    for group in range(n_bins * n_classes):
        starts[group + 1] += starts[group]
    places = starts.copy()
    for i in range(labels.size):
        group = column[i] * n_classes + labels[i]
        records[places[group]] = i
        places[group] += 1
    return starts


@kernel()
def add_group(rows, records, starts, group, firsts, small, counts):
    """Add the records of a bin to ``counts``, shape (n_classes, n_cuts), below each cut."""
    for k in range(counts.shape[0]):
        for first in range(starts[group + k], starts[group + k + 1], _MOST):
            last = min(first + _MOST, starts[group + k + 1])
            small[:] = 0
            for b in range(firsts.size - 1):
                add_below(rows, records, first, last, b, small[firsts[b] : firsts[b + 1]])
            for j in range(small.size):
                counts[k, j] += small[j]


@kernel()
def add_below(rows, records, first, last, cut, small):
    """Add up to ``_MOST`` records to the bytes of one row of cuts, four at a time."""
    edge = np.uint8(cut)
    fours = first + (last - first) // 4 * 4
    for i in range(first, fours, 4):
        one, two = rows[records[i]], rows[records[i + 1]]
        three, four = rows[records[i + 2]], rows[records[i + 3]]
        for j in range(small.size):
            ones = np.uint8(one[j] <= edge) + np.uint8(two[j] <= edge)
            small[j] += np.uint8(ones + np.uint8(three[j] <= edge) + np.uint8(four[j] <= edge))
    for i in range(fours, last):
        row = rows[records[i]]
        for j in range(small.size):
            small[j] += np.uint8(row[j] <= edge)


@kernel()
def child_bound(counts, sizes, weighed, stop, near, factors, rest, tops, sums, by_score):
    """Best score and bound of a child, by the counts below its cuts, shape (n_classes, n_cuts).

    ``by_score`` comes in as zeros, and is left so.
    """
    for k in range(sizes.size):
        size = np.int32(sizes[k])
        for j in range(weighed.size):
            rest[k, j] = size - counts[k, j]
    leaf_sums(counts, near, tops[0], sums[0])
    leaf_sums(rest, near, tops[1], sums[1])
    lowest = sizes.max()
    best = lowest
    scores = tops[0]
    for j in range(weighed.size):
        scores[j] += tops[1, j]
        best = max(best, np.int64(scores[j]))
    for j in range(weighed.size):
        by_score[scores[j]] += weighed[j] * (np.int64(sums[0, j]) * sums[1, j])
    total = by_score[best]
    by_score[best] = 0
    for q in range(lowest, best):
        if by_score[q] > 0:
            total += scaled_up(by_score[q], factors[best - q])
            by_score[q] = 0
    for a in range(sizes.size):
        total += scaled_up(stop, factors[best - sizes[a]]) if sizes[a] < best else stop
    return best, total


@kernel()
def leaf_sums(counts, near, top, total):
    """Largest class of every leaf, and its leaf sum, see `dpforest.trees.rules.kernels.trees`."""
    far = np.uint32(near.size - 1)
    if counts.shape[0] == 2:
        for j in range(top.size):
            more, less = max(counts[0, j], counts[1, j]), min(counts[0, j], counts[1, j])
            top[j] = more
            total[j] = near[0] + near[min(np.uint32(more - less), far)]
        return
    top[:] = 0
    total[:] = 0
    for k in range(counts.shape[0]):
        for j in range(top.size):
            top[j] = max(top[j], counts[k, j])
    for k in range(counts.shape[0]):
        for j in range(top.size):
            total[j] += near[min(np.uint32(top[j] - counts[k, j]), far)]
