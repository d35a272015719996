"""Scores of every candidate split of every node, from integer counts.

A candidate is a cell ``offsets[f] + c``. Ordered feature: cut after code ``c``, left child
``box_low … c``, a candidate iff ``box_low <= c < box_high``. Categorical feature: value ``c``
against the rest, a candidate iff ``c`` is alive and so is another value. What is a candidate
follows from the box alone, never from the counts: an empty child, a constant feature or a tie
excludes nothing. No candidate is marked by ``-inf``.

Scores that a mechanism sees are integers held exactly in doubles, in units of the criterion's
lattice; :mod:`dpforest.trees.criteria` proves how far one record moves them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

GINI_DECREASE = 0
ENTROPY_DECREASE = 1
GINI_COUNT = 2
MAJORITY_COUNT = 3

#: Steps of the score lattice in one unit of score, for all criteria but the majority count.
LATTICE_STEPS = 2**20

_STEPS = float(LATTICE_STEPS)
_TABLE_SIZE = 1 << 15


@lru_cache(maxsize=1)
def _x_log_x_table() -> np.ndarray:
    """``x ln x`` for small counts, where most of the entropy's logarithms are taken."""
    counts = np.arange(_TABLE_SIZE, dtype=np.float64)
    return counts * np.log(np.maximum(counts, 1.0))


@njit(cache=True, nogil=True)
def _x_log_x(count, table):
    if count < table.shape[0]:
        return table[np.uint64(count)]
    return count * np.log(np.float64(count))


@njit(cache=True, nogil=True)
def _left_counts(cells, ordered, first, width, left):
    """Class counts of the left children of ``width`` candidates from cell ``first``, by class."""
    for label in range(cells.shape[1]):
        running = np.int64(0)
        for j in range(width):
            count = np.int64(cells[first + j, label])
            running += count
            left[label, j] = running if ordered else count


@njit(cache=True, nogil=True)
def _child_square_sums(left, totals, width, size, left_squares, right_squares):
    """Records of the left child and both children's sums of squared class counts, exactly."""
    size[:width] = 0
    left_squares[:width] = 0
    right_squares[:width] = 0
    for label in range(totals.shape[0]):
        total = totals[label]
        counts = left[label]
        for j in range(width):
            count = counts[j]
            rest = total - count
            size[j] += count
            left_squares[j] += count * count
            right_squares[j] += rest * rest


@njit(cache=True, nogil=True)
def _gini_purity(size, n_records, left_squares, right_squares, width, on_lattice, out):
    """Sum over children of ``sum_c m_c**2 / m`` (0 for an empty child).

    ``on_lattice`` floors each child's term to the lattice. An empty child has no squares, so
    dividing them by 1 gives its 0.
    """
    for j in range(width):
        n_left = size[j]
        n_right = n_records - n_left
        purity_left = np.float64(left_squares[j]) / np.float64(max(n_left, 1))
        purity_right = np.float64(right_squares[j]) / np.float64(max(n_right, 1))
        if on_lattice:
            out[j] = np.floor(purity_left * _STEPS) + np.floor(purity_right * _STEPS)
        else:
            out[j] = purity_left + purity_right


@njit(cache=True, nogil=True)
def _majority(left, totals, width, out):
    """Sum over children of the largest class count."""
    for j in range(width):
        top_left, top_right = np.int64(0), np.int64(0)
        for label in range(totals.shape[0]):
            count = left[label, j]
            top_left = max(top_left, count)
            top_right = max(top_right, totals[label] - count)
        out[j] = top_left + top_right


@njit(cache=True, nogil=True)
def _entropy_gain(left, totals, n_records, width, table, out):
    """``m H(node) - m_l H(left) - m_r H(right)`` in nats."""
    parent = _x_log_x(n_records, table)
    for label in range(totals.shape[0]):
        parent -= _x_log_x(totals[label], table)
    for j in range(width):
        n_left = np.int64(0)
        children = 0.0
        for label in range(totals.shape[0]):
            count = left[label, j]
            n_left += count
            children += _x_log_x(count, table) + _x_log_x(totals[label] - count, table)
        sizes = _x_log_x(n_left, table) + _x_log_x(n_records - n_left, table)
        out[j] = parent - (sizes - children)


@njit(cache=True, nogil=True)
def _score_candidates(left, totals, n_records, width, criterion, table, scratch, out):
    """Scores of ``width`` candidates from their left counts; ``scratch`` is int64 (3, …)."""
    if criterion == MAJORITY_COUNT:
        _majority(left, totals, width, out)
        return
    scale = 1.0 / max(n_records, 1)
    if criterion == ENTROPY_DECREASE:
        _entropy_gain(left, totals, n_records, width, table, out)
        for j in range(width):
            out[j] *= scale
        return
    size, left_squares, right_squares = scratch[0], scratch[1], scratch[2]
    _child_square_sums(left, totals, width, size, left_squares, right_squares)
    on_lattice = criterion == GINI_COUNT
    _gini_purity(size, n_records, left_squares, right_squares, width, on_lattice, out)
    if not on_lattice:
        squares = np.int64(0)
        for label in range(totals.shape[0]):
            squares += totals[label] * totals[label]
        parent = np.float64(squares) * scale
        for j in range(width):
            out[j] = (out[j] - parent) * scale


@njit(cache=True, nogil=True)
def _drop_dead_values(alive, out):
    """Leave only alive values as candidates, and none where fewer than two are alive."""
    n_alive = 0
    for c in range(alive.shape[0]):
        n_alive += alive[c]
    for c in range(alive.shape[0]):
        if not alive[c] or n_alive < 2:
            out[c] = -np.inf


@njit(cache=True, nogil=True)
def _score_level(hist, offsets, ordered, box_low, box_high, alive, criterion, table, out):
    n_nodes, _, n_classes = hist.shape
    widest = np.int64(0)
    for f in range(ordered.shape[0]):
        widest = max(widest, offsets[f + 1] - offsets[f])
    left = np.empty((n_classes, widest), np.int64)
    scratch = np.empty((3, widest), np.int64)
    totals = np.empty(n_classes, np.int64)
    for node in range(n_nodes):
        totals[:] = 0
        for cell in range(offsets[0], offsets[1]):
            for label in range(n_classes):
                totals[label] += hist[node, cell, label]
        n_records = totals.sum()
        for f in range(ordered.shape[0]):
            start, end = offsets[f], offsets[f + 1]
            scores = out[node, start:end]
            first, width = np.int64(0), end - start
            if ordered[f]:
                first = np.int64(box_low[node, f])
                width = max(np.int64(box_high[node, f]) - first, 0)
                scores[:first] = -np.inf
                scores[first + width :] = -np.inf
            _left_counts(hist[node, start:end], ordered[f], first, width, left)
            _score_candidates(
                left, totals, n_records, width, criterion, table, scratch, scores[first:]
            )
            if not ordered[f]:
                _drop_dead_values(alive[node, start:end], scores)


def score_level(hist, offsets, ordered, box_low, box_high, alive, criterion, out):
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
        Code of a :class:`~dpforest.trees.criteria.Criterion`.
    out : float64 array of shape (n_nodes, total), overwritten
        Lattice steps for ``GINI_COUNT`` and ``MAJORITY_COUNT``; for the normalised criteria the
        raw impurity decrease (0 in an empty node), still to be normalised by
        :func:`feature_scores`, :func:`value_scores` or :func:`joint_scores`. ``-inf`` where there
        is no candidate.

    Notes
    -----
    Sums of squares stay below 2**63 for fewer than 2**31 records, so they are exact.
    """
    _score_level(
        hist, offsets, ordered, box_low, box_high, alive, criterion, _x_log_x_table(), out
    )


@njit(cache=True, nogil=True)
def _normalise(scores):
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


@njit(cache=True, nogil=True)
def feature_scores(scores, offsets, normalised, out):
    """Score of each feature: the largest of its candidates.

    Parameters
    ----------
    scores : float64 array of shape (n_nodes, total)
        From :func:`score_level`.
    offsets : int64 array of shape (D + 1,)
    normalised : bool
        Whether to take each node's maxima to 0 … 1 over its available features and floor them
        to lattice steps (the paper's feature scores).
    out : float64 array of shape (n_nodes, D), overwritten
        Lattice steps; ``-inf`` for a feature without candidates.
    """
    for node in range(scores.shape[0]):
        for f in range(out.shape[1]):
            best = -np.inf
            for cell in range(offsets[f], offsets[f + 1]):
                best = max(best, scores[node, cell])
            out[node, f] = best
        if normalised:
            _normalise(out[node])


@njit(cache=True, nogil=True)
def value_scores(scores, offsets, features, normalised):
    """Make the candidates of each node's chosen feature ready for selection, in place.

    They are ``scores[v, offsets[f]:offsets[f + 1]]`` for ``f = features[v]`` (int64, -1: none).
    With ``normalised`` they are taken to 0 … 1 over that feature and floored to lattice steps;
    otherwise :func:`score_level` left them on the lattice already.
    """
    if not normalised:
        return
    for node in range(scores.shape[0]):
        f = features[node]
        if f >= 0:
            _normalise(scores[node, offsets[f] : offsets[f + 1]])


@njit(cache=True, nogil=True)
def joint_scores(scores, normalised):
    """Make all candidates of each node ready for one selection over features and values, in place.

    With ``normalised`` they are taken to 0 … 1 over all candidates of the node and floored.
    """
    if not normalised:
        return
    for node in range(scores.shape[0]):
        _normalise(scores[node])


@njit(cache=True, nogil=True)
def candidate_spans(offsets, features, starts, ends):
    """Where the chosen feature's candidates lie in ``scores.ravel()``; empty where there is none.

    ``features``, ``starts`` and ``ends`` are int64 of shape (n_nodes,), the last two overwritten.
    """
    total = offsets[offsets.shape[0] - 1]
    for node in range(features.shape[0]):
        f = features[node]
        starts[node] = node * total + (offsets[f] if f >= 0 else 0)
        ends[node] = node * total + (offsets[f + 1] if f >= 0 else 0)


@njit(cache=True, nogil=True)
def chosen_splits(ordered, features, choices, feature, low, high):
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
