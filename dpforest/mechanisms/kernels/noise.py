"""Integer noise from words, decided in doubles where a certified error allows it.

-ln U is computed from the double nearest to a word (off by 1 + 1/word at most, in units of
u = 2^-53 and of U itself) with log within 4 ulp of at most 44.4, that is 256 u; the sums that
follow add less than 5 u of their value. ``_LOG_ERROR`` covers them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

#: Marks a value, and an attempt, that doubles do not decide.
UNDECIDED = -(2**63)

ACCEPTED = 0
REJECTED = 1
OPEN_PROPOSAL = 2
OPEN_ACCEPTANCE = 3

_U = 2.0**-53
_LOG_ERROR = 600.0 * _U
_LARGEST = 2.0**52


@kernel()
def _two_sided_geometric(word: np.uint64, a: float, constant: float) -> int:
    """Return k with P(k) proportional to exp(-a |k|), or ``UNDECIDED``.

    The last bit is the sign, the other 63 a uniform V; |k| = floor((constant - ln V) / a)
    with constant = ln 2 - ln(1 + e^-a).
    """
    v = float(word >> np.uint64(1))
    if v == 0.0:
        return UNDECIDED
    numerator = constant - math.log(v * 2.0**-63)
    error = _LOG_ERROR + 8.0 * _U * numerator
    high = (numerator + error) / a
    if not high < _LARGEST:
        return UNDECIDED
    # The true value is positive and at most ``high``, so both floors are not -1.
    magnitude = math.floor(high)
    if magnitude != math.floor((numerator - error - 1.0 / v) / a):
        return UNDECIDED
    return -int(magnitude) if word & np.uint64(1) else int(magnitude)


@kernel()
def two_sided_geometric_values(
    a: float, constant: float, words: NDArray[np.uint64], noise: NDArray[np.int64]
) -> int:
    """Fill ``noise`` with one draw a word or ``UNDECIDED``; return how many are undecided."""
    n_undecided = 0
    for i in range(words.size):
        noise[i] = _two_sided_geometric(words[i], a, constant)
        if noise[i] == UNDECIDED:
            n_undecided += 1
    return n_undecided


@kernel()
def discrete_gaussian_attempts(
    sigma_squared: float,
    a: float,
    constant: float,
    words: NDArray[np.uint64],
    noise: NDArray[np.int64],
    state: NDArray[np.int64],
) -> None:
    """Make one attempt at each value: a geometric proposal, accepted with exp(-gamma).

    gamma = (|k| - a sigma^2)^2 / (2 sigma^2). ``words`` has shape (n, 2); ``noise`` gets the
    proposal and ``state`` what became of it.
    """
    peak = a * sigma_squared
    for i in range(noise.size):
        k = _two_sided_geometric(words[i, 0], a, constant)
        noise[i] = k
        if k == UNDECIDED:
            state[i] = OPEN_PROPOSAL
            continue
        distance = abs(abs(float(k)) - peak)
        gamma = distance * distance / (2.0 * sigma_squared)
        error = _LOG_ERROR + 2.0 * _U * (distance * (peak + distance) / sigma_squared + 4.0 * gamma)
        word = float(words[i, 1])
        if word == 0.0:
            state[i] = OPEN_ACCEPTANCE
            continue
        high = -math.log(word * 2.0**-64)
        low = high - 1.0 / word
        if low > gamma + error:
            state[i] = ACCEPTED
        elif high < gamma - error:
            state[i] = REJECTED
        else:
            state[i] = OPEN_ACCEPTANCE
