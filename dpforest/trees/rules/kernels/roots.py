"""Bounds of both children of every root cut."""

from __future__ import annotations

import numpy as np

from dpforest.kernels.compiling import kernel
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


@kernel()
def root_bounds(
    bins, labels, class_weights, sizes, offsets, weights, stop, label_bounds, factors
):  # fmt: skip
    """Best score and bound of both children of every root cut.

    Cuts that part the records alike are weighed once, with the weight of all of them, which are
    the same integers. ``sizes`` are class counts in which a record counts as often as its class
    weighs. Returns arrays (left score, left bound, right score, right bound), one entry a cut.
    """
    pays = pays_a_table(labels.size, sizes.size)
    places, starts = bit_places(labels, sizes.size, pays)
    n_words = starts[sizes.size]
    rows = left_bits(in_columns(bins, places, 64 * n_words), n_words, offsets)
    number, turned, firsts = distinct_cuts(rows, places)
    found = parting_bounds(
        rows_of_partings(rows, firsts), starts, class_weights, sizes,
        weights_of_partings(number, offsets, weights, firsts.size), stop,
        near_bounds(label_bounds), factors, pays and fits_a_table(firsts.size, sizes.size),
    )  # fmt: skip
    return of_every_cut(found, number, turned)


@kernel()
def parting_bounds(
    rows, starts, class_weights, sizes, weights, stop, near, factors, by_table
):  # fmt: skip
    """Scores and bounds as `root_bounds` has them, of cuts with weights of their own.

    The last weight is that of cuts with all records on one side, and the last entry what a root
    cut is that has none left.
    """
    n_cuts, steps, room = rows.shape[0], class_steps(class_weights), room_for(sizes)
    left_sizes, whole = left_counts(rows, starts, class_weights)
    joint = joint_counts(rows if by_table else rows[:0], starts, steps)
    words, counts = in_words(rows[:0] if by_table else rows), np.empty_like(whole)
    result = np.empty((4, n_cuts + 1), dtype=np.int64)
    for cut in range(n_cuts + 1):
        if by_table:
            counts = joint[cut]
        else:
            counts_with(words, cut, starts, steps, counts)
        both_bounds(
            counts, left_sizes[cut], whole, sizes, weights[:n_cuts], weights[n_cuts], stop, near,
            factors, room, result[:, cut],
        )  # fmt: skip
    return result
