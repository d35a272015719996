"""Squared errors of means, counted on a lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.block_math import exp_of

_BLOCK = 512
#: Log-odds beyond which a mean is at a bound.
_MOST = 700.0


@kernel(error_model="numpy")
def add_squared_errors(
    odds: NDArray[np.float64], targets: NDArray[np.int32], target_steps: int, error_steps: int
) -> np.int64:
    """Sum of squared errors in steps, each rounded up; a record's is between 0 and error_steps.

    Parameters
    ----------
    odds : float64 array, shape (n,)
        Log-odds of the mean.
    targets : int32 array, shape (n,)
        In steps of ``target_steps``.
    """
    total = np.int64(0)
    raised, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, odds.shape[0], _BLOCK):
        count = min(_BLOCK, odds.shape[0] - first)
        for i in range(count):
            raised[i] = min(-odds[first + i], _MOST)
        exp_of(raised[:count], scratch)
        for i in range(count):
            error = 1.0 / (1.0 + raised[i]) - targets[first + i] / target_steps
            # By force: the range of a record's part rests on it. False for NaN too.
            part = error * error if error * error <= 1.0 else 1.0
            total += min(np.int64(np.ceil(part * error_steps)), np.int64(error_steps))
    return total
