"""Leaves that are looked up are those that walking finds."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.trees.one_shot.kernels import leaf_tables
from dpforest.trees.random.kernels import joint, leaf_sets, leaves, slots
from dpforest.trees.random.kernels.random_trees import descend
from dpforest.trees.refitted.kernels import rounds
from dpforest.trees.refitted.queries import STEPS

ROWS = max(slots.FEW_RECORDS, joint.FEW_RECORDS) + 700  # the last block is not full


def random_trees(generator, depth, n_features, n_words):
    """Trees with any bits in their masks, and some nodes that send every code left."""
    counts = (1, 2, 3, 4, 5, 6, 7, 9)
    n_nodes = 2**depth - 1
    features = [
        generator.choice(generator.choice(n_features, k, replace=False), n_nodes) for k in counts
    ]
    mask = generator.integers(0, 2**64, (len(counts), n_nodes, n_words), dtype=np.uint64)
    feature = np.array(features, dtype=np.int32)
    whole = generator.random(mask.shape[:2]) < 0.2
    whole[0] = True
    mask[whole] = np.uint64(2**64 - 1)
    feature[whole] = 0
    return feature, mask


def walked(codes, feature, mask, depth):
    found = np.empty((len(feature), len(codes)), dtype=np.int32)
    for tree, own in enumerate(found):
        descend(codes, 0, len(codes), feature[tree], mask[tree], depth, own)
    return found


def sums_by_walking(codes, residuals, feature, mask, depth):
    ones = np.ones((len(codes), 1), dtype=np.int64)
    added = np.concatenate([residuals, ones], axis=1)
    sums = np.zeros((len(feature), 2**depth, added.shape[1]), dtype=np.int64)
    for tree, own in enumerate(walked(codes, feature, mask, depth)):
        np.add.at(sums[tree], own, added)
    return sums


def leaf_sums(codes, residuals, feature, mask, depth):
    sums = np.empty((len(feature), 2**depth, residuals.shape[1] + 1), dtype=np.int64)
    codes = np.ascontiguousarray(codes)
    tables = slots.slot_tables(feature, mask, depth, slots.code_sizes(codes), len(codes))
    columns = np.ascontiguousarray(codes.T)
    rounds.leaf_sums(codes, columns, residuals, feature, mask, depth, tables, sums)
    return sums


def adding_to_nothing(residuals):
    """As residuals of several classes are: a row adds up to nothing."""
    if residuals.shape[1] > 1:
        residuals[:, -1] = -residuals[:, :-1].sum(axis=1)
    return residuals


def few_ways(generator, depth, n_features, n_words):
    """Trees as the one-shot forest has them: codes of one bin go the same way."""
    feature, mask = random_trees(generator, depth, n_features, n_words)
    bins = generator.integers(0, 9, 64 * n_words)
    bits = generator.random((*mask.shape[:2], 9)) < 0.5
    of_codes = bits[:, :, bins].reshape(*mask.shape[:2], n_words, 64)
    weights = np.uint64(1) << np.arange(64, dtype=np.uint64)
    return feature, np.ascontiguousarray((of_codes * weights).sum(axis=3, dtype=np.uint64))


@pytest.mark.parametrize("make", [few_ways, random_trees])
@pytest.mark.parametrize(("depth", "n_words"), [(1, 1), (3, 4), (7, 2), (9, 1)])
def test_leaves_are_those_of_walking(make, depth, n_words):
    generator = np.random.default_rng(depth)
    feature, mask = make(generator, depth, 11, n_words)
    codes = generator.integers(0, 64 * n_words, (ROWS, 11)).astype(np.uint8)
    looked_up = joint.joint_tables(feature, mask, depth, ROWS)[0][:, 0] >= 0
    assert looked_up[0]
    if depth > 3:
        assert not looked_up[-1]
        assert looked_up[:3].all() or make is random_trees
    for n in (ROWS, 100):
        expected = walked(codes[:n], feature, mask, depth)
        found = np.empty_like(expected)
        leaves.tree_leaves(codes[:n], feature, mask, depth, found)
        np.testing.assert_array_equal(found, expected)
        for width in (1, 3, 5):
            values = generator.normal(size=(len(feature), 2**depth, width))
            before = generator.normal(size=(n, width))
            scores = before.copy()
            leaves.add_leaf_values(codes[:n], feature, mask, depth, values, scores)
            by_tree = before  # added to
            for tree, own in enumerate(expected):
                by_tree += values[tree][own]
            np.testing.assert_array_equal(scores, by_tree)


def test_leaf_tables_are_those_of_walking():
    generator = np.random.default_rng(5)
    feature, mask = few_ways(generator, 7, 11, 4)
    codes = generator.integers(0, 256, (ROWS, 11)).astype(np.uint8)
    labels = generator.integers(0, 3, ROWS).astype(np.uint8)
    tables = np.zeros((len(feature), 128, 3), dtype=np.int64)
    leaf_tables.add_leaf_tables(codes, labels, feature, mask, 7, tables)
    expected = np.zeros_like(tables)
    for tree, own in enumerate(walked(codes, feature, mask, 7)):
        np.add.at(expected[tree], (own, labels), 1)
    np.testing.assert_array_equal(tables, expected)


def kinds_of(codes, feature, mask, depth):
    sizes = slots.code_sizes(np.ascontiguousarray(codes))
    return slots.slot_tables(feature, mask, depth, sizes, len(codes))[0]


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize(
    ("depth", "n_words"), [(1, 1), (2, 4), (4, 2), (5, 1), (6, 4), (7, 2), (8, 1)]
)
def test_leaf_sums_are_those_of_walking(depth, n_words, n_columns):
    generator = np.random.default_rng(depth)
    dtype = np.uint8 if n_words < 4 else np.uint16
    feature, mask = random_trees(generator, depth, 11, n_words)
    codes = generator.integers(0, 64 * n_words, (ROWS, 11)).astype(dtype)
    # Some features have few codes, so that some pairs of them fit into one table.
    codes[:, ::2] %= 7
    largest = rounds.LARGEST
    residuals = generator.integers(-largest, largest + 1, (ROWS, n_columns)).astype(np.int32)
    residuals = adding_to_nothing(residuals)
    assert kinds_of(codes[:100], feature, mask, depth).tolist() == [slots.WALKED] * len(feature)
    if depth >= 5:
        kinds = set(kinds_of(codes, feature, mask, depth).tolist())
        assert kinds == {slots.WALKED, slots.CELLS, slots.SETS}
    for n in (ROWS, 100):
        sums = leaf_sums(codes[:n], residuals[:n], feature, mask, depth)
        expected = sums_by_walking(codes[:n], residuals[:n], feature, mask, depth)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5, 7, 10])
@pytest.mark.parametrize(("depth", "n_codes"), [(1, 5), (4, 3), (6, 2), (8, 5)])
def test_sums_by_cells_are_those_of_walking(depth, n_codes, n_columns):
    generator = np.random.default_rng(depth)
    feature, mask = random_trees(generator, depth, 11, 1)
    n = 2 * 4 * rounds.RUN + 701
    codes = generator.integers(0, n_codes, (n, 11)).astype(np.uint8)
    codes[:, 0] += 9
    # All at one end, where a sum of a run would leave its half of a word first.
    ends = np.array([-rounds.LARGEST, rounds.LARGEST])
    residuals = np.resize(ends, (n, n_columns)).astype(np.int32)
    residuals[: n // 2] = ends[n_columns % 2]
    residuals = adding_to_nothing(residuals)
    sizes = slots.code_sizes(codes)
    np.testing.assert_array_equal(sizes, codes.max(axis=0).astype(int) + 1)
    is_cell = kinds_of(codes, feature, mask, depth) == slots.CELLS
    assert is_cell.sum() >= 3 and (depth < 6 or not is_cell.all())
    expected = sums_by_walking(codes, residuals, feature, mask, depth)
    np.testing.assert_array_equal(leaf_sums(codes, residuals, feature, mask, depth), expected)


@pytest.mark.parametrize("n_columns", [1, 5, 7])
def test_all_records_of_a_run_in_one_slot_stay_within_their_half_of_a_word(n_columns):
    feature, mask = random_trees(np.random.default_rng(3), 6, 11, 1)
    n = 4 * rounds.RUN + rounds._GROUP + 3
    codes = np.zeros((n, 11), dtype=np.uint8)
    codes[0] = 63
    for end in (-rounds.LARGEST, rounds.LARGEST):
        residuals = adding_to_nothing(np.full((n, n_columns), end, dtype=np.int32))
        sums = leaf_sums(codes, residuals, feature, mask, 6)
        expected = sums_by_walking(codes, residuals, feature, mask, 6)
        np.testing.assert_array_equal(sums, expected)


def test_features_of_more_codes_than_an_entry_can_number_are_walked():
    generator = np.random.default_rng(4)
    n_words = slots.MOST_CODES // 64 + 1
    feature = generator.integers(0, 3, (3, 3)).astype(np.int32)
    mask = generator.integers(0, 2**64, (3, 3, n_words), dtype=np.uint64)
    codes = generator.integers(0, 64 * n_words, (ROWS, 3)).astype(np.uint32)
    residuals = generator.integers(-9, 9, (ROWS, 1)).astype(np.int32)
    assert kinds_of(codes, feature, mask, 2).tolist() == [slots.WALKED] * 3
    expected = sums_by_walking(codes, residuals, feature, mask, 2)
    np.testing.assert_array_equal(leaf_sums(codes, residuals, feature, mask, 2), expected)


def test_residuals_and_counts_fit_into_half_a_word():
    assert STEPS <= rounds.LARGEST
    # The last records of a block that fills no whole round of lanes go to the first one.
    assert rounds.LARGEST * (rounds.RUN + 3) < 2**31
    assert rounds.RUN % rounds._GROUP == 0
    assert slots.MOST_CELLS <= 2**16 and slots.PAIR_CODES <= 2**16


@pytest.mark.parametrize("depth", [1, 4, 6, 8])
def test_leaves_of_the_chosen_tree_are_those_of_walking(depth):
    generator = np.random.default_rng(depth)
    feature, mask = random_trees(generator, depth, 11, 2)
    codes = generator.integers(0, 128, (ROWS, 11)).astype(np.uint8)
    codes[:, ::2] %= 7
    for n in (ROWS, 100):
        own, sizes = codes[:n], slots.code_sizes(codes[:n])
        columns = np.ascontiguousarray(own.T)
        for tree, expected in enumerate(walked(codes[:n], feature, mask, depth)):
            found = np.empty(n, dtype=np.int32)
            one = feature[tree : tree + 1], mask[tree : tree + 1], depth
            tables = slots.slot_tables(*one, sizes, n)
            rounds.chosen_leaves(own, columns, *one, tables, found)
            np.testing.assert_array_equal(found, expected)


def test_every_leaf_has_a_place_of_its_own():
    for depth in range(1, leaf_sets.MAX_DEPTH + 1):
        places = [leaf_sets.place_of(np.uint64(1 << leaf)) for leaf in range(2**depth)]
        assert max(places) < leaf_sets.N_PLACES
        assert leaf_sets.leaves_of_places(depth)[np.array(places)].tolist() == list(range(2**depth))
