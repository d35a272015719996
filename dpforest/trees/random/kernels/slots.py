"""Slots of records in trees that look at few features: found by number, not by walking.

A slot is a number that tells a record's leaf. Which one serves depends on the tree:

* **Cells.** Where its features have few codes together, the codes are the digits of the slot: a
  multiplication a feature, of many records at once, and no look-up.
* **Sets of leaves.** Otherwise each of its features says which leaves are left, see ``leaf_sets``.
  Two features that have few codes together share a table, so four take two look-ups. The one leaf
  that is left has a place, which is the slot; levels below the sixth are walked.
* **Leaves.** Trees on many features, and short tables, are walked.

The leaf of each slot is worked out once; slots are far fewer than records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.leaf_sets import (
    MAX_DEPTH,
    N_PLACES,
    features_used,
    fill_leaf_sets,
    leaves_of_places,
    place_of,
)
from dpforest.trees.random.kernels.random_trees import descend, descend_from

#: Features of a tree that is not walked, at most.
MOST_USED = 6
#: Records below which making tables would take longer than walking.
FEW_RECORDS = 4096
#: Cells that a tree may have, and records a cell at least: walking cells is to be a small part.
MOST_CELLS = 2**12
RECORDS_A_CELL = 32
#: Codes that two features may have together in one table of sets: a few of these fit in a cache.
PAIR_CODES = 2**11
#: Codes of a feature, at most, that sets are looked up by: numbers of entries have 16 bits.
MOST_CODES = 2**16
WALKED, CELLS, SETS = 0, 1, 2


@kernel()
def code_sizes(codes: NDArray) -> NDArray:
    """Largest code of every feature and one more, int64 of shape (D,)."""
    sizes = np.ones(codes.shape[1], np.int64)
    for i in range(codes.shape[0]):
        for f in range(sizes.size):
            sizes[f] = max(sizes[f], np.int64(codes[i, f]) + 1)
    return sizes


@kernel()
def _pair_up(used: NDArray, sizes: NDArray, most: int, tables: NDArray) -> int:
    """Tables for features: that of most codes with that of fewest, where both fit; how many.

    A row of ``tables`` gets two features and what a code of each adds to the number of an entry:
    1, and the codes of the first, or nothing where the second is the first again.
    """
    # Sorted by hand: numpy's sort and slices set from arrays take seconds to compile.
    order = used.copy()
    for i in range(1, order.size):
        for j in range(i, 0, -1):
            if sizes[order[j]] < sizes[order[j - 1]]:
                order[j], order[j - 1] = order[j - 1], order[j]
    low, high, n_tables = 0, order.size - 1, 0
    while low <= high:
        first, second = order[high], order[low]
        fits = low < high and sizes[first] * sizes[second] <= most
        tables[n_tables, 0] = first
        tables[n_tables, 1] = second if fits else first
        tables[n_tables, 2] = sizes[first] if fits else 0
        low += fits
        high -= 1
        n_tables += 1
    return n_tables


@kernel()
def _number_cells(used: NDArray, sizes: NDArray, most: int, tables: NDArray) -> bool:
    """Digits of the cells of a tree on these features, one a row; whether there are few enough."""
    n_cells = 1
    for j in range(used.size):
        tables[j, 0] = tables[j, 1] = used[j]
        tables[j, 2] = n_cells
        n_cells *= sizes[used[j]]
        if n_cells > most:
            return False
    return True


@kernel()
def slot_tables(
    feature: NDArray, mask: NDArray, depth: int, sizes: NDArray, n_records: int
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Tables that :func:`find_slots` needs of trees, and the leaf of every slot.

    Parameters
    ----------
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    depth : int
    sizes : int64 array of shape (D,)
        Of every feature a number above its codes: the smaller, the quicker.
    n_records : int
        How many are to be looked up: larger tables pay for more.

    Returns
    -------
    kinds, n_tables : int64 arrays of shape (m,)
        ``WALKED``, ``CELLS`` or ``SETS``, and how many rows of ``tables`` count.
    tables : int64 array of shape (m, MOST_USED, 3)
        Two features and what a code of the second is worth; of cells, one and what its is worth.
    set_starts : int64 array of shape (m, MOST_USED + 1)
    sets : uint64 array of shape (set_starts[m - 1, -1],)
    starts : int64 array of shape (m + 1,)
    leaf : int32 array of shape (starts[m],)
        Leaf of every slot; those of tree t from ``starts[t]``.
    """
    n_trees = feature.shape[0]
    n_head = (1 << min(depth, MAX_DEPTH)) - 1
    kinds, n_tables = np.zeros(n_trees, np.int64), np.zeros(n_trees, np.int64)
    used, n_used = np.zeros((n_trees, MOST_USED), np.int64), np.zeros(n_trees, np.int64)
    tables = np.zeros((n_trees, MOST_USED, 3), np.int64)
    set_starts = np.zeros((n_trees, MOST_USED + 1), np.int64)
    starts = np.zeros(n_trees + 1, np.int64)
    end = 0
    for tree in range(n_trees):
        kinds[tree], n_used[tree], n_tables[tree] = _kind_of(
            feature[tree], mask[tree], n_head, sizes, n_records, used[tree], tables[tree]
        )
        set_starts[tree] = end
        for t in range(n_tables[tree] if kinds[tree] == SETS else 0):
            end += _n_entries(tables[tree, t], sizes)
            set_starts[tree, t + 1 :] = end
        starts[tree + 1] = starts[tree] + _n_slots(
            kinds[tree], tables[tree, : n_tables[tree]], sizes, depth
        )
    leaf_at = leaves_of_places(min(depth, MAX_DEPTH))
    sets = np.empty(end, np.uint64)
    leaf = np.empty(starts[n_trees], np.int32)
    for tree in range(n_trees):
        own_leaf, own = leaf[starts[tree] : starts[tree + 1]], used[tree, : n_used[tree]]
        if kinds[tree] == CELLS:
            _cell_leaves(feature[tree], mask[tree], depth, own, sizes, own_leaf)
            continue
        if kinds[tree] == SETS:
            _fill_sets(
                feature[tree, :n_head], mask[tree], min(depth, MAX_DEPTH), own, sizes,
                tables[tree, : n_tables[tree]], set_starts[tree], sets,
            )  # fmt: skip
        by_place = kinds[tree] == SETS and depth <= MAX_DEPTH
        for slot in range(own_leaf.size):
            own_leaf[slot] = leaf_at[slot] if by_place else slot
    return kinds, n_tables, tables, set_starts, sets, starts, leaf


@kernel()
def _kind_of(
    feature: NDArray, mask: NDArray, n_head: int, sizes: NDArray, n_records: int, used: NDArray,
    tables: NDArray,
) -> tuple[int, int, int]:  # fmt: skip
    """Way to find slots of a tree, and how many rows of ``used`` and ``tables`` that takes."""
    if n_records < FEW_RECORDS:
        return WALKED, 0, 0
    most = n_records // RECORDS_A_CELL
    n_used = features_used(feature, mask, used)
    if n_used <= MOST_USED and _number_cells(used[:n_used], sizes, min(MOST_CELLS, most), tables):
        return CELLS, n_used, n_used
    # Levels below the head are walked, whatever they look at.
    n_used = features_used(feature[:n_head], mask, used)
    if n_used > MOST_USED:
        return WALKED, 0, 0
    for j in range(n_used):
        if sizes[used[j]] > MOST_CODES:
            return WALKED, 0, 0
    return SETS, n_used, _pair_up(used[:n_used], sizes, min(PAIR_CODES, most), tables)


@kernel()
def _n_entries(table: NDArray, sizes: NDArray) -> int:
    """Entries of a table of sets."""
    first, second, worth = table
    return sizes[first] * (sizes[second] if worth > 0 else 1)


@kernel()
def _n_slots(kind: int, tables: NDArray, sizes: NDArray, depth: int) -> int:
    """Number of slots of a tree."""
    if kind == CELLS:
        last = tables[tables.shape[0] - 1]
        return last[2] * sizes[last[0]]
    return N_PLACES if kind == SETS and depth <= MAX_DEPTH else 1 << depth


@kernel()
def _cell_leaves(
    feature: NDArray, mask: NDArray, depth: int, used: NDArray, sizes: NDArray, leaf: NDArray
) -> None:
    """Leaf of every cell of one tree: the leaf of a record with the cell's codes."""
    codes = np.zeros((leaf.size, used.size), np.uint16)
    for cell in range(1, leaf.size):
        # One more than the cell before, digit by digit.
        carried = True
        for j in range(used.size):
            digit = np.int64(codes[cell - 1, j]) + carried
            carried = digit == sizes[used[j]]
            codes[cell, j] = 0 if carried else digit
    column = np.zeros(feature.size, np.int32)
    for node in range(feature.size):
        for j in range(used.size):
            if used[j] == feature[node]:
                column[node] = j
    descend(codes, np.int64(0), leaf.size, column, mask, depth, leaf)


@kernel()
def _fill_sets(
    feature: NDArray, mask: NDArray, top: int, used: NDArray, sizes: NDArray, tables: NDArray,
    starts: NDArray, sets: NDArray,
) -> None:  # fmt: skip
    """Sets of leaves that a record may lie in by every entry of a tree's tables."""
    leaf_sets = np.empty((used.size, 64 * mask.shape[1]), np.uint64)
    fill_leaf_sets(feature, mask, top, used, leaf_sets)
    row = np.zeros(sizes.size, np.int64)
    for j in range(used.size):
        row[used[j]] = j
    for t in range(tables.shape[0]):
        first, second, n_codes = tables[t]
        own = sets[starts[t] : starts[t + 1]]
        of_first, of_second = leaf_sets[row[first]], leaf_sets[row[second]]
        alone = n_codes == 0
        if alone:
            n_codes = own.size
        for other in range(1 if alone else sizes[second]):
            beside = ~np.uint64(0) if alone else of_second[other]
            for code in range(n_codes):
                own[other * n_codes + code] = of_first[code] & beside


@kernel()
def _number_entries(
    columns: NDArray, first: int, count: int, a: int, by_a: int, b: int, by_b: int, out: NDArray
) -> None:
    """Worth of the codes of two features together, of ``count`` records."""
    of_a, of_b = columns[a, first : first + count], columns[b, first : first + count]
    worth_a, worth_b = np.uint16(by_a), np.uint16(by_b)
    for i in range(count):
        out[i] = np.uint16(of_a[i] * worth_a + of_b[i] * worth_b)


@kernel()
def _find_cells(
    columns: NDArray, first: int, count: int, tables: NDArray, more: NDArray, slot: NDArray
) -> None:
    """Cells by their digits; two features a pass."""
    for j in range(0, tables.shape[0], 2):
        k = min(j + 1, tables.shape[0] - 1)
        by_second = tables[k, 2] if k > j else 0
        out = slot if j == 0 else more
        _number_entries(
            columns, first, count, tables[j, 0], tables[j, 2], tables[k, 0], by_second, out
        )
        if j > 0:
            for i in range(count):
                slot[i] += more[i]


@kernel()
def _find_places(
    columns: NDArray, first: int, count: int, tables: NDArray, starts: NDArray, sets: NDArray,
    more: NDArray, reached: NDArray, slot: NDArray,
) -> None:  # fmt: skip
    """Places of the one leaf that is left; two tables a pass."""
    last = tables.shape[0] - 1
    for j in range(0, tables.shape[0], 2):
        k = min(j + 1, last)
        own, other = sets[starts[j] : starts[j + 1]], sets[starts[k] : starts[k + 1]]
        _number_entries(columns, first, count, tables[j, 0], 1, tables[j, 1], tables[j, 2], slot)
        _number_entries(columns, first, count, tables[k, 0], 1, tables[k, 1], tables[k, 2], more)
        if j == 0 and k == last:
            for i in range(count):
                slot[i] = place_of(own[np.uint64(slot[i])] & other[np.uint64(more[i])])
        elif j == 0:
            for i in range(count):
                reached[i] = own[np.uint64(slot[i])] & other[np.uint64(more[i])]
        elif k < last:
            for i in range(count):
                reached[i] &= own[np.uint64(slot[i])] & other[np.uint64(more[i])]
        else:
            for i in range(count):
                left = reached[i] & own[np.uint64(slot[i])] & other[np.uint64(more[i])]
                slot[i] = place_of(left)


@kernel()
def find_slots(
    codes: NDArray, columns: NDArray, first: int, count: int, tree: int | np.int64,
    feature: NDArray, mask: NDArray, depth: int, prepared: tuple[NDArray, ...],
    scratch: tuple[NDArray, ...], slot: NDArray,
) -> None:  # fmt: skip
    """Slots of records ``first … first + count`` in one of the trees.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    columns : uint array of shape (D, n), C order
        The same, a feature a row.
    first, count, tree : int
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    depth : int
    prepared : tuple of arrays
        From :func:`slot_tables`.
    scratch : tuple of arrays
        From :func:`scratch_for`, of ``count`` records or more.
    slot : uint16 array, at least ``count`` long, overwritten
    """
    kinds, n_tables, tables, set_starts, sets, _, _ = prepared
    more, reached, node = scratch
    own = tables[tree, : n_tables[tree]]
    if kinds[tree] == CELLS:
        _find_cells(columns, first, count, own, more, slot)
        return
    if kinds[tree] == SETS:
        _find_places(columns, first, count, own, set_starts[tree], sets, more, reached, slot)
        if depth <= MAX_DEPTH:
            return
        leaf_at = leaves_of_places(MAX_DEPTH)
        for i in range(count):
            node[i] = leaf_at[slot[i]]
        top = np.int64(MAX_DEPTH)
        descend_from(codes, first, count, feature[tree], mask[tree], top, depth, node)
    else:
        descend(codes, first, count, feature[tree], mask[tree], depth, node)
    for i in range(count):
        slot[i] = node[i]


@kernel()
def scratch_for(count: int) -> tuple[NDArray, NDArray, NDArray]:
    """Room that :func:`find_slots` works in."""
    return np.empty(count, np.uint16), np.empty(count, np.uint64), np.empty(count, np.int32)
