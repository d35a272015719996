"""Random trees: structures that fit their boxes, routing against a slow twin, storage."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpforest.domain.list_order import ListOrder
from dpforest.mechanisms.entropy import SeededSource
from dpforest.trees.random.bins import public_bins
from dpforest.trees.random.kernels import random_trees as kernels
from dpforest.trees.random.kernels.unknown import count_coins, throw_coins
from dpforest.trees.random.trees import RandomTrees, draw_random_trees

MIXED = [9, -5, 300, -2, 2, -70]


@pytest.fixture
def facts(facts_of):
    return facts_of(MIXED, 3)


@pytest.fixture
def trees(facts):
    return draw_random_trees(40, 5, public_bins(facts, 32), facts, SeededSource(1))


def left_codes(trees, tree, node):
    words = trees.mask[tree, node].tolist()
    return {c for c in range(64 * len(words)) if words[c // 64] >> (c % 64) & 1}


def slow_leaf(trees, tree, record):
    node = 0
    for _ in range(trees.depth):
        goes_left = int(record[trees.feature[tree, node]]) in left_codes(trees, tree, node)
        node = 2 * node + (1 if goes_left else 2)
    return node - (2**trees.depth - 1)


def test_every_record_reaches_the_leaf_that_a_slow_walk_finds(trees, facts, table_of):
    table = table_of(facts, 700, seed=3)
    leaves = trees.leaves(table.codes)
    for tree in range(0, 40, 7):
        for record in range(0, 700, 13):
            assert leaves[tree, record] == slow_leaf(trees, tree, table.codes[record])


def test_leaf_values_add_up_over_trees(trees, facts, table_of):
    table = table_of(facts, 1100, seed=4)
    values = np.random.default_rng(0).normal(size=(40, 32, 2))
    scores = np.ones((1100, 2))
    trees.add_values(table.codes, values, scores)
    leaves = trees.leaves(table.codes)
    expected = 1.0 + sum(values[tree, leaves[tree]] for tree in range(40))
    assert np.allclose(scores, expected, rtol=0, atol=1e-12)


def test_every_split_parts_the_box_that_its_ancestors_left(trees, facts):
    bins = public_bins(facts, 32)
    for tree in range(trees.n_trees):
        boxes = {0: [set(range(n)) for n in facts.n_codes]}
        for node in range(2**trees.depth - 1):
            box, f = boxes[node], int(trees.feature[tree, node])
            left = left_codes(trees, tree, node) & box[f]
            right = box[f] - left
            assert left and right
            of_code = bins.of_code[facts.offsets[f] : facts.offsets[f + 1]]
            assert not {of_code[c] for c in left} & {of_code[c] for c in right}, "a bin is cut"
            if facts.ordered[f]:
                missing = int(facts.n_codes[f]) - 1
                low, high = left - {missing}, right - {missing}
                assert not low or not high or max(low) < min(high)
            for child, side in ((2 * node + 1, left), (2 * node + 2, right)):
                boxes[child] = [side if g == f else kept for g, kept in enumerate(box)]


@pytest.mark.parametrize("columns", [[9, -5, 300, -2, 2, -60], [2, -2, 3], [61, 65, 66, 700, 129]])
@pytest.mark.parametrize("max_bins", [3, 63])
def test_trees_drawn_by_bits_are_those_drawn_by_looking_at_ancestors(facts_of, columns, max_bins):
    facts = facts_of(columns, 2)
    bins = public_bins(facts, max_bins)
    assert np.diff(bins.starts).max() <= 64
    n_words = -(-int(facts.n_codes.max()) // 64)
    rest = bins.of_code, bins.starts, facts.offsets, facts.ordered
    for seed in range(40):
        drawn, generator = [], np.random.default_rng(seed + 100)
        listed = generator.integers(0, 3, len(columns)).astype(np.uint8)
        # Without an order a missing value is a category like any other.
        missing = facts.ordered | (generator.random(len(columns)) < 0.5)
        allowed = np.random.default_rng(seed).permutation(len(columns))[: 1 + seed % 4]
        for draw in (kernels._draw_tree, kernels._draw_tree_by_bits):
            state = np.array([seed], dtype=np.uint64)
            feature = np.full(63, -7, dtype=np.int32)
            mask = np.full((63, n_words), 7, dtype=np.uint64)
            draw(state, allowed, *rest, listed, missing, feature, mask)
            drawn.append((state.tolist(), feature.tolist(), mask.tolist()))
        assert drawn[0] == drawn[1]


def slow_toss(feature, mask, unknown, words):
    """The coins one by one, by the bits of Python's integers."""
    words, sides = iter(words), []
    for tree, node in np.ndindex(*feature.shape):
        masked = sum(int(word) << 64 * k for k, word in enumerate(mask[tree, node]))
        code = int(unknown[feature[tree, node]])
        if code >= 0 and masked != 2 ** (64 * mask.shape[2]) - 1:
            left = int(next(words)) >> 63
            masked = masked | 1 << code if left else masked & ~(1 << code)
        sides.append([masked >> 64 * k & 2**64 - 1 for k in range(mask.shape[2])])
    assert next(words, None) is None
    return np.array(sides, dtype=np.uint64).reshape(mask.shape)


def test_coins_for_what_is_not_declared_are_those_of_a_slow_twin():
    rng = np.random.default_rng(5)
    unknown = np.array([3, -1, 130, 63, 64])
    feature = rng.integers(0, 5, (30, 15)).astype(np.int32)
    mask = rng.integers(0, 2**64, (30, 15, 3), dtype=np.uint64)
    mask[rng.random((30, 15)) < 0.2] = 2**64 - 1
    words = rng.integers(0, 2**64, count_coins(feature, mask, unknown), dtype=np.uint64)
    assert 200 < words.size < 400
    expected = slow_toss(feature, mask, unknown, words)
    throw_coins(feature, mask, unknown, words)
    assert np.array_equal(mask, expected)


def test_a_node_that_nothing_can_split_sends_all_left(facts_of):
    facts = facts_of([2, -2], 2)
    trees = draw_random_trees(20, 4, public_bins(facts, 32), facts, SeededSource(2))
    everything = np.array([[a, b] for a in range(2) for b in range(2)], dtype=np.uint8)
    for leaves in trees.leaves(everything):
        assert sorted(leaves.tolist()) == [0, 4, 8, 12], "two splits, then left, left"
    assert (trees.splits[:, :3] >= 0).all() and (trees.splits[:, 3:] == -1).all()
    assert np.array_equal(trees.splits[:, :3], trees.feature[:, :3])


def test_a_tree_keeps_to_the_number_of_features_it_is_allowed(facts):
    allowed = np.array([1, 2, 3, 6] * 10)
    trees = draw_random_trees(40, 4, public_bins(facts, 32), facts, SeededSource(3), allowed)
    for tree, most in enumerate(allowed):
        used = set(trees.feature[tree].tolist())
        # Nodes that nothing splits name feature 0.
        assert len(used - {0}) <= most
    assert len(set(trees.feature[allowed == 1][:, 0].tolist())) >= 3


def test_features_thresholds_and_subsets_are_uniform(facts_of):
    facts = facts_of([5, -3], 2)
    trees = draw_random_trees(6000, 1, public_bins(facts, 32), facts, SeededSource(4))
    counts = splits_of(trees, facts)
    # Feature 0: three thresholds between four bins, missing left or right. Feature 1: six subsets.
    assert len(counts) == 12
    for count in counts.values():
        assert abs(count - 500) < 6.2 * math.sqrt(500 * 11 / 12)  # one in 1e9 for each


def splits_of(trees, facts):
    """How often each split of the roots was drawn: the feature, and the codes that go left."""
    counts: dict[tuple[int, frozenset[int]], int] = {}
    for tree in range(trees.n_trees):
        f = int(trees.feature[tree, 0])
        split = f, frozenset(left_codes(trees, tree, 0) & set(range(int(facts.n_codes[f]))))
        counts[split] = counts.get(split, 0) + 1
    return counts


@pytest.mark.parametrize("missing", [False, True])
def test_a_list_that_tells_an_order_is_parted_in_two(facts_of, missing):
    facts = facts_of([-5, -2], 2, listed=[ListOrder.TOLD, ListOrder.NOTHING])
    facts = replace(facts, has_missing_code=np.array([missing, False]))
    trees = draw_random_trees(6000, 1, public_bins(facts, 32), facts, SeededSource(4))
    counts = {left: n for (f, left), n in splits_of(trees, facts).items() if f == 0}
    runs = [frozenset(range(n)) for n in range(1, 4 if missing else 5)]
    sides = [frozenset(), frozenset({4})] if missing else [frozenset()]
    assert counts.keys() == {run | side for run in runs for side in sides}
    expected = 3000 / len(counts)
    for count in counts.values():  # one in 1e9 for each
        assert abs(count - expected) < 6.2 * math.sqrt(expected)


def test_a_list_that_may_tell_an_order_is_parted_so_in_half_of_the_nodes(facts_of):
    facts = facts_of([-4, -2], 2, listed=[ListOrder.PERHAPS, ListOrder.NOTHING])
    trees = draw_random_trees(12_000, 1, public_bins(facts, 32), facts, SeededSource(5))
    counts = splits_of(trees, facts)
    # Three runs have half of the feature's 6,000 splits, and their part of all fourteen subsets.
    for left in map(frozenset, ({0}, {0, 1}, {0, 1, 2}, {1}, {0, 2}, {1, 2, 3})):
        expected = 3000 / 14 + 1000 * (left in map(frozenset, ({0}, {0, 1}, {0, 1, 2})))
        assert abs(counts[0, left] - expected) < 6.2 * math.sqrt(expected)


def test_lower_nodes_part_what_is_left_of_a_list(facts_of):
    facts = facts_of([-70, -9, -300], 2, listed=[ListOrder.TOLD] * 3)
    trees = draw_random_trees(60, 5, public_bins(facts, 32), facts, SeededSource(6))
    for tree, node in np.ndindex(60, 31):
        f = int(trees.feature[tree, node])
        left = left_codes(trees, tree, node) & set(range(int(facts.n_codes[f])))
        assert left == set(range(len(left))) and 0 < len(left) < facts.n_codes[f]


def test_structures_depend_on_the_words_alone(facts):
    one, two = (
        draw_random_trees(5, 4, public_bins(facts, 32), facts, SeededSource(9)) for _ in range(2)
    )
    assert np.array_equal(one.feature, two.feature) and np.array_equal(one.mask, two.mask)


def test_storage_gives_the_same_trees(trees, facts):
    again = RandomTrees.from_data(json.loads(json.dumps(trees.to_data())), facts)
    assert again.depth == trees.depth
    assert np.array_equal(again.feature, trees.feature)
    assert np.array_equal(again.mask, trees.mask)
    assert again.mask.dtype == np.uint64 and again.feature.dtype == np.int32


def test_parts_join_to_the_whole(trees):
    joined = RandomTrees.joined([trees.take([i]) for i in range(trees.n_trees)])
    assert np.array_equal(joined.mask, trees.mask)
    assert np.array_equal(joined.feature, trees.feature)
