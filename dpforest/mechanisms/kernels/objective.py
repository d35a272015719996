"""Sums over records that the minimum of a noisy objective needs: scores, slopes and curvatures.

A record has at most two columns of each feature: code c of feature f is in the columns
``columns[offsets[f] + c]`` with the values ``values[offsets[f] + c]``. The last column is the
constant.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.mechanisms.kernels.double_double import add, logistic, multiply

#: A slope stays at its clip from this many clips on; below it is u - (4 / 27) u^3.
KNEE = 1.5
_THIRD_HI, _THIRD_LO = 0.14814814814814814, 8.22387425648264e-18  # 4 / 27


@kernel()
def add_scores(
    codes: NDArray[np.unsignedinteger],
    offsets: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Add to each record's score what its columns are worth."""
    last = weights[weights.size - 1]
    for i in range(codes.shape[0]):
        total = last
        for f in range(codes.shape[1]):
            code = offsets[f] + codes[i, f]
            total += weights[columns[code, 0]] * values[code, 0]
            total += weights[columns[code, 1]] * values[code, 1]
        scores[i] += total


@kernel()
def slopes_and_curvatures(
    scores: NDArray[np.float64],
    targets: NDArray[np.float64],
    clip: float,
    slopes: NDArray[np.float64],
    curvatures: NDArray[np.float64],
) -> None:
    """Slope of each record's loss in its score, and how fast it grows; in doubles."""
    for i in range(scores.size):
        p = 1.0 / (1.0 + math.exp(-min(max(scores[i], -500.0), 500.0)))
        u = min(max((p - targets[i]) / clip, -KNEE), KNEE)
        slopes[i] = clip * (u - u * u * u * (4.0 / 27.0))
        curvatures[i] = max(1.0 - u * u * (4.0 / 9.0), 0.0) * p * (1.0 - p)


@kernel()
def add_slopes(
    codes: NDArray[np.unsignedinteger],
    offsets: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    slopes: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add the slopes of all records in all columns to sums; in doubles."""
    total = 0.0
    for i in range(codes.shape[0]):
        for f in range(codes.shape[1]):
            code = offsets[f] + codes[i, f]
            sums[columns[code, 0]] += slopes[i] * values[code, 0]
            sums[columns[code, 1]] += slopes[i] * values[code, 1]
        total += slopes[i]
    sums[sums.size - 1] += total


@kernel()
def fill_rows(
    codes: NDArray[np.unsignedinteger],
    offsets: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    sizes: NDArray[np.float64],
    rows: NDArray[np.float64],
) -> None:
    """Fill a row a record with what it is in every column, so many times; in doubles."""
    constant = rows.shape[1] - 1
    rows[:] = 0.0
    for i in range(codes.shape[0]):
        for f in range(codes.shape[1]):
            code = offsets[f] + codes[i, f]
            rows[i, columns[code, 0]] += sizes[i] * values[code, 0]
            rows[i, columns[code, 1]] += sizes[i] * values[code, 1]
        rows[i, constant] = sizes[i]


@kernel()
def _slope(z_hi: float, z_lo: float, target: float, clip: float) -> tuple[float, float]:
    """Slope of a loss at a score, in two doubles."""
    p_hi, p_lo = logistic(z_hi, z_lo)
    r_hi, r_lo = add(p_hi, p_lo, -target, 0.0)
    u_hi, u_lo = r_hi / clip, r_lo / clip
    if u_hi >= KNEE:
        return clip, 0.0
    if u_hi <= -KNEE:
        return -clip, 0.0
    c_hi, c_lo = multiply(u_hi, u_lo, u_hi, u_lo)
    c_hi, c_lo = multiply(c_hi, c_lo, u_hi, u_lo)
    c_hi, c_lo = multiply(c_hi, c_lo, _THIRD_HI, _THIRD_LO)
    s_hi, s_lo = add(u_hi, u_lo, -c_hi, -c_lo)
    return s_hi * clip, s_lo * clip


@kernel()
def add_gradient(
    codes: NDArray[np.unsignedinteger],
    offsets: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    targets: NDArray[np.float64],
    start: float,
    clip: float,
    weights: NDArray[np.float64],
    rests: NDArray[np.float64],
    hi: NDArray[np.float64],
    lo: NDArray[np.float64],
) -> None:
    """Add the slopes of all records in all columns to sums of two doubles.

    Weights are numbers of two doubles: ``weights`` and ``rests``. Values, targets, the start and
    the clip are taken as they stand, and the clip is a power of two, so that dividing by it loses
    nothing. How far sums may be off: `ClippedLosses.gradient_error`.
    """
    constant = weights.size - 1
    for i in range(codes.shape[0]):
        z_hi, z_lo = add(start, 0.0, weights[constant], rests[constant])
        for f in range(codes.shape[1]):
            code = offsets[f] + codes[i, f]
            for side in range(2):
                k = columns[code, side]
                p_hi, p_lo = multiply(weights[k], rests[k], values[code, side], 0.0)
                z_hi, z_lo = add(z_hi, z_lo, p_hi, p_lo)
        s_hi, s_lo = _slope(z_hi, z_lo, targets[i], clip)
        for f in range(codes.shape[1]):
            code = offsets[f] + codes[i, f]
            for side in range(2):
                if values[code, side] != 0.0:
                    p_hi, p_lo = multiply(s_hi, s_lo, values[code, side], 0.0)
                    k = columns[code, side]
                    hi[k], lo[k] = add(hi[k], lo[k], p_hi, p_lo)
        hi[constant], lo[constant] = add(hi[constant], lo[constant], s_hi, s_lo)


@kernel()
def add_ridge(
    ridge: NDArray[np.float64],
    weights: NDArray[np.float64],
    rests: NDArray[np.float64],
    hi: NDArray[np.float64],
    lo: NDArray[np.float64],
) -> None:
    """Add ridge times weight, a number of two doubles, to each sum of two doubles."""
    for k in range(weights.size):
        p_hi, p_lo = multiply(weights[k], rests[k], ridge[k], 0.0)
        hi[k], lo[k] = add(hi[k], lo[k], p_hi, p_lo)


@kernel()
def add_to(
    weights: NDArray[np.float64],
    rests: NDArray[np.float64],
    more: NDArray[np.float64],
    more_rests: NDArray[np.float64],
) -> None:
    """Add numbers of two doubles to others, each to its own."""
    for k in range(weights.size):
        weights[k], rests[k] = add(weights[k], rests[k], more[k], more_rests[k])
