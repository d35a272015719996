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
from dpforest.trees.rules.kernels.bit_counts import counted_by_bits, joint_counts
from dpforest.trees.rules.kernels.distinct import (
    columns_of_partings,
    distinct_cuts,
    of_every_cut,
    weights_of_partings,
)
from dpforest.trees.rules.kernels.trees import scaled_up

#: Cuts of a row come in multiples of this.
_LANES = 32
#: Cuts that are weighed together.
_BLOCK = 256
#: Records whose comparisons a byte can hold: a multiple of four.
_MOST = 252
#: Records whose bins are gone through for all cuts together, in fast memory.
_AT_ONCE = 64


@kernel()
def root_bounds(bins, labels, sizes, offsets, weights, stop, label_bounds, factors):
    """Best score and bound of both children of every root cut.

    Cuts that part the records alike are weighed once, with the weight of all of them, which are
    the same integers. Returns arrays (left score, left bound, right score, right bound), one entry
    a cut.
    """
    columns = turned_around(bins)
    number, turned, firsts = distinct_cuts(columns, offsets)
    own_weights = weights_of_partings(number, offsets, weights, firsts.shape[1])
    own_columns, own_offsets = columns_of_partings(columns, firsts)
    found = parting_bounds(
        own_columns, labels, sizes, own_offsets, own_weights, stop, label_bounds, factors
    )
    return of_every_cut(found, number, turned)


@kernel()
def turned_around(table):
    """The transpose, in C order."""
    turned = np.empty((table.shape[1], table.shape[0]), dtype=table.dtype)
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            turned[j, i] = table[i, j]
    return turned


@kernel()
def parting_bounds(columns, labels, sizes, offsets, weights, stop, label_bounds, factors):
    """Scores and bounds as `root_bounds` has them, of cuts with weights of their own.

    Bins come a direction a row. The last weight is that of cuts with all records on one side, and
    the last entry what a root cut is that has none left.
    """
    n_cuts, last = weights.size - 1, np.int64(weights.size - 1)
    result = np.empty((4, weights.size), dtype=np.int64)
    near, idle = near_bounds(label_bounds), weights[last]
    if counted_by_bits(labels.size, sizes.size, n_cuts):
        joint = joint_counts(columns, offsets, labels, sizes.size)
        whole = np.empty((sizes.size, n_cuts), dtype=np.int32)
        for cut in range(n_cuts):
            for k in range(sizes.size):
                whole[k, cut] = joint[cut, k, cut]
        weighed, room = weights[:last], room_for(sizes.size, labels.size)
        for cut in range(n_cuts):
            both_bounds(
                joint[cut], whole[:, cut], whole, sizes, weighed, idle, stop, near, factors, room,
                result[:, cut],
            )  # fmt: skip
    else:
        weighed, whole = bounds_by_bytes(
            columns, labels, sizes, offsets, weights, stop, near, factors, result
        )
        room = room_for(sizes.size, labels.size)
    nobody = np.zeros_like(whole)
    both_bounds(
        nobody, 0 * sizes, whole, sizes, weighed, idle, stop, near, factors, room, result[:, last]
    )
    return result


@kernel()
def bounds_by_bytes(columns, labels, sizes, offsets, weights, stop, near, factors, result):
    """Fill the result of all cuts but the last; returns weights in rows, and counts of all."""
    n_records, n_classes, idle = labels.size, sizes.size, weights[weights.size - 1]
    order, firsts = child_rows(offsets)
    rows, weighed = in_rows(columns, order, firsts, offsets, weights)
    records, small = np.empty(n_records, dtype=np.int64), np.empty(weighed.size, dtype=np.uint8)
    whole = np.zeros((n_classes, weighed.size), dtype=np.int32)
    starts = by_bin_and_label(np.zeros(n_records, np.uint8), labels, 1, n_classes, records)
    add_group(rows, records, starts, 0, firsts, small, whole)
    left, left_sizes, room = (
        np.zeros_like(whole),
        np.zeros_like(sizes),
        room_for(n_classes, n_records),
    )
    for m in range(offsets.size - 1):
        n_bins = offsets[m + 1] - offsets[m]
        starts = by_bin_and_label(columns[m], labels, n_bins, n_classes, records)
        left[:] = 0
        left_sizes[:] = 0
        for b in range(n_bins - 1):
            add_group(rows, records, starts, b * n_classes, firsts, small, left)
            for k in range(n_classes):
                left_sizes[k] += starts[b * n_classes + k + 1] - starts[b * n_classes + k]
            both_bounds(
                left, left_sizes, whole, sizes, weighed, idle, stop, near, factors, room,
                result[:, offsets[m] - m + b],
            )  # fmt: skip
    return weighed, whole


@kernel()
def room_for(n_classes, n_records):
    """Room that bounds are worked out in: counts of both leaves, tops, sums and bounds by score."""
    counts = np.zeros((2, n_classes, _BLOCK), dtype=np.int32)
    tops, sums = np.empty((2, _BLOCK), dtype=np.int32), np.empty((2, _BLOCK), dtype=np.int32)
    return counts, tops, sums, np.zeros(n_records + 1, dtype=np.int64)


@kernel()
def both_bounds(left, left_sizes, whole, sizes, weighed, idle, stop, near, factors, room, result):
    """Score and bound of the left child, then of the right one, by the left one's counts."""
    own_sizes = np.empty_like(sizes)
    for child in range(2):
        for k in range(sizes.size):
            own_sizes[k] = sizes[k] - left_sizes[k] if child else left_sizes[k]
        best = weigh_child(left, whole, child, own_sizes, weighed, near, room)
        result[2 * child] = best
        result[2 * child + 1] = close_child(own_sizes, best, idle, stop, near, factors, room[3])


@kernel()
def weigh_child(left, whole, child, sizes, weighed, near, room):
    """Add the bounds of a child's cuts by score; returns the best score.

    A block of cuts at a time goes through all steps in fast memory.
    """
    counts, tops, sums, by_score = room
    best = sizes.max()
    for first in range(0, weighed.size, _BLOCK):
        count = min(_BLOCK, weighed.size - first)
        for k in range(sizes.size):
            own, rest, size = counts[0, k, :count], counts[1, k, :count], np.int32(sizes[k])
            below, every = left[k, first : first + count], whole[k, first : first + count]
            for j in range(count):
                own[j] = every[j] - below[j] if child else below[j]
                rest[j] = size - own[j]
        for leaf in range(2):
            leaf_sums(counts[leaf], near, tops[leaf], sums[leaf])
        scores, own_weights = tops[0, :count], weighed[first : first + count]
        for j in range(count):
            scores[j] += tops[1, j]
            best = max(best, np.int64(scores[j]))
        for j in range(count):
            by_score[scores[j]] += own_weights[j] * (np.int64(sums[0, j]) * sums[1, j])
    return best


@kernel()
def close_child(sizes, best, idle, stop, near, factors, by_score):
    """Bound of a child, relative to its best score; ``by_score`` is left as zeros.

    Cuts with all records on one side have the weight ``idle`` together.
    """
    lowest = sizes.max()
    by_score[lowest] += idle * (leaf_sum(sizes, near) * sizes.size * np.int64(near[0]))
    total = by_score[best]
    by_score[best] = 0
    for q in range(lowest, best):
        if by_score[q] > 0:
            total += scaled_up(by_score[q], factors[best - q])
            by_score[q] = 0
    for a in range(sizes.size):
        total += scaled_up(stop, factors[best - sizes[a]]) if sizes[a] < best else stop
    return total


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
def in_rows(columns, order, firsts, offsets, weights):
    """Bins with directions in their order, and weights of cuts in rows; 0 where there is none."""
    width = (order.size + _LANES - 1) // _LANES * _LANES
    rows = np.full((columns.shape[1], width), 255, dtype=np.uint8)
    weighed = np.zeros(firsts[firsts.size - 1], dtype=np.int64)
    for i in range(columns.shape[1]):
        for place in range(order.size):
            rows[i, place] = columns[order[place], i]
    for place in range(order.size):
        m = order[place]
        for b in range(offsets[m + 1] - offsets[m] - 1):
            weighed[firsts[b] + place] = weights[offsets[m] - m + b]
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
            for some in range(first, last, _AT_ONCE):
                until = min(some + _AT_ONCE, last)
                for b in range(firsts.size - 1):
                    add_below(rows, records, some, until, b, small[firsts[b] : firsts[b + 1]])
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
def leaf_sum(sizes, near):
    """Leaf sum of records by their class counts."""
    top, total = sizes.max(), np.int64(0)
    for k in range(sizes.size):
        total += near[min(top - sizes[k], near.size - 1)]
    return total


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
