"""Regression targets as places between declared bounds, on a public lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.schema import NumericTarget

#: Steps from the lower bound to the upper one. Rounding loses less than a step, far below any
#: noise.
TARGET_STEPS = 2**16


def target_steps(
    numbers: NDArray[np.float64], target: NumericTarget
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Place of each target in whole steps from 0 to ``TARGET_STEPS``, rounded toward 0.

    Parameters
    ----------
    numbers : ndarray of float64, shape (n,)
        Values outside the bounds are clipped.
    target : NumericTarget

    Returns
    -------
    steps : ndarray of int32, shape (n,)
        0 where there is no number. A function of the record's own target alone.
    absent : ndarray of bool, shape (n,)
        Where there is no number.
    """
    absent = np.isnan(numbers)
    inside = np.clip(np.where(absent, target.lower, numbers), target.lower, target.upper)
    # A domain's bounds have a finite difference; halves of tiny ones would both be 0.
    share = (inside - target.lower) / (target.upper - target.lower)
    steps = np.floor(share * TARGET_STEPS)
    return np.clip(steps, 0, TARGET_STEPS).astype(np.int32), absent
