"""Places of values among ascending edges: a search of all of a block at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

_BLOCK = 256


@kernel()
def find_places(padded: NDArray, values: NDArray, out: NDArray) -> None:
    """Count the edges below each value, as ``numpy.searchsorted`` does.

    A value's steps wait for each other, those of a block's values do not: so each step is taken
    for the whole block, in vectors and without a branch.

    Parameters
    ----------
    padded : float64 array of shape (2**k - 1,), ascending
        The edges, then infinities.
    values : float64 array of shape (n,)
        NaN lies below all edges.
    out : int64 array of shape (n,), overwritten
    """
    place = np.empty(_BLOCK, np.uint32)
    one = np.uint32(1)
    for first in range(0, values.size, _BLOCK):
        count = min(_BLOCK, values.size - first)
        place[:] = 0
        step = np.uint32((padded.size + 1) >> 1)
        while step > 0:
            for i in range(count):
                further = place[i] + step
                below = padded[np.uint64(further - one)] < values[first + i]
                place[i] = further if below else place[i]
            step >>= one
        for i in range(count):
            out[first + i] = place[i]


def padded_edges(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges filled up with infinities to one less than a power of two."""
    padded = np.full((1 << int(edges.size).bit_length()) - 1, np.inf)
    padded[: edges.size] = edges
    return padded
