"""Checks of rows that are cheap enough for every draw."""

from __future__ import annotations

from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def rows_lie_within(starts: NDArray, ends: NDArray, size: int) -> bool:
    """Say if 0 <= start <= end <= ``size`` in every row (int64 arrays of shape (r,))."""
    for i in range(starts.size):
        if starts[i] < 0 or starts[i] > ends[i] or ends[i] > size:
            return False
    return True
