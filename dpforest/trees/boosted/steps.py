"""From released sums of nodes to centres and steps: post-processing, which costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Scales:
    """Size of 1 in the columns of released sums.

    Attributes
    ----------
    residual, curvature, record : float
    """

    residual: float
    curvature: float
    record: float


def centres(sums: NDArray[np.int64], most: int, record: int) -> NDArray[np.int64]:
    """Mean residuals of nodes in whole steps, from their released sums.

    Parameters
    ----------
    sums : ndarray of int64, shape (n_nodes, 2 C + 1)
    most : int
        Largest mean: of one column, or half its L1.
    record : int
        What a record counts for in the last column.

    Returns
    -------
    ndarray of int64, shape (n_nodes, C)
        Where C > 1 each row adds up to nothing.
    """
    n_columns = sums.shape[1] // 2
    means = sums[:, :n_columns] / np.maximum(sums[:, -1:] / record, 1.0)
    if n_columns == 1:
        return np.clip(np.trunc(means), -most, most).astype(np.int64)
    means = means - means.mean(axis=1, keepdims=True)
    sizes = np.abs(means).sum(axis=1, keepdims=True) / 2.0
    rounded = np.trunc(means * np.minimum(1.0, most / np.maximum(sizes, 1.0))).astype(np.int64)
    rounded[:, -1] = -rounded[:, :-1].sum(axis=1)
    return rounded


def combined_levels(
    levels: Sequence[NDArray[np.int64]], variances: Sequence[float]
) -> list[tuple[NDArray[np.float64], float]]:
    """Estimates of every level's sums from its own release and those below it, with variances.

    Parameters
    ----------
    levels : sequence of ndarray of int64, shape (2**l, C)
        Levels 1, 2, … as they were released; the last are the leaves.
    variances : sequence of float
        Of the noise on one sum of each.
    """
    estimate, variance = levels[-1].astype(np.float64), variances[-1]
    found = [(estimate, variance)]
    for own, noise in zip(levels[-2::-1], variances[-2::-1], strict=True):
        below = estimate.reshape(own.shape[0], 2, -1).sum(axis=1)
        weight = 2.0 * variance / (2.0 * variance + noise)
        estimate, variance = weight * own + (1.0 - weight) * below, weight * noise
        found.append((estimate, variance))
    return found[::-1]


def levels_of_leaves(
    leaves: NDArray[np.int64], variance: float
) -> list[tuple[NDArray[np.float64], float]]:
    """Estimates of every level's sums from the leaves alone, with variances.

    Parameters
    ----------
    leaves : ndarray of int64, shape (n_leaves, C)
    variance : float
        Of the noise on one sum.
    """
    found = [(leaves.astype(np.float64), variance)]
    while (below := found[-1][0]).shape[0] > 2:
        found.append((below.reshape(below.shape[0] // 2, 2, -1).sum(axis=1), 2 * found[-1][1]))
    return found[::-1]


def newton_steps(
    estimates: Sequence[tuple[NDArray[np.float64], float]],
    scales: Scales,
    spread: float,
    clip: float,
    residual_share: float = 1.0,
) -> NDArray[np.float64]:
    """Newton steps of a tree's leaves, each node shrunk toward its parent by its noise.

    From the root downward a node moves from its parent's step u by (G - u H) w / H with
    w = H^2 spread^2 / (H^2 spread^2 + s^2): the posterior mean where a node's step differs from
    its parent's by ``spread`` and its sum G carries noise s.

    Parameters
    ----------
    estimates : sequence of (ndarray of float64, shape (2**l, 2 C + 1), float)
        From `combined_levels`.
    scales : Scales
    spread, clip : float
    residual_share : float
        Variance of residual sums as a part of that of the other columns.

    Returns
    -------
    ndarray of float64, shape (n_leaves, C)
    """
    n_columns = estimates[0][0].shape[1] // 2
    step = np.zeros((1, n_columns))
    for sums, variance in estimates:
        noise = variance**0.5
        own = sums[:, :n_columns] / scales.residual
        if n_columns > 1:
            own = own - own.mean(axis=1, keepdims=True)
        # A curvature below its noise says no more than that it is small.
        curvature = np.maximum(sums[:, n_columns:-1], noise) / scales.curvature
        noise *= residual_share**0.5 / scales.residual
        step = np.repeat(step, 2, axis=0)
        step = step + (own - step * curvature) / (curvature + (noise / spread) ** 2 / curvature)
    return np.clip(step, -clip, clip)
