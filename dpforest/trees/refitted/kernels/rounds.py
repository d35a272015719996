"""One round of the refitted forest: residuals and records summed over leaves, steps of records.

Residuals of several classes add up to nothing over a record, so the last column is what the others
lack, of sums too. The others and the count of records are added two at a time, as halves of a word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.kernels.vectors import WIDTH, add_four
from dpforest.trees.random.kernels.slots import find_slots, scratch_for

#: Largest size of a residual: so many of ``RUN`` records in a lane stay within half a word.
LARGEST = 2**16
RUN = 2**14
#: Records that a tree looks at before the next one does.
_GROUP = 4096
_HALF = np.int64(32)
_ONE, _LANES, _FOUR = np.uint64(1), np.uint64(2), np.uint64(WIDTH)


@kernel()
def _n_words(n_columns: int) -> int:
    """Words for residuals and count of a record: 1, 2 or a multiple of 4, as are added at once."""
    words = (max(n_columns - 1, 1) + 2) // 2
    return words if words <= 2 else (words + 3) // 4 * 4


@kernel()
def _n_lanes(n_words: int) -> int:
    """Sums of a slot that take turns: fewer where one is as much work as waiting for the last."""
    return 4 // n_words if n_words < WIDTH else 2


@kernel()
def _pack(residuals: NDArray, first: int, count: int, out: NDArray) -> None:
    """A record's words: residuals but for the last of several, then 1; low halves come first.

    ``out`` has shape (n_planes, n, words of a plane).
    """
    n_added, width = max(1, residuals.shape[1] - 1), out.shape[2]
    for plane in range(out.shape[0]):
        own = out[plane]
        for i in range(count):
            row = residuals[first + i]
            for w in range(width):
                k = 2 * (plane * width + w)
                own[i, w] = _half(row, k, n_added) + (_half(row, k + 1, n_added) << _HALF)


@kernel()
def _half(residuals: NDArray, k: int, n_added: int) -> np.int64:
    """A residual of a record, after the last of them 1, and then nothing."""
    return np.int64(residuals[k]) if k < n_added else np.int64(k == n_added)


@kernel()
def _unpack(slots: NDArray, first: int, leaf: NDArray, sums: NDArray) -> None:
    """Add packed sums of slots, all lanes, to the sums of their leaves, and clear them."""
    n_columns, lanes = sums.shape[1] - 1, _n_lanes(slots.shape[2])
    n_added = max(1, n_columns - 1)
    for plane in range(slots.shape[0]):
        before = 2 * plane * slots.shape[2]
        for place in range(lanes * leaf.size):
            own, row = sums[leaf[place // lanes]], slots[plane, lanes * first + place]
            for k in range(before, min(before + 2 * row.size, n_added + 1)):
                word = row[(k - before) >> 1]
                low = np.int64(np.int32(word & np.int64(0xFFFFFFFF)))
                size = (word - low) >> _HALF if k & 1 else low
                if k == n_added:
                    own[n_columns] += size
                else:
                    own[k] += size
                    if n_columns > 1:
                        own[n_columns - 1] -= size
            row[:] = 0


@kernel()
def _add(slots: NDArray, slot: NDArray, count: int, words: NDArray) -> None:
    """Add the words of ``count`` records to their slots; a plane of 1, 2 or 4 words.

    Neighbours go to lanes of their own: one that lands in the slot of the one before would have to
    wait for its sum.
    """
    n_words = slots.shape[1]
    if n_words == 1:
        for i in range(0, count - 3, 4):
            for lane in range(4):
                slots[4 * np.uint64(slot[i + lane]) + lane, 0] += words[i + lane, 0]
        for i in range(count - count % 4, count):
            slots[4 * np.uint64(slot[i]), 0] += words[i, 0]
    elif n_words == 2:
        for i in range(count):
            row, own = slots[2 * np.uint64(slot[i]) + (i & 1)], words[i]
            low, high = row[0] + own[0], row[1] + own[1]
            row[0], row[1] = low, high
    else:
        sums, added = slots.reshape(slots.size), words.reshape(words.size)
        for i in range(count):
            place = _LANES * np.uint64(slot[i]) + (np.uint64(i) & (_LANES - _ONE))
            add_four(sums, _FOUR * place, added, _FOUR * np.uint64(i))


@kernel()
def leaf_sums(
    codes: NDArray, columns: NDArray, residuals: NDArray, feature: NDArray, mask: NDArray,
    depth: int, prepared: tuple[NDArray, ...], sums: NDArray,
) -> None:  # fmt: skip
    """Residuals and records summed over the leaves of every tree.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    columns : uint array of shape (D, n), C order
        The same, a feature a row.
    residuals : int32 array of shape (n, C)
        None above ``LARGEST`` in size; where C > 1 a record's add up to nothing.
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    depth : int
        At most 16.
    prepared : tuple of arrays
        From ``slots.slot_tables``.
    sums : int64 array of shape (m, 2**depth, C + 1), overwritten
        Residual sums, and in the last column the number of records.
    """
    n_records, n_columns = residuals.shape
    starts, leaf = prepared[5], prepared[6]
    n_words = _n_words(n_columns)
    width = min(n_words, WIDTH)
    # Words of many classes lie in planes of four, each of which is gone through by itself.
    words = np.empty((n_words // width, _GROUP, width), np.int64)
    lanes = _n_lanes(width)
    slots = np.zeros((words.shape[0], lanes * leaf.size, width), np.int64)
    slot, scratch = np.empty(_GROUP, np.uint16), scratch_for(_GROUP)
    sums[:] = 0
    for first in range(0, n_records, _GROUP):
        last = min(first + _GROUP, n_records)
        _pack(residuals, first, last - first, words)
        ends = last == n_records or last % (lanes * RUN) == 0
        for tree in range(feature.shape[0]):
            a, b = starts[tree], starts[tree + 1]
            find_slots(
                codes, columns, first, last - first, tree, feature, mask, depth, prepared, scratch,
                slot,
            )  # fmt: skip
            for plane in range(words.shape[0]):
                own = slots[plane, lanes * a : lanes * b]
                _add(own, slot, last - first, words[plane])
            if ends:
                _unpack(slots, a, leaf[a:b], sums[tree])


@kernel()
def chosen_leaves(
    codes: NDArray, columns: NDArray, feature: NDArray, mask: NDArray, depth: int,
    prepared: tuple[NDArray, ...], out: NDArray,
) -> None:  # fmt: skip
    """Leaf number of every record in one tree.

    Parameters
    ----------
    codes, columns, prepared : arrays, tuple of arrays
        As for :func:`leaf_sums`.
    feature, mask : arrays of shape (1, 2**depth - 1) and (1, 2**depth - 1, W)
    depth : int
    out : int32 array of shape (n,), overwritten
    """
    leaf = prepared[6]
    slot, scratch = np.empty(_GROUP, np.uint16), scratch_for(_GROUP)
    for first in range(0, out.size, _GROUP):
        count = min(_GROUP, out.size - first)
        find_slots(
            codes, columns, first, count, np.int64(0), feature, mask, depth, prepared, scratch, slot
        )
        for i in range(count):
            out[first + i] = leaf[np.uint64(slot[i])]


@kernel()
def add_steps(leaves: NDArray, steps: NDArray, scores: NDArray) -> None:
    """Add the step of its leaf to every record's scores (n, C), in place."""
    for i in range(leaves.size):
        for k in range(scores.shape[1]):
            scores[i, k] += steps[leaves[i], k]
