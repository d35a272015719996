"""Public structures: dealt features, grids, and the leaves that records can reach."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpforest.mechanisms.entropy import SeededSource
from dpforest.trees.base import TableFacts
from dpforest.trees.one_shot.settings import OneShotSize, size_by_rule
from dpforest.trees.one_shot.structures import deal_features, draw_structures, live_leaves
from dpforest.trees.random.bins import public_bins


def facts_of(n_codes: list[int], ordered: list[bool], n_classes: int = 2) -> TableFacts:
    codes = np.array(n_codes, dtype=np.int64)
    scaled = tuple(
        np.linspace(0.0, 1.0, n) if kind else None for n, kind in zip(n_codes, ordered, strict=True)
    )
    missing = np.zeros(codes.size, dtype=bool)
    return TableFacts(codes, np.array(ordered), missing, scaled, n_classes, 10_000.0)


@pytest.mark.parametrize("own", [(1,), (2,), (2, 3), (5,), (9,)])
def test_features_are_dealt_evenly_and_never_twice_to_a_tree(own):
    hands = deal_features(OneShotSize(20, 3, own), 7, SeededSource(1))
    for tree, hand in enumerate(hands):
        held = hand[hand >= 0]
        assert len(set(held.tolist())) == held.size == min(own[tree % len(own)], 7)
    used = np.bincount(hands[hands >= 0], minlength=7)
    assert used.max() - used.min() <= 2


def test_a_tree_halves_its_own_features_in_turn():
    facts = facts_of([16, 16, 16], [True] * 3)
    size = OneShotSize(6, 4, (2,))
    source = SeededSource(2)
    trees = draw_structures(size, public_bins(facts, 16), facts, source)
    for tree in range(6):
        levels = np.split(trees.feature[tree], [1, 3, 7])
        assert all(np.unique(level).size == 1 for level in levels)
        first, second = levels[0][0], levels[1][0]
        assert first != second
        assert [level[0] for level in levels] == [first, second, first, second]
    codes = np.array(list(itertools.product(range(16), repeat=3)), dtype=np.uint8)
    leaves = trees.leaves(codes)
    for tree in range(6):
        # 16 cells of 4 x 4 codes of two features, for each of the third's 16.
        assert np.bincount(leaves[tree]).tolist() == [256] * 16


@pytest.mark.parametrize("depth", [1, 4, 6])
def test_live_leaves_are_those_that_some_record_reaches(depth):
    facts = facts_of([3, 2, 5, 1], [False, False, True, False])
    trees = draw_structures(
        OneShotSize(8, depth, (1, 2, 4)), public_bins(facts, 32), facts, SeededSource(3)
    )
    codes = np.array(list(itertools.product(range(3), range(2), range(5), range(1))), np.uint8)
    leaves = trees.leaves(codes)
    reached = np.zeros((8, 1 << depth), dtype=bool)
    reached[np.arange(8)[:, None], leaves] = True
    assert (live_leaves(trees) == reached).all()


def test_structures_follow_from_public_words_alone():
    facts = facts_of([9, 4], [True, False])
    size = OneShotSize(5, 5, (2,))
    first = draw_structures(size, public_bins(facts, 8), facts, SeededSource(4))
    again = draw_structures(size, public_bins(facts, 8), facts, SeededSource(4))
    assert (first.mask == again.mask).all()
    assert (first.feature == again.feature).all()
    other = draw_structures(size, public_bins(facts, 8), facts, SeededSource(5))
    assert (first.mask != other.mask).any()


def test_every_feature_is_used_at_every_signal():
    for n_features, n_classes, signal, concentrated in itertools.product(
        (1, 2, 10, 25, 100), (2, 3, 26), (0.0, 100.0, 1e4, 1e6), (False, True)
    ):
        size = size_by_rule(n_features, n_classes, signal, concentrated)
        hands = deal_features(size, n_features, SeededSource(6))
        assert np.unique(hands[hands >= 0]).size == n_features
