"""Scores of the two stages of a split, each as little as a stage needs.

First the best score of every feature in every node; then, of the feature that a node drew, the
score of every value. The first stage looks at a cell only to add it to a running count: cuts with
the same records on their left have the same score, so one of them is scored, and deep nodes have
few records among many cells.

What a score is, is in ``scoring``; the results are those of ``score_level`` to the bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel
from dpforest.trees.multinomial.kernels.scoring import (
    GINI_COUNT,
    LATTICE_STEPS,
    _count_classes,
    _largest,
    _n_alive,
    _normalise,
    _score_candidates,
    _score_feature,
    _x_log_x_table,
)

_STEPS = float(LATTICE_STEPS)
_LOW_HALF = np.uint64(0xFFFFFFFF)
#: Squares of two counts below this add up exactly in a double.
_EXACT_IN_DOUBLES = 1 << 26


@kernel(forceinline=True)
def _distinct_of_two(
    pairs: NDArray, ordered: bool, first: int, width: int, alive: NDArray, left: NDArray
) -> int:
    """Left counts that differ, both classes in one word, into ``left``; how many.

    ``pairs`` is a feature's cells as uint64, a class in each half. A count is below 2**31, so the
    halves do not run into each other.
    """
    place = np.uint64(0)
    one = np.uint64(1)
    if ordered:
        running = np.uint64(0)
        left[0] = pairs[np.uint64(first)]
        for j in range(width):
            pair = pairs[np.uint64(first + j)]
            running += pair
            # Overwritten until the count changes; the first candidate has place 0 in any case.
            place += one if (pair != np.uint64(0)) & (j > 0) else np.uint64(0)
            left[place] = running
        return int(place) + 1
    n_empty = 0
    for c in range(width):
        pair = pairs[np.uint64(c)]
        left[place] = pair
        full = pair != np.uint64(0)
        place += one if full & alive[c] else np.uint64(0)
        n_empty += int((not full) & alive[c])
    if n_empty > 0:
        left[place] = 0
        place += one
    return int(place)


@kernel(forceinline=True)
def _best_gini_of_two(
    left: NDArray, n_left: int, total_0: float, total_1: float, scores: NDArray
) -> float:
    """Largest count-weighted Gini score; all squares are exact in doubles."""
    for j in range(n_left):
        # Signed halves convert many at a time.
        a = np.float64(np.int32(left[j] & _LOW_HALF))
        b = np.float64(np.int32(left[j] >> np.uint64(32)))
        c, d = total_0 - a, total_1 - b
        near = (a * a + b * b) / max(a + b, 1.0)
        far = (c * c + d * d) / max(c + d, 1.0)
        scores[j] = np.floor(near * _STEPS) + np.floor(far * _STEPS)
    return _largest(scores, n_left)


@kernel(forceinline=True)
def _distinct(
    cells: NDArray, ordered: bool, first: int, width: int, alive: NDArray, left: NDArray
) -> int:
    """Left counts that differ, by class, into ``left`` (int64, (K, …)); how many."""
    n_classes = cells.shape[1]
    place = 0
    if ordered:
        for label in range(n_classes):
            left[label, 0] = cells[first, label]
        for j in range(1, width):
            any_record = 0
            for label in range(n_classes):
                any_record |= cells[first + j, label]
            if any_record:
                for label in range(n_classes):
                    left[label, place + 1] = left[label, place] + cells[first + j, label]
                place += 1
        return place + 1
    empty_seen = False
    for c in range(width):
        if not alive[c]:
            continue
        any_record = 0
        for label in range(n_classes):
            any_record |= cells[c, label]
        if any_record or not empty_seen:
            for label in range(n_classes):
                left[label, place] = cells[c, label]
            place += 1
            empty_seen |= any_record == 0
    return place


@kernel()
def _best_scores(
    hist: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    criterion: int,
    table: NDArray,
    normalised: bool,
    out: NDArray,
) -> None:
    n_nodes, n_cells, n_classes = hist.shape
    n_codes = np.diff(offsets)
    widest = n_codes.max()
    narrowest = n_codes.argmin()
    left = np.empty((n_classes, widest + 1), np.int64)
    left_pairs = np.empty(widest + 1, np.uint64)
    scratch = np.empty((3, widest + 1), np.int64)
    scores = np.empty(widest + 1, np.float64)
    totals = np.empty(n_classes, np.int64)
    # A node's cells of two classes as words; nothing else is read through them.
    pairs = hist.reshape(hist.size).view(np.uint64) if n_classes == 2 else left_pairs
    for node in range(n_nodes):
        _count_classes(hist[node, offsets[narrowest] : offsets[narrowest + 1]], totals)
        n_records = int(totals.sum())
        in_doubles = criterion == GINI_COUNT and n_classes == 2 and n_records <= _EXACT_IN_DOUBLES
        for f in range(ordered.shape[0]):
            start, end = offsets[f], offsets[f + 1]
            first, width = 0, int(end - start)
            if ordered[f]:
                first = int(box_low[node, f])
                width = max(int(box_high[node, f]) - first, 0)
            out[node, f] = -np.inf
            if width == 0 or (not ordered[f] and _n_alive(alive[node, start:end]) < 2):
                continue
            if in_doubles:
                own = pairs[node * n_cells + start : node * n_cells + end]
                n_left = _distinct_of_two(
                    own, ordered[f], first, width, alive[node, start:end], left_pairs
                )
                out[node, f] = _best_gini_of_two(
                    left_pairs, n_left, float(totals[0]), float(totals[1]), scores
                )
                continue
            n_left = _distinct(
                hist[node, start:end], ordered[f], first, width, alive[node, start:end], left
            )
            _score_candidates(left, totals, n_records, n_left, criterion, table, scratch, scores)
            out[node, f] = _largest(scores, n_left)
        if normalised:
            _normalise(out[node])


def best_scores(
    hist: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    criterion: int,
    normalised: bool,
    out: NDArray,
) -> None:
    """Score of each feature in each node: the largest of its candidates.

    Parameters
    ----------
    hist, offsets, ordered, box_low, box_high, alive, criterion
        As in :func:`~dpforest.trees.multinomial.kernels.scoring.score_level`; ``hist`` in C order.
    normalised : bool
        Whether to take each node's maxima to 0 … 1 over its available features and floor them
        to lattice steps (the paper's feature scores).
    out : float64 array of shape (n_nodes, D), overwritten
        Lattice steps; ``-inf`` for a feature without candidates.
    """
    _best_scores(
        hist, offsets, ordered, box_low, box_high, alive, criterion, _x_log_x_table(),
        normalised, out,
    )  # fmt: skip


@kernel()
def _chosen_scores(
    hist: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    criterion: int,
    table: NDArray,
    normalised: bool,
    features: NDArray,
    starts: NDArray,
    out: NDArray,
) -> None:
    n_nodes, _, n_classes = hist.shape
    widest = np.diff(offsets).max()
    left = np.empty((n_classes, widest), np.int64)
    scratch = np.empty((3, widest), np.int64)
    totals = np.empty(n_classes, np.int64)
    for node in range(n_nodes):
        f = features[node]
        if f < 0:
            continue
        start, end = offsets[f], offsets[f + 1]
        _count_classes(hist[node, start:end], totals)
        scores = out[starts[node] : starts[node] + end - start]
        _score_feature(
            hist[node, start:end], ordered[f], box_low[node, f], box_high[node, f],
            alive[node, start:end], totals, criterion, table, left, scratch, scores,
        )  # fmt: skip
        if normalised:
            _normalise(scores)


def chosen_scores(
    hist: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    box_low: NDArray,
    box_high: NDArray,
    alive: NDArray,
    criterion: int,
    normalised: bool,
    features: NDArray,
    starts: NDArray,
    out: NDArray,
) -> None:
    """Score of every value of the feature that each node drew.

    Parameters
    ----------
    hist, offsets, ordered, box_low, box_high, alive, criterion
        As in :func:`~dpforest.trees.multinomial.kernels.scoring.score_level`.
    normalised : bool
        Whether to take each row to 0 … 1 and floor it to lattice steps.
    features : int64 array of shape (n_nodes,)
        -1 for none.
    starts : int64 array of shape (n_nodes,)
        Where each node's row begins in ``out``; it has as many scores as its feature has codes.
    out : float64 array, the rows overwritten
        Lattice steps; ``-inf`` where there is no candidate.
    """
    _chosen_scores(
        hist, offsets, ordered, box_low, box_high, alive, criterion, _x_log_x_table(),
        normalised, features, starts, out,
    )  # fmt: skip
