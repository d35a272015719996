"""Weights of features for later trees: of released values alone, and how trees follow them."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.streams import BatchStream
from dpforest.trees.random.bins import public_bins
from dpforest.trees.random.trees import RandomTrees, draw_random_trees
from dpforest.trees.refitted import RefittedForest
from dpforest.trees.refitted.feature_weights import FeatureWeights
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize
from dpforest.trees.training import train_on


def a_tree(*features):
    """A tree of depth 2 whose nodes look at such features."""
    nodes = np.array([features], dtype=np.int32)
    return RandomTrees(2, nodes, np.zeros((1, 3, 1), dtype=np.uint64))


EVEN = np.full(4, 25.0)


def learnt(n_features, *trees, learnt_from=0, share=0.5):
    weights = FeatureWeights(n_features, learnt_from, share)
    for features, sizes, steps in trees:
        weights.learn(a_tree(*features), sizes, np.array(steps, dtype=float)[:, None])
    return weights.of_features()


def test_a_feature_weighs_by_what_its_splits_moved():
    # The root parts steps of 1 from steps of -1, its children part nothing.
    weights = learnt(4, ((2, 0, 1), EVEN, [1, 1, -1, -1]))
    assert weights.sum() == pytest.approx(4 * 2**16, abs=4)
    assert weights / weights.sum() == pytest.approx([1 / 8, 1 / 8, 5 / 8, 1 / 8], abs=1e-4)


def test_weights_add_up_what_all_trees_moved():
    # Children of 50 records that part by 2 move 25 / 2 * 4 in all; a root of 100, 25 * 4.
    trees = ((0, 1, 1), EVEN, [1, 1, -1, -1]), ((2, 1, 3), EVEN, [1, -1, 0, 0])
    weights = learnt(4, *trees, share=0.9)
    root, child = 100.0, 50.0
    expected = 0.025 + 0.9 * np.array([root, child, 0, 0]) / (root + child)
    assert weights / weights.sum() == pytest.approx(expected, abs=1e-4)


def test_nodes_that_split_nothing_credit_no_feature(facts_of):
    """They name feature 0, and noise in leaves that nothing reaches looks as if it parted them."""
    facts, rng = facts_of([2] * 12, 2), np.random.default_rng(3)
    weights = FeatureWeights(12, 0, 0.9)
    bins, uses = public_bins(facts, 32), np.zeros(12)
    for seed in range(60):
        n_features = np.array([3])
        tree = draw_random_trees(1, 6, bins, facts, SeededSource(seed), n_features)
        uses[np.unique(tree.splits[tree.splits >= 0])] += 1
        weights.learn(tree, rng.normal(size=64) + 5, rng.normal(size=(64, 1)))
    found = weights.of_features() / uses
    assert found[0] < 2 * np.median(found)


@pytest.mark.parametrize(("learnt_from", "known"), [(0, True), (2, True), (3, False)])
def test_all_weigh_the_same_up_to_so_many_trees(learnt_from, known):
    moved = (0, 1, 1), EVEN, [1, 1, -1, -1]
    weights = learnt(4, moved, moved, learnt_from=learnt_from)
    assert (weights is not None) == known


def test_where_nothing_was_learnt_all_weigh_the_same():
    assert learnt(4, ((0, 1, 2), EVEN, [1, 1, 1, 1])) is None
    assert learnt(4, ((0, 1, 2), np.zeros(4), [1, 0, -1, 1])) is None
    assert learnt(4, ((0, 1, 2), EVEN, [1, 0, -1, 1]), share=0.0) is None


@pytest.mark.parametrize("n_features", [1, 3, 60_000])
def test_weights_are_positive_and_small_enough_for_the_draws(n_features):
    weights = learnt(n_features, ((0, 0, 0), EVEN, [1, 1, -1, -1]), share=0.999)
    assert weights.dtype == np.int64 and weights.min() >= 1
    assert weights.sum() < 2**31


@pytest.mark.parametrize(
    ("n_features", "rows", "trees"),
    [
        (4, 2000, 5), (21, 2000, 5), (22, 2000, 6), (100, 1e6, 24), (1558, 3000, 367),
        (4, 1999, math.inf), (4, 0, math.inf),
    ],
)  # fmt: skip
def test_features_are_learnt_once_each_was_in_a_tree_and_of_enough_records(n_features, rows, trees):
    assert RefittedSettings().learnt_from(n_features, rows) == trees


@pytest.mark.parametrize(("rows", "learns"), [(1900, False), (2000, True), (None, False)])
def test_few_records_leave_all_features_alike(rows, learns, facts_of, table_of):
    facts = facts_of([16] * 6, 2, approximate_rows=rows)
    table = table_of(facts, 300)
    size = RefittedSize(3, 4, 12)
    learnt, alike = (
        trained(facts, table, RefittedSettings(fixed_size=size, learnt_share=share))
        for share in (0.5, 0.0)
    )
    assert np.array_equal(learnt.trees.feature, alike.trees.feature) == (not learns)


def test_features_of_a_tree_are_drawn_one_after_the_other_by_weight(facts_of):
    """All pairs of six thousand trees of two features; even weights, the planted fault, fail."""
    facts = facts_of([2, 2, 2, 2], 2)
    weights = np.array([1, 2, 3, 10], dtype=np.int64)
    assert fits(weights, pairs_drawn(facts, weights))
    assert not fits(weights, pairs_drawn(facts, np.ones(4, dtype=np.int64)))


def pairs_drawn(facts, weights):
    n_allowed = np.full(6000, 2)
    trees = draw_random_trees(
        6000, 3, public_bins(facts, 32), facts, SeededSource(4), n_allowed, weights=weights
    )
    # The root parts one feature, its children the other; what is below parts nothing.
    return Counter(frozenset(map(int, set(nodes[:3]))) for nodes in trees.feature)


def fits(weights, drawn):
    """Every pair within 6.5 deviations of what is expected: six of them, one error in 1e9."""
    shares = Counter()
    for first, second in permutations(range(4), 2):
        left = weights.sum() - weights[first]
        shares[frozenset((first, second))] += weights[first] * weights[second] / left
    total = weights.sum()
    assert sum(shares.values()) == pytest.approx(total)
    return all(
        abs(drawn[pair] - 6000 * share / total) < 6.5 * (6000 * share / total) ** 0.5
        for pair, share in shares.items()
    )


def test_wide_trees_are_drawn_by_weight_too(facts_of):
    """More than 64 bins have a kernel of their own."""
    facts = facts_of([100, 100, 100], 2)
    weights = np.array([1, 1, 98], dtype=np.int64)
    trees = draw_random_trees(
        2000, 1, public_bins(facts, 100), facts, SeededSource(4), np.ones(2000, int), None, weights
    )
    drawn = np.bincount(trees.feature[:, 0], minlength=3)
    assert 1960 - 6 * 6.3 < drawn[2] < 1960 + 6 * 6.3


def test_without_weights_trees_are_what_they_were(facts_of):
    facts = facts_of([9, -4, 30], 2)
    plain = draw_random_trees(20, 3, public_bins(facts, 32), facts, SeededSource(4))
    asked = draw_random_trees(20, 3, public_bins(facts, 32), facts, SeededSource(4), weights=None)
    assert np.array_equal(plain.mask, asked.mask)


def trained(facts, table, settings):
    forest = RefittedForest(settings)
    plan = forest.plan(facts, LearnerBudget(Fraction(1), Fraction(1, 10**6)))
    with BudgetAccountant(1, "1e-6").open_scope("fit", reserve=plan.loss) as scope:
        records = MemoryRecords(table)
        return train_on(forest, plan, scope, SeededSource(2), records, facts, lambda: None)


def test_later_trees_look_at_the_features_that_tell(facts_of, table_of):
    """One of thirty features tells all: how many trees of two candidates each look at it."""
    facts = facts_of([16] * 30, 2, approximate_rows=6000)
    table = table_of(facts, 6000)
    labels = (table.codes[:, 11] > 7).astype(np.uint8)
    table = table_of(facts, 6000, labels=labels)
    shares = {}
    for share in (0.0, 0.5):
        size = RefittedSize(3, 2, 30)
        model = trained(facts, table, RefittedSettings(fixed_size=size, learnt_share=share))
        uses = (model.trees.feature == 11).any(axis=1)
        shares[share] = uses[10:].mean()
    assert shares[0.5] > shares[0.0] + 0.3


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_stream_learns_the_same_features_as_memory(delta):
    rng = np.random.default_rng(0)
    X, n = rng.random((2500, 8)), 2500
    X[:, 3] = rng.integers(0, 3, n)
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    features = {f"f{i}": (0, 1) for i in range(8)} | {"f3": ["0", "1", "2"]}
    domain = Domain(features=features, classes=[0, 1], approximate_rows=2500)
    given = dict(epsilon=1, delta=delta, domain=domain, random_state=3, strategy="refitted")
    batches = BatchStream(lambda: ((X[i : i + 700], y[i : i + 700]) for i in range(0, n, 700)))
    whole = PrivateForestClassifier(**given).fit(X, y).predict_proba(X)
    streamed = PrivateForestClassifier(**given).fit(batches)
    assert np.array_equal(streamed.predict_proba(X), whole)
    drawn = RefittedSettings().learnt_from(8, 2500.0)
    assert drawn < 8, "so that features are learnt here, in either currency"
