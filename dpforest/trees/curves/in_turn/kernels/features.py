"""Sums over the bins of one feature."""

from __future__ import annotations

from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def bin_sums(codes: NDArray, of_code: NDArray, rows: NDArray, out: NDArray) -> None:
    """Sum the first columns of records' rows over the bins of one feature.

    Parameters
    ----------
    codes : uint array of shape (n,)
        Of one feature.
    of_code : int64 array of shape (codes of the feature,)
        Bin of each.
    rows : int32 array of shape (n, at least C)
    out : int64 array of shape (n_bins, C), overwritten
    """
    out[:] = 0
    for i in range(codes.size):
        sums = out[of_code[codes[i]]]
        for k in range(sums.size):
            sums[k] += rows[i, k]
