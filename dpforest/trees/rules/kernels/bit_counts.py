"""Records left of cuts as bits of words, and counts of those that two cuts both have left.

The records of a class have words of their own. Of many records counts are kept in a table of all
pairs of cuts, which is symmetric, so half of it is counted: a pair at a time, along rows of words.
Of few they are counted anew for each cut: a word at a time, along all other cuts.
"""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel

#: Records a class on average from which a table of all pairs is quicker.
_MANY = 2048
#: Entries of a table, at most: 64 MB.
_MOST_ENTRIES = 2**24
#: Cuts whose words are gone through together, in fast memory.
_TILE = 16
#: Words of a line of fast memory.
_LINE = 8


@kernel()
def pays_a_table(n_records, n_classes):
    """True where a table of all pairs of cuts is quicker than counting for each cut."""
    return n_records >= _MANY * n_classes


@kernel()
def fits_a_table(n_cuts, n_classes):
    """True where that table is not too large."""
    return count_rows(n_classes) * n_cuts**2 <= _MOST_ENTRIES


@kernel()
def count_rows(n_classes):
    """Numbers that are counted of records: of two classes, by how many there are more of one."""
    return 1 if n_classes == 2 else n_classes


@kernel()
def class_steps(class_weights):
    """Number that a record of each class adds to the row of counts that it is counted in."""
    steps = class_weights.astype(np.int32)
    if steps.size == 2:
        steps[0] = -steps[0]
    return steps


@kernel()
def bit_places(labels, n_classes, whole_lines):
    """Place of each record's bit, those of a class together, and where the class's words begin."""
    sizes = np.zeros(n_classes, dtype=np.int64)
    for label in labels:
        sizes[label] += 1
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    unit = _LINE if whole_lines else 1
    for k in range(n_classes):
        starts[k + 1] = starts[k] + (sizes[k] + 64 * unit - 1) // (64 * unit) * unit
    following = 64 * starts
    places = np.empty(labels.size, dtype=np.int64)
    for i in range(labels.size):
        places[i] = following[labels[i]]
        following[labels[i]] += 1
    return places, starts


@kernel()
def in_columns(bins, places, width):
    """Bins with a direction a row, each record at its place; 255 where there is none.

    Rows are a line longer than they have to be: of rows of a power of two, fast memory would hold
    but a few at a time.
    """
    columns = np.full((bins.shape[1], width + 64), 255, dtype=np.uint8)
    for i in range(bins.shape[0]):
        place = places[i]
        for m in range(bins.shape[1]):
            columns[m, place] = bins[i, m]
    return columns


@kernel()
def left_bits(columns, n_words, offsets):
    """Records left of each cut, a bit a record, a cut a row."""
    n_directions = offsets.size - 1
    rows = in_lines(offsets[n_directions] - n_directions, n_words)
    for m in range(n_directions):
        for b in range(offsets[m + 1] - offsets[m] - 1):
            take_bits(columns[m], np.uint8(b), rows[offsets[m] - m + b])
    return rows


@kernel()
def in_lines(n_rows, n_words):
    """Rows of words; those of whole lines begin where a line of fast memory does."""
    flat = np.empty(n_rows * n_words + _LINE, dtype=np.uint64)
    first = -(flat.ctypes.data // 8) % _LINE
    return flat[first : first + n_rows * n_words].reshape(n_rows, n_words)


@kernel()
def take_bits(column, edge, row):
    """Fill a row with the records whose bin is at most ``edge``."""
    for word in range(row.size):
        bits = np.uint64(0)
        for bit in range(64):
            bits |= np.uint64(column[64 * word + bit] <= edge) << np.uint64(bit)
        row[word] = bits


@kernel()
def left_counts(rows, starts, class_weights):
    """Class counts left of each cut, and of none; and all that there is to be counted of each cut.

    Returns int64 of shape (n_cuts + 1, n_classes) and int32 of shape (rows of counts, n_cuts).
    """
    n_cuts, steps = rows.shape[0], class_steps(class_weights)
    sizes = np.zeros((n_cuts + 1, steps.size), dtype=np.int64)
    whole = np.zeros((count_rows(steps.size), n_cuts), dtype=np.int32)
    for cut in range(n_cuts):
        for k in range(steps.size):
            own = rows[cut, starts[k] : starts[k + 1]]
            count = ones_in_both(own, own)
            sizes[cut, k] = class_weights[k] * np.int64(count)
            whole[k % whole.shape[0], cut] += steps[k] * count
    return sizes, whole


@kernel()
def joint_counts(rows, starts, steps):
    """Counts of records left of both cuts, int32 of shape (n_cuts + 1, rows of counts, n_cuts).

    The last entry is of a cut that has none left.

    Parameters
    ----------
    rows : uint64 array of shape (n_cuts, n_words)
        Of `left_bits`, in whole lines.
    starts : int64 array of shape (n_classes + 1,)
        Where the words of each class begin.
    steps : int32 array of shape (n_classes,)
        Of `class_steps`.
    """
    n_cuts, n_rows = rows.shape[0], count_rows(steps.size)
    joint = np.zeros((n_cuts + 1, n_rows, n_cuts), dtype=np.int32)
    for first in range(0, n_cuts, _TILE):
        last = min(first + _TILE, n_cuts)
        for other in range(first, n_cuts, _TILE):
            until = min(other + _TILE, n_cuts)
            for i in range(first, last):
                for k in range(steps.size):
                    a, b, counts = starts[k], starts[k + 1], joint[i, k % n_rows]
                    own = rows[i, a:b]
                    for j in range(max(other, i), until):
                        counts[j] += steps[k] * ones_in_both(own, rows[j, a:b])
            for j in range(other, until):
                for row in range(n_rows):
                    for i in range(first, min(last, j)):
                        joint[j, row, i] = joint[i, row, j]
    return joint


@kernel()
def in_words(rows):
    """Bits of all cuts, and of one that has none left, a word a row."""
    words = np.zeros((rows.shape[1], rows.shape[0] + 1), dtype=np.uint64)
    for cut in range(rows.shape[0]):
        for word in range(rows.shape[1]):
            words[word, cut] = rows[cut, word]
    return words


@kernel()
def counts_with(words, cut, starts, steps, counts):
    """Fill ``counts``, shape (rows of counts, n_cuts), of records left of a cut and each cut."""
    counts[:] = 0
    for k in range(steps.size):
        row = counts[k % counts.shape[0]]
        for word in range(starts[k], starts[k + 1]):
            own, others = words[word, cut], words[word]
            if own > 0:
                for j in range(row.size):
                    row[j] += steps[k] * ones(own & others[j])


@kernel()
def ones_in_both(one, other):
    """Bits that are set in both rows of words."""
    total = np.int64(0)
    for i in range(one.size):
        total += ones(one[i] & other[i])
    return np.int32(total)


@kernel()
def ones(word):
    """Bits that are set.

    Written as sums of pairs, fours and bytes: the compiler has an instruction for that.
    """
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    fours = np.uint64(0x3333333333333333)
    word = (word & fours) + ((word >> np.uint64(2)) & fours)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
