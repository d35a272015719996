"""Steps of leaves, made of released sums: from the root downward, a level at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel()
def steps_downward(
    sums: NDArray, sizes: NDArray, noise: float, size_noise: float, curvature: float,
    spread: float,
) -> NDArray:  # fmt: skip
    """Steps of the nodes of a tree, each moved from its parent's, which comes before it.

    Parameters
    ----------
    sums : float64 array of shape (2 n_leaves, C)
        Of node i in row i, the root in row 1; leaves last.
    sizes : float64 array of shape (2 n_leaves,)
    noise, size_noise : float
        Standard deviations of the noise on one leaf's sum and size.
    curvature, spread : float

    Returns
    -------
    float64 array of shape (2 n_leaves, C)
    """
    steps = np.zeros_like(sums)
    n_leaves = sizes.size // 2
    first = 1
    while first <= n_leaves:
        below = (n_leaves // first) ** 0.5
        for node in range(first, 2 * first):
            # A size below its noise says no more than that it is small.
            bend = curvature * max(sizes[node], size_noise * below)
            held = bend + (noise * below / spread) ** 2 / bend
            for k in range(sums.shape[1]):
                before = steps[node >> 1, k]
                steps[node, k] = before + (sums[node, k] - before * bend) / held
        first *= 2
    return steps


@kernel()
def sums_of_nodes(leaves: NDArray) -> NDArray:
    """Sums of all nodes, shape (2 n_leaves, C), of those of the leaves, shape (n_leaves, C)."""
    n_leaves = leaves.shape[0]
    sums = np.zeros((2 * n_leaves, leaves.shape[1]))
    sums[n_leaves:] = leaves
    for node in range(n_leaves - 1, 0, -1):
        for k in range(leaves.shape[1]):
            sums[node, k] = sums[2 * node, k] + sums[2 * node + 1, k]
    return sums
