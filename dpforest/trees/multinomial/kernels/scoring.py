"""Scores of every candidate split of every node, from integer counts.

A candidate is a cell ``offsets[f] + c``. Ordered feature: cut after code ``c``, left child
``box_low … c``, a candidate iff ``box_low <= c < box_high``. Categorical feature: value ``c``
against the rest, a candidate iff ``c`` is alive and so is another value. What is a candidate
follows from the box alone, never from the counts: an empty child, a constant feature or a tie
excludes nothing. No candidate is marked by ``-inf``.

Scores that a mechanism sees are integers held exactly in doubles, in units of the criterion's
lattice; :mod:`dpforest.trees.multinomial.criteria` proves how far one record moves them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

GINI_DECREASE = 0
ENTROPY_DECREASE = 1
GINI_COUNT = 2
MAJORITY_COUNT = 3

#: Steps of the score lattice in one unit of score, for all criteria but the majority count.
LATTICE_STEPS = 2**20

_STEPS = float(LATTICE_STEPS)
_TABLE_SIZE = 1 << 15


@lru_cache(maxsize=1)
def _x_log_x_table() -> NDArray:
    """``x ln x`` for small counts, where most of the entropy's logarithms are taken."""
    counts = np.arange(_TABLE_SIZE, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1.0))


@kernel(forceinline=True)
def _x_log_x(count: int, table: NDArray) -> float:
    if count < table.shape[0]:
        return table[np.uint64(count)]
    return count * np.log(np.float64(count))


@kernel(forceinline=True)
def _count_classes(cells: NDArray, totals: NDArray) -> None:
    """A node's class counts, from its cells of one feature; any does: each record has one code."""
    totals[:] = 0
    for cell in range(cells.shape[0]):
        for label in range(totals.shape[0]):
            totals[label] += cells[cell, label]


@kernel(forceinline=True)
def _left_counts(cells: NDArray, ordered: bool, first: int, width: int, left: NDArray) -> None:
    """Class counts of the left children of ``width`` candidates from cell ``first``, by class."""
    if cells.shape[1] == 2:
        _left_counts_of_two(cells, ordered, first, width, left[0], left[1])
        return
    for label in range(cells.shape[1]):
        running = np.int64(0)
        for j in range(width):
            count = np.int64(cells[first + j, label])
            running += count
            left[label, j] = running if ordered else count


@kernel(forceinline=True)
def _left_counts_of_two(
    cells: NDArray, ordered: bool, first: int, width: int, left_0: NDArray, left_1: NDArray
) -> None:
    """One pass for two classes, several times as fast as a pass each."""
    if not ordered:
        for j in range(width):
            cell = np.uint64(first + j)
            left_0[j] = cells[cell, 0]
            left_1[j] = cells[cell, 1]
        return
    running_0 = running_1 = np.int64(0)
    for j in range(width):
        cell = np.uint64(first + j)
        running_0 += np.int64(cells[cell, 0])
        running_1 += np.int64(cells[cell, 1])
        left_0[j] = running_0
        left_1[j] = running_1


@kernel(forceinline=True)
def _purity(squares: int, count: int, steps: float) -> float:
    """``sum_c m_c**2 / m`` times ``steps``, floored if there is more than one step to a unit.

    An empty child has no squares, so dividing them by 1 gives its 0.
    """
    purity = np.float64(squares) / np.float64(max(count, 1))
    return np.floor(purity * steps) if steps > 1.0 else purity


@kernel(forceinline=True)
def _gini_of_two(
    left_0: NDArray,
    left_1: NDArray,
    total_0: int,
    total_1: int,
    width: int,
    steps: float,
    out: NDArray,
) -> None:
    """:func:`_gini_purity` for two classes in one pass, with the same result to the bit."""
    for j in range(width):
        count_0, count_1 = left_0[j], left_1[j]
        rest_0, rest_1 = total_0 - count_0, total_1 - count_1
        out[j] = _purity(count_0 * count_0 + count_1 * count_1, count_0 + count_1, steps) + _purity(
            rest_0 * rest_0 + rest_1 * rest_1, rest_0 + rest_1, steps
        )


@kernel(forceinline=True)
def _gini_purity(
    left: NDArray,
    totals: NDArray,
    n_records: int,
    width: int,
    steps: float,
    scratch: NDArray,
    out: NDArray,
) -> None:
    """Sum of both children's :func:`_purity`; squares are summed exactly, in integers."""
    if totals.shape[0] == 2:
        _gini_of_two(left[0], left[1], totals[0], totals[1], width, steps, out)
        return
    size, left_squares, right_squares = scratch[0], scratch[1], scratch[2]
    scratch[:, :width] = 0
    for label in range(totals.shape[0]):
        total = totals[label]
        counts = left[label]
        for j in range(width):
            count = counts[j]
            rest = total - count
            size[j] += count
            left_squares[j] += count * count
            right_squares[j] += rest * rest
    for j in range(width):
        out[j] = _purity(left_squares[j], size[j], steps) + _purity(
            right_squares[j], n_records - size[j], steps
        )


@kernel(forceinline=True)
def _gini_decrease(
    left: NDArray, totals: NDArray, n_records: int, width: int, scratch: NDArray, out: NDArray
) -> None:
    """Decrease of the Gini impurity, from the purities: ``(S_left + S_right - S_node) / m``."""
    _gini_purity(left, totals, n_records, width, 1.0, scratch, out)
    squares = np.int64(0)
    for label in range(totals.shape[0]):
        squares += totals[label] * totals[label]
    scale = 1.0 / max(n_records, 1)
    parent = np.float64(squares) / max(n_records, 1)
    for j in range(width):
        out[j] = (out[j] - parent) * scale


@kernel(forceinline=True)
def _majority(left: NDArray, totals: NDArray, width: int, out: NDArray) -> None:
    """Sum over children of the largest class count."""
    for j in range(width):
        top_left, top_right = np.int64(0), np.int64(0)
        for label in range(totals.shape[0]):
            count = left[label, j]
            top_left = max(top_left, count)
            top_right = max(top_right, totals[label] - count)
        out[j] = top_left + top_right


@kernel(forceinline=True)
def _entropy_decrease(
    left: NDArray, totals: NDArray, n_records: int, width: int, table: NDArray, out: NDArray
) -> None:
    """Decrease of the entropy in nats, ``H(node) - (m_l H(left) + m_r H(right)) / m``."""
    parent = _x_log_x(n_records, table)
    for label in range(totals.shape[0]):
        parent -= _x_log_x(totals[label], table)
    scale = 1.0 / max(n_records, 1)
    for j in range(width):
        n_left = 0
        classes = 0.0
        for label in range(totals.shape[0]):
            count = left[label, j]
            n_left += count
            classes += _x_log_x(count, table) + _x_log_x(totals[label] - count, table)
        children = _x_log_x(n_left, table) + _x_log_x(n_records - n_left, table) - classes
        out[j] = (parent - children) * scale


@kernel(forceinline=True)
def _score_candidates(
    left: NDArray,
    totals: NDArray,
    n_records: int,
    width: int,
    criterion: int,
    table: NDArray,
    scratch: NDArray,
    out: NDArray,
) -> None:
    """Scores of ``width`` candidates from their left counts; ``scratch`` is int64 (3, …)."""
    if criterion == GINI_COUNT:
        _gini_purity(left, totals, n_records, width, _STEPS, scratch, out)
    elif criterion == GINI_DECREASE:
        _gini_decrease(left, totals, n_records, width, scratch, out)
    elif criterion == ENTROPY_DECREASE:
        _entropy_decrease(left, totals, n_records, width, table, out)
    else:
        _majority(left, totals, width, out)


@kernel(forceinline=True)
def _n_alive(alive: NDArray) -> int:
    total = 0
    for c in range(alive.shape[0]):
        total += alive[c]
    return total


@kernel(forceinline=True)
def _drop_dead_values(alive: NDArray, out: NDArray) -> None:
    """Leave only alive values as candidates, and none where fewer than two are alive."""
    n_alive = _n_alive(alive)
    for c in range(alive.shape[0]):
        if not alive[c] or n_alive < 2:
            out[c] = -np.inf


@kernel(forceinline=True)
def _score_feature(
    cells: NDArray,
    is_ordered: bool,
    low: int,
    high: int,
    alive: NDArray,
    totals: NDArray,
    criterion: int,
    table: NDArray,
    left: NDArray,
    scratch: NDArray,
    scores: NDArray,
) -> None:
    """Scores of all codes of one feature in one node, ``-inf`` where there is no candidate."""
    first, width = 0, cells.shape[0]
    if is_ordered:
        first = int(low)
        width = max(int(high) - first, 0)
        scores[:first] = -np.inf
        scores[first + width :] = -np.inf
    _left_counts(cells, is_ordered, first, width, left)
    n_records = int(totals.sum())
    _score_candidates(left, totals, n_records, width, criterion, table, scratch, scores[first:])
    if not is_ordered:
        _drop_dead_values(alive, scores)


@kernel()
def _score_level(
    hist: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    criterion: int,
    table: NDArray,
    out: NDArray,
) -> None:
    n_nodes, _, n_classes = hist.shape
    widest = np.diff(offsets).max()
    left = np.empty((n_classes, widest), np.int64)
    scratch = np.empty((3, widest), np.int64)
    totals = np.empty(n_classes, np.int64)
    for node in range(n_nodes):
        _count_classes(hist[node, offsets[0] : offsets[1]], totals)
        for f in range(ordered.shape[0]):
            start, end = offsets[f], offsets[f + 1]
            _score_feature(
                hist[node, start:end], ordered[f], box_low[node, f], box_high[node, f],
                alive[node, start:end], totals, criterion, table, left, scratch,
                out[node, start:end],
            )  # fmt: skip


def score_level(
    hist: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    criterion: int,
    out: NDArray,
) -> None:
    """Score every candidate of every node of a level.

    Parameters
    ----------
    hist : int32 array of shape (n_nodes, total, K)
        Class counts of each cell; every record of a node lies in its box.
    offsets : int64 array of shape (D + 1,)
    ordered : bool array of shape (D,)
    box_low, box_high : int32 arrays of shape (n_nodes, D)
        Used for ordered features.
    alive : bool array of shape (n_nodes, total)
        Used for categorical features.
    criterion : int
        Code of a :class:`~dpforest.trees.multinomial.criteria.Criterion`.
    out : float64 array of shape (n_nodes, total), overwritten
        Lattice steps for ``GINI_COUNT`` and ``MAJORITY_COUNT``; for the normalised criteria the
        raw impurity decrease (0 in an empty node), still to be normalised by
        :func:`joint_scores`. ``-inf`` where there is no candidate.

    Notes
    -----
    Sums of squares stay below 2**63 for fewer than 2**31 records, so they are exact.
    """
    _score_level(hist, offsets, ordered, box_low, box_high, alive, criterion, _x_log_x_table(), out)


@kernel(forceinline=True)
def _largest(scores: NDArray, n: int) -> float:
    """Largest of the first ``n`` scores, four at a time; ``-inf`` of none."""
    best_0 = best_1 = best_2 = best_3 = -np.inf
    for j in range(0, n - 3, 4):
        best_0 = max(best_0, scores[j])
        best_1 = max(best_1, scores[j + 1])
        best_2 = max(best_2, scores[j + 2])
        best_3 = max(best_3, scores[j + 3])
    for j in range(n - n % 4, n):
        best_0 = max(best_0, scores[j])
    return max(max(best_0, best_1), max(best_2, best_3))


@kernel(forceinline=True)
def _normalise(scores: NDArray) -> None:
    """Min–max to 0 … 1 over what is finite, then floor to lattice steps; all equal gives 0."""
    low, high = np.inf, -np.inf
    for j in range(scores.shape[0]):
        if scores[j] != -np.inf:
            low = min(low, scores[j])
            high = max(high, scores[j])
    spread = high - low
    for j in range(scores.shape[0]):
        if scores[j] != -np.inf:
            # (x - low) <= spread, and rounded division is monotone: never above one.
            fraction = (scores[j] - low) / spread if spread > 0.0 else 0.0
            scores[j] = np.floor(fraction * _STEPS)


@kernel()
def joint_scores(scores: NDArray, normalised: bool) -> None:
    """Make all candidates of each node ready for one selection over features and values, in place.

    With ``normalised`` they are taken to 0 … 1 over all candidates of the node and floored.
    """
    if not normalised:
        return
    for node in range(scores.shape[0]):
        _normalise(scores[node])


@kernel()
def chosen_splits(
    ordered: NDArray,
    features: NDArray,
    choices: NDArray,
    feature: NDArray,
    low: NDArray,
    high: NDArray,
) -> None:
    """Splits from the selected features and the selected code of each (relative to its span).

    ``choices`` is int64 (n_nodes,), -1 where nothing could be selected; ``feature``, ``low`` and
    ``high`` are overwritten: an ordered split is ``0 … code``, a categorical one ``code … code``,
    no choice is ``(-1, 0, 0)``.
    """
    for node in range(features.shape[0]):
        f, code = features[node], choices[node]
        if f < 0 or code < 0:
            feature[node], low[node], high[node] = -1, 0, 0
            continue
        feature[node] = f
        low[node] = 0 if ordered[f] else code
        high[node] = code
