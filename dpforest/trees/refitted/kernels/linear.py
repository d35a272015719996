"""Sums for a linear model on integer designs: each record one small integer a column.

A feature f with code c has value ``value[offsets[f] + c]`` in column ``column[offsets[f] + c]``;
column 0 is the constant, with value ``constant`` for everybody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def gram_sums(
    codes: NDArray,
    offsets: NDArray,
    column: NDArray,
    value: NDArray,
    constant: int,
    out: NDArray,
) -> None:
    """Sum of x x' over records, the upper triangle with the diagonal.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    offsets : int64 array of shape (D + 1,)
    column, value : int64 arrays of shape (total codes,)
        Columns of a later feature are larger.
    constant : int
    out : int64 array of shape (p, p), overwritten
    """
    n, n_features = codes.shape
    places = np.empty(n_features + 1, np.int64)
    values = np.empty(n_features + 1, np.int64)
    places[0] = 0
    values[0] = constant
    out[:] = 0
    for i in range(n):
        for f in range(n_features):
            cell = offsets[f] + np.int64(codes[i, f])
            places[f + 1] = column[cell]
            values[f + 1] = value[cell]
        for a in range(n_features + 1):
            row = out[places[a]]
            for b in range(a, n_features + 1):
                row[places[b]] += values[a] * values[b]


@kernel()
def gradient_sums(
    codes: NDArray,
    offsets: NDArray,
    column: NDArray,
    value: NDArray,
    constant: int,
    residuals: NDArray,
    out: NDArray,
) -> None:
    """Sum of x r' over records.

    Parameters
    ----------
    codes, offsets, column, value, constant
        As in `gram_sums`.
    residuals : int32 array of shape (n, C)
    out : int64 array of shape (p, C), overwritten
    """
    out[:] = 0
    for i in range(codes.shape[0]):
        for k in range(residuals.shape[1]):
            out[0, k] += constant * np.int64(residuals[i, k])
        for f in range(codes.shape[1]):
            cell = offsets[f] + np.int64(codes[i, f])
            row = out[column[cell]]
            for k in range(residuals.shape[1]):
                row[k] += value[cell] * np.int64(residuals[i, k])
