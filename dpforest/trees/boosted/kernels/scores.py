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
    for node in range(sums.shape[0]):
        centre, factor = centres[node], factors[node]
        _centred_sum(sums[node], starts[narrowest], starts[narrowest + 1], centre, whole)
        for f in range(ordered.size):
            cells = sums[node, starts[f] : starts[f + 1]]
            own = out[node, starts[f] : starts[f + 1]]
            own[:] = -np.inf
            if ordered[f]:
                low, high = box_low[node, f], box_high[node, f]
                _score_cuts(cells[low:high], centre, factor, whole, left, n_columns, own[low:high])
            else:
                living = alive[node, starts[f] : starts[f + 1]]
                _score_values(cells, living, centre, factor, whole, left, n_columns, own)


@kernel()
def _score_cuts(
    cells: NDArray,
    centre: NDArray,
    factor: int,
    whole: NDArray,
    left: NDArray,
    n_columns: int,
    out: NDArray,
) -> None:
    """Score the cuts after each bin of an ordered feature; ``left`` is scratch."""
    left[:] = 0
    score = _distance(left, whole, n_columns) * factor
    for cell in range(out.size):
        # Without records it moves nothing, and deep nodes have few of them.
        if cells[cell, left.size] != 0:
            _add_centred(cells[cell], centre, left)
            score = _distance(left, whole, n_columns) * factor
        out[cell] = score


@kernel()
def _score_values(
    cells: NDArray,
    living: NDArray,
    centre: NDArray,
    factor: int,
    whole: NDArray,
    left: NDArray,
    n_columns: int,
    out: NDArray,
) -> None:
    """Score the values of a categorical feature, each against the rest, where there are two."""
    n_living = 0
    for cell in range(out.size):
        n_living += living[cell]
    if n_living < 2:
        return
    for cell in range(out.size):
        if living[cell]:
            left[:] = 0
            _add_centred(cells[cell], centre, left)
            out[cell] = _distance(left, whole, n_columns) * factor


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
def _distance(left: NDArray, whole: NDArray, n_columns: int) -> int:
    """Half the L1 of what is left and of what is right; of one column the whole.

    The last of several columns is what the others lack.
    """
    size, near, far = 0, 0, 0
    for k in range(left.size):
        right = whole[k] - left[k]
        size += abs(left[k]) + abs(right)
        near += left[k]
        far += right
    return (size + abs(near) + abs(far)) // 2 if n_columns > 1 else size
