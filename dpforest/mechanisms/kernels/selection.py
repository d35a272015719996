"""Draws from finite sets, decided in doubles where a certified error allows it.

Error bound, with u = 2^-53. A weight is w exp(x), x = c (q - max q) <= 0. Subtraction and
product move x by at most 2.1 u |x|; exp errs by at most 4 ulp = 8 u (libm states less, a
test measures it), the product with w by u. Candidates with x < -700 are given weight zero,
an absolute error below 2^53 e^-700 < 2^-950 of a total that is at least 1. So each other
weight errs by at most (1470 + 9 + 1) u < 2^-42, and n sums by n u more, all positive.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

NONE_AVAILABLE = -1
UNDECIDED = -2

_U = 2.0**-53
_WEIGHT_ERROR = 2.0**-42
_SMALLEST_EXPONENT = -700.0
_TO_UNIT = 2.0**-64
_LN_2_64 = 64 * math.log(2.0)


@kernel()
def select_exponential_rows(
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    c: float,
    words: NDArray[np.uint64],
    chosen: NDArray[np.int64],
) -> int:
    """Draw one candidate a row with probability proportional to w exp(c (q - max q)).

    ``weights`` is empty for all ones. Fills ``chosen`` with the index relative to the start,
    ``NONE_AVAILABLE`` or ``UNDECIDED``; returns the number of undecided rows.
    """
    weighted = weights.size > 0
    longest = 0
    for i in range(starts.size):
        longest = max(longest, ends[i] - starts[i])
    cumulated = np.empty(longest, dtype=np.float64)
    n_undecided = 0
    for i in range(starts.size):
        start = starts[i]
        n = ends[i] - start
        top = -np.inf
        last = -1
        for j in range(n):
            if scores[start + j] > -np.inf and (not weighted or weights[start + j] > 0.0):
                last = j
                if scores[start + j] > top:
                    top = scores[start + j]
        if last < 0:
            chosen[i] = NONE_AVAILABLE
            continue
        total = 0.0
        for j in range(n):
            x = c * (scores[start + j] - top)
            # An unavailable candidate has x = -inf (or weight zero), so it adds nothing.
            if x >= _SMALLEST_EXPONENT:
                weight = math.exp(x) if x < 0.0 else 1.0
                total += weight * weights[start + j] if weighted else weight
            cumulated[j] = total
        target = float(words[i]) * _TO_UNIT * total
        # Errors of the sums and of the target, and the width 2^-64 of the uniform itself.
        slack = total * (2.5 * (_WEIGHT_ERROR + (n + 8) * _U) + 2.0**-50)
        # The answer lies between the first sum that may and the first that must exceed it.
        low = 0
        while low < last and cumulated[low] < target - slack:
            low += 1
        # Leading unavailable candidates have sum zero; later ones never end a search, since
        # their sum equals the one before.
        while not scores[start + low] > -np.inf or (weighted and weights[start + low] <= 0.0):
            low += 1
        high = low
        while high < last and cumulated[high] <= target + slack:
            high += 1
        if low == high:
            chosen[i] = low
        else:
            chosen[i] = UNDECIDED
            n_undecided += 1
    return n_undecided


@kernel()
def select_noisy_maximum_rows(
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    c: float,
    words: NDArray[np.uint64],
    chosen: NDArray[np.int64],
) -> int:
    """Find the candidate with the largest c (q - max q) - ln U in each row, one word a candidate.

    ``words`` holds the words of the rows one after the other, without gaps. U lies in
    [word, word + 1] / 2^64, so each key lies in an interval. Decided where the key with the
    largest upper end has a lower end above all other upper ends.
    """
    n_undecided = 0
    used = 0
    for i in range(starts.size):
        start = starts[i]
        # words[j + shift] belongs to candidate j.
        shift = used - start
        used += ends[i] - start
        top = -np.inf
        for j in range(start, ends[i]):
            if scores[j] > top:
                top = scores[j]
        if top == -np.inf:
            chosen[i] = NONE_AVAILABLE
            continue
        best = -1
        best_low = -np.inf
        best_high = -np.inf
        second_high = -np.inf
        for j in range(start, ends[i]):
            if not scores[j] > -np.inf:
                continue
            x = c * (scores[j] - top)
            # log errs by 4 ulp of at most 44.4, that is 256 u; word, x and the sums add theirs.
            error = _U * (400.0 + 8.0 * abs(x))
            word = float(words[j + shift])
            if word == 0.0:
                low, high = x + _LN_2_64 - error, np.inf
            else:
                middle = x - math.log(word * _TO_UNIT)
                high = middle + error
                low = middle - error - 1.0 / word
            if high > best_high:
                second_high = best_high
                best, best_low, best_high = j, low, high
            elif high > second_high:
                second_high = high
        if best_low > second_high:
            chosen[i] = best - start
        else:
            chosen[i] = UNDECIDED
            n_undecided += 1
    return n_undecided
