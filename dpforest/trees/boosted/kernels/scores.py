"""Scores of all splits of a level: how far each sends the residuals of a node apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def score_splits(
    sums: NDArray,
    n_columns: int,
    centres: NDArray,
    factors: NDArray,
    starts: NDArray,
    ordered: NDArray,
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    out: NDArray,
) -> None:
    """Score every candidate of every node.

    With x the sum of r - C over the records of a child, the score is half of |x| over both
    children and all classes; |x| without the half where there is one column. All in whole steps,
    times the factor of the node.

    Parameters
    ----------
    sums : int64 array of shape (n_nodes, total bins, W)
        From ``histograms.node_histograms``.
    n_columns : int
        C.
    centres : int64 array of shape (n_nodes, C)
        Where C > 1 each row adds up to nothing.
    factors : int64 array of shape (n_nodes,)
    starts : int64 array of shape (D + 1,)
    ordered : bool array of shape (D,)
    box_low, box_high : int32 arrays of shape (n_nodes, D)
    alive : bool array of shape (n_nodes, total bins)
    out : float64 array of shape (n_nodes, total bins), overwritten
        ``-inf`` where there is no candidate. Below 2**53 for fewer than 2**31 records.
    """
    n_added = max(n_columns - 1, 1)
    whole, left = np.empty(n_added, np.int64), np.empty(n_added, np.int64)
    narrowest = np.diff(starts).argmin()
    halves = 2 if n_columns > 1 else 1
    for node in range(sums.shape[0]):
        centre, factor = centres[node], factors[node]
        _centred_sum(sums[node], starts[narrowest], starts[narrowest + 1], centre, whole)
        for f in range(ordered.size):
            begin, end = starts[f], starts[f + 1]
            out[node, begin:end] = -np.inf
            if ordered[f]:
                low, high = box_low[node, f], box_high[node, f]
                left[:] = 0
                score = _apart(left, whole, n_columns) // halves * factor
                for cell in range(begin + low, begin + high):
                    # Without records it moves nothing, and deep nodes have few of them.
                    if sums[node, cell, n_added] != 0:
                        _add_centred(sums[node, cell], centre, left)
                        score = _apart(left, whole, n_columns) // halves * factor
                    out[node, cell] = score
                continue
            n_alive = 0
            for cell in range(begin, end):
                n_alive += alive[node, cell]
            if n_alive < 2:
                continue
            for cell in range(begin, end):
                if alive[node, cell]:
                    left[:] = 0
                    _add_centred(sums[node, cell], centre, left)
                    out[node, cell] = _apart(left, whole, n_columns) // halves * factor


@kernel(forceinline=True)
def _add_centred(sums: NDArray, centre: NDArray, out: NDArray) -> None:
    """Add the residuals of a bin, each less the centre."""
    records = sums[out.size]
    for k in range(out.size):
        out[k] += sums[k] - centre[k] * records


@kernel()
def _centred_sum(sums: NDArray, begin: int, end: int, centre: NDArray, out: NDArray) -> None:
    """The same of all bins of a feature."""
    out[:] = 0
    for cell in range(begin, end):
        _add_centred(sums[cell], centre, out)


@kernel(forceinline=True)
def _apart(left: NDArray, whole: NDArray, n_columns: int) -> int:
    """L1 of what is left and of what is right; the last of several columns is what others lack."""
    size, near, far = 0, 0, 0
    for k in range(left.size):
        right = whole[k] - left[k]
        size += abs(left[k]) + abs(right)
        near += left[k]
        far += right
    return size + abs(near) + abs(far) if n_columns > 1 else size
