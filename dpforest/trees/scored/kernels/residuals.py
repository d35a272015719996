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
    scores: NDArray, labels: NDArray, steps: int, most: int, square: int, residuals: NDArray
) -> None:
    """Clipped residuals of every record, each rounded toward zero to a multiple of 1 / steps.

    Two classes: one column, r = [y = 1] - p, cut to ``|r| <= most``. More: with e the label's
    column and s the largest number up to 1 for which s (1 - p_y) <= most / steps and
    ``s |e - p| <= sqrt(square) / steps``, r_k = -floor(p_k s steps) for k != y, and r_y the sum of
    the others' sizes. So a row sums to nothing, its positive part is at most ``most`` and its
    squares add up to at most ``square``. Both hold up to a factor of 1 + K 2**-50 before they are
    rounded, and are integers afterwards; they are kept by force all the same.

    Parameters
    ----------
    scores : float64 array of shape (n, C)
        C = 1 (log-odds of class 1) or K (softmax).
    labels : uint array of shape (n,)
    steps, most, square : int
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
            clipped_steps(raised, total, label, steps, most, square, scratch)
        for k in range(n_columns):
            _round_shares(raised[k, :count], total[:count], scratch[:count], sizes[k, :count])
        if n_columns == 1:
            for i in range(count):
                size = min(sizes[0, i], np.int32(most))
                residuals[first + i, 0] = size if label[i] == 1 else -size
        else:
            _share_out(sizes, label, most, square, residuals[first : first + count])


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
def clipped_steps(
    raised: NDArray,
    total: NDArray,
    labels: NDArray,
    steps: int,
    most: int,
    square: int,
    out: NDArray,
) -> None:
    """Steps of a share of 1 for each record, so that neither bound on its residuals is passed.

    Parameters
    ----------
    raised, total : float64 arrays of shapes (K, at least n) and (at least n,)
        Shares of the classes, and what they are shares of.
    labels : uint array of shape (n,)
    steps, most, square : int
    out : float64 array of shape (at least n,), overwritten in the first n places
    """
    for i in range(labels.size):
        far = total[i] - raised[np.int64(labels[i]), i]
        # False for NaN too; a quotient by nothing is not taken.
        clipped = far * steps > most * total[i]
        out[i] = most * total[i] / far if clipped else np.float64(steps)
    if square < 2 * most * most:
        _shorten(raised, total, labels, np.sqrt(np.float64(square)), out)


@kernel(error_model="numpy")
def _shorten(
    raised: NDArray, total: NDArray, labels: NDArray, largest: float, out: NDArray
) -> None:
    """Fewer steps where a record's residuals would have an L2 above the largest."""
    n = labels.size
    length = np.zeros(n)
    for k in range(raised.shape[0]):
        row = raised[k]
        for i in range(n):
            # A product, since labels are nothing that a branch could be guessed by.
            length[i] += row[i] * row[i] * np.float64(labels[i] != k)
    for i in range(n):
        far, of_largest = total[i] - raised[np.int64(labels[i]), i], largest * total[i]
        norm = np.sqrt(far * far + length[i])
        out[i] = of_largest / norm if norm * out[i] > of_largest else out[i]


@kernel(error_model="numpy")
def _round_shares(parts: NDArray, total: NDArray, steps: NDArray, sizes: NDArray) -> None:
    """Shares of a total in so many steps for each record, rounded toward zero."""
    for i in range(total.size):
        share = parts[i] / total[i]
        # The comparison is false for NaN too, which would break the bound.
        kept = share if 0.0 <= share <= 1.0 else 0.0
        sizes[i] = np.int32(kept * steps[i])


@kernel()
def _share_out(sizes: NDArray, labels: NDArray, most: int, square: int, residuals: NDArray) -> None:
    """Less what every other class has, the label's own the sum of that, never above ``most``.

    ``sizes`` has shape (K, at least n); a class at a time, of many records at once. A row whose
    squares add up to more than ``square`` has nothing.
    """
    n = labels.size
    room, squares = np.full(n, np.int32(most)), np.zeros(n, np.int64)
    for k in range(sizes.shape[0]):
        size = sizes[k]
        for i in range(n):
            # A product, since labels are nothing that a branch could be guessed by.
            taken = min(size[i], room[i]) * np.int32(labels[i] != k)
            residuals[i, k] = -taken
            room[i] -= taken
            squares[i] += np.int64(taken) * np.int64(taken)
    for i in range(n):
        own = np.int64(most) - np.int64(room[i])
        residuals[i, np.int64(labels[i])] = np.int32(own)
        if squares[i] + own * own > square:
            residuals[i] = 0


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
