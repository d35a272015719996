"""Exponentials and logarithms of whole blocks, in plain arithmetic that fills vector registers.

The library's ``exp`` and ``log`` are called once a number; these loops have no call and no branch,
so the compiler handles four to eight numbers at a time. Errors are a few times 1e-13, relative for
the exponential and absolute for the logarithm. Results depend on the number alone, not on its
place in a block. Held by tests/trees/random/test_block_math.py.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

_LOG2_E = 1.0 / math.log(2.0)
# ln 2 in two parts: the first has so few digits that small multiples of it are exact.
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
#: Added to a double below 2**51 it leaves the nearest whole number in the lowest bits.
_ROUNDER = 1.5 * 2.0**52
_LEAST = -700.0
_MANTISSA = np.uint64((1 << 52) - 1)
_TWO_52 = 2.0**52
_BITS_OF_TWO_52 = np.uint64(0x433 << 52)
_BITS_OF_ONE = np.uint64(0x3FF << 52)
#: Bits of a double next to the square root of 1/2: mantissas are taken from there to its double.
_BITS_OF_ROOT = np.uint64(0x3FE6A09E667F3BCD)


@kernel()
def exp_of(values: NDArray, scratch: NDArray) -> None:
    """Replace every number by its exponential; numbers below -700 count as -700.

    Parameters
    ----------
    values : float64 array of shape (n,), none above 700, in place
    scratch : float64 array, at least n long, overwritten
    """
    n = values.size
    rest, shifted = values, scratch[:n]
    for i in range(n):
        x = values[i] if values[i] > _LEAST else _LEAST
        whole = x * _LOG2_E + _ROUNDER
        shifted[i] = whole
        times = whole - _ROUNDER
        r = (x - times * _LN2_HIGH) - times * _LN2_LOW
        # Taylor's polynomial; |r| <= ln(2) / 2, so the first term left out is below 2e-14.
        p = 1.0 + r * (1.0 / 10.0 + r * (1.0 / 110.0))
        p = 1.0 + r * (1.0 / 8.0) * (1.0 + r * (1.0 / 9.0) * p)
        p = 1.0 + r * (1.0 / 6.0) * (1.0 + r * (1.0 / 7.0) * p)
        p = 1.0 + r * (1.0 / 4.0) * (1.0 + r * (1.0 / 5.0) * p)
        p = 1.0 + r * (1.0 / 2.0) * (1.0 + r * (1.0 / 3.0) * p)
        rest[i] = 1.0 + r * p
    bits, power = rest.view(np.uint64), shifted.view(np.uint64)
    for i in range(n):
        bits[i] += power[i] << np.uint64(52)


# Without numpy's error model a division is a branch, and the loop is no vector loop.
@kernel(error_model="numpy")
def log_of(values: NDArray, scratch: NDArray) -> None:
    """Replace every number by its natural logarithm.

    Parameters
    ----------
    values : float64 array of shape (n,), positive normal numbers, in place
    scratch : float64 array, at least n long, overwritten
    """
    n = values.size
    exponents = scratch[:n]
    bits, exponent_bits = values.view(np.uint64), exponents.view(np.uint64)
    for i in range(n):
        moved = bits[i] + (_BITS_OF_ONE - _BITS_OF_ROOT)
        exponent_bits[i] = (moved >> np.uint64(52)) | _BITS_OF_TWO_52
        bits[i] = (moved & _MANTISSA) + _BITS_OF_ROOT
    for i in range(n):
        exponent = exponents[i] - (_TWO_52 + 1023.0)
        # log m = 2 atanh(s), |s| <= 0.1716: the first term left out is below 1e-14.
        s = (values[i] - 1.0) / (values[i] + 1.0)
        z = s * s
        p = 1.0 / 13.0 + z * (1.0 / 15.0)
        p = 1.0 / 9.0 + z * (1.0 / 11.0 + z * p)
        p = 1.0 / 5.0 + z * (1.0 / 7.0 + z * p)
        p = 1.0 + z * (1.0 / 3.0 + z * p)
        values[i] = exponent * _LN2_HIGH + (2.0 * s * p + exponent * _LN2_LOW)
