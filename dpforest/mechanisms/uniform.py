"""Uniform draws over public candidates: no record is read, so nothing is paid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.exponential_rows import NO_WEIGHTS, draw_exponential_rows
from dpforest.observation import observed


@observed(lambda available, starts, ends, source: (available, starts, ends))
def select_uniform(
    available: NDArray[np.bool_],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    source: RandomSource,
) -> NDArray[np.int64]:
    """Draw one available candidate a row, each with the same probability, exactly.

    Parameters
    ----------
    available : bool array, shape (m,)
        Which candidates public facts leave; must not depend on records.
    starts, ends : int64 arrays, shape (r,)
        Row i has the candidates ``available[starts[i]:ends[i]]``.
    source : RandomSource
        One word a row, further ones where 64 bits do not decide.

    Returns
    -------
    int64 array, shape (r,)
        Index relative to the row's start; -1 where no candidate is available.

    Notes
    -----
    **Claim**: 0-DP, since the distribution is a function of public facts alone. It is the
    exponential mechanism at epsilon 0. **Tests**: tests/mechanisms/test_uniform.py.
    """
    scores = np.where(available, 0.0, -np.inf)
    return draw_exponential_rows(scores, NO_WEIGHTS, starts, ends, 0.0, source)
