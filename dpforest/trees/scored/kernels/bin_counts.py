"""Number of records in every bin of every feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def count_bins(codes: NDArray, offsets: NDArray, of_code: NDArray, starts: NDArray) -> NDArray:
    """Number of records in every bin, int64 of shape (total bins,)."""
    counts = np.zeros(starts[-1], np.int64)
    for i in range(codes.shape[0]):
        for f in range(codes.shape[1]):
            counts[starts[f] + of_code[offsets[f] + np.int64(codes[i, f])]] += 1
    return counts
