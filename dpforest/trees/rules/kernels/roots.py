"""Bounds of both children of every root cut."""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import compile_for, kernel
from dpforest.trees.rules.kernels.bit_counts import (
    bit_places,
    class_steps,
    counts_with,
    fits_a_table,
    in_columns,
    in_words,
    joint_counts,
    left_bits,
    left_counts,
    pays_a_table,
)
from dpforest.trees.rules.kernels.children import both_bounds, near_bounds, room_for
from dpforest.trees.rules.kernels.distinct import (
    distinct_cuts,
    of_every_cut,
    rows_of_partings,
    weights_of_partings,
)
from dpforest.trees.rules.kernels.pairs import bounds_by_pairs, fits_pairs, scores_of_children


def root_bounds(
    bins, labels, class_weights, sizes, offsets, weights, stop, label_bounds, factors
):  # fmt: skip
    """Best score and bound of both children of every root cut.

    Cuts that part the records alike are weighed once, with the weight of all of them, which are
    the same integers. ``sizes`` are class counts in which a record counts as often as its class
    weighs. Returns arrays (left score, left bound, right score, right bound), one entry a cut.
    """
    pays = pays_a_table(labels.size, sizes.size)
    rows, starts, number, turned, of_partings = partings(
        bins, labels, sizes.size, pays, offsets, weights
    )
    found = parting_bounds(
        rows, starts, class_weights, sizes, of_partings, stop, near_bounds(label_bounds), factors,
        fits_a_table(rows.shape[0], sizes.size) and pays,
    )  # fmt: skip
    return of_every_cut(found, number, turned)


@kernel()
def partings(bins, labels, n_classes, whole_lines, offsets, weights):
    """Records left of cuts that part them differently, as bits; what cuts these are, and weigh."""
    places, starts = bit_places(labels, n_classes, whole_lines)
    n_words = starts[n_classes]
    rows = left_bits(in_columns(bins, places, 64 * n_words), n_words, offsets)
    number, turned, firsts = distinct_cuts(rows, places)
    of_partings = weights_of_partings(number, offsets, weights, firsts.size)
    return rows_of_partings(rows, firsts), starts, number, turned, of_partings


def parting_bounds(
    rows, starts, class_weights, sizes, weights, stop, near, factors, by_table
):  # fmt: skip
    """Scores and bounds as `root_bounds` has them, of cuts with weights of their own.

    The last weight is that of cuts with all records on one side, and the last entry what a root
    cut is that has none left. Of two classes no pairs are compiled, so the way is chosen here; of
    more both ways are, since records choose: see `compile_for`.
    """
    counted = counts_of_cuts(rows, starts, class_weights, by_table)
    steps, (left_sizes, *_) = class_steps(class_weights), counted
    of_cuts = starts, steps, counted, sizes, weights
    if sizes.size > 2:
        lowest, firsts = scores_of_children(left_sizes, sizes)
        by_pairs = *of_cuts, lowest, firsts, stop, near, factors
        compile_for(bounds_by_pairs, *by_pairs)
        compile_for(bounds_by_child, *of_cuts, stop, near, factors)
        if fits_pairs(sizes, firsts):
            return bounds_by_pairs(*by_pairs)
    return bounds_by_child(*of_cuts, stop, near, factors)


@kernel()
def counts_of_cuts(rows, starts, class_weights, by_table):
    """Class counts left of cuts; what there is to be counted; and a table, or words to count by."""
    left_sizes, whole = left_counts(rows, starts, class_weights)
    joint = joint_counts(rows if by_table else rows[:0], starts, class_steps(class_weights))
    return left_sizes, whole, joint, in_words(rows[:0] if by_table else rows)


@kernel()
def bounds_by_child(starts, steps, counted, sizes, weights, stop, near, factors):
    """Scores and bounds as `parting_bounds` has them, of one root cut after the other."""
    left_sizes, whole, joint, words = counted
    n_cuts, room, counts = whole.shape[1], room_for(sizes), np.empty_like(whole)
    result = np.empty((4, n_cuts + 1), dtype=np.int64)
    for cut in range(n_cuts + 1):
        if joint.shape[0] > 1:
            counts = joint[cut]
        else:
            counts_with(words, cut, starts, steps, counts)
        both_bounds(
            counts, left_sizes[cut], whole, sizes, weights[:n_cuts], weights[n_cuts], stop, near,
            factors, room, result[:, cut],
        )  # fmt: skip
    return result
