"""From noisy leaf sums to steps: post-processing of released values, which costs nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.refitted.kernels.steps import steps_downward, sums_of_nodes

#: A released share may be as good as none, and no step is to be endless.
_LEAST_CURVATURE = 1.0 / 1024.0


def curvature_per_record(n_classes: int) -> float:
    """Second derivative of one record's loss that a Newton step counts on.

    p (1 - p) is 1/4 at most, and about 1/K where many classes are undecided.
    """
    return min(1.0 / n_classes, 0.25)


def curvature_at(base: NDArray[np.float64]) -> float:
    """Second derivative p (1 - p) of one record's loss at the scores that rounds begin with.

    Parameters
    ----------
    base : ndarray of float64, shape (1,)
        Log-odds of the second of two classes, or of a target between its bounds; released.
    """
    share = 1.0 / (1.0 + np.exp(-np.abs(base[0])))
    return max(float(share * (1.0 - share)), _LEAST_CURVATURE)


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
    of_nodes = sums_of_nodes(sums), sums_of_nodes(sizes[:, None])[:, 0]
    steps = steps_downward(*of_nodes, noise, size_noise, curvature, spread)
    return np.clip(steps[n_leaves:], -clip, clip)
