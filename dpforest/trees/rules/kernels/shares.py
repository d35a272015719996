"""Shares of records in the leaves of a tree with soft cuts.

Part p of a cut reads ``tables[starts[p] + code]`` of feature ``features[p]``; cut m adds up the
parts from ``parts[m]`` on to ``parts[m + 1]``. Nodes lie as in a heap; the cut of each is
``cut_of[node]``, -1 where it sends every record left. Codes have a row for each feature.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel


@kernel(error_model="numpy")
def distances(cuts, begin, lowest, thresholds, widths):
    """Distances of all values of some cuts, one after the other from ``begin`` on."""
    found = np.empty(begin[cuts.size])
    for k in range(cuts.size):
        cut = cuts[k]
        for place in range(begin[k + 1] - begin[k]):
            value = lowest[cut] + place
            found[begin[k] + place] = (float(value - thresholds[cut]) - 0.5) / widths[cut]
    return found


@kernel()
def values_at(codes, parts, features, starts, tables):
    """Values of records at each cut, shape (n_cuts, n)."""
    n_cuts, n = parts.size - 1, codes.shape[1]
    found = np.zeros((n_cuts, n), dtype=np.int64)
    for cut in range(n_cuts):
        values = found[cut]
        for p in range(parts[cut], parts[cut + 1]):
            table, column = tables[starts[p] : starts[p + 1]], codes[features[p]]
            for i in range(n):
                values[i] += table[np.uint64(column[i])]  # unsigned: no place is looked at twice
    return found


@kernel()
def take_shares(cuts, firsts, known, values, rights):
    """Fill the shares to the right of some cuts, which stand by value from ``firsts`` on."""
    for k in range(cuts.size):
        own, right = values[cuts[k]], rights[cuts[k]]
        for i in range(own.size):
            right[i] = known[np.uint64(firsts[k] + own[i])]


@kernel(error_model="numpy")
def part_last(whole, right, divisor, low, high):
    """Give the two leaves of a node their parts, divided."""
    for i in range(whole.size):
        share = whole[i]
        low[i] = share * (1.0 - right[i]) / divisor
        high[i] = share * right[i] / divisor


@kernel()
def part_left(whole, right, low):
    """Give the left child of a node its part."""
    for i in range(whole.size):
        low[i] = whole[i] * (1.0 - right[i])


@kernel()
def part_right(whole, right, high):
    """Give the right child of a node its part."""
    for i in range(whole.size):
        high[i] = whole[i] * right[i]


@kernel()
def way_to(last, depth, cut_of, rights, shares, reached):
    """Share the way to a node of the last level out, from where the one before it left it.

    ``shares[level]`` and ``reached[level]`` are of the way's node there.
    """
    top = 0
    if last > 0:
        # It turns right where the way to the node before it turned left the last time.
        turn = 1
        while (last >> (turn - 1)) & 1 == 0:
            turn += 1
        top = depth - turn
        cut = cut_of[(1 << (top - 1)) - 1 + (last >> turn)]
        reached[top] = reached[top - 1] and cut >= 0
        if reached[top]:
            part_right(shares[top - 1], rights[cut], shares[top])
    for level in range(top, depth - 1):
        cut = cut_of[(1 << level) - 1 + (last >> (depth - 1 - level))]
        reached[level + 1] = reached[level]
        if reached[level] and cut >= 0:
            part_left(shares[level], rights[cut], shares[level + 1])
        elif reached[level]:
            shares[level + 1] = shares[level]


@kernel(error_model="numpy")
def soft_shares(cut_of, rights, weight, graded):
    """Fill what leaves get of records by their distances alone, shape (n_leaves, n).

    From left to right over the nodes of the last level, so that no more than the shares on the way
    to one of them are held, and each leaf is written once. Where no record comes leaves get 0.
    """
    n_leaves, n = graded.shape
    depth = 0
    while (1 << depth) < n_leaves:
        depth += 1
    shares, reached = np.empty((depth + 1, n)), np.zeros(depth + 1, dtype=np.bool_)
    shares[0], reached[0] = 1.0, True
    if depth == 0:
        graded[0] = 1.0 / (1.0 + weight)
    nothing = np.zeros(n)
    for last in range(n_leaves // 2):
        way_to(last, depth, cut_of, rights, shares, reached)
        low, high = graded[2 * last], graded[2 * last + 1]
        if reached[depth - 1]:
            cut = cut_of[n_leaves // 2 - 1 + last]
            right = rights[cut] if cut >= 0 else nothing
            part_last(shares[depth - 1], right, 1.0 + weight, low, high)
        else:
            low[:] = 0.0
            high[:] = 0.0


@kernel(error_model="numpy")
def add_hard_shares(cut_of, rights, values, thresholds, weight, graded):
    """Give each record its larger part in the leaf it lies in, as if that had been in its share."""
    for i in range(graded.shape[1]):
        node, share = 0, 1.0
        while node < cut_of.size:
            cut, beyond = cut_of[node], False
            if cut >= 0:
                beyond = values[cut, i] > thresholds[cut]
                share *= rights[cut, i] if beyond else 1.0 - rights[cut, i]
            node = 2 * node + (2 if beyond else 1)
        graded[node - cut_of.size, i] = (share + weight) / (1.0 + weight)
