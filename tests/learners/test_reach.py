"""Leaves that are looked up are those that walking finds."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.learners.kernels import reach, rounds
from dpforest.learners.kernels.random_trees import tree_leaves

ROWS = rounds._FEW_RECORDS + 700  # the last block is not full


def random_trees(generator, depth, n_features, n_words):
    """Trees with any bits in their masks, and some nodes that send every code left."""
    counts = (1, 2, 3, 4, 5, 6, 7, 9)
    n_nodes = 2**depth - 1
    features = [
        generator.choice(generator.choice(n_features, k, replace=False), n_nodes) for k in counts
    ]
    mask = generator.integers(0, 2**64, (len(counts), n_nodes, n_words), dtype=np.uint64)
    mask[generator.random(mask.shape[:2]) < 0.2] = np.uint64(2**64 - 1)
    return np.array(features, dtype=np.int32), mask


def sums_by_walking(codes, residuals, feature, mask, depth):
    leaves = np.empty((len(feature), len(codes)), dtype=np.int32)
    tree_leaves(codes, feature, mask, depth, leaves)
    sums = np.zeros((len(feature), 2**depth, residuals.shape[1]), dtype=np.int64)
    for tree, own in enumerate(leaves):
        np.add.at(sums[tree], own, residuals)
    return sums


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize(("depth", "n_words"), [(1, 1), (2, 4), (4, 2), (5, 1), (6, 4), (7, 2)])
def test_candidate_sums_are_those_of_walking(depth, n_words, n_columns):
    generator = np.random.default_rng(depth)
    dtype = np.uint8 if n_words < 4 else np.uint16
    feature, mask = random_trees(generator, depth, 11, n_words)
    codes = generator.integers(0, 64 * n_words, (ROWS, 11)).astype(dtype)
    residuals = generator.integers(-(2**20), 2**20, (ROWS, n_columns)).astype(np.int32)
    for n in (ROWS, 100):
        sums = np.empty((len(feature), 2**depth, n_columns), dtype=np.int64)
        rounds.candidate_sums(codes[:n], residuals[:n], feature, mask, depth, sums)
        expected = sums_by_walking(codes[:n], residuals[:n], feature, mask, depth)
        np.testing.assert_array_equal(sums, expected)


def test_every_leaf_has_a_place_of_its_own():
    for depth in range(1, reach.MAX_DEPTH + 1):
        places = reach.leaf_places(depth)
        assert len(set(places.tolist())) == 2**depth
        assert places.max() < reach.N_PLACES
