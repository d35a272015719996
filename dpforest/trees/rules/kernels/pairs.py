"""Best scores and bounds of both children of every root cut, each pair of cuts gone through once.

Two cuts part the records in four: where both are left, one or the other, or neither. Those four are
the leaves of both trees that the two cuts make, whichever is the root's. So their tops and leaf
sums serve four children, each of which keeps its bounds by score until all pairs were there. The
same numbers as `dpforest.trees.rules.kernels.children` gives child by child, for more than two
classes and few enough records: counts have 16 bits, and all scores of all children have room.

A leaf sum is one number a class, looked up by the class's gap to the top. Gaps beyond the last
bound above 1 are like that one, so that gaps of several classes together are few: they are digits
of a place in a table that has the sums of their bounds.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel
from dpforest.trees.rules.kernels.bit_counts import ones
from dpforest.trees.rules.kernels.children import close_child

#: Cuts that are weighed together with another one.
_BLOCK = 256
#: Records, each as often as it weighs, that are counted in 16 bits.
_MOST_RECORDS = 2**15 - 1
#: Scores of all children, at most: 64 MB.
_MOST_SCORES = 2**23
#: Entries of a table of sums, at most: 64 KB.
_MOST_ENTRIES = 2**14
#: Sums of a score that a root cut's own children keep: one waits for the other to be stored.
_LANES = 4


@kernel()
def fits_pairs(sizes, firsts):
    """True where 16 bits hold all counts, and the children's scores have room."""
    return sizes.sum() <= _MOST_RECORDS and firsts[firsts.size - 1] <= _MOST_SCORES


@kernel()
def scores_of_children(left_sizes, sizes):
    """Lowest score of every child, and where its scores begin: left and right of each root cut."""
    lowest = np.empty(2 * left_sizes.shape[0], dtype=np.int64)
    firsts = np.zeros(lowest.size + 1, dtype=np.int64)
    for child in range(lowest.size):
        own = class_counts(left_sizes[child // 2], sizes, child % 2)
        # A score is what two labels have right, of one class each: at most what both classes have.
        own.sort()
        lowest[child] = own[own.size - 1]
        firsts[child + 1] = firsts[child] + own[own.size - 2] + 1
    return lowest, firsts


@kernel()
def class_counts(left, sizes, right):
    """Class counts of the left child, or of the right one."""
    own = np.empty_like(sizes)
    for k in range(sizes.size):
        own[k] = sizes[k] - left[k] if right else left[k]
    return own


@kernel()
def room_for_pairs(n_classes, n_groups):
    """Room that a block of cuts is worked out in, small enough for fast memory.

    Class counts, tops and sums of the four leaves; places in the table of sums; and places and
    bounds of children's scores.
    """
    counts = np.zeros((4, n_classes, _BLOCK), dtype=np.int16)
    tops, sums = np.empty((4, _BLOCK), dtype=np.int16), np.empty((4, _BLOCK), dtype=np.int32)
    gaps = np.empty((n_groups, _BLOCK), dtype=np.uint16)
    places, bounds = np.empty(_BLOCK, dtype=np.uint32), np.empty(_BLOCK, dtype=np.int64)
    return counts, tops, sums, gaps, places, bounds


@kernel()
def bounds_by_pairs(
    starts, steps, counted, sizes, weights, lowest, firsts, stop, near, factors
):  # fmt: skip
    """Scores and bounds as `parting_bounds` has them; ``counted`` is of `counts_of_cuts`."""
    left_sizes, whole, joint, words = counted
    n_cuts, shorter = whole.shape[1], whole.astype(np.int16)
    by_score = np.zeros(firsts[firsts.size - 1], dtype=np.int64)
    own = np.zeros((2, _LANES * np.diff(firsts).max()), dtype=np.int64)
    table, n_digits = sums_of_gaps(near, sizes.size)
    room = room_for_pairs(sizes.size, -(-sizes.size // n_digits))
    # Where a child's score of 0 would be among the scores of all children.
    zeros = np.empty((2, n_cuts + 1), dtype=np.int32)
    for child in range(lowest.size):
        zeros[child % 2, child // 2] = firsts[child] - lowest[child]
    for cut in range(n_cuts + 1):
        # The last one has none left, and is no other cut's other one.
        begin = cut if cut < n_cuts else 0
        for first in range(begin, n_cuts, _BLOCK):
            last = min(first + _BLOCK, n_cuts)
            if joint.shape[0] > 1:
                take_counts(joint[cut], first, last, room[0])
            else:
                count_block(words, cut, first, last, starts, steps, room[0])
            part_in_four(shorter, first, last, left_sizes[cut], sizes, room)
            for leaf in range(4):
                sum_gaps(leaf, last - first, table, n_digits, near.size, room)
            keep_own(weights[first:last], lowest[2 * cut : 2 * cut + 2], room, own)
            if cut < n_cuts:
                after = first + 1 if first == cut else first
                keep_others(after, first, last, weights[cut], zeros, room, by_score)
        take_own(own, firsts[2 * cut : 2 * cut + 3], by_score)
    return closed(
        left_sizes, sizes, lowest, firsts, weights[n_cuts], stop, near, factors, by_score
    )  # fmt: skip


@kernel()
def take_counts(joint, first, last, counts):
    """Counts of records left of a cut and of each of a block, from the table."""
    for k in range(joint.shape[0]):
        whole, row = joint[k, first:last], counts[0, k, : last - first]
        for j in range(row.size):
            row[j] = whole[j]


@kernel()
def count_block(words, cut, first, last, starts, steps, counts):
    """The same counted anew, see `counts_with`."""
    for k in range(steps.size):
        row, step = counts[0, k, : last - first], np.int16(steps[k])
        row[:] = 0
        for word in range(starts[k], starts[k + 1]):
            own, others = words[word, cut], words[word, first:last]
            if own > 0:
                for j in range(row.size):
                    row[j] += step * np.int16(ones(own & others[j]))


@kernel()
def part_in_four(whole, first, last, left_sizes, sizes, room):
    """Class counts of all leaves, from those left of both; and the leaves' tops.

    Leaves are left of both cuts, of the root's alone, of the other alone, and of neither.
    """
    counts, tops, n = room[0], room[1], last - first
    tops[:] = 0
    for k in range(sizes.size):
        left, right = np.int16(left_sizes[k]), np.int16(sizes[k] - left_sizes[k])
        both, one, other = counts[0, k, :n], counts[1, k, :n], counts[2, k, :n]
        neither, below = counts[3, k, :n], whole[k, first:last]
        for j in range(n):
            one[j] = left - both[j]
            other[j] = below[j] - both[j]
            neither[j] = right - np.int16(below[j] - both[j])
    for leaf in range(4):
        top = tops[leaf, :n]
        for k in range(0, sizes.size - 1, 2):
            a, b = counts[leaf, k, :n], counts[leaf, k + 1, :n]
            for j in range(n):
                top[j] = max(top[j], max(a[j], b[j]))
        if sizes.size % 2 == 1:
            a = counts[leaf, sizes.size - 1, :n]
            for j in range(n):
                top[j] = max(top[j], a[j])


@kernel()
def sums_of_gaps(near, n_classes):
    """Sums of the bounds of several gaps, at the number that has these as digits; and how many.

    A shorter number has gaps of 0 before it.
    """
    most = 1
    while most < n_classes and near.size ** (most + 1) <= _MOST_ENTRIES:
        most += 1
    n_groups = -(-n_classes // most)
    n_digits = -(-n_classes // n_groups)
    table = np.zeros(near.size**n_digits, dtype=np.int32)
    for place in range(table.size):
        rest = place
        for _ in range(n_digits):
            table[place] += near[rest % near.size]
            rest //= near.size
    return table, n_digits


@kernel()
def sum_gaps(leaf, n, table, n_digits, n_near, room):
    """Leaf sums of one of the four leaves: of as many classes at once as a number has digits."""
    counts, top, total, gaps = room[0], room[1][leaf, :n], room[2][leaf, :n], room[3]
    n_classes, n_groups = counts.shape[1], gaps.shape[0]
    for group in range(n_groups):
        first = group * n_digits
        last = min(first + n_digits, n_classes)
        write_digits(counts, leaf, first, last, top, n_near, gaps[group, :n])
    # The numbers of the last group are shorter.
    total[:] = -table[0] // n_digits * (n_groups * n_digits - n_classes)
    for group in range(0, n_groups - 1, 2):
        a, b = gaps[group, :n], gaps[group + 1, :n]
        for j in range(n):
            total[j] += table[a[j]] + table[b[j]]
    if n_groups % 2 == 1:
        a = gaps[n_groups - 1, :n]
        for j in range(n):
            total[j] += table[a[j]]


@kernel()
def write_digits(counts, leaf, first, last, top, n_near, gaps):
    """Numbers whose digits are the gaps of some classes to the top, two classes at a time."""
    n, far, base = top.size, np.int16(n_near - 1), np.uint16(n_near)
    square, odd = np.uint16(n_near * n_near), (last - first) % 2
    gaps[:] = 0
    if odd == 1:
        a = counts[leaf, first, :n]
        for j in range(n):
            gaps[j] = min(np.int16(top[j] - a[j]), far)
    for k in range(first + odd, last, 2):
        a, b = counts[leaf, k, :n], counts[leaf, k + 1, :n]
        for j in range(n):
            one = np.uint16(min(np.int16(top[j] - a[j]), far))
            other = np.uint16(min(np.int16(top[j] - b[j]), far))
            gaps[j] = np.uint16(gaps[j] * square) + np.uint16(np.uint16(one * base) + other)


@kernel()
def keep_own(weights, lowest, room, own):
    """Add the bounds of a block of cuts to the scores of the root cut's own children.

    Scores that follow one another are often the same, so each has a few places in turn.
    """
    tops, sums, places, bounds = room[1], room[2], room[4][: weights.size], room[5][: weights.size]
    for child in range(2):
        low, by_score = np.int32(lowest[child]), own[child]
        top, top_beside = tops[2 * child, : weights.size], tops[2 * child + 1, : weights.size]
        total, beside = sums[2 * child, : weights.size], sums[2 * child + 1, : weights.size]
        for j in range(weights.size):
            score = np.int32(np.int32(top[j]) + np.int32(top_beside[j]))
            places[j] = np.uint32(np.int32(score - low) * np.int32(_LANES) + np.int32(j % _LANES))
            bounds[j] = np.int64(total[j]) * np.int64(beside[j]) * weights[j]
        for j in range(weights.size):
            by_score[places[j]] += bounds[j]


@kernel()
def keep_others(after, first, last, weight, zeros, room, by_score):
    """Add the bounds of the root cut to the scores of both children of each of the other cuts."""
    tops, sums, begin, end = room[1], room[2], after - first, last - first
    places, bounds = room[4][begin:end], room[5][begin:end]
    for child in range(2):
        top, top_beside = tops[child, begin:end], tops[child + 2, begin:end]
        total, beside = sums[child, begin:end], sums[child + 2, begin:end]
        zero = zeros[child, after:last]
        for j in range(zero.size):
            places[j] = np.uint32(zero[j] + np.int32(top[j]) + np.int32(top_beside[j]))
            bounds[j] = np.int64(total[j]) * np.int64(beside[j]) * weight
        for j in range(zero.size):
            by_score[places[j]] += bounds[j]


@kernel()
def take_own(own, firsts, by_score):
    """Move what the root cut's own children kept to the scores of all children."""
    for child in range(2):
        kept, found = own[child], by_score[firsts[child] : firsts[child + 1]]
        for score in range(found.size):
            for place in range(_LANES * score, _LANES * (score + 1)):
                found[score] += kept[place]
                kept[place] = 0


@kernel()
def closed(left_sizes, sizes, lowest, firsts, idle, stop, near, factors, by_score):
    """Best score and bound of every child, by the sums of its scores."""
    result = np.empty((4, left_sizes.shape[0]), dtype=np.int64)
    for child in range(lowest.size):
        found = by_score[firsts[child] : firsts[child + 1]]
        best = found.size - 1
        while best > 0 and found[best] == 0:
            best -= 1
        cut, side = child // 2, child % 2
        own, best = class_counts(left_sizes[cut], sizes, side), best + lowest[child]
        result[2 * side, cut] = best
        result[2 * side + 1, cut] = close_child(own, best, idle, stop, near, factors, found)
    return result
