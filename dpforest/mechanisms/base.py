"""Exact parameters as doubles, and checks of arrays: what every mechanism needs.

A mechanism is a function of secret arrays, a grant and a source. It consumes the grant first, and
reads its parameters from the event that the grant carries, which is the one that was paid for.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.accounting.losses import Amount
from dpforest.accounting.rationals import float_down
from dpforest.exceptions import ParameterError

_Ratio = tuple[int, int]


def public_candidates(scores: Any, starts: Any, ends: Any, *_: Any, **__: Any) -> Any:
    """Public part of a selection's arguments: its rows, and the candidates that are there."""
    return np.isneginf(np.asarray(scores, dtype=np.float64)), np.asarray(starts), np.asarray(ends)


def public_shape(counts: Any, *_: Any, **__: Any) -> Any:
    """Public part of a table of counts: its shape."""
    return np.shape(counts)


def exponent(epsilon: Amount, divisor: Fraction, unit: Fraction) -> float:
    """Return the largest double that is not larger than epsilon / divisor * unit.

    Rounded down the draw is less sharp, so it costs no more than was paid. Zero is a fine
    exponent for a selection (uniform), not for noise.
    """
    if isinstance(epsilon, float):  # infinite
        return float_down(epsilon)
    # Hashing a rational takes a modular inverse; a pair of integers does as well.
    ratios = (epsilon.as_integer_ratio(), divisor.as_integer_ratio(), unit.as_integer_ratio())
    return _exponent(*ratios)


@lru_cache(maxsize=1024)
def _exponent(epsilon: _Ratio, divisor: _Ratio, unit: _Ratio) -> float:
    return float_down(Fraction(*epsilon) / Fraction(*divisor) * Fraction(*unit))


@lru_cache(maxsize=1024)
def variance(sigma_squared: Fraction) -> float:
    """Return the smallest double that is not smaller: rounded up the noise is not less.

    Raises
    ------
    ParameterError
        When no finite positive double is.
    """
    rounded = -float_down(-sigma_squared)
    if not 0 < rounded < math.inf:
        raise ParameterError(
            "sigma_squared", rounded, "must round to a finite positive double", "Change the budget"
        )
    return rounded


def as_rows(
    scores: ArrayLike, starts: ArrayLike, ends: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Fix dtypes and check that every row lies inside ``scores``; looks at no score.

    Raises
    ------
    ParameterError
        When starts and ends differ in shape or a row does not lie inside ``scores``.
    """
    from dpforest.mechanisms.kernels.rows import rows_lie_within

    flat = np.ascontiguousarray(scores, dtype=np.float64)
    first = np.ascontiguousarray(starts, dtype=np.int64)
    last = np.ascontiguousarray(ends, dtype=np.int64)
    # The kernels check no bounds, so a bad row would read foreign memory.
    if flat.ndim != 1 or first.ndim != 1 or first.shape != last.shape:
        raise ParameterError(
            "starts",
            first.shape,
            f"scores {flat.shape}, starts and ends {last.shape} must be 1-D, the last two alike",
            "Give one start and one end for each row",
        )
    if not rows_lie_within(first, last, flat.size):
        raise ParameterError(
            "ends",
            int(last.max()),
            f"rows must satisfy 0 <= start <= end <= {flat.size}",
            "Give rows that lie inside scores",
        )
    return flat, first, last
