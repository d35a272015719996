"""Public structures: which features a tree has, and the grid it lays over them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.trees.base import TableFacts
from dpforest.trees.one_shot.kernels.grid_trees import draw_grid_trees
from dpforest.trees.one_shot.settings import OneShotSize
from dpforest.trees.random.bins import Bins
from dpforest.trees.random.trees import RandomTrees, declared_bins, mask_words, toss_unknown

_ALL = np.uint64(2**64 - 1)


def draw_structures(
    size: OneShotSize, bins: Bins, facts: TableFacts, source: RandomSource
) -> RandomTrees:
    """Draw the trees of a one-shot forest.

    Parameters
    ----------
    size : OneShotSize
    bins : Bins
        Public, or released.
    facts : TableFacts
    source : RandomSource
        Public randomness.

    Notes
    -----
    **Claim**: no record is read, so this costs nothing. **Tests**:
    tests/trees/one_shot/test_structures.py.
    """
    features = deal_features(size, facts.n_features, source)
    shape = (size.n_trees, (1 << size.depth) - 1)
    feature = np.empty(shape, dtype=np.int32)
    mask = np.empty((*shape, mask_words(facts)), dtype=np.uint64)
    of_code, starts = declared_bins(bins, facts)
    draw_grid_trees(
        source.words(size.n_trees),
        features,
        size.depth,
        of_code,
        starts,
        facts.offsets,
        facts.ordered,
        facts.list_orders,
        feature,
        mask,
    )
    toss_unknown(feature, mask, facts, source)
    return RandomTrees(size.depth, feature, mask)


def deal_features(size: OneShotSize, n_features: int, source: RandomSource) -> NDArray[np.int32]:
    """Deal features to trees like cards, so that all are used alike, shape (T, k).

    -1 stands after the last feature of a tree that has fewer. A tree never has a feature twice.
    """
    most = max(size.features_per_tree)
    hands = np.full((size.n_trees, most), -1, dtype=np.int32)
    deck: list[int] = []
    for tree in range(size.n_trees):
        wanted = min(size.features_per_tree[tree % len(size.features_per_tree)], n_features)
        for place in range(wanted):
            held = set(hands[tree, :place].tolist())
            if not set(deck) - held:
                deck += np.argsort(source.words(n_features), kind="stable").tolist()
            card = next(feature for feature in deck if feature not in held)
            deck.remove(card)
            hands[tree, place] = card
    return hands


def live_leaves(trees: RandomTrees) -> NDArray[np.bool_]:
    """Mask of the leaves that any record could reach, shape (n_trees, n_leaves); public.

    A node that sends every code left leaves nothing for its right side.
    """
    all_left = (trees.mask == _ALL).all(axis=2)
    live = np.ones((trees.n_trees, 1), dtype=np.bool_)
    for level in range(trees.depth):
        first = (1 << level) - 1
        right = live & ~all_left[:, first : 2 * first + 1]
        live = np.stack([live, right], axis=2).reshape(trees.n_trees, -1)
    return live
