"""Records that any two cuts both have left, by class, counted as bits of words.

Of few records a class this is more work than `roots.add_group`; of many it is a fraction, and the
table is symmetric, so half of it is counted.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel

#: Records a class on average from which bits are quicker than bytes.
_MANY = 512
#: Entries of a table, at most: 64 MB.
_MOST_ENTRIES = 2**24
#: Cuts whose words are gone through together, in fast memory.
_TILE = 16


@kernel()
def counted_by_bits(n_records, n_classes, n_cuts):
    """True where counting bits is quicker, and the table not too large."""
    return n_records >= _MANY * n_classes and n_classes * n_cuts**2 <= _MOST_ENTRIES


@kernel()
def joint_counts(columns, offsets, labels, n_classes):
    """Records left of both cuts, int32 of shape (n_cuts, n_classes, n_cuts).

    Parameters
    ----------
    columns : uint8 array of shape (n_directions, n)
        Bins, a direction a row.
    offsets : int64 array of shape (n_directions + 1,)
    labels : int64 array of shape (n,)
    n_classes : int
    """
    bits, starts = left_bits(columns, offsets, labels, n_classes)
    n_cuts = bits.shape[0]
    joint = np.empty((n_cuts, n_classes, n_cuts), dtype=np.int32)
    for first in range(0, n_cuts, _TILE):
        for other in range(first, n_cuts, _TILE):
            for i in range(first, min(first + _TILE, n_cuts)):
                for j in range(max(other, i), min(other + _TILE, n_cuts)):
                    for k in range(n_classes):
                        a, b = starts[k], starts[k + 1]
                        both = ones_in_both(bits[i, a:b], bits[j, a:b])
                        joint[i, k, j] = both
                        joint[j, k, i] = both
    return joint


@kernel()
def left_bits(columns, offsets, labels, n_classes):
    """Records left of each cut, a bit a record, and where the words of each class begin."""
    places, starts = bit_places(labels, n_classes)
    n_directions = offsets.size - 1
    bits = np.zeros((offsets[n_directions] - n_directions, starts[n_classes]), dtype=np.uint64)
    for m in range(n_directions):
        own, column = bits[offsets[m] - m : offsets[m + 1] - m - 1], columns[m]
        for i in range(labels.size):
            if column[i] < own.shape[0]:
                own[column[i], places[i] >> 6] |= np.uint64(1) << np.uint64(places[i] & 63)
        for b in range(1, own.shape[0]):
            for word in range(own.shape[1]):
                own[b, word] |= own[b - 1, word]
    return bits, starts


@kernel()
def bit_places(labels, n_classes):
    """Place of each record's bit, the records of a class together, each class in its own words."""
    sizes = np.zeros(n_classes, dtype=np.int64)
    for label in labels:
        sizes[label] += 1
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    for k in range(n_classes):
        starts[k + 1] = starts[k] + (sizes[k] + 63) // 64
    following = 64 * starts
    places = np.empty(labels.size, dtype=np.int64)
    for i in range(labels.size):
        places[i] = following[labels[i]]
        following[labels[i]] += 1
    return places, starts


@kernel()
def ones_in_both(one, other):
    """Bits that are set in both rows of words.

    Written as sums of pairs, fours and bytes: the compiler has an instruction for that.
    """
    total = np.uint64(0)
    for i in range(one.size):
        word = one[i] & other[i]
        word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
        fours = np.uint64(0x3333333333333333)
        word = (word & fours) + ((word >> np.uint64(2)) & fours)
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return np.int32(total)
