"""Leaves of records in trees that look at three features at most: a load a feature and one more.

Codes of a feature that go the same way at every node are one class, and a tree that looks at few
features has few combinations of classes: the leaf of each is worked out once, and records find
theirs by the sum of what their codes are worth as places. Other trees are walked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.leaf_sets import features_used
from dpforest.trees.random.kernels.random_trees import descend

#: Features of a tree that is looked up.
MOST_USED = 3
#: Records below which making the tables would take longer than walking.
FEW_RECORDS = 4096
#: Combinations of classes at most: their leaves should stay in a cache.
_MOST_CELLS = 1 << 16


@kernel()
def _classes(feature: NDArray, mask: NDArray, wanted: int, out: NDArray, first: NDArray) -> int:
    """Number codes of a feature by the ways they go: class of each code, a code of each class.

    Parameters
    ----------
    feature : int32 array of shape (n_nodes,)
    mask : uint64 array of shape (n_nodes, W)
    wanted : int
        The feature.
    out : int64 array of shape (64 W,), overwritten
    first : int64 array of shape (64 W,)
        Smallest code of each class, overwritten as far as there are classes.

    Returns
    -------
    int
        How many classes there are.
    """
    n_nodes, n_words = mask.shape
    ways = np.zeros(((n_nodes + 63) // 64, 64 * n_words), np.uint64)
    n_seen = 0
    for node in range(n_nodes):
        if feature[node] != wanted:
            continue
        row = ways[n_seen >> 6]
        place = np.uint64(n_seen & 63)
        for word in range(n_words):
            bits = mask[node, word]
            for bit in range(64):
                goes_left = (bits >> np.uint64(bit)) & np.uint64(1)
                row[64 * word + bit] |= goes_left << place
        n_seen += 1
    n_rows = (n_seen + 63) // 64
    n_classes = 0
    for code in range(out.size):
        own = n_classes
        # Neighbours mostly go the same way, so classes are tried from the last one back.
        for other in range(n_classes - 1, -1, -1):
            same = True
            for row in range(n_rows):
                same &= ways[row, code] == ways[row, first[other]]
            if same:
                own = other
                break
        if own == n_classes:
            first[n_classes] = code
            n_classes += 1
        out[code] = own
    return n_classes


@kernel()
def _fill_leaves(
    feature: NDArray, mask: NDArray, depth: int, used: NDArray, sizes: NDArray, first: NDArray,
    out: NDArray,
) -> None:  # fmt: skip
    """Leaf of every combination of classes, the first feature's class running slowest."""
    code = np.zeros(used.size, np.int64)
    for cell in range(out.size):
        rest = cell
        for j in range(used.size - 1, -1, -1):
            code[j] = first[j, rest % sizes[j]]
            rest //= sizes[j]
        node = 0
        for _ in range(depth):
            # A node whose feature is no used one sends every code left.
            own = 0
            for j in range(used.size - 1, -1, -1):  # the first feature is repeated at the end
                if used[j] == feature[node]:
                    own = code[j]
            word = mask[node, own >> 6]
            node = 2 * node + 2 - int((word >> np.uint64(own & 63)) & np.uint64(1))
        out[cell] = node - ((1 << depth) - 1)


@kernel()
def joint_tables(
    feature: NDArray, mask: NDArray, depth: int, n_records: int
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Tables by which :func:`find_leaves` looks leaves up.

    Parameters
    ----------
    feature, mask : arrays of shape (T, 2**depth - 1) and (T, 2**depth - 1, W)
    depth : int
    n_records : int
        How many records are to be looked up: a tree's table has to be smaller.

    Returns
    -------
    used : int64 array of shape (T, MOST_USED)
        Features of each tree; -1 first where the tree is to be walked.
    worth : int64 array of shape (T, MOST_USED, 64 W)
        What a code of each of them adds to the place; nothing in rows past the last.
    starts : int64 array of shape (T + 1,)
    leaves : int32 array of shape (starts[T],)
        Tree t's leaves by place from ``starts[t]``.
    """
    n_trees, n_codes = feature.shape[0], 64 * mask.shape[2]
    used = np.full((n_trees, MOST_USED), -1)
    worth = np.zeros((n_trees if n_records >= FEW_RECORDS else 0, MOST_USED, n_codes), np.int64)
    first = np.zeros((n_trees, MOST_USED, n_codes), np.int64)
    sizes = np.ones((n_trees, MOST_USED), np.int64)
    starts = np.zeros(n_trees + 1, np.int64)
    found = np.zeros(MOST_USED, np.int64)
    for tree in range(worth.shape[0]):
        n_used = features_used(feature[tree], mask[tree], found)
        starts[tree + 1] = starts[tree]
        if n_used > MOST_USED:
            continue
        n_cells = 1
        for j in range(n_used - 1, -1, -1):
            own = worth[tree, j]
            sizes[tree, j] = _classes(feature[tree], mask[tree], found[j], own, first[tree, j])
            own *= n_cells
            n_cells *= int(sizes[tree, j])
        if n_cells > min(_MOST_CELLS, n_records // 4):
            continue
        used[tree] = found[0]
        for j in range(n_used):
            used[tree, j] = found[j]
        starts[tree + 1] += n_cells
    leaves = np.empty(starts[-1], np.int32)
    for tree in range(worth.shape[0]):
        if starts[tree + 1] > starts[tree]:
            _fill_leaves(
                feature[tree], mask[tree], depth, used[tree], sizes[tree], first[tree],
                leaves[starts[tree] : starts[tree + 1]],
            )  # fmt: skip
    return used, worth, starts, leaves


@kernel()
def find_leaves(
    codes: NDArray,
    first: int,
    count: int,
    tree: int,
    feature: NDArray,
    mask: NDArray,
    depth: int,
    tables: tuple[NDArray, NDArray, NDArray, NDArray],
    node: NDArray,
) -> None:
    """Leaves of records ``first … first + count`` in one of the trees; ``node`` gets their numbers.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    first, count, tree : int
    feature, mask : arrays of shape (T, 2**depth - 1) and (T, 2**depth - 1, W)
    depth : int
    tables : tuple of arrays
        From :func:`joint_tables`.
    node : int32 array, at least ``count`` long, overwritten
    """
    used, worth, starts, leaves = tables
    if used[tree, 0] < 0:
        descend(codes, first, count, feature[tree], mask[tree], depth, node)
        return
    flat_codes = codes.reshape(codes.size)
    width = np.uint64(codes.shape[1])
    row = np.uint64(first) * width
    own = leaves[starts[tree] : starts[tree + 1]]
    a, b, c = np.uint64(used[tree, 0]), np.uint64(used[tree, 1]), np.uint64(used[tree, 2])
    of_a, of_b, of_c = worth[tree, 0], worth[tree, 1], worth[tree, 2]
    if a == c:  # two features, or one: what the last code is worth is nothing
        for i in range(count):
            place = of_a[np.uint64(flat_codes[row + a])] + of_b[np.uint64(flat_codes[row + b])]
            node[i] = own[np.uint64(place)]
            row += width
        return
    for i in range(count):
        place = of_a[np.uint64(flat_codes[row + a])] + of_b[np.uint64(flat_codes[row + b])]
        node[i] = own[np.uint64(place + of_c[np.uint64(flat_codes[row + c])])]
        row += width
