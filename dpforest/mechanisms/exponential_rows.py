"""One draw a row with exponential weights: by a kernel, and exactly where 64 bits do not decide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.slow import finish_exponential

#: Weights of candidates that all count once.
NO_WEIGHTS = np.empty(0, dtype=np.float64)


def draw_exponential_rows(
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    c: float,
    source: RandomSource,
) -> NDArray[np.int64]:
    """Draw candidate j of row i in proportion to ``weights[j] * exp(c * scores[j])``, exactly.

    It pays for nothing: whoever calls it has the grant, or scores that no record reaches.

    Parameters
    ----------
    scores : float64 array, shape (m,)
        Integers; -inf where a candidate is unavailable.
    weights : float64 array of integers, shape (m,) or (0,)
        `NO_WEIGHTS` where every candidate counts once.
    starts, ends : int64 arrays, shape (r,)
        Row i has the candidates ``scores[starts[i]:ends[i]]``.
    c : float
        Not negative.
    source : RandomSource
        One word a row; further words, in the order of rows, for those that 64 bits do not decide.

    Returns
    -------
    int64 array, shape (r,)
        Index relative to the row's start; -1 where no candidate is available.
    """
    from dpforest.mechanisms.kernels.selection import UNDECIDED, select_exponential_rows

    words = source.words(starts.size)
    chosen = np.empty(starts.size, dtype=np.int64)
    if select_exponential_rows(scores, weights, starts, ends, c, words, chosen):
        for i in np.flatnonzero(chosen == UNDECIDED):
            row = slice(starts[i], ends[i])
            factors = weights[row].tolist() if weights.size else None
            chosen[i] = finish_exponential(scores[row].tolist(), factors, c, int(words[i]), source)
    return chosen
