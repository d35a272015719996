"""Leaves that are looked up are those that walking finds."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.learners.kernels import cell_sums, joint, leaf_tables, leaves, reach, rounds
from dpforest.learners.kernels.random_trees import descend
from dpforest.learners.refitted.lattice import STEPS

ROWS = max(rounds._FEW_RECORDS, joint.FEW_RECORDS) + 700  # the last block is not full


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
    sums = np.zeros((len(feature), 2**depth, residuals.shape[1]), dtype=np.int64)
    for tree, own in enumerate(walked(codes, feature, mask, depth)):
        np.add.at(sums[tree], own, residuals)
    return sums


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
        for width in (1, 3):
            values = generator.normal(size=(len(feature), 2**depth, width))
            scores = np.zeros((n, width))
            leaves.add_leaf_values(codes[:n], feature, mask, depth, values, scores)
            by_tree = np.zeros((n, width))
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


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize(
    ("depth", "n_words"), [(1, 1), (2, 4), (4, 2), (5, 1), (6, 4), (7, 2), (8, 1)]
)
def test_candidate_sums_are_those_of_walking(depth, n_words, n_columns):
    generator = np.random.default_rng(depth)
    dtype = np.uint8 if n_words < 4 else np.uint16
    feature, mask = random_trees(generator, depth, 11, n_words)
    codes = generator.integers(0, 64 * n_words, (ROWS, 11)).astype(dtype)
    largest = cell_sums.LARGEST
    residuals = generator.integers(-largest, largest + 1, (ROWS, n_columns)).astype(np.int32)
    for n in (ROWS, 100):
        sums = np.empty((len(feature), 2**depth, n_columns), dtype=np.int64)
        sizes = cell_sums.code_sizes(codes[:n])
        rounds.candidate_sums(codes[:n], residuals[:n], feature, mask, depth, sizes, sums)
        expected = sums_by_walking(codes[:n], residuals[:n], feature, mask, depth)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 7, 10])
@pytest.mark.parametrize(("depth", "n_codes"), [(1, 5), (4, 3), (6, 2), (8, 5)])
def test_sums_by_cells_are_those_of_walking(depth, n_codes, n_columns):
    generator = np.random.default_rng(depth)
    feature, mask = random_trees(generator, depth, 11, 1)
    n = 2 * cell_sums.RUN + 700
    codes = generator.integers(0, n_codes, (n, 11)).astype(np.uint8)
    codes[:, 0] += 9
    # All at one end, where a sum of a run would leave its half of a word first.
    ends = np.array([-cell_sums.LARGEST, cell_sums.LARGEST])
    residuals = np.resize(ends, (n, n_columns)).astype(np.int32)
    residuals[: n // 2] = ends[n_columns % 2]
    sizes = cell_sums.code_sizes(codes)
    np.testing.assert_array_equal(sizes, codes.max(axis=0).astype(int) + 1)
    n_cells = cell_sums.tree_cells(feature, mask, sizes, n)[0]
    assert (n_cells > 0).sum() >= 3 and (depth < 6 or not n_cells.all())
    sums = np.empty((len(feature), 2**depth, n_columns), dtype=np.int64)
    rounds.candidate_sums(codes, residuals, feature, mask, depth, sizes, sums)
    expected = sums_by_walking(codes, residuals, feature, mask, depth)
    np.testing.assert_array_equal(sums, expected)


def test_residuals_fit_into_half_a_word():
    assert STEPS <= cell_sums.LARGEST
    assert cell_sums.LARGEST * cell_sums.RUN < 2**31
    assert cell_sums.RUN % cell_sums._GROUP == 0 == cell_sums._GROUP % cell_sums._BLOCK


@pytest.mark.parametrize("depth", [1, 4, 6, 8])
def test_leaves_of_the_chosen_tree_are_those_of_walking(depth):
    generator = np.random.default_rng(depth)
    feature, mask = random_trees(generator, depth, 11, 2)
    codes = generator.integers(0, 128, (ROWS, 11)).astype(np.uint8)
    for n in (ROWS, 100):
        for tree, expected in enumerate(walked(codes[:n], feature, mask, depth)):
            found = np.empty(n, dtype=np.int32)
            rounds.chosen_leaves(codes[:n], feature[tree], mask[tree], depth, found)
            np.testing.assert_array_equal(found, expected)


def test_every_leaf_has_a_place_of_its_own():
    for depth in range(1, reach.MAX_DEPTH + 1):
        places = [reach.place_of(np.uint64(1 << leaf)) for leaf in range(2**depth)]
        assert max(places) < reach.N_PLACES
        assert reach.leaves_of_places(depth)[np.array(places)].tolist() == list(range(2**depth))
