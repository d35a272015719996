"""One whole tree in one call, node by node from a stack.

Of two children the one with fewer structure points is grown first, so the stack holds at most
log2(n) nodes. Where every node looks at every feature, class counts of features with few values are
kept with the node: the smaller child is counted, the larger one is its parent minus it.
"""

from __future__ import annotations

import numpy as np

from dpforest.consistent.kernels.choose import CELLS_A_RECORD, choose_split, count_features
from dpforest.consistent.kernels.compiling import part
from dpforest.consistent.kernels.draws import draw_label
from dpforest.consistent.kernels.lanes import LANES, MOST_CODES
from dpforest.consistent.kernels.layout import Room, Tree
from dpforest.consistent.kernels.rows import (
    are_alike,
    count_labels,
    group_by_class,
    split_records,
    take_moments,
)
from dpforest.consistent.kernels.streams import child_key
from dpforest.consistent.kernels.words import keep_words, split_words
from dpforest.kernels.compiling import kernel

# Enough for 2**31 records: pending nodes, and slots of counts that they keep.
_DEEPEST_STACK = 40
_SLOTS = 36


@kernel()
def grow_tree(
    table,
    candidate_rule,
    split_rule,
    stop_rule,
    label_strength,
    criterion,
    structure,
    estimation,
    same_records,
    key,
):
    """Grow one tree.

    Parameters
    ----------
    table, candidate_rule, split_rule, stop_rule : see :mod:`dpforest.consistent.kernels.layout`
    label_strength : float
        How a leaf's label is drawn; infinite for the majority, ties at random.
    criterion : int
        In regression, a code of :mod:`dpforest.consistent.kernels.cells`.
    structure, estimation : int32 arrays
        Record numbers; both are reordered. The latter is not read where ``same_records``.
    same_records : bool
    key : uint64
        All that the tree draws follows from it.

    Returns
    -------
    Tree
    """
    n_structure = structure.shape[0]
    keeps = table.n_classes > 0 and candidate_rule.size == 0 and table.counted.shape[0] > 0
    room = _make_room(table, structure, structure if same_records else estimation, keeps)
    most = 2 * max(n_structure, 1) - 1
    tree = Tree(
        np.empty(most, np.int32),
        np.empty(most, np.float64),
        np.empty(most, np.float64),
        np.empty(most, np.int32),
        np.empty(most, np.float64),
        np.empty(most, np.int32),
    )
    stack = (
        np.empty((_DEEPEST_STACK, 4), np.int64),
        np.empty((_DEEPEST_STACK, 3), np.int64),
        np.empty((_DEEPEST_STACK, table.n_classes), np.int64),
        np.empty(_DEEPEST_STACK, np.uint64),
        np.arange(_SLOTS),
    )
    n_nodes = _grow_nodes(
        table, candidate_rule, split_rule, stop_rule, label_strength, criterion, same_records,
        keeps, key, room, stack, tree,
    )  # fmt: skip
    return Tree(
        tree.feature[:n_nodes].copy(),
        tree.low[:n_nodes].copy(),
        tree.high[:n_nodes].copy(),
        tree.child[:n_nodes].copy(),
        tree.value[:n_nodes].copy(),
        tree.n_estimation[:n_nodes].copy(),
    )


@kernel()
def _make_room(table, structure, estimation, keeps):
    """Arrays for one tree, with its records and words."""
    n_structure, n_features = structure.shape[0], table.n_codes.shape[0]
    n_classes, n_cells = table.n_classes, table.n_cells
    widest = max(min(n_structure, table.n_codes.max()) + 2, n_features, n_classes)
    is_counted = np.zeros(n_features, np.bool_)
    kept_place = np.full(n_features, -1, np.int64)
    is_counted[table.counted] = True
    kept_place[table.counted] = table.firsts
    is_left = np.zeros(table.rows.shape[0], np.uint8)
    is_left[structure] = 1
    words = np.empty((table.words.shape[0], n_structure + 1), np.uint64)
    keep_words(table.words, is_left, words)
    return Room(
        structure,
        estimation,
        words,
        np.zeros((_SLOTS if keeps else 1) * n_cells * n_classes, np.int32),
        np.empty(0 if n_classes > 0 else 3 * n_cells, np.float64),
        np.empty(1, np.uint64),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(4, np.float64),
        np.arange(n_features),
        np.empty(n_features, np.float64),
        np.empty(n_features, np.float64),
        np.empty(widest, np.float64),
        np.empty(widest, np.int64),
        np.empty((2, widest), np.float64),
        np.empty(widest, np.float64),
        np.empty(n_classes, np.float64),
        is_counted,
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
        np.full(n_features, -1, np.int64),
        kept_place,
        np.empty((4, n_cells), np.float64),
        np.empty(n_cells, np.float64),
        np.empty(2 * n_structure, np.uint64),
        np.empty((MOST_CODES - 1) * LANES, np.uint8),
        np.empty(n_structure, np.int32),
        np.empty(max(n_structure, estimation.shape[0]), np.int32),
        np.zeros(table.n_codes.max() + 1, np.bool_),
        is_left,
    )


@part()
def _cut_place(values, at, against_rest, code, next_code):
    """Range of values and of codes that go left; a value at the midpoint goes right."""
    value = values[at + code]
    if against_rest:
        return value, np.nextafter(value, np.inf), code, code
    above = values[at + next_code]
    middle = 0.5 * value + 0.5 * above
    if not (value < middle <= above):  # next to each other
        middle = above
    last = code
    while values[at + last + 1] < middle:
        last += 1
    return -np.inf, middle, 0, last


@part()
def _answer(table, room, start, end, label_strength, same_records):
    """A leaf's class code or mean, from estimation points ``start … end - 1``."""
    if table.n_classes > 0:
        if not same_records:
            count_labels(table.labels, room.estimation, start, end, room.totals)
        label = draw_label(room.totals, label_strength, room.shares, room.weights, room.stream)
        return np.float64(label)
    total = 0.0
    for i in range(start, end):
        total += table.targets[room.estimation[i]]
    return total / max(end - start, 1)


@part()
def _agree(table, room, start, end):
    """Say if all structure points of a node have one class or target."""
    if table.n_classes > 0:
        return are_alike(room.totals)
    return take_moments(table.targets, room.structure, start, end, room.moments)


@part()
def _count_kept(table, room, start, end, totals, at):
    """Count all features of few values into the slot at ``at``."""
    count_features(
        table, room, start, end, totals, table.counted, table.firsts, table.n_lanes,
        table.counted.shape[0], at, table.n_cells,
    )  # fmt: skip


@part()
def _total_children(table, room, start, middle, end, n_left, left, right):
    """Class counts of both children from the smaller one's; the node's are ``room.totals``."""
    small, large = left, right
    if n_left > end - middle:
        small, large = right, left
        count_labels(table.labels, room.structure, middle, end, small)
    else:
        count_labels(table.labels, room.structure, start, middle, small)
    for k in range(table.n_classes):
        large[k] = room.totals[k] - small[k]


@part()
def _subtract(cells, large, small, size):
    whole, less = cells[large : large + size], cells[small : small + size]
    for cell in range(size):
        whole[cell] -= less[cell]


@part(forceinline=False)
def _grow_nodes(
    table, candidate_rule, split_rule, stop_rule, label_strength, criterion, same_records, keeps,
    key, room, stack, tree,
):  # fmt: skip
    """Grow all nodes; returns how many.

    ``stack`` has, for each pending node, the ranges of its structure and estimation points; its
    number, depth and slot of counts (0: none); class counts of its structure points; its key.
    Last are the numbers of free slots.
    """
    ranges, places, totals, keys, free = stack
    split_from, child_from, max_depth = stop_rule
    slot_size = table.n_classes * table.n_cells
    keep_from = np.inf
    if keeps:
        keep_from = max(slot_size / (CELLS_A_RECORD * table.counted.shape[0]), 1.0)
    # Of a type of its own: constants would have what is called compiled for them besides.
    any_ordered, first = np.bool_(False), np.int64(0)
    for f in table.counted:
        any_ordered |= not table.against_rest[f]
    n_free = free.shape[0]

    ranges[0, 0], ranges[0, 1] = 0, room.structure.shape[0]
    ranges[0, 2], ranges[0, 3] = 0, room.estimation.shape[0]
    places[0, 0] = places[0, 1] = places[0, 2] = 0
    keys[0] = key
    if table.n_classes > 0:
        group_by_class(table.labels, room.structure, totals[0], room.buffer)
    has_words = table.words.shape[0] > 0
    if room.structure.shape[0] >= keep_from:
        n_free -= 1
        places[0, 2] = free[n_free]
        _count_kept(
            table, room, first, room.structure.shape[0], totals[0], free[n_free] * slot_size
        )
    height = n_nodes = 1
    while height > 0:
        height -= 1
        start, end = ranges[height, 0], ranges[height, 1]
        est_start, est_end = ranges[height, 2], ranges[height, 3]
        node, depth, slot = places[height, 0], places[height, 1], places[height, 2]
        own_key = keys[height]
        room.stream[0] = own_key
        n_answers = est_end - est_start
        tree.n_estimation[node] = n_answers
        for k in range(table.n_classes):
            room.totals[k] = totals[height, k]

        # -- choose a split, and send estimation and structure points left or right
        f = -1
        n_left = est_left = 0
        may_split = n_answers >= split_from and depth < max_depth
        if may_split and not _agree(table, room, start, end):
            f, code, next_code = choose_split(
                table, room, candidate_rule, split_rule, start, end, slot * slot_size, criterion,
                any_ordered,
            )  # fmt: skip
        if f >= 0:
            tree.low[node], tree.high[node], low, high = _cut_place(
                table.values, table.value_starts[f], table.against_rest[f], code, next_code
            )
            est_left = split_records(
                table.rows, room.estimation, est_start, est_end, f, low, high, room.buffer,
                room.is_left, has_words and same_records,
            )  # fmt: skip
            if min(est_left, n_answers - est_left) < child_from:
                f = -1
        tree.feature[node] = f
        if f < 0:
            tree.low[node] = tree.high[node] = np.inf
            tree.child[node] = node
            tree.value[node] = _answer(
                table, room, est_start, est_end, label_strength, same_records
            )
            if slot > 0:
                free[n_free] = slot
                n_free += 1
            continue
        tree.child[node] = n_nodes
        tree.value[node] = np.nan
        n_left = est_left
        if not same_records:
            n_left = split_records(
                table.rows, room.structure, start, end, f, low, high, room.buffer, room.is_left,
                has_words,
            )  # fmt: skip

        # -- what the children need, unless both are leaves
        middle, est_middle = start + n_left, est_start + est_left
        left_is_small = n_left <= end - middle
        n_small = min(n_left, end - middle)
        largest = max(est_left, n_answers - est_left)
        some_grow = largest >= split_from and depth + 1 < max_depth
        if table.n_classes > 0 and (some_grow or same_records):
            _total_children(
                table, room, start, middle, end, n_left,
                totals[height + left_is_small], totals[height + 1 - left_is_small],
            )  # fmt: skip
        if some_grow:
            own_words = -1 if table.against_rest[f] else table.sorted_place[f]
            split_words(room.words, start, end, room.is_left, own_words, room.sorted)
        small_slot = large_slot = 0
        if slot > 0 and some_grow and end - start - n_small >= keep_from:
            n_free -= 1
            small_slot, large_slot = free[n_free], slot
            small_start = start if left_is_small else middle
            _count_kept(
                table, room, small_start, small_start + n_small, totals[height + 1],
                small_slot * slot_size,
            )  # fmt: skip
            _subtract(room.cells, large_slot * slot_size, small_slot * slot_size, slot_size)
        elif slot > 0:
            free[n_free] = slot
            n_free += 1
        if small_slot > 0 and n_small < keep_from:
            free[n_free] = small_slot
            n_free += 1
            small_slot = 0

        # -- the smaller child is pushed last, so it is grown first
        for is_small in range(2):
            goes_right = np.int64((is_small == 1) != left_is_small)
            ranges[height, 0] = middle if goes_right else start
            ranges[height, 1] = end if goes_right else middle
            ranges[height, 2] = est_middle if goes_right else est_start
            ranges[height, 3] = est_end if goes_right else est_middle
            places[height, 0] = n_nodes + goes_right
            places[height, 1] = depth + 1
            places[height, 2] = small_slot if is_small else large_slot
            keys[height] = child_key(own_key, goes_right)
            height += 1
        n_nodes += 2
    return n_nodes
