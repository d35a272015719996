"""From noisy leaf sums to steps: post-processing of released values, which costs nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def curvature_per_record(n_classes: int) -> float:
    """Second derivative of one record's loss that a Newton step counts on.

    p (1 - p) is 1/4 at most, and about 1/K where many classes are undecided.
    """
    return min(1.0 / n_classes, 0.25)


def shrunk_steps(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    noise: float,
    size_noise: float,
    curvature: float,
    spread: float,
    clip: float,
) -> NDArray[np.float64]:
    """Newton steps of one tree's leaves, each node shrunk toward its parent by its noise.

    From the root downward a node moves from its parent's step u by (G - u H) w / H with
    H = curvature * size and w = H^2 spread^2 / (H^2 spread^2 + s^2): the posterior mean where
    a node's step differs from its parent's by ``spread`` and its sum G carries noise s.

    Parameters
    ----------
    sums : ndarray of float64, shape (n_leaves, C)
        Noisy residual sums.
    sizes : ndarray of float64, shape (n_leaves,)
        Noisy numbers of records.
    noise, size_noise : float
        Standard deviations of the noise on one leaf's sum and size.
    curvature, spread, clip : float

    Returns
    -------
    ndarray of float64, shape (n_leaves, C)
    """
    n_leaves = sizes.size
    step = np.zeros((1, sums.shape[1]))
    n_nodes = 1
    while n_nodes <= n_leaves:
        below = (n_leaves // n_nodes) ** 0.5
        own_sums = sums.reshape(n_nodes, -1, sums.shape[1]).sum(axis=1)
        own_sizes = sizes.reshape(n_nodes, -1).sum(axis=1)
        if n_nodes > 1:
            step = np.repeat(step, 2, axis=0)
        # A size below its noise says no more than that it is small.
        bend = curvature * np.maximum(own_sizes, size_noise * below)[:, None]
        step = step + (own_sums - step * bend) / (bend + (noise * below / spread) ** 2 / bend)
        n_nodes *= 2
    return np.clip(step, -clip, clip)
