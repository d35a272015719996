"""One whole tree in one call, node by node from a stack.

Of two children the one with fewer structure points is grown first, so the stack holds at most
log2(n) nodes. Where every node looks at every feature, class counts of features with few values are
kept with the node: the smaller child is counted, the larger one is its parent minus it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpforest.consistent.kernels.cells import (
    count_classes,
    count_moments,
    list_cells,
    score_classes,
    score_moments,
    span_cells,
)
from dpforest.consistent.kernels.draws import (
    draw,
    draw_label,
    draw_score,
    scale_of,
    span_of,
    sum_weights,
)
from dpforest.consistent.kernels.layout import Tree
from dpforest.consistent.kernels.records import (
    count_labels,
    keep_in_range,
    pick_records,
    split_records,
    take_moments,
)
from dpforest.consistent.kernels.streams import child_key, poisson, shuffle_first, uniform
from dpforest.consistent.kernels.words import (
    keep_words,
    scan_classes,
    scan_targets,
    sort_words,
    split_words,
)

#: A feature is counted by cells in nodes where it has at most this many for each record.
CELLS_A_RECORD = 16
_DEEPEST_STACK = 40


@njit(cache=True, nogil=True)
def _cut_place(
    values: NDArray, at: int, against_rest: bool, code: int, next_code: int
) -> tuple[float, float, int, int]:
    """Range of values and of codes that go left; a value at the midpoint goes right."""
    value = values[at + code]
    if against_rest:
        return value, np.nextafter(value, np.inf), code, code
    above = values[at + next_code]
    middle = 0.5 * value + 0.5 * above
    if not (value < middle <= above):  # next to each other
        middle = above
    last = code
    while values[at + last + 1] < middle:
        last += 1
    return -np.inf, middle, 0, last


@njit(cache=True, nogil=True)
def _mean_of(targets: NDArray, records: NDArray, start: int, end: int) -> float:
    total = 0.0
    for i in range(start, end):
        total += targets[records[i]]
    return total / max(end - start, 1)


@njit(cache=True, nogil=True)
def _choose_counted(
    features: NDArray, first: int, last: int, n_codes: NDArray, is_counted: NDArray,
    most_codes: int, own: NDArray, own_firsts: NDArray, own_place: NDArray,
) -> tuple[int, int]:  # fmt: skip
    """Which drawn features are counted by cells in a node; returns their number and cells.

    ``own_place[f]`` becomes feature f's first cell, or -1.
    """
    n_own = n_cells = 0
    for j in range(first, last):
        f = features[j]
        own_place[f] = -1
        if is_counted[f] and n_codes[f] <= most_codes:
            own[n_own], own_firsts[n_own], own_place[f] = f, n_cells, n_cells
            n_own += 1
            n_cells += n_codes[f]
    return n_own, n_cells


@njit(cache=True, nogil=True)
def _draw_size(single: float, size: int, mean: float, n_features: int, stream: NDArray) -> int:
    """How many random features a node may choose from."""
    if single > 0.0 and uniform(stream) < single:
        return 1
    if mean > 0.0:
        size += poisson(stream, mean)
    return min(size, n_features)


@njit(cache=True, nogil=True)
def grow_tree(
    table,
    candidate_rule,
    split_rule,
    stop_rule,
    label_strength,
    criterion,
    structure,
    estimation,
    same_records,
    key,
):
    """Grow one tree.

    Parameters
    ----------
    table, candidate_rule, split_rule, stop_rule : see :mod:`dpforest.consistent.kernels.layout`
    label_strength : float
        How a leaf's label is drawn; infinite for the majority, ties at random.
    criterion : int
        In regression, a code of :mod:`dpforest.consistent.kernels.cells`.
    structure, estimation : int32 arrays
        Record numbers; both are reordered. The latter is not read where ``same_records``.
    key : uint64
        All that the tree draws follows from it.

    Returns
    -------
    Tree
    """
    rows, labels, targets, n_classes = table.rows, table.labels, table.targets, table.n_classes
    values, value_starts, n_codes = table.values, table.value_starts, table.n_codes
    against_rest, sorted_place = table.against_rest, table.sorted_place
    kept_features, kept_firsts, n_kept_cells = table.counted, table.firsts, table.n_cells
    single, size, mean = candidate_rule.single, candidate_rule.size, candidate_rule.poisson
    split_from, child_from, max_depth = stop_rule
    n_structure, n_features = structure.shape[0], rows.shape[1]
    classifies = n_classes > 0
    draws_features = size > 0
    n_rows = n_classes if classifies else 3

    # The tree.
    most = 2 * max(n_structure, 1) - 1
    feature, child = np.empty(most, np.int32), np.empty(most, np.int32)
    low, high = np.empty(most, np.float64), np.empty(most, np.float64)
    value, n_estimation = np.empty(most, np.float64), np.empty(most, np.int32)

    # Room that every node writes over.
    stream = np.empty(1, np.uint64)
    totals, left = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    moments = np.zeros(4, np.float64)
    room = max(min(n_structure, n_codes.max()) + 2, n_features, n_classes)
    scores, codes = np.empty(room, np.float64), np.empty(room, np.int64)
    weights, shares = np.empty(room, np.float64), np.empty(n_classes, np.float64)
    lows, highs = np.empty(n_features, np.float64), np.empty(n_features, np.float64)
    features = np.arange(n_features)
    own, own_firsts = np.empty(n_features, np.int64), np.empty(n_features, np.int64)
    own_place = np.full(n_features, -1, np.int64)
    is_counted = np.zeros(n_features, np.bool_)
    kept_place = np.full(n_features, -1, np.int64)
    is_counted[kept_features] = True
    kept_place[kept_features] = kept_firsts
    any_ordered = not against_rest[kept_features].all()
    cell_scores = np.empty(n_kept_cells, np.float64)
    sums = np.empty((4, n_kept_cells), np.float64)
    moment_cells = np.empty(0 if classifies else 3 * n_kept_cells, np.float64)
    sorted_words = np.empty(n_structure, np.uint64)
    picked, marks = np.empty(n_structure, np.int32), np.zeros(n_codes.max() + 1, np.bool_)
    buffer = np.empty(max(n_structure, estimation.shape[0]), np.int32)
    is_left = np.zeros(rows.shape[0], np.uint8)

    # Features of many values, in order.
    words = np.empty((table.words.shape[0], n_structure + 1), np.uint64)
    is_left[structure] = 1
    keep_words(table.words, is_left, words)

    # Class counts that nodes keep: one slot each; slot 0 is for those counted afresh.
    n_kept = kept_features.shape[0]
    keeps = classifies and not draws_features and n_kept > 0
    slot_size = n_rows * n_kept_cells
    n_slots = 36 if keeps else 1
    cells = np.zeros(n_slots * slot_size if classifies else 0, np.int32)
    free, n_free = np.arange(n_slots), n_slots
    keep_from = max(slot_size / (CELLS_A_RECORD * max(n_kept, 1)), 1.0) if keeps else np.inf

    # Pending nodes: ranges of structure and estimation points; number, depth, slot (0: none).
    ranges = np.empty((_DEEPEST_STACK, 4), np.int64)
    places = np.empty((_DEEPEST_STACK, 3), np.int64)
    keys = np.empty(_DEEPEST_STACK, np.uint64)
    ranges[0, 0], ranges[0, 1], ranges[0, 2], ranges[0, 3] = 0, n_structure, 0, estimation.shape[0]
    places[0, 0] = places[0, 1] = places[0, 2] = 0
    keys[0] = key
    if n_structure >= keep_from:
        n_free -= 1
        places[0, 2] = free[n_free]
        count_classes(
            rows, labels, structure, 0, n_structure, kept_features, kept_firsts, n_kept,
            cells, free[n_free] * slot_size, n_kept_cells,
        )  # fmt: skip
    height = n_nodes = 1
    while height > 0:
        height -= 1
        start, end = ranges[height, 0], ranges[height, 1]
        est_start, est_end = ranges[height, 2], ranges[height, 3]
        node, depth, slot = places[height, 0], places[height, 1], places[height, 2]
        own_key = keys[height]
        stream[0] = own_key
        n_node = end - start
        n_answers = n_node if same_records else est_end - est_start
        n_estimation[node] = n_answers

        split = n_answers >= split_from and depth < max_depth
        if split and classifies:
            split = not count_labels(labels, structure, start, end, totals)
        elif split:
            split = not take_moments(targets, structure, start, end, moments)

        if split:
            # -- candidates: draw features until one of them offers something, score them all
            n_picked = pick_records(structure, start, end, split_rule.search_points, stream, picked)
            n_drawn = n_features
            if draws_features:
                n_drawn = _draw_size(single, size, mean, n_features, stream)
                for f in range(n_features):
                    features[f] = f
            first = last = n_own = own_cells = 0
            bottom, top = np.inf, -np.inf
            while top == -np.inf and last < n_features:
                first, last = last, min(last + n_drawn, n_features)
                if draws_features:
                    shuffle_first(stream, features, first, last)
                # Features of few values, all at once.
                if slot > 0:
                    score_classes(
                        cells, slot * slot_size, n_kept_cells, totals, n_node, kept_features,
                        kept_firsts, n_kept, n_codes, against_rest, any_ordered, sums, cell_scores,
                    )  # fmt: skip
                    span_cells(
                        cell_scores, kept_features, kept_firsts, n_kept, n_codes, lows, highs
                    )
                else:
                    n_own, own_cells = _choose_counted(
                        features, first, last, n_codes, is_counted,
                        CELLS_A_RECORD * n_node // n_rows, own, own_firsts, own_place,
                    )  # fmt: skip
                    if n_own > 0 and classifies:
                        cells[: n_rows * own_cells] = 0
                        count_classes(
                            rows, labels, structure, start, end, own, own_firsts, n_own, cells, 0,
                            own_cells,
                        )  # fmt: skip
                        score_classes(
                            cells, 0, own_cells, totals, n_node, own, own_firsts, n_own, n_codes,
                            against_rest, any_ordered, sums, cell_scores,
                        )  # fmt: skip
                    elif n_own > 0:
                        moment_cells[: n_rows * own_cells] = 0.0
                        count_moments(
                            rows, targets, moments[3], structure, start, end, own, own_firsts,
                            n_own, moment_cells, own_cells,
                        )  # fmt: skip
                        score_moments(
                            moment_cells, own_cells, moments, own, own_firsts, n_own, n_codes,
                            against_rest, criterion, sums, cell_scores,
                        )  # fmt: skip
                    span_cells(cell_scores, own, own_firsts, n_own, n_codes, lows, highs)
                # The others one by one; and all where only a range of values is searched.
                for j in range(first, last):
                    f = features[j]
                    place = kept_place[f] if slot > 0 else own_place[f]
                    if place < 0 or n_picked > 0:
                        width = _list_candidates(
                            rows, labels, targets, f, place, n_codes, against_rest, sorted_place,
                            words, structure, start, end, sums, cell_scores, totals, moments,
                            criterion, picked, n_picked, marks, sorted_words, left, scores, codes,
                        )  # fmt: skip
                        lows[f], highs[f] = span_of(scores, width)
                    bottom, top = min(bottom, lows[f]), max(top, highs[f])
            split = top != -np.inf

        if split:
            # -- choice: a feature, then one of its candidates
            feature_strength, value_strength = split_rule.other_feature, split_rule.other_value
            if split_rule.first > 0.0 and uniform(stream) < split_rule.first:
                feature_strength, value_strength = split_rule.first_feature, split_rule.first_value
            if split_rule.joint:
                scale = scale_of(value_strength, bottom, top)
                total = 0.0
                for j in range(first, last):
                    f = features[j]
                    weights[j] = 0.0
                    if highs[f] != -np.inf:
                        place = kept_place[f] if slot > 0 else own_place[f]
                        width = _list_candidates(
                            rows, labels, targets, f, place, n_codes, against_rest, sorted_place,
                            words, structure, start, end, sums, cell_scores, totals, moments,
                            criterion, picked, n_picked, marks, sorted_words, left, scores, codes,
                        )  # fmt: skip
                        weights[j] = sum_weights(scores, width, top, scale)
                    total += weights[j]
                j = first + draw(weights[first:last], last - first, total, stream)
            else:
                least = np.inf
                for j in range(first, last):
                    weights[j] = highs[features[j]]
                    least = min(least, weights[j] if weights[j] != -np.inf else np.inf)
                scale = scale_of(feature_strength, least, top)
                chances = weights[first:last]
                j = first + draw_score(chances, last - first, top, scale, chances, stream)
            f = features[j]
            place = kept_place[f] if slot > 0 else own_place[f]
            width = _list_candidates(
                rows, labels, targets, f, place, n_codes, against_rest, sorted_place,
                words, structure, start, end, sums, cell_scores, totals, moments, criterion, picked,
                n_picked, marks, sorted_words, left, scores, codes,
            )  # fmt: skip
            if not split_rule.joint:
                top = highs[f]
                scale = scale_of(value_strength, lows[f], top)
            j = draw_score(scores, width, top, scale, weights, stream)
            next_code = codes[j] if against_rest[f] else codes[j + 1]

            # -- records go left or right
            low[node], high[node], low_code, high_code = _cut_place(
                values, value_starts[f], against_rest[f], codes[j], next_code
            )
            n_left = est_left = np.int64(0)
            if not same_records:
                est_left = split_records(
                    rows, estimation, est_start, est_end, f, low_code, high_code, buffer, is_left
                )
                split = min(est_left, n_answers - est_left) >= child_from
            if split:
                n_left = split_records(
                    rows, structure, start, end, f, low_code, high_code, buffer, is_left
                )
            if same_records:
                est_left = n_left
                split = min(est_left, n_answers - est_left) >= child_from

        if not split:
            feature[node] = -1
            low[node] = high[node] = np.inf
            child[node] = node
            if same_records:
                est_start, est_end = start, end
            answers = structure if same_records else estimation
            if classifies:
                count_labels(labels, answers, est_start, est_end, totals)
                value[node] = draw_label(totals, label_strength, shares, weights, stream)
            else:
                value[node] = _mean_of(targets, answers, est_start, est_end)
            if slot > 0:
                free[n_free] = slot
                n_free += 1
            continue

        feature[node] = f
        child[node] = n_nodes
        value[node] = np.nan
        middle, est_middle = start + n_left, est_start + est_left
        largest = max(est_left, n_answers - est_left)
        some_grow = largest >= split_from and depth + 1 < max_depth
        if some_grow:
            split_words(words, start, end, is_left, sorted_words)
        left_small = n_left <= end - middle
        n_small = min(n_left, end - middle)
        small_slot = large_slot = np.int64(0)
        if slot > 0 and some_grow and n_node - n_small >= keep_from:
            n_free -= 1
            small_slot, large_slot = free[n_free], slot
            small, large = small_slot * slot_size, large_slot * slot_size
            small_cells = cells[small : small + slot_size]
            large_cells = cells[large : large + slot_size]
            small_cells[:] = 0
            count_classes(
                rows, labels, structure, start if left_small else middle,
                middle if left_small else end, kept_features, kept_firsts, n_kept, cells, small,
                n_kept_cells,
            )  # fmt: skip
            for cell in range(slot_size):
                large_cells[cell] -= small_cells[cell]
            if n_small < keep_from:
                free[n_free] = small_slot
                n_free += 1
                small_slot = np.int64(0)
        elif slot > 0:
            free[n_free] = slot
            n_free += 1

        # The smaller child is pushed last, so it is grown first.
        for is_small in range(2):
            goes_right = np.int64((is_small == 1) != left_small)
            ranges[height, 0] = middle if goes_right else start
            ranges[height, 1] = end if goes_right else middle
            ranges[height, 2] = est_middle if goes_right else est_start
            ranges[height, 3] = est_end if goes_right else est_middle
            places[height, 0] = n_nodes + goes_right
            places[height, 1] = depth + 1
            places[height, 2] = small_slot if is_small else large_slot
            keys[height] = child_key(own_key, goes_right)
            height += 1
        n_nodes += 2
    return Tree(
        feature[:n_nodes].copy(),
        low[:n_nodes].copy(),
        high[:n_nodes].copy(),
        child[:n_nodes].copy(),
        value[:n_nodes].copy(),
        n_estimation[:n_nodes].copy(),
    )


@njit(cache=True, nogil=True)
def _list_candidates(
    rows: NDArray, labels: NDArray, targets: NDArray, f: int, place: int, n_codes: NDArray,
    against_rest: NDArray, sorted_place: NDArray, words: NDArray, structure: NDArray,
    start: int, end: int, sums: NDArray, cell_scores: NDArray, totals: NDArray,
    moments: NDArray, criterion: int, picked: NDArray, n_picked: int, marks: NDArray,
    sorted_words: NDArray, left: NDArray, scores: NDArray, codes: NDArray,
) -> int:  # fmt: skip
    """Candidates of one feature in one node, to ``scores`` and ``codes``; returns how many.

    From cells where the feature has some (``place >= 0``), else from its words, which are kept in
    order or sorted here. Candidates out of the range of the picked records score ``-inf``.
    """
    if place >= 0:
        width = list_cells(place, n_codes[f], against_rest[f], sums[0], cell_scores, scores, codes)
    else:
        is_kept = sorted_place[f] >= 0
        if not is_kept:
            sort_words(rows, f, structure, start, end, sorted_words)
        own = words[sorted_place[f]] if is_kept else sorted_words
        begin = start if is_kept else 0
        stop = end if is_kept else end - start
        if totals.shape[0] > 0:
            width = scan_classes(
                own, begin, stop, labels, totals, against_rest[f], left, scores, codes
            )
        else:
            width = scan_targets(
                own, begin, stop, targets, moments, against_rest[f], criterion, scores, codes
            )
    if n_picked > 0 and width > 0:
        keep_in_range(rows, f, picked, n_picked, against_rest[f], width, marks, scores, codes)
    return width
