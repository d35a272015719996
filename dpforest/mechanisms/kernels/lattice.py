"""Uniform integers from words, by rejection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

REJECTED = -1

_LARGEST = np.uint64(2**64 - 1)


@kernel()
def uniform_below_rows(
    bounds: NDArray[np.int64], words: NDArray[np.uint64], drawn: NDArray[np.int64]
) -> None:
    """Fill ``drawn`` with word modulo bound, or ``REJECTED`` where that would be biased."""
    for i in range(bounds.size):
        bound = np.uint64(bounds[i])
        # The words above the largest multiple of the bound: 2^64 mod bound of them.
        surplus = (_LARGEST % bound + np.uint64(1)) % bound
        if words[i] > _LARGEST - surplus:
            drawn[i] = REJECTED
        else:
            drawn[i] = np.int64(words[i] % bound)
