"""Counts of a level by routing every record from the root, for records in no order."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def count_routed(
    codes: NDArray,
    labels: NDArray,
    rows: NDArray,
    nodes: NDArray,
    offsets: NDArray,
    n_classes: int,
    out: NDArray,
) -> None:
    """Count the listed records into the cells of their nodes.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    labels : uint array of shape (n,)
    rows : int32 array of shape (m,)
    nodes : int32 array of shape (m,)
        Node of each listed record in its level.
    offsets : int64 array of shape (D + 1,)
    n_classes : int
    out : int64 array of shape (n_nodes, offsets[-1], n_classes), added to
    """
    for i in range(rows.size):
        record = np.uint64(rows[i])
        cells = out[nodes[i]]
        label = labels[record]
        for f in range(codes.shape[1]):
            cells[offsets[f] + np.int64(codes[record, f]), label] += 1
