"""Squared errors of means, counted on a lattice."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def add_squared_errors(
    odds: NDArray[np.float64], targets: NDArray[np.int32], target_steps: int, error_steps: int
) -> int:
    """Sum of squared errors in steps, each rounded up; a record's is between 0 and error_steps.

    Parameters
    ----------
    odds : float64 array, shape (n,)
        Log-odds of the mean.
    targets : int32 array, shape (n,)
        In steps of ``target_steps``.
    """
    total = 0
    for r in range(odds.shape[0]):
        mean = 1.0 / (1.0 + math.exp(-min(max(odds[r], -700.0), 700.0)))
        error = mean - targets[r] / target_steps
        steps = int(math.ceil(error * error * error_steps))
        total += min(max(steps, 0), error_steps)
    return total
