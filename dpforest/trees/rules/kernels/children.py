"""Best score and bound of a child of a root cut, many cuts of the child at a time.

The same numbers as `stump_bounds` and `close_node` give a child by itself, which is how a drawn
tree's children are gone through. Of two classes scores and leaf sums follow from how many records
there are more of one than of the other. Most cuts leave both leaves the label that the child
had: their score is the lowest, and their bounds add up without being looked for by score.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel
from dpforest.trees.rules.kernels.trees import scaled_up

#: Cuts that are weighed together.
_BLOCK = 512


@kernel()
def room_for(sizes):
    """Room that children are worked out in, by their largest class counts.

    Class counts, tops and leaf sums of both leaves of cuts; scores, bounds and places of cuts; and
    bounds by score.
    """
    counts = np.empty((2, sizes.size, _BLOCK), dtype=np.int32)
    tops, sums = np.empty((2, _BLOCK), dtype=np.int32), np.empty((2, _BLOCK), dtype=np.int32)
    scores, bounds = np.empty(_BLOCK, dtype=np.int32), np.empty(_BLOCK, dtype=np.int64)
    places, by_score = np.empty(_BLOCK, dtype=np.int32), np.zeros(sizes.sum() + 1, dtype=np.int64)
    return counts, tops, sums, scores, bounds, places, by_score


@kernel()
def both_bounds(left, left_sizes, whole, sizes, weighed, idle, stop, near, factors, room, result):
    """Score and bound of the left child, then of the right one, by the left one's counts.

    Counts have a row a class, those of two classes one row, see `bit_counts.count_rows`.
    """
    own_sizes = np.empty_like(sizes)
    for child in range(2):
        for k in range(sizes.size):
            own_sizes[k] = sizes[k] - left_sizes[k] if child else left_sizes[k]
        best = weigh_child(left, whole, child, own_sizes, weighed, near, room)
        result[2 * child] = best
        by_score = room[6][own_sizes.max() :]
        result[2 * child + 1] = close_child(own_sizes, best, idle, stop, near, factors, by_score)


@kernel()
def weigh_child(left, whole, child, sizes, weighed, near, room):
    """Add the bounds of a child's cuts by score; returns the best score.

    A block of cuts at a time goes through all steps in fast memory.
    """
    lowest = best = sizes.max()
    for first in range(0, weighed.size, _BLOCK):
        last = min(first + _BLOCK, weighed.size)
        if sizes.size == 2:
            below, every = left[0, first:last], whole[0, first:last]
            leaves_by_difference(below, every, child, sizes, near, room)
        else:
            leaves_by_class(left, whole, first, last, child, sizes, near, room)
        best = max(best, add_by_score(weighed[first:last], lowest, room))
    return best


@kernel()
def leaves_by_difference(below, every, child, sizes, near, room):
    """Scores and bounds of cuts of a child of two classes, but for the weights of cuts.

    ``below`` and ``every`` are of the left child and of both: records of the second class less
    those of the first. There are fewer than 2**31, each counted as often as it weighs.
    """
    sums, scores, bounds = room[2], room[3], room[4]
    one, other = sums[0], sums[1]
    size, more, far = np.int32(sizes.sum()), np.int32(sizes[1] - sizes[0]), np.int32(near.size - 1)
    for j in range(below.size):
        own = np.int32(every[j] - below[j]) if child else below[j]
        gap, rest = np.int32(abs(own)), np.int32(abs(np.int32(more - own)))
        # Unsigned, since twice the size of 2**30 records and more is no int32.
        scores[j] = np.int32(np.uint32(size + gap + rest) >> np.uint32(1))
        one[j], other[j] = min(gap, far), min(rest, far)
    for j in range(below.size):
        bounds[j] = (near[0] + near[np.uint32(one[j])]) * (near[0] + near[np.uint32(other[j])])


@kernel()
def leaves_by_class(left, whole, first, last, child, sizes, near, room):
    """The same of any number of classes; those that the child has none of are counted at once."""
    counts, tops, sums, scores, bounds = room[0], room[1], room[2], room[3], room[4]
    count, there = last - first, 0
    for k in range(sizes.size):
        if sizes[k] == 0:
            continue
        own, rest, size = counts[0, there, :count], counts[1, there, :count], np.int32(sizes[k])
        below, every = left[k, first:last], whole[k, first:last]
        for j in range(count):
            own[j] = every[j] - below[j] if child else below[j]
            rest[j] = size - own[j]
        there += 1
    absent = np.int32(sizes.size - there)
    for leaf in range(2):
        leaf_sums(counts[leaf, :there], absent, near, tops[leaf, :count], sums[leaf, :count])
    for j in range(count):
        scores[j] = tops[0, j] + tops[1, j]
        bounds[j] = np.int64(sums[0, j]) * sums[1, j]


@kernel()
def leaf_sums(counts, absent, near, top, total):
    """Largest class of every leaf, and its leaf sum, see `dpforest.trees.rules.kernels.trees`."""
    far = np.uint32(near.size - 1)
    top[:] = 0
    for k in range(counts.shape[0]):
        for j in range(top.size):
            top[j] = max(top[j], counts[k, j])
    total[:] = 0
    if absent > 0:
        for j in range(top.size):
            total[j] = absent * near[min(np.uint32(top[j]), far)]
    for k in range(counts.shape[0]):
        for j in range(top.size):
            total[j] += near[min(np.uint32(top[j] - counts[k, j]), far)]


@kernel()
def add_by_score(weighed, lowest, room):
    """Add the bounds of a block of cuts by score; returns the best score.

    Those of the lowest score are added up apart. The others are listed without a branch, which
    would often be guessed wrong.
    """
    scores, bounds, places, by_score = room[3], room[4], room[5], room[6]
    best, plain, n_others = np.int32(lowest), np.int64(0), 0
    for j in range(weighed.size):
        bounds[j] *= weighed[j]
        plain += bounds[j] if scores[j] == lowest else 0
        best = max(best, scores[j])
    by_score[lowest] += plain
    for j in range(weighed.size):
        places[n_others] = j
        n_others += scores[j] != lowest
    for k in range(n_others):
        place = np.uint32(places[k])
        by_score[scores[place]] += bounds[place]
    return np.int64(best)


@kernel()
def close_child(sizes, best, idle, stop, near, factors, by_score):
    """Bound of a child, relative to its best score; ``by_score`` is left as zeros.

    It begins at the lowest score. Cuts with all records on one side have the weight ``idle``
    together.
    """
    above = best - sizes.max()
    by_score[0] += idle * (leaf_sum(sizes, near) * sizes.size * np.int64(near[0]))
    total = by_score[above]
    by_score[above] = 0
    for q in range(above):
        if by_score[q] > 0:
            total += scaled_up(by_score[q], factors[above - q])
            by_score[q] = 0
    for a in range(sizes.size):
        total += scaled_up(stop, factors[best - sizes[a]]) if sizes[a] < best else stop
    return total


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
def leaf_sum(sizes, near):
    """Leaf sum of records by their class counts."""
    top, total = sizes.max(), np.int64(0)
    for k in range(sizes.size):
        total += near[min(top - sizes[k], near.size - 1)]
    return total
