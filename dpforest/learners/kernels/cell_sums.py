"""Sums over the leaves of trees whose features have few codes: by cell first, by leaf afterwards.

The codes of a tree's features are the digits of a cell's number, so finding it takes a
multiplication a feature, of many records at once, and no look-up. Two columns of residuals are
added as one word. The leaf of each cell is worked out once; cells are far fewer than records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.learners.kernels.random_trees import descend
from dpforest.learners.kernels.reach import features_used

#: Largest size of a residual: so many of ``RUN`` records stay within half a word.
LARGEST = 2**16
RUN = 2**14
#: Features of a tree, and cells it may have, at most.
MOST_USED = 6
MOST_CELLS = 2**14
#: Records a cell, at least: walking the cells should be a small part.
RECORDS_A_CELL = 32
#: Share of the trees that must have so few cells, since all codes are laid out anew for them.
SHARE = 0.5
_GROUP = 4096
_BLOCK = 512
_HALF = np.int64(32)


@kernel()
def code_sizes(codes: NDArray) -> NDArray:
    """Largest code of every feature and one more, int64 of shape (D,)."""
    sizes = np.ones(codes.shape[1], np.int64)
    for i in range(codes.shape[0]):
        for f in range(sizes.size):
            sizes[f] = max(sizes[f], np.int64(codes[i, f]) + 1)
    return sizes


@kernel()
def tree_cells(
    feature: NDArray, mask: NDArray, sizes: NDArray, n_records: int
) -> tuple[NDArray, NDArray, NDArray]:
    """How many cells each tree has, and by what codes; none at all if few trees have few.

    Parameters
    ----------
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    sizes : int64 array of shape (D,)
        From :func:`code_sizes`.
    n_records : int

    Returns
    -------
    n_cells : int64 array of shape (m,)
        Nothing for a tree that has too many.
    used : int64 array of shape (m, MOST_USED)
        Features of each tree, feature 0 after the last.
    strides : int64 array of shape (m, MOST_USED)
        What a code of each of them adds to the cell; nothing after the last.
    """
    n_trees = feature.shape[0]
    n_cells = np.zeros(n_trees, np.int64)
    used = np.zeros((n_trees, MOST_USED), np.int64)
    strides = np.zeros((n_trees, MOST_USED), np.int64)
    for tree in range(n_trees):
        n_used = features_used(feature[tree], mask[tree], used[tree])
        if n_used > MOST_USED:
            continue
        cells = 1
        for j in range(n_used):
            strides[tree, j] = cells
            cells *= sizes[used[tree, j]]
            if cells > min(MOST_CELLS, n_records // RECORDS_A_CELL):
                cells = 0
                break
        n_cells[tree] = cells
    if (n_cells > 0).sum() < SHARE * n_trees:
        n_cells[:] = 0
    return n_cells, used, strides


@kernel()
def _cell_leaves(
    feature: NDArray, mask: NDArray, depth: int, used: NDArray, sizes: NDArray, n_cells: int
) -> NDArray:
    """Leaf of every cell of one tree, int32: the leaf of a record with the cell's codes."""
    codes = np.zeros((n_cells, MOST_USED), np.uint16)
    for cell in range(n_cells):
        rest = cell
        for j in range(MOST_USED):
            size = sizes[used[j]]
            codes[cell, j] = rest % size
            rest //= size
    column = np.zeros(feature.size, np.int32)
    for node in range(feature.size):
        for j in range(MOST_USED - 1, -1, -1):  # feature 0 may be repeated at the end
            if used[j] == feature[node]:
                column[node] = j
    leaf = np.empty(n_cells, np.int32)
    descend(codes, 0, n_cells, column, mask, depth, leaf)
    return leaf


@kernel()
def _packed(residuals: NDArray, first: int, count: int, out: NDArray) -> None:
    """Two columns a word: column 2 w in the low half of word w, column 2 w + 1 in the high one."""
    n_columns = residuals.shape[1]
    out[:count] = 0
    for i in range(count):
        for k in range(n_columns):
            shift = _HALF * (k & 1)
            out[i, k >> 1] += np.int64(residuals[first + i, k]) << shift


@kernel()
def _unpack(cells: NDArray, leaf: NDArray, sums: NDArray) -> None:
    """Add packed sums of cells to the sums of their leaves, and clear them."""
    for cell in range(leaf.size):
        for k in range(sums.shape[1]):
            word = cells[cell, k >> 1]
            low = np.int64(np.int32(word & np.int64(0xFFFFFFFF)))
            sums[leaf[cell], k] += (word - low) >> _HALF if k & 1 else low
        for w in range(cells.shape[1]):
            cells[cell, w] = 0


@kernel()
def _number_cells(
    columns: NDArray, first: int, count: int, used: NDArray, strides: NDArray, out: NDArray
) -> None:
    """Cells of ``count`` records of a group, into ``out``; two features a pass."""
    for j in range(0, used.size, 2):
        if j > 0 and strides[j] == 0:
            return
        a = columns[used[j], first : first + count]
        b = columns[used[j + 1], first : first + count]
        by_a, by_b = np.uint16(strides[j]), np.uint16(strides[j + 1])
        if j == 0:
            for i in range(count):
                out[i] = np.uint16(a[i] * by_a + b[i] * by_b)
        else:
            for i in range(count):
                out[i] = np.uint16(out[i] + a[i] * by_a + b[i] * by_b)


@kernel()
def _add(cells: NDArray, place: NDArray, count: int, words: NDArray, first: int) -> None:
    """Add the words of ``count`` records to their cells; 1, 2 or a multiple of 4 words."""
    if cells.shape[1] == 1:
        for i in range(count):
            cells[np.uint64(place[i]), 0] += words[first + i, 0]
        return
    if cells.shape[1] == 2:
        for i in range(count):
            row, own = cells[np.uint64(place[i])], words[first + i]
            low, high = row[0] + own[0], row[1] + own[1]
            row[0], row[1] = low, high
        return
    for w in range(0, cells.shape[1], 4):
        for i in range(count):
            row, own = cells[np.uint64(place[i]), w : w + 4], words[first + i, w : w + 4]
            s0, s1, s2, s3 = row[0] + own[0], row[1] + own[1], row[2] + own[2], row[3] + own[3]
            row[0], row[1], row[2], row[3] = s0, s1, s2, s3


@kernel()
def add_cell_sums(
    codes: NDArray,
    residuals: NDArray,
    feature: NDArray,
    mask: NDArray,
    depth: int,
    sizes: NDArray,
    cells_of: tuple[NDArray, NDArray, NDArray],
    sums: NDArray,
) -> None:
    """Add residuals to the sums of the leaves of every tree that has cells.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    residuals : int32 array of shape (n, C), none above ``LARGEST`` in size
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    depth : int
    sizes : int64 array of shape (D,)
    cells_of : tuple of arrays
        From :func:`tree_cells`.
    sums : int64 array of shape (m, 2**depth, C), added to where a tree has cells
    """
    n_cells, used, strides = cells_of
    if not n_cells.any():
        return
    starts = np.zeros(n_cells.size + 1, np.int64)
    starts[1:] = np.cumsum(n_cells)
    n_words = (residuals.shape[1] + 1) // 2
    if n_words > 2:
        n_words = (n_words + 3) // 4 * 4
    cells = np.zeros((starts[-1], n_words), np.int64)
    leaf = np.empty(starts[-1], np.int32)
    for tree in range(n_cells.size):
        if n_cells[tree] > 0:
            leaf[starts[tree] : starts[tree + 1]] = _cell_leaves(
                feature[tree], mask[tree], depth, used[tree], sizes, n_cells[tree]
            )
    columns = np.empty((codes.shape[1], _GROUP), codes.dtype)
    words = np.empty((_GROUP, n_words), np.int64)
    place = np.empty(_BLOCK, np.uint16)
    for first in range(0, codes.shape[0], _GROUP):
        count = min(_GROUP, codes.shape[0] - first)
        for f in range(columns.shape[0]):
            for i in range(count):
                columns[f, i] = codes[first + i, f]
        _packed(residuals, first, count, words)
        last = first + count
        for tree in range(n_cells.size):
            if n_cells[tree] == 0:
                continue
            own = cells[starts[tree] : starts[tree + 1]]
            for a in range(0, count, _BLOCK):
                b = min(_BLOCK, count - a)
                _number_cells(columns, a, b, used[tree], strides[tree], place)
                _add(own, place, b, words, a)
            if last % RUN == 0 or last == codes.shape[0]:
                _unpack(own, leaf[starts[tree] : starts[tree + 1]], sums[tree])
