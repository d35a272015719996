"""One round of the refitted forest: residuals on a lattice, their sums over candidate leaves."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpforest.learners.kernels.random_trees import descend

_BLOCK = 512


@njit(cache=True, nogil=True)
def lattice_residuals(scores: NDArray, labels: NDArray, steps: int, residuals: NDArray) -> None:
    """Residuals of every record, each rounded toward zero to a multiple of 1 / steps.

    Two classes: one column, r = [y = 1] - p, so ``|r| <= steps``. More: r_k = -floor(p_k steps)
    for k != y, and r_y the sum of the others' sizes, so a row sums to nothing, its positive part
    is at most ``steps`` and its square at most ``2 steps**2``. The sum of the others is at most
    ``steps (1 + K 2**-52)`` before it is rounded and an integer afterwards; the bound is kept
    by force all the same.

    Parameters
    ----------
    scores : float64 array of shape (n, C)
        C = 1 (log-odds of class 1) or K (softmax).
    labels : uint array of shape (n,)
    steps : int
    residuals : int32 array of shape (n, C), overwritten
    """
    n, n_columns = scores.shape
    if n_columns == 1:
        for i in range(n):
            p = 1.0 / (1.0 + np.exp(-scores[i, 0]))
            distance = (1.0 - p) if labels[i] == 1 else p
            # The comparison is false for NaN too, which would break the bound.
            size = np.int32(distance * steps) if 0.0 <= distance <= 1.0 else np.int32(0)
            residuals[i, 0] = size if labels[i] == 1 else -size
        return
    weight = np.empty(n_columns, np.float64)
    for i in range(n):
        top = scores[i, 0]
        for k in range(1, n_columns):
            top = max(top, scores[i, k])
        total = 0.0
        for k in range(n_columns):
            weight[k] = np.exp(scores[i, k] - top)
            total += weight[k]
        room = np.int32(steps)
        label = np.int64(labels[i])
        for k in range(n_columns):
            if k != label:
                share = weight[k] / total
                size = np.int32(share * steps) if 0.0 <= share <= 1.0 else np.int32(0)
                size = min(size, room)
                residuals[i, k] = -size
                room -= size
        residuals[i, label] = steps - room


@njit(cache=True, nogil=True)
def target_residuals(
    scores: NDArray, targets: NDArray, target_steps: int, steps: int, residuals: NDArray
) -> None:
    """Target less expectation of every record, rounded toward zero to a multiple of 1 / steps.

    ``|r| <= steps``, as for two classes; the bound is kept by force.

    Parameters
    ----------
    scores : float64 array of shape (n, 1)
        Log-odds of the expectation between the target's bounds.
    targets : int32 array of shape (n,)
    target_steps, steps : int
    residuals : int32 array of shape (n, 1), overwritten
    """
    for i in range(scores.shape[0]):
        p = 1.0 / (1.0 + np.exp(-scores[i, 0]))
        apart = targets[i] / target_steps - p
        residuals[i, 0] = np.int32(apart * steps) if -1.0 <= apart <= 1.0 else np.int32(0)


@njit(cache=True, nogil=True)
def candidate_sums(
    codes: NDArray, residuals: NDArray, feature: NDArray, mask: NDArray, depth: int, sums: NDArray
) -> None:
    """Residuals summed over the leaves of every candidate tree.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    residuals : int32 array of shape (n, C)
    feature, mask : arrays of shape (m, 2**depth - 1) and (m, 2**depth - 1, W)
    depth : int
    sums : int64 array of shape (m, 2**depth, C), overwritten
    """
    n_columns = residuals.shape[1]
    node = np.empty(_BLOCK, np.int32)
    sums[:] = 0
    for first in range(0, codes.shape[0], _BLOCK):
        count = min(_BLOCK, codes.shape[0] - first)
        for tree in range(feature.shape[0]):
            descend(codes, first, count, feature[tree], mask[tree], depth, node)
            if n_columns == 1:
                for i in range(count):
                    sums[tree, node[i], 0] += residuals[first + i, 0]
            else:
                for i in range(count):
                    for k in range(n_columns):
                        sums[tree, node[i], k] += residuals[first + i, k]


@njit(cache=True, nogil=True)
def leaf_sums(leaves: NDArray, residuals: NDArray, sums: NDArray) -> None:
    """Residuals and records summed over the leaves of one tree.

    Parameters
    ----------
    leaves : int32 array of shape (n,)
    residuals : int32 array of shape (n, C)
    sums : int64 array of shape (2**depth, C + 1), overwritten
        Residual sums, and in the last column the number of records.
    """
    n_columns = residuals.shape[1]
    sums[:] = 0
    for i in range(leaves.size):
        for k in range(n_columns):
            sums[leaves[i], k] += residuals[i, k]
        sums[leaves[i], n_columns] += 1


@njit(cache=True, nogil=True)
def add_steps(leaves: NDArray, steps: NDArray, scores: NDArray) -> None:
    """Add the step of its leaf to every record's scores (n, C), in place."""
    for i in range(leaves.size):
        for k in range(scores.shape[1]):
            scores[i, k] += steps[leaves[i], k]
