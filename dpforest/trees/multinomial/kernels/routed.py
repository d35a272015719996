"""Counts of a level by routing every record from the root, for records in no order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.records.kernels.histogram import _cell_bases

_BLOCK = 512


@kernel()
def count_left(
    codes: NDArray,
    labels: NDArray,
    rows: NDArray,
    nodes: NDArray,
    offsets: NDArray,
    n_classes: int,
    out: NDArray,
) -> None:
    """Count those of the listed records that lie in left nodes, into the cells of these.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    labels : uint array of shape (n,)
    rows : int32 array of shape (m,)
    nodes : int32 array of shape (m,)
        Node of each listed record in its level; left ones are even, and so is the root.
    offsets : int64 array of shape (D + 1,)
    n_classes : int
    out : int64 array of shape (n_left, offsets[-1], n_classes), added to
    """
    flat_codes = codes.reshape(codes.size)
    cells = out.reshape(out.size)
    width = np.uint64(codes.shape[1])
    n_labels = np.uint64(n_classes)
    size = np.uint64(out.shape[1] * n_classes)
    bases = _cell_bases(offsets, n_classes)
    left = np.empty(_BLOCK, np.int64)
    for first in range(0, rows.shape[0], _BLOCK):
        n_left = 0
        for i in range(first, min(first + _BLOCK, rows.shape[0])):
            # Always written, kept where even: no branch to mispredict.
            left[n_left] = i
            n_left += 1 - (nodes[i] & 1)
        for j in range(n_left):
            place = np.uint64(left[j])
            record = np.uint64(rows[place])
            cell = np.uint64(nodes[place] >> 1) * size + np.uint64(labels[record])
            row = record * width
            for f in range(width):
                cells[cell + bases[f] + np.uint64(flat_codes[row + f]) * n_labels] += 1
