"""Worth of the codes of records, added to their scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def add_code_values(codes: NDArray, offsets: NDArray, values: NDArray, scores: NDArray) -> None:
    """Add what every record's codes are worth to its scores.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    offsets : int64 array of shape (D + 1,)
    values : float64 array of shape (total codes, C)
    scores : float64 array of shape (n, C), added to
    """
    for i in range(codes.shape[0]):
        for f in range(codes.shape[1]):
            cell = offsets[f] + np.int64(codes[i, f])
            for k in range(scores.shape[1]):
                scores[i, k] += values[cell, k]
