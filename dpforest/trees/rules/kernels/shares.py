"""Shares of records in the leaves of a tree with soft cuts.

Nodes lie as in a heap. Part p of a cut reads ``tables[starts[p] + code]`` of feature
``features[p]``; node m adds up the parts from ``parts[m]`` on to ``parts[m + 1]``. A node without
parts sends every record left. Shares to the right of a node stand by its kind in ``known``, by code
(0) or by value (1), from ``firsts[m]`` on, or in row ``firsts[m]`` of ``own`` (2).

Codes have a row for each feature. Places are unsigned, which spares a look at their signs.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel


@kernel(error_model="numpy")
def fill_distances(nodes, begin, kinds, parts, starts, tables, thresholds, lowest, widths, found):
    """Fill the distances to the cut of what stands by code or by value, node after node."""
    for k in range(nodes.size):
        node = nodes[k]
        table = tables[starts[parts[node]] :]
        for place in range(begin[k + 1] - begin[k]):
            value = table[place] if kinds[node] == 0 else lowest[node] + place
            found[begin[k] + place] = (float(value - thresholds[node]) - 0.5) / widths[node]


@kernel()
def add_values(codes, node, parts, features, starts, tables, sums):
    """Add the values of records at a node's cut to ``sums``."""
    for p in range(parts[node], parts[node + 1]):
        table, column = tables[starts[p] : starts[p + 1]], codes[features[p]]
        for i in range(sums.size):
            sums[i] += table[np.uint64(column[i])]


@kernel()
def values_at(codes, nodes, parts, features, starts, tables):
    """Values of records at the cuts of some nodes, shape (n_nodes, n)."""
    found = np.zeros((nodes.size, codes.shape[1]), dtype=np.int64)
    for row in range(nodes.size):
        add_values(codes, nodes[row], parts, features, starts, tables, found[row])
    return found


@kernel()
def right_sides(codes, node, kind, first, known, own, parts, features, starts, tables, sums, right):
    """Fill the shares of records to the right of a node; ``sums`` is room for their values."""
    if kind == 2:
        right[:] = own[first]
    elif kind == 1:
        sums[:] = first
        add_values(codes, node, parts, features, starts, tables, sums)
        for i in range(right.size):
            right[i] = known[np.uint64(sums[i])]
    else:
        table, column = known[first:], codes[features[parts[node]]]
        for i in range(right.size):
            right[i] = table[np.uint64(column[i])]


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


@kernel(error_model="numpy")
def soft_shares(codes, kinds, firsts, known, own, parts, features, starts, tables, weight, graded):
    """Fill what leaves get of records by their distances alone, shape (n_leaves, n).

    From left to right over the nodes of the last level, so that no more than the shares on the way
    to one of them are held, and each leaf is written once. Where no record comes leaves get 0.
    """
    n_leaves, n = graded.shape
    depth = 0
    while (1 << depth) < n_leaves:
        depth += 1
    shares, rights = np.empty((depth + 1, n)), np.zeros((depth + 1, n))
    sums, reached = np.empty(n, dtype=np.int64), np.zeros(depth + 1, dtype=np.bool_)
    shares[0], reached[0] = 1.0, True
    if depth == 0:
        graded[0] = 1.0 / (1.0 + weight)
    for last in range(n_leaves // 2):
        # The way to it turns right where the one to the node before it turned left the last time.
        top = 0
        if last > 0:
            turn = 1
            while (last >> (turn - 1)) & 1 == 0:
                turn += 1
            top = depth - turn
            node = (1 << (top - 1)) - 1 + (last >> turn)
            reached[top] = reached[top - 1] and parts[node] < parts[node + 1]
            if reached[top]:
                part_right(shares[top - 1], rights[top - 1], shares[top])
        for level in range(top, depth):
            node = (1 << level) - 1 + (last >> (depth - 1 - level))
            is_cut = reached[level] and parts[node] < parts[node + 1]
            if is_cut:
                right_sides(
                    codes, node, kinds[node], firsts[node], known, own, parts, features, starts,
                    tables, sums, rights[level],
                )  # fmt: skip
            elif level == depth - 1:
                rights[level] = 0.0
            if level < depth - 1:
                reached[level + 1] = reached[level]
                if is_cut:
                    part_left(shares[level], rights[level], shares[level + 1])
                elif reached[level]:
                    shares[level + 1] = shares[level]
        if reached[depth - 1]:
            part_last(
                shares[depth - 1], rights[depth - 1], 1.0 + weight, graded[2 * last],
                graded[2 * last + 1],
            )  # fmt: skip
        else:
            graded[2 * last : 2 * last + 2] = 0.0


@kernel(error_model="numpy")
def add_hard_shares(
    codes, kinds, firsts, known, own, parts, features, starts, tables, thresholds, weight, graded
):  # fmt: skip
    """Give each record its larger part in the leaf it lies in, as if that had been in its share."""
    n_nodes = kinds.size
    for i in range(codes.shape[1]):
        node, share = 0, 1.0
        while node < n_nodes:
            beyond = False
            if parts[node] < parts[node + 1]:
                value = 0
                for p in range(parts[node], parts[node + 1]):
                    value += tables[starts[p] + np.int64(codes[features[p], i])]
                if kinds[node] == 2:
                    right = own[firsts[node], i]
                elif kinds[node] == 1:
                    right = known[firsts[node] + value]
                else:
                    right = known[firsts[node] + np.int64(codes[features[parts[node]], i])]
                beyond = value > thresholds[node]
                share *= right if beyond else 1.0 - right
            node = 2 * node + (2 if beyond else 1)
        graded[node - n_nodes, i] = (share + weight) / (1.0 + weight)
