"""Features of few values: counts of each value's records, and scores of all candidates at once.

A node's cells are rows of int32 counts, one row a class: record r of class k adds one to
``cells[at + k * stride + first + code]`` for every counted feature. In regression there are three
rows of doubles: the number of records, the sum of their targets (minus the node's mean) and the
sum of squares. Scores are computed cell by cell, without a branch, so that they are computed in
parallel.

Classification scores a candidate by the purity ``sum_k l_k**2 / l + sum_k r_k**2 / r`` of its
children, which is the node's size minus its records times the weighted Gini impurity. With node
totals t and ``dot = sum_k l_k t_k``, the right child's squares are
``sum t_k**2 - 2 dot + sum l_k**2``. All sums are whole numbers below 2**53, so they are exact.

Regression scores a candidate by minus the sum of its children's mean squared errors, or by the
weighted decrease.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.kernels.compiling import part

#: Cells are filled up to a multiple of it, so that none are left over from the widest vectors.
WIDTH = 8

#: Codes of the regression criteria.
UNWEIGHTED = 0
WEIGHTED = 1
#: Regression scores are rounded to so many steps of the node's own error.
STEPS = 2.0**30


@part()
def count_classes(
    rows: NDArray, labels: NDArray, records: NDArray, start: int, end: int,
    features: NDArray, firsts: NDArray, n_features: int, cells: NDArray, at: int, stride: int,
) -> None:  # fmt: skip
    """Add records ``start … end - 1`` to the cells of the first ``n_features`` listed features.

    Unsigned flat indices: signed ones would cost a wrap-around test at each cell. Records
    outside, features inside, so that one increment need not wait for the one before.
    """
    flat = rows.reshape(rows.size)
    width = np.uint64(rows.shape[1])
    one = np.int32(1)
    for i in range(np.uint64(start), np.uint64(end)):
        record = np.uint64(records[i])
        base = np.uint64(at) + np.uint64(labels[record]) * np.uint64(stride)
        row = record * width
        for j in range(np.uint64(n_features)):
            code = np.uint64(flat[row + np.uint64(features[j])])
            cells[base + np.uint64(firsts[j]) + code] += one


@part()
def count_moments(
    rows: NDArray, targets: NDArray, mean: float, records: NDArray, start: int, end: int,
    features: NDArray, firsts: NDArray, n_features: int, cells: NDArray, stride: int,
) -> None:  # fmt: skip
    """As :func:`count_classes`, in regression."""
    for i in range(start, end):
        record = records[i]
        off = targets[record] - mean
        for j in range(n_features):
            cell = firsts[j] + np.int64(rows[record, features[j]])
            cells[cell] += 1.0
            cells[cell + stride] += off
            cells[cell + 2 * stride] += off * off


@part()
def _add_up(row: NDArray, features: NDArray, firsts: NDArray, n_features: int,
            n_codes: NDArray, against_rest: NDArray) -> None:  # fmt: skip
    """Turn cells of ordered features into sums up to each value."""
    for j in range(n_features):
        f = features[j]
        if not against_rest[f]:
            first = np.uint64(firsts[j])
            running = 0.0
            for cell in range(first, first + np.uint64(n_codes[f])):
                running += row[cell]
                row[cell] = running


@part(error_model="numpy")
def score_classes(
    cells: NDArray, at: int, stride: int, totals: NDArray, n_node: int,
    features: NDArray, firsts: NDArray, n_features: int, n_codes: NDArray,
    against_rest: NDArray, any_ordered: bool, sums: NDArray, scores: NDArray,
) -> None:  # fmt: skip
    """Scores of all cells; ``-inf`` where a child would be empty.

    ``sums`` is float64 of shape (4, at least ``stride``); its row 0 gets left children's sizes.
    An ordered feature's unobserved value repeats the score of the value below it.
    """
    size, squares, dots = sums[0, :stride], sums[1, :stride], sums[2, :stride]
    row, out = sums[3, :stride], scores[:stride]
    size[:] = 0.0
    squares[:] = 0.0
    dots[:] = 0.0
    node_squares = 0.0
    for k in range(totals.shape[0]):
        total = np.float64(totals[k])
        if total == 0.0:
            continue
        node_squares += total * total
        counts = cells[at + k * stride : at + (k + 1) * stride]
        if not any_ordered:
            for j in range(stride):
                count = np.float64(counts[j])
                size[j] += count
                squares[j] += count * count
                dots[j] += count * total
            continue
        for j in range(stride):
            row[j] = counts[j]
        _add_up(row, features, firsts, n_features, n_codes, against_rest)
        for j in range(stride):
            size[j] += row[j]
            squares[j] += row[j] * row[j]
            dots[j] += row[j] * total
    n = np.float64(n_node)
    for j in range(stride):
        right = node_squares - 2.0 * dots[j] + squares[j]
        purity = squares[j] / size[j] + right / (n - size[j])
        out[j] = purity if (size[j] > 0.0) & (size[j] < n) else -np.inf


@part(error_model="numpy")
def error_score(n_left, sum_left, square_left, n_node, sum_node, square_node, criterion):
    """Score of a regression candidate from the sums of its left child and of the node.

    Sums of doubles depend on their order, so without rounding two candidates that make the same
    children would not tie, and min-max normalisation could turn the difference into anything.
    """
    n_right = n_node - n_left
    sum_right = sum_node - sum_left
    mean_left = sum_left / n_left
    mean_right = sum_right / n_right
    if criterion == WEIGHTED:
        return np.rint((sum_left * mean_left + sum_right * mean_right) * (STEPS / square_node))
    left = square_left / n_left - mean_left * mean_left
    right = (square_node - square_left) / n_right - mean_right * mean_right
    return -np.rint((left + right) * (STEPS / square_node * n_node))


@part(error_model="numpy")
def score_moments(
    cells: NDArray, stride: int, moments: NDArray, features: NDArray, firsts: NDArray,
    n_features: int, n_codes: NDArray, against_rest: NDArray, criterion: int,
    sums: NDArray, scores: NDArray,
) -> None:  # fmt: skip
    """As :func:`score_classes`, in regression."""
    for k in range(3):
        row = sums[k, :stride]
        for j in range(stride):
            row[j] = cells[k * stride + j]
        _add_up(row, features, firsts, n_features, n_codes, against_rest)
    n_node = moments[0]
    for j in range(stride):
        size = sums[0, j]
        score = error_score(size, sums[1, j], sums[2, j], n_node, moments[1], moments[2], criterion)
        scores[j] = score if (size > 0.0) & (size < n_node) else -np.inf


@part()
def span_cells(
    scores: NDArray, features: NDArray, firsts: NDArray, n_features: int, n_codes: NDArray,
    lows: NDArray, highs: NDArray,
) -> None:  # fmt: skip
    """Smallest and largest score that each counted feature offers, to its places in ``lows``
    and ``highs``; ``inf`` and ``-inf`` where it offers none."""
    for j in range(np.uint64(n_features)):
        low, high = np.inf, -np.inf
        f, first = np.uint64(features[j]), np.uint64(firsts[j])
        for cell in range(first, first + np.uint64(n_codes[f])):
            score = scores[cell]
            high = score if score > high else high
            low = score if score < low and score != -np.inf else low
        lows[f] = low
        highs[f] = high


@part()
def list_cells(
    first: int, n_codes: int, against_rest: bool, sizes: NDArray, cell_scores: NDArray,
    scores: NDArray, codes: NDArray,
) -> Any:  # fmt: skip
    """Candidates of one counted feature, in order; returns how many."""
    width = np.uint64(0)
    below = 0.0
    for code in range(np.uint64(n_codes)):
        cell = np.uint64(first) + code
        size, score = sizes[cell], cell_scores[cell]
        observed = size > below
        # The last value of an ordered feature is no candidate, but its code stays behind them.
        codes[width] = code if observed else codes[width]
        scores[width] = score
        width += np.uint64(observed & (score != -np.inf))
        below = 0.0 if against_rest else size
    return np.int64(width)
