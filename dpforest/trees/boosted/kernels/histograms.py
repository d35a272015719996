"""Sums of residuals and records over every bin of a node's records, and over the node.

A record is listed by its bins other than each feature's most frequent one. What that one has is
what the rest of the node lacks, so indicators that are mostly 0 cost next to nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.records.kernels.prefetch import AHEAD, prefetch

#: Bits of a word that count records; the others hold the sum of their residuals. Of so many records
#: at a time it is below 2**39, since no residual is above 2**12.
_COUNT_BITS = 24
_MOST_PACKED = 2**23
#: Records whose sums are two a word: each is below 2**31, since no residual is above 2**12.
_MOST_HALVED = 2**18


@kernel()
def list_bins(
    codes: NDArray,
    offsets: NDArray,
    of_code: NDArray,
    starts: NDArray,
    usual: NDArray,
    first: NDArray,
    bins: NDArray,
) -> None:
    """Bins of every record but the usual ones.

    Parameters
    ----------
    codes : uint array of shape (n, D)
    offsets, starts : int64 arrays of shape (D + 1,)
        Of codes, and of bins.
    of_code : int64 array of shape (total codes,)
        Bin of every code within its feature.
    usual : int64 array of shape (D,)
        Flat place of the bin of each feature that is left out.
    first : int64 array of shape (n + 1,), overwritten
        Where each record's list begins.
    bins : uint array, overwritten; of size 0 to find its size, which is ``first[n]``
    """
    place = 0
    for i in range(codes.shape[0]):
        first[i] = place
        for f in range(codes.shape[1]):
            cell = starts[f] + of_code[offsets[f] + np.int64(codes[i, f])]
            if cell != usual[f]:
                if bins.size:
                    bins[place] = cell
                place += 1
    first[codes.shape[0]] = place


@kernel()
def n_words(n_columns: int) -> int:
    """Sums of a bin: of all residuals but the last of several, and of records; padded to 4."""
    words = max(n_columns - 1, 1) + 1
    return words if words <= 2 else _whole_fours(words)


@kernel()
def _whole_fours(words: int) -> int:
    """Number of words, padded to 4."""
    return (words + 3) // 4 * 4


@kernel()
def _add_packed(
    records: NDArray, first: NDArray, bins: NDArray, rows: NDArray, words: NDArray
) -> None:
    """Add one residual and a count to each listed bin, both in one word."""
    last = records.size - 1
    flat = rows.reshape(rows.size)
    stride = np.uint64(rows.shape[1])
    for i in range(records.size):
        prefetch(first, np.uint64(records[min(i + 2 * AHEAD, last)]))
        soon = np.uint64(records[min(i + AHEAD, last)])
        prefetch(bins, np.uint64(first[soon]))
        prefetch(bins, np.uint64(first[soon + np.uint64(1)] - 1))
        prefetch(flat, soon * stride)
        record = np.uint64(records[i])
        own = (np.int64(flat[record * stride]) << _COUNT_BITS) + 1
        for j in range(first[record], first[record + np.uint64(1)]):
            words[np.uint64(bins[np.uint64(j)])] += own


@kernel()
def _add_pairs(
    records: NDArray, first: NDArray, bins: NDArray, rows: NDArray, words: NDArray, sums: NDArray
) -> None:
    """Add one residual and a count to each listed bin, shape (total bins, 2).

    Records are taken by as many at a time as a word can hold the sums of.
    """
    for begin in range(0, records.size, _MOST_PACKED):
        words[:] = 0
        _add_packed(records[begin : begin + _MOST_PACKED], first, bins, rows, words)
        for cell in range(words.size):
            # The count is not negative, so a shift leaves the sum of the residuals alone.
            sums[cell, 0] += words[cell] >> _COUNT_BITS
            sums[cell, 1] += words[cell] & ((1 << _COUNT_BITS) - 1)


@kernel()
def _add_fours(
    records: NDArray,
    first: NDArray,
    bins: NDArray,
    rows: NDArray,
    width: int,
    halved: int,
    sums: NDArray,
) -> None:
    """Add a record's words, a multiple of 4, to each listed bin; ``sums`` is flat.

    Numbers are two a word, the latter in its upper half, where ``halved`` is 1, and not where 0.
    """
    last = records.size - 1
    flat = rows.reshape(rows.size)
    stride = np.uint64(rows.shape[1])
    n_added = rows.shape[1] // 2 - 1
    own = np.zeros(width, np.int64)
    one = np.int64(1) << (32 * (n_added & halved))
    wide = np.uint64(width)
    for i in range(records.size):
        prefetch(first, np.uint64(records[min(i + 2 * AHEAD, last)]))
        soon = np.uint64(records[min(i + AHEAD, last)])
        prefetch(bins, np.uint64(first[soon]))
        prefetch(bins, np.uint64(first[soon + np.uint64(1)] - 1))
        prefetch(flat, soon * stride)
        record = np.uint64(records[i])
        own[:] = 0
        own[n_added >> halved] = one
        for k in range(n_added):
            own[k >> halved] += np.int64(flat[record * stride + np.uint64(k)]) << (
                32 * (k & halved)
            )
        begin, end = first[record], first[record + np.uint64(1)]
        for w in range(0, width, 4):
            o0, o1, o2, o3 = own[w], own[w + 1], own[w + 2], own[w + 3]
            for j in range(begin, end):
                place = wide * np.uint64(bins[np.uint64(j)]) + np.uint64(w)
                row = sums[place : place + np.uint64(4)]
                s0, s1, s2, s3 = row[0] + o0, row[1] + o1, row[2] + o2, row[3] + o3
                row[0], row[1], row[2], row[3] = s0, s1, s2, s3


@kernel()
def _add_halved(
    records: NDArray, first: NDArray, bins: NDArray, rows: NDArray, words: NDArray, sums: NDArray
) -> None:
    """Add residuals and a count to each listed bin, shape (total bins, words), by half words.

    Records are taken by as many at a time as a half can hold the sums of; ``words`` is scratch,
    shape (total bins, fewer words).
    """
    flat, n_added = words.reshape(words.size), rows.shape[1] // 2 - 1
    for begin in range(0, records.size, _MOST_HALVED):
        words[:] = 0
        some = records[begin : begin + _MOST_HALVED]
        _add_fours(some, first, bins, rows, words.shape[1], 1, flat)
        for cell in range(words.shape[0]):
            for k in range(n_added + 1):
                word = words[cell, k >> 1]
                lower = np.int64(np.int32(word))
                sums[cell, k] += (word - lower) >> 32 if k & 1 else lower


@kernel()
def node_histograms(
    order: NDArray,
    node_starts: NDArray,
    counted: NDArray,
    first: NDArray,
    bins: NDArray,
    rows: NDArray,
    starts: NDArray,
    usual: NDArray,
    totals: NDArray,
    out: NDArray,
) -> None:
    """Sums over every bin of the records of some nodes.

    Parameters
    ----------
    order, node_starts, counted, rows : arrays
        As in :func:`node_sums`.
    first, bins, starts, usual : arrays
        As in :func:`list_bins`.
    totals : int64 array of shape (m, 2 C + 1)
        From :func:`node_sums`.
    out : int64 array of shape (m, total bins, n_words(C)), overwritten
        Residuals (but the last of several), then records, then nothing.
    """
    n_columns = rows.shape[1] // 2
    n_added, width = max(n_columns - 1, 1), out.shape[2]
    out[:] = 0
    words, half_width = np.empty(out.shape[1], np.int64), _whole_fours((n_added + 2) // 2)
    halves = np.empty((out.shape[1], half_width), np.int64)
    for i in range(counted.size):
        node = counted[i]
        records = order[node_starts[node] : node_starts[node + 1]]
        if width == 2:
            _add_pairs(records, first, bins, rows, words, out[i])
        elif half_width < width and records.size >= out.shape[1]:
            _add_halved(records, first, bins, rows, halves, out[i])
        else:
            flat = out[i].reshape(out.shape[1] * width)
            _add_fours(records, first, bins, rows, width, 0, flat)
        for f in range(usual.size):
            rest = out[i, usual[f]]
            for k in range(n_added):
                rest[k] = totals[i, k]
            rest[n_added] = totals[i, 2 * n_columns]
            for cell in range(starts[f], starts[f + 1]):
                if cell != usual[f]:
                    for k in range(n_added + 1):
                        rest[k] -= out[i, cell, k]


@kernel()
def node_sums(
    order: NDArray, node_starts: NDArray, counted: NDArray, rows: NDArray, out: NDArray
) -> None:
    """Sums of residuals and curvatures over the records of some nodes, and their number.

    Parameters
    ----------
    order : int32 array of shape (n,)
        Records grouped by node.
    node_starts : int64 array of shape (n_nodes + 1,)
    counted : int64 array of shape (m,)
        Nodes that are counted.
    rows : int32 array of shape (n, 2 C)
    out : int64 array of shape (m, 2 C + 1), overwritten
    """
    flat = rows.reshape(rows.size)
    stride = np.uint64(rows.shape[1])
    for place in range(counted.size):
        own, node = out[place], counted[place]
        own[:] = 0
        last = node_starts[node + 1] - 1
        for i in range(node_starts[node], last + 1):
            prefetch(flat, np.uint64(order[min(i + AHEAD, last)]) * stride)
            begin = np.uint64(order[i]) * stride
            for k in range(rows.shape[1]):
                own[np.uint64(k)] += np.int64(flat[begin + np.uint64(k)])
        own[rows.shape[1]] = last + 1 - node_starts[node]


@kernel()
def both_siblings(parents: NDArray, own: NDArray, counted: NDArray, out: NDArray) -> None:
    """Sums of all nodes of a level, from those of the level above and of one of each two siblings.

    Parameters
    ----------
    parents, own : int64 arrays of shape (m, size)
    counted : int64 array of shape (m,)
        Nodes that ``own`` is of.
    out : int64 array of shape (2 m, size), overwritten
    """
    for place in range(counted.size):
        node = counted[place]
        whole, part, this, rest = parents[place], own[place], out[node], out[node ^ 1]
        for i in range(whole.size):
            this[i] = part[i]
            rest[i] = whole[i] - part[i]


@kernel()
def number_leaves(order: NDArray, node_starts: NDArray, leaves: NDArray) -> None:
    """Leaf of every record (n,), overwritten, from records grouped by leaf."""
    for leaf in range(node_starts.size - 1):
        for i in range(node_starts[leaf], node_starts[leaf + 1]):
            leaves[order[i]] = leaf


@kernel()
def leaf_sums(leaves: NDArray, rows: NDArray, out: NDArray) -> None:
    """Sums as of :func:`node_sums` over every leaf, of records that are not grouped by it.

    Parameters
    ----------
    leaves : uint16 array of shape (n,)
    rows : int32 array of shape (n, 2 C)
    out : int64 array of shape (n_leaves, 2 C + 1), overwritten
    """
    out[:] = 0
    for i in range(leaves.size):
        own, row = out[leaves[i]], rows[i]
        for k in range(row.size):
            own[k] += row[k]
        own[row.size] += 1


@kernel()
def add_leaf_steps(leaves: NDArray, steps: NDArray, scores: NDArray) -> None:
    """Add the step of its leaf to every record's scores (n, C), in place."""
    for i in range(leaves.size):
        step, own = steps[leaves[i]], scores[i]
        for k in range(own.size):
            own[k] += step[k]
