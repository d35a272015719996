"""One node's split: which features it looks at, what each offers, and which offer is drawn.

In all functions ``start`` and ``end`` say which of ``room.structure`` are the node's records, and
``kept_at`` where in ``room.cells`` the counts that the node keeps begin; 0 if it keeps none.
"""

from __future__ import annotations

import numpy as np

from dpforest.consistent.kernels.cells import (
    WIDTH,
    count_classes,
    count_moments,
    list_cells,
    score_classes,
    score_moments,
    span_cells,
)
from dpforest.consistent.kernels.compiling import part
from dpforest.consistent.kernels.draws import draw, draw_score, scale_of, span_of, sum_weights
from dpforest.consistent.kernels.lanes import count_lanes
from dpforest.consistent.kernels.rows import keep_in_range, pick_records
from dpforest.consistent.kernels.streams import poisson, shuffle_first, uniform
from dpforest.consistent.kernels.words import scan_classes, scan_targets, sort_words

#: A feature is counted by cells in nodes where it has at most this many for each record.
CELLS_A_RECORD = 16


@part()
def _draw_size(rule, n_features, stream):
    """Draw the number of random features that a node may choose from."""
    if rule.single > 0.0 and uniform(stream) < rule.single:
        return 1
    size = rule.size
    if rule.poisson > 0.0:
        size += poisson(stream, rule.poisson)
    return min(size, n_features)


@part()
def _choose_counted(table, room, first, last, most_codes):
    """Find the drawn features that a node counts anew; sets ``own``, ``own_firsts``, ``own_place``.

    Returns how many there are that are counted side by side, how many in all, and their cells.
    """
    n_own = n_cells = n_lanes = np.uint64(0)
    for wants_lane in range(1, -1, -1):
        for j in range(first, last):
            f = room.features[j]
            has_lane = table.n_codes[f] <= table.lane_codes
            if has_lane != wants_lane:
                continue
            room.own_place[f] = -1
            if room.is_counted[f] and table.n_codes[f] <= most_codes:
                room.own[n_own] = f
                room.own_firsts[n_own] = n_cells
                room.own_place[f] = n_cells
                n_own += np.uint64(1)
                n_cells += np.uint64(table.n_codes[f])
        if wants_lane:
            n_lanes = n_own
    return np.int64(n_lanes), np.int64(n_own), np.int64(n_cells)


@part()
def count_features(
    table, room, start, end, totals, features, firsts, n_lanes, n_features, at, stride
):
    """Class counts of features of few values, to ``room.cells[at:]``.

    The first ``n_lanes`` of them are counted side by side, others one by one.
    """
    for cell in range(at, at + table.n_classes * stride):
        room.cells[cell] = 0
    if n_lanes > 0:
        count_lanes(
            table.rows, room.structure, start, totals, table.lane_codes, features, firsts, n_lanes,
            table.n_codes, room.cells, at, stride, room.lanes,
        )  # fmt: skip
    if n_lanes < n_features:
        count_classes(
            table.rows, table.labels, room.structure, start, end, features[n_lanes:],
            firsts[n_lanes:], n_features - n_lanes, room.cells, at, stride,
        )  # fmt: skip


@part()
def _score_afresh(table, room, first, last, start, end, criterion, any_ordered):
    """Count and score drawn features of few values in a node that keeps no counts."""
    n_rows = table.n_classes if table.n_classes > 0 else 3
    most_codes = CELLS_A_RECORD * (end - start) // n_rows
    n_lanes, n_own, n_cells = _choose_counted(table, room, first, last, most_codes)
    if n_own == 0:
        return
    n_cells = -(-n_cells // WIDTH) * WIDTH
    at = np.int64(0)
    if table.n_classes > 0:
        count_features(
            table, room, start, end, room.totals, room.own, room.own_firsts, n_lanes, n_own, at,
            n_cells,
        )  # fmt: skip
        score_classes(
            room.cells, at, n_cells, room.totals, end - start, room.own, room.own_firsts, n_own,
            table.n_codes, table.against_rest, any_ordered, room.sums, room.cell_scores,
        )  # fmt: skip
    else:
        for cell in range(n_rows * n_cells):
            room.moment_cells[cell] = 0.0
        count_moments(
            table.rows, table.targets, room.moments[3], room.structure, start, end, room.own,
            room.own_firsts, n_own, room.moment_cells, n_cells,
        )  # fmt: skip
        score_moments(
            room.moment_cells, n_cells, room.moments, room.own, room.own_firsts, n_own,
            table.n_codes, table.against_rest, criterion, room.sums, room.cell_scores,
        )  # fmt: skip
    span_cells(
        room.cell_scores, room.own, room.own_firsts, n_own, table.n_codes, room.lows, room.highs
    )


@part()
def _score_kept(table, room, kept_at, n_node, any_ordered):
    """Score all features of few values from the counts that the node keeps."""
    n_kept = table.counted.shape[0]
    score_classes(
        room.cells, kept_at, table.n_cells, room.totals, n_node, table.counted, table.firsts,
        n_kept, table.n_codes, table.against_rest, any_ordered, room.sums, room.cell_scores,
    )  # fmt: skip
    span_cells(
        room.cell_scores, table.counted, table.firsts, n_kept, table.n_codes, room.lows, room.highs
    )


@part()
def _list_words(table, room, f, start, end, criterion):
    """Candidates of a feature from its words, kept in order or sorted here."""
    place = table.sorted_place[f]
    if place < 0:
        sort_words(table.rows, f, room.structure, start, end, room.sorted)
        words, begin, stop = room.sorted, 0, end - start
    else:
        words, begin, stop = room.words[place], start, end
    if table.n_classes > 0:
        return scan_classes(
            words, begin, stop, table.labels, room.totals, table.against_rest[f], room.left,
            room.parts[0], room.parts[1], room.scores, room.codes,
        )  # fmt: skip
    return scan_targets(
        words, begin, stop, table.targets, room.moments, table.against_rest[f], criterion,
        room.scores, room.codes,
    )  # fmt: skip


@part()
def _list_candidates(table, room, f, start, end, kept_at, criterion, n_picked):
    """Candidates of one feature, to ``room.scores`` and ``room.codes``; returns how many.

    Those out of the range of the picked records score ``-inf``.
    """
    place = room.kept_place[f] if kept_at > 0 else room.own_place[f]
    if place >= 0:
        width = list_cells(
            place, table.n_codes[f], table.against_rest[f], room.sums[0], room.cell_scores,
            room.scores, room.codes,
        )  # fmt: skip
    else:
        width = _list_words(table, room, f, start, end, criterion)
    if n_picked > 0 and width > 0:
        keep_in_range(
            table.rows, f, room.picked, n_picked, table.against_rest[f], width, room.marks,
            room.scores, room.codes,
        )  # fmt: skip
    return width


@part()
def score_drawn(table, room, rule, start, end, kept_at, criterion, any_ordered, n_picked):
    """Draw features until one of them offers a candidate, or once; score all of theirs.

    Returns
    -------
    first, last : int
        Places of the drawn features in ``room.features``.
    bottom, top : float
        Smallest and largest score; ``inf`` and ``-inf`` if no feature looked at offers any.
    """
    n_features = table.n_codes.shape[0]
    n_drawn = n_features
    if rule.size > 0:
        n_drawn = _draw_size(rule, n_features, room.stream)
        for f in range(n_features):
            room.features[f] = f
    first = last = 0
    bottom, top = np.inf, -np.inf
    while top == -np.inf and last < n_features and (rule.redraw or last == 0):
        first, last = last, min(last + n_drawn, n_features)
        if rule.size > 0:
            shuffle_first(room.stream, room.features, first, last)
        # Features of few values, all at once.
        if kept_at > 0:
            _score_kept(table, room, kept_at, end - start, any_ordered)
        else:
            _score_afresh(table, room, first, last, start, end, criterion, any_ordered)
        # The others one by one; and all where only a range of values is searched.
        for j in range(first, last):
            f = room.features[j]
            place = room.kept_place[f] if kept_at > 0 else room.own_place[f]
            if place < 0 or n_picked > 0:
                width = _list_candidates(table, room, f, start, end, kept_at, criterion, n_picked)
                room.lows[f], room.highs[f] = span_of(room.scores, width)
            bottom, top = min(bottom, room.lows[f]), max(top, room.highs[f])
    return first, last, bottom, top


@part()
def _draw_feature(room, first, last, top, strength):
    """Place of a feature drawn by its largest score."""
    least = np.inf
    for j in range(first, last):
        score = room.highs[room.features[j]]
        room.weights[j - first] = score
        least = min(least, score if score != -np.inf else np.inf)
    scale = scale_of(strength, least, top)
    return first + draw_score(room.weights, last - first, top, scale, room.weights, room.stream)


@part()
def _draw_feature_jointly(
    table, room, first, last, top, scale, start, end, kept_at, criterion, n_picked
):
    """Place of a feature drawn by the sum of its candidates' weights."""
    total = 0.0
    for j in range(first, last):
        f = room.features[j]
        weight = 0.0
        if room.highs[f] != -np.inf:
            width = _list_candidates(table, room, f, start, end, kept_at, criterion, n_picked)
            weight = sum_weights(room.scores, width, top, scale)
        room.weights[j - first] = weight
        total += weight
    return first + draw(room.weights, last - first, total, room.stream)


@part()
def choose_split(table, room, candidate_rule, rule, start, end, kept_at, criterion, any_ordered):
    """Draw a feature and one of its candidates.

    Returns
    -------
    feature : int
        -1 if none offers a candidate.
    code, next_code : int
        An ordered feature is cut between these two; else the value is ``code``.
    """
    n_picked = pick_records(
        room.structure, start, end, rule.search_points, room.stream, room.picked
    )
    first, last, low, high = score_drawn(
        table, room, candidate_rule, start, end, kept_at, criterion, any_ordered, n_picked
    )
    if high == -np.inf:
        return -1, 0, 0
    feature_strength, value_strength = rule.other_feature, rule.other_value
    if rule.first > 0.0 and uniform(room.stream) < rule.first:
        feature_strength, value_strength = rule.first_feature, rule.first_value
    if rule.joint:
        scale = scale_of(value_strength, low, high)
        j = _draw_feature_jointly(
            table, room, first, last, high, scale, start, end, kept_at, criterion, n_picked
        )
    else:
        j = _draw_feature(room, first, last, high, feature_strength)
    f = room.features[j]
    if not rule.joint:
        low, high = room.lows[f], room.highs[f]
    width = _list_candidates(table, room, f, start, end, kept_at, criterion, n_picked)
    scale = scale_of(value_strength, low, high)
    j = draw_score(room.scores, width, high, scale, room.weights, room.stream)
    return f, room.codes[j], room.codes[j] if table.against_rest[f] else room.codes[j + 1]
