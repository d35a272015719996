"""Residuals and curvatures of records on a lattice of whole numbers, made of their scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.scored.kernels.residuals import clipped_steps, expectations, exponentials

_BLOCK = 512


@kernel(error_model="numpy")
def class_gradients(
    scores: NDArray,
    labels: NDArray,
    steps: int,
    most: int,
    square: int,
    bend_steps: int,
    rows: NDArray,
) -> None:
    """Clipped residuals and curvatures of every record of more than two classes, rounded to zero.

    Residuals are those of `lattice_residuals`: they add up to nothing, half their L1 is at most
    ``most``, and their squares add up to at most ``square``, which is kept by force. With p the
    softmax of the scores, the curvatures are floor(p_k (1 - p_k) bend_steps).

    Parameters
    ----------
    scores : float64 array of shape (n, K)
    labels : uint array of shape (n,)
    steps, most, square, bend_steps : int
    rows : int32 array of shape (n, 2 K), overwritten
        Residuals, then curvatures.
    """
    n_columns = scores.shape[1]
    raised = np.empty((n_columns, _BLOCK))
    total, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        exponentials(scores[first : first + count], raised, total, scratch)
        own = labels[first : first + count]
        clipped_steps(raised, total, own, steps, most, square, scratch)
        for i in range(count):
            row, label = rows[first + i], np.int64(own[i])
            room, squares = np.int64(most), np.int64(0)
            for k in range(n_columns):
                share = raised[k, i] / total[i]
                # The comparison is false for NaN too, which would break the bounds.
                share = share if 0.0 <= share <= 1.0 else 0.0
                row[n_columns + k] = np.int32(share * (1.0 - share) * bend_steps)
                wanted = np.int64(share * scratch[i]) if k != label else np.int64(0)
                taken = wanted if wanted < room else room
                row[k] = -taken
                room -= taken
                squares += taken * taken
            row[label] = most - room
            if squares + (most - room) * (most - room) > square:
                row[:n_columns] = 0


@kernel(error_model="numpy")
def odds_gradients(
    scores: NDArray,
    labels: NDArray,
    unit: int,
    steps: int,
    most: int,
    bend_steps: int,
    weighted: bool,
    rows: NDArray,
) -> None:
    """The same of one column of log-odds: label less expectation, cut to ``most`` steps.

    Where records are weighted, both are divided by the larger of p and 1 - p. The residual is 0 in
    the mean if p is right, which a clipped one is not, and 1 in size for the less likely label.

    Parameters
    ----------
    scores : float64 array of shape (n, 1)
    labels : integer array of shape (n,)
        Classes 0 and 1, or targets between 0 and ``unit``.
    unit, steps, most, bend_steps : int
    weighted : bool
    rows : int32 array of shape (n, 2), overwritten
        Residual, within ``most`` in size, and curvature.
    """
    expected, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        expectations(scores[first : first + count], expected, scratch)
        for i in range(count):
            row, score, share = rows[first + i], scores[first + i, 0], expected[i]
            residual = labels[first + i] / unit - share
            known = score == score and -1.0 <= residual <= 1.0  # false for NaN
            # A quotient, since a product with its inverse may fall short of 1.
            larger = max(share, 1.0 - share) if weighted else 1.0
            kept = np.int64(residual / larger * steps) if known else 0
            row[0] = min(max(kept, -most), most)
            row[1] = np.int32(share * (1.0 - share) / larger * bend_steps) if known else 0
