"""Cuts that part records alike, taken together: there are far fewer ways than cuts.

Of ordered features most cuts have no record between them and the next, of small cells most have
all records on one side, and sums of few features part records as single features do. Two cuts are
alike where one has the records left that the other has left, or right. They are looked up by a
word of the set on the side that the first record is not on, and then compared word by word.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel
from dpforest.trees.rules.kernels.bit_counts import ones_in_both


@kernel()
def distinct_cuts(rows, places):
    """Number of every cut's parting, whether it is turned, and the first cut of each.

    Parameters
    ----------
    rows : uint64 array of shape (n_cuts, n_words)
        Records left of each cut, a bit a record.
    places : int64 array of shape (n,)
        Place of each record's bit.

    Returns
    -------
    number : int64 array, one entry a cut
        The number of partings where all records are on one side.
    turned : bool array, one entry a cut
        Whether left is what is right of the parting's first cut; of all on one side, whether it
        is the left one.
    firsts : int64 array, one entry a parting
        Ascending.
    """
    n_cuts, n_words = rows.shape
    number, turned = np.empty(n_cuts, dtype=np.int64), np.empty(n_cuts, dtype=np.bool_)
    firsts, keys = np.empty(n_cuts, dtype=np.int64), np.empty(n_cuts, dtype=np.uint64)
    everyone, words, table = _every_bit(places, n_words), _words(n_words), _empty_table(n_cuts)
    n_sets = 0
    for cut in range(n_cuts):
        row, size = rows[cut], ones_in_both(rows[cut], rows[cut])
        if size == 0 or size == places.size:
            number[cut], turned[cut] = -1, size > 0
            continue
        turned[cut] = _has(row, places[0])
        key = _key(row, everyone, turned[cut], words)
        place, found = _find(rows, cut, turned, everyone, key, table, keys, firsts)
        if found < 0:
            found = n_sets
            table[place], keys[found], firsts[found] = found, key, cut
            n_sets += 1
        number[cut] = found
    for cut in range(n_cuts - 1, -1, -1):
        if number[cut] < 0:
            number[cut] = n_sets
        else:
            turned[cut] ^= turned[firsts[number[cut]]]
    return number, turned, firsts[:n_sets]


@kernel()
def _every_bit(places, n_words):
    """Bits of all records."""
    everyone = np.zeros(n_words, dtype=np.uint64)
    for place in places:
        everyone[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    return everyone


@kernel()
def _words(n_words):
    """Odd words, as if at random (splitmix64): sets are told apart by sums of their products."""
    words = np.empty(n_words, dtype=np.uint64)
    for i in range(n_words):
        word = np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[i] = (word ^ (word >> np.uint64(31))) | np.uint64(1)
    return words


@kernel()
def _empty_table(n_entries):
    """Places for twice as many entries, a power of two, all free."""
    size = 2
    while size < 2 * n_entries:
        size *= 2
    return np.full(size, -1, dtype=np.int64)


@kernel()
def _has(row, place):
    """True if the bit of a place is set."""
    return (row[place >> 6] >> np.uint64(place & 63)) & np.uint64(1) == 1


@kernel()
def _key(row, everyone, turned, words):
    """Word of the records of a row, or of all others."""
    other = np.uint64(0) - np.uint64(turned)
    key = np.uint64(0)
    for i in range(row.size):
        word = (row[i] ^ (everyone[i] & other)) * words[i]
        key += (word ^ (word >> np.uint64(32))) * words[i]
    return key


@kernel()
def _find(rows, cut, turned, everyone, key, table, keys, firsts):
    """Place of a parting in the table, and its number; -1 where it is not there yet."""
    place = np.int64(key & np.uint64(table.size - 1))
    while table[place] >= 0:
        found = table[place]
        first = firsts[found]
        if keys[found] == key and parted_alike(
            rows[cut], rows[first], everyone, turned[cut] != turned[first]
        ):
            return place, found
        place = (place + 1) & (table.size - 1)
    return place, np.int64(-1)


@kernel()
def parted_alike(one, other, everyone, turned):
    """True if one row has the records of the other, or, where it is turned, all but those."""
    mask = np.uint64(0) - np.uint64(turned)
    different = np.uint64(0)
    for i in range(one.size):
        different |= one[i] ^ other[i] ^ (everyone[i] & mask)
    return different == 0


@kernel()
def weights_of_partings(number, offsets, weights, n_sets):
    """Weight of all cuts of each parting together; last, of those with all on one side."""
    total = np.zeros(n_sets + 1, dtype=np.int64)
    for m in range(offsets.size - 1):
        for cut in range(offsets[m] - m, offsets[m + 1] - m - 1):
            total[number[cut]] += weights[m]
    return total


@kernel()
def rows_of_partings(rows, firsts):
    """The rows of the first cuts of partings, put where the first rows were."""
    for j in range(firsts.size):
        for word in range(rows.shape[1]):
            rows[j, word] = rows[firsts[j], word]
    return rows[: firsts.size]


@kernel()
def of_every_cut(found, number, turned):
    """Rows of what was found of partings, of every cut: rows (left, left, right, right)."""
    result = np.empty((4, number.size), dtype=np.int64)
    for cut in range(number.size):
        ahead = 2 * np.int64(turned[cut])
        for part in range(4):
            result[part, cut] = found[part ^ ahead, number[cut]]
    return result
