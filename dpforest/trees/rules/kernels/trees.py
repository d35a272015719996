"""Weights of all decision trees of height one and two over a set of records.

Layout: the bins of direction m lie at ``offsets[m] : offsets[m + 1]``; its cut b (left: bins up
to b) is cut number ``offsets[m] - m + b``. A *leaf sum* is sum over labels a of
``label_bounds[top - n_a]``, n_a records of class a, top the largest: an upper bound, in integers,
of 2^S sum_a exp(-c (top - n_a)). A stump's score is the sum of its leaves' tops, and
its bound the product of its leaf sums. A node adds up the bounds of its stumps by score, exactly,
and scales each sum down by its gap to the best score.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel

#: Doubles hold an integer below 2^63, a factor and their product to 2^-51; this is the room.
_ROOM = 1.0 + 2.0**-45


@kernel()
def count_bins(bins, labels, records, offsets, counts):
    """Add records to ``counts``, shape (n_bins in all, n_classes)."""
    for i in records:
        label = labels[i]
        for m in range(offsets.size - 1):
            counts[offsets[m] + bins[i, m], label] += 1


@kernel()
def scaled_up(whole, factor):
    """An integer that is at least ``whole * factor``."""
    return np.int64(float(whole) * factor * _ROOM) + 1


@kernel()
def stump_bounds(counts, sizes, offsets, weights, label_bounds, scores, bounds):
    """Fill score and bound of every cut of a node; ``sizes`` are its class counts."""
    n_classes = sizes.size
    left = np.empty(n_classes, dtype=np.int64)
    for m in range(offsets.size - 1):
        left[:] = 0
        fresh = False
        for b in range(offsets[m], offsets[m + 1] - 1):
            moved = 0
            for k in range(n_classes):
                moved += counts[b, k]
                left[k] += counts[b, k]
            cut = b - m
            if moved == 0 and fresh:
                scores[cut], bounds[cut] = scores[cut - 1], bounds[cut - 1]
                continue
            fresh = True
            top_left = np.int64(0)
            top_right = np.int64(0)
            for k in range(n_classes):
                top_left = max(top_left, left[k])
                top_right = max(top_right, sizes[k] - left[k])
            sum_left = np.int64(0)
            sum_right = np.int64(0)
            for k in range(n_classes):
                sum_left += label_bounds[top_left - left[k]]
                sum_right += label_bounds[top_right - sizes[k] + left[k]]
            scores[cut] = top_left + top_right
            bounds[cut] = weights[m] * sum_left * sum_right


@kernel()
def close_node(scores, bounds, sizes, stop, factors, by_score, stop_bounds):
    """Add up a node: returns its best score and its bound, relative to that score.

    ``by_score[q]`` becomes the bound of all stumps of score q scaled down to the best
    (it must come in as zeros); ``stop_bounds[a]`` that of the constant label a, of weight ``stop``.
    """
    lowest = sizes.max()
    best = lowest
    for cut in range(scores.size):
        by_score[scores[cut]] += bounds[cut]
        best = max(best, scores[cut])
    total = np.int64(0)
    for q in range(lowest, best):
        if by_score[q] > 0:
            by_score[q] = scaled_up(by_score[q], factors[best - q])
            total += by_score[q]
    total += by_score[best]
    for a in range(sizes.size):
        stop_bounds[a] = stop
        if sizes[a] < best:
            stop_bounds[a] = scaled_up(stop, factors[best - sizes[a]])
        total += stop_bounds[a]
    return best, total
