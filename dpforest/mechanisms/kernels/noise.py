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
        state[i] = _acceptance(words[i, 1], gamma, error)


@kernel()
def _acceptance(word: np.uint64, gamma: float, error: float) -> int:
    """Accept with exp(-gamma), where gamma and a logarithm err by at most so much together."""
    uniform = float(word)
    if uniform == 0.0:
        return OPEN_ACCEPTANCE
    high = -math.log(uniform * 2.0**-64)
    if high - 1.0 / uniform > gamma + error:
        return ACCEPTED
    return REJECTED if high < gamma - error else OPEN_ACCEPTANCE


@kernel()
def zero_sum_attempts(
    a: float,
    constant: float,
    words: NDArray[np.uint64],
    noise: NDArray[np.int64],
    state: NDArray[np.int64],
) -> None:
    """Make one attempt at each row: all numbers but the last are drawn, which is less their sum.

    It is accepted with exp(-a |last|). ``words`` and ``noise`` have shape (n, C), C >= 2; a row's
    last word accepts it. ``state`` gets what became of it.
    """
    last = noise.shape[1] - 1
    for i in range(noise.shape[0]):
        total = 0
        for k in range(last):
            own = _two_sided_geometric(words[i, k], a, constant)
            # Sums up to this are whole numbers in doubles, too.
            if own == UNDECIDED or abs(total) > _LARGEST:
                total = UNDECIDED
                break
            noise[i, k] = own
            total += own
        if total == UNDECIDED:
            state[i] = OPEN_PROPOSAL
            continue
        noise[i, last] = -total
        gamma = a * abs(float(total))
        state[i] = _acceptance(words[i, last], gamma, _LOG_ERROR + 4.0 * _U * gamma)
