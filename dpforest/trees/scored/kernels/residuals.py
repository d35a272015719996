"""Residuals of records on a lattice of whole numbers, made of their scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.random.kernels.block_math import exp_of

_BLOCK = 512
#: Log-odds beyond which a residual is none.
_MOST = 700.0


# Without numpy's error model a division is a branch, and the loop is no vector loop.
@kernel(error_model="numpy")
def lattice_residuals(
    scores: NDArray, labels: NDArray, steps: int, most: int, residuals: NDArray
) -> None:
    """Clipped residuals of every record, each rounded toward zero to a multiple of 1 / steps.

    Two classes: one column, r = [y = 1] - p, cut to ``|r| <= most``. More: with
    s = min(1, (most / steps) / (1 - p_y)), r_k = -floor(p_k s steps) for k != y, and r_y the sum
    of the others' sizes, so a row sums to nothing, its positive part is at most ``most`` and its
    square at most ``2 most**2``. The sum of the others is at most ``most (1 + K 2**-50)`` before
    it is rounded and an integer afterwards; the bound is kept by force all the same.

    Parameters
    ----------
    scores : float64 array of shape (n, C)
        C = 1 (log-odds of class 1) or K (softmax).
    labels : uint array of shape (n,)
    steps, most : int
    residuals : int32 array of shape (n, C), overwritten
    """
    n_columns = scores.shape[1]
    raised, sizes = np.empty((n_columns, _BLOCK)), np.empty((n_columns, _BLOCK), np.int32)
    total, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        own, label = scores[first : first + count], labels[first : first + count]
        if n_columns == 1:
            for i in range(count):
                raised[0, i] = min(-own[i, 0], _MOST) if label[i] == 1 else min(own[i, 0], _MOST)
            exp_of(raised[0, :count], scratch)
            # The distance of p from the label is e / (1 + e), e = exp of the odds against it.
            for i in range(count):
                total[i] = 1.0 + raised[0, i]
                scratch[i] = np.float64(steps)
        else:
            exponentials(own, raised, total, scratch)
            for i in range(count):
                far = total[i] - raised[np.int64(label[i]), i]
                # False for NaN too; a quotient by nothing is not taken.
                clipped = far * steps > most * total[i]
                scratch[i] = most * total[i] / far if clipped else np.float64(steps)
        for k in range(n_columns):
            _round_shares(raised[k, :count], total[:count], scratch[:count], sizes[k, :count])
        if n_columns == 1:
            for i in range(count):
                size = min(sizes[0, i], np.int32(most))
                residuals[first + i, 0] = size if label[i] == 1 else -size
        else:
            _share_out(sizes, label, most, residuals[first : first + count])


@kernel()
def exponentials(scores: NDArray, raised: NDArray, total: NDArray, scratch: NDArray) -> None:
    """Exponentials of scores (n, K) less the largest, a class a row, and their sums."""
    n, n_columns = scores.shape
    top = scratch
    for k in range(n_columns):
        row = raised[k]
        for i in range(n):
            row[i] = scores[i, k]
    for i in range(n):
        top[i] = raised[0, i]
    for k in range(1, n_columns):
        row = raised[k]
        for i in range(n):
            top[i] = row[i] if row[i] > top[i] else top[i]
    for k in range(n_columns):
        row = raised[k]
        for i in range(n):
            row[i] -= top[i]
    total[:n] = 0.0
    for k in range(n_columns):
        row = raised[k, :n]
        exp_of(row, scratch)
        for i in range(n):
            total[i] += row[i]


@kernel(error_model="numpy")
def _round_shares(parts: NDArray, total: NDArray, steps: NDArray, sizes: NDArray) -> None:
    """Shares of a total in so many steps for each record, rounded toward zero."""
    for i in range(total.size):
        share = parts[i] / total[i]
        # The comparison is false for NaN too, which would break the bound.
        kept = share if 0.0 <= share <= 1.0 else 0.0
        sizes[i] = np.int32(kept * steps[i])


@kernel()
def _share_out(sizes: NDArray, labels: NDArray, most: int, residuals: NDArray) -> None:
    """Less what every other class has, the label's own the sum of that, never above ``most``.

    ``sizes`` has shape (K, at least n); a class at a time, of many records at once.
    """
    n = labels.size
    room = np.full(n, np.int32(most))
    for k in range(sizes.shape[0]):
        size = sizes[k]
        for i in range(n):
            # A product, since labels are nothing that a branch could be guessed by.
            taken = min(size[i], room[i]) * np.int32(labels[i] != k)
            residuals[i, k] = -taken
            room[i] -= taken
    for i in range(n):
        residuals[i, np.int64(labels[i])] = np.int32(most) - room[i]


@kernel(error_model="numpy")
def expectations(scores: NDArray, expected: NDArray, scratch: NDArray) -> None:
    """Expectations of a block of log-odds, shape (n, 1), in the first n places.

    What NaN leads to means nothing: who calls looks at the scores.
    """
    n = scores.shape[0]
    for i in range(n):
        expected[i] = min(-scores[i, 0], _MOST)
    exp_of(expected[:n], scratch)
    for i in range(n):
        expected[i] = 1.0 / (1.0 + expected[i])


@kernel(error_model="numpy")
def target_residuals(
    scores: NDArray, targets: NDArray, target_steps: int, steps: int, most: int, residuals: NDArray
) -> None:
    """Target less expectation of every record, rounded toward zero to a multiple of 1 / steps.

    ``|r| <= most``, as for two classes; the bound is kept by force.

    Parameters
    ----------
    scores : float64 array of shape (n, 1)
        Log-odds of the expectation between the target's bounds.
    targets : int32 array of shape (n,)
    target_steps, steps, most : int
    residuals : int32 array of shape (n, 1), overwritten
    """
    expected, scratch = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, scores.shape[0], _BLOCK):
        count = min(_BLOCK, scores.shape[0] - first)
        expectations(scores[first : first + count], expected, scratch)
        for i in range(count):
            score = scores[first + i, 0]
            residual = targets[first + i] / target_steps - expected[i]
            kept = residual if -1.0 <= residual <= 1.0 and score == score else 0.0  # none for NaN
            residuals[first + i, 0] = min(max(np.int32(kept * steps), -most), most)
