"""Cuts that part records alike, taken together: there are far fewer ways than cuts.

Of ordered features most cuts have no record between them and the next, of small cells most have
all records on one side, and sums of few features part records as single features do. Two cuts are
alike where one has the records left that the other has left, or right. They are looked up by a
word of the set on the side that the first record is not on, and then compared record by record.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel


@kernel()
def distinct_cuts(columns, offsets):
    """Number of every cut's parting, whether it is turned, and a cut of each: (direction, place).

    Parameters
    ----------
    columns : uint8 array of shape (n_directions, n)
        Bins, a direction a row.
    offsets : int64 array of shape (n_directions + 1,)

    Returns
    -------
    number : int64 array, one entry a cut
        The number of partings where all records are on one side.
    turned : bool array, one entry a cut
        Whether left is what is right of the parting's first cut; of all on one side, whether it
        is the left one.
    firsts : int64 array of shape (2, n_partings)
        Ordered by direction, then place.
    """
    n_directions, n_cuts = offsets.size - 1, offsets[offsets.size - 1] - offsets.size + 1
    number = np.full(n_cuts, -1, dtype=np.int64)
    turned = np.zeros(n_cuts, dtype=np.bool_)
    firsts = np.empty((2, n_cuts), dtype=np.int64)
    words, table, keys = _words(columns.shape[1]), _empty_table(n_cuts), np.empty(n_cuts, np.uint64)
    everyone = np.uint64(0)
    for i in range(words.size):
        everyone ^= words[i]
    n_sets = 0
    for m in range(n_directions):
        sets, counts = _bin_sets(columns[m], words, offsets[m + 1] - offsets[m])
        below, size = np.uint64(0), 0
        for b in range(counts.size - 1):
            cut = offsets[m] - m + b
            below ^= sets[b]
            size += counts[b]
            if b > 0 and counts[b] == 0:
                number[cut], turned[cut] = number[cut - 1], turned[cut - 1]
            elif size == words.size or size == 0:
                turned[cut] = size > 0
            else:
                key = below ^ everyone if columns[m, 0] <= b else below
                place, found = _find(columns, m, b, key, table, keys, firsts)
                if found < 0:
                    found = n_sets
                    table[place], keys[found] = found, key
                    firsts[0, found], firsts[1, found] = m, b
                    n_sets += 1
                number[cut] = found
                first, edge = firsts[0, found], firsts[1, found]
                turned[cut] = (columns[m, 0] <= b) != (columns[first, 0] <= edge)
    for cut in range(n_cuts):
        number[cut] = n_sets if number[cut] < 0 else number[cut]
    return number, turned, firsts[:, :n_sets]


@kernel()
def _words(n_records):
    """A word for each record, as if at random (splitmix64): sets are told apart by their sums."""
    words = np.empty(n_records, dtype=np.uint64)
    for i in range(n_records):
        word = np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[i] = word ^ (word >> np.uint64(31))
    return words


@kernel()
def _empty_table(n_entries):
    """Places for twice as many entries, a power of two, all free."""
    size = 2
    while size < 2 * n_entries:
        size *= 2
    return np.full(size, -1, dtype=np.int64)


@kernel()
def _bin_sets(column, words, n_bins):
    """Word and size of the records in each bin."""
    sets, counts = np.zeros(n_bins, dtype=np.uint64), np.zeros(n_bins, dtype=np.int64)
    for i in range(column.size):
        sets[column[i]] ^= words[i]
        counts[column[i]] += 1
    return sets, counts


@kernel()
def _find(columns, direction, edge, key, table, keys, firsts):
    """Place of a parting in the table, and its number; -1 where it is not there yet."""
    place = np.int64(key & np.uint64(table.size - 1))
    while table[place] >= 0:
        found = table[place]
        if keys[found] == key and parted_alike(
            columns[direction], edge, columns[firsts[0, found]], firsts[1, found]
        ):
            return place, found
        place = (place + 1) & (table.size - 1)
    return place, np.int64(-1)


@kernel()
def parted_alike(one, edge, other, other_edge):
    """True if two cuts have the same records together; ``one`` and ``other`` are columns."""
    turned = (one[0] <= edge) != (other[0] <= other_edge)
    n_different = 0
    for i in range(one.size):
        n_different += ((one[i] <= edge) != (other[i] <= other_edge)) != turned
    return n_different == 0


@kernel()
def weights_of_partings(number, offsets, weights, n_sets):
    """Weight of all cuts of each parting together; last, of those with all on one side."""
    total = np.zeros(n_sets + 1, dtype=np.int64)
    for m in range(offsets.size - 1):
        for cut in range(offsets[m] - m, offsets[m + 1] - m - 1):
            total[number[cut]] += weights[m]
    return total


@kernel()
def columns_of_partings(columns, firsts):
    """Bins between the first cuts of partings, a direction that has any a row, and their offsets.

    Cut b of row r is number ``offsets[r] - r + b``, as it is of all cuts.
    """
    n_sets = firsts.shape[1]
    n_rows = 0
    for j in range(n_sets):
        n_rows += j == 0 or firsts[0, j] != firsts[0, j - 1]
    own = np.zeros((n_rows, columns.shape[1]), dtype=np.uint8)
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    row = -1
    for j in range(n_sets):
        if j == 0 or firsts[0, j] != firsts[0, j - 1]:
            row += 1
            offsets[row + 1] = offsets[row] + 1
        offsets[row + 1] += 1
        column, edge, bins = columns[firsts[0, j]], firsts[1, j], own[row]
        for i in range(column.size):
            bins[i] += np.uint8(column[i] > edge)
    return own, offsets


@kernel()
def of_every_cut(found, number, turned):
    """Rows of what was found of partings, of every cut: rows (left, left, right, right)."""
    result = np.empty((4, number.size), dtype=np.int64)
    for cut in range(number.size):
        ahead = 2 * np.int64(turned[cut])
        for part in range(4):
            result[part, cut] = found[part ^ ahead, number[cut]]
    return result
