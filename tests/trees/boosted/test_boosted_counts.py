"""Class counts of a tree's nodes and their scores: slow twins, and what one record can change."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.records.base import Chunk, rows_of
from dpforest.trees.boosted.counts import CountScore, Memberships, NodeCounts, share_factors
from dpforest.trees.boosted.growth import Candidates, CountedGrowth
from dpforest.trees.boosted.parts import FACTOR_STEPS, Siblings
from dpforest.trees.boosted.queries import LeafSums, LevelSums
from dpforest.trees.boosted.shares import leaf_shares, whole_shares
from dpforest.trees.boosted.split_weights import Preference, SplitWeights
from dpforest.trees.multinomial.memory import LevelMemory
from dpforest.trees.random.bins import public_bins
from dpforest.trees.scored.gradients import GRADIENT_STEPS

CODES = [12, -5, 7, 2, -2]
CLASSES = [3, 7]


def growth_of(facts):
    candidates = Candidates.of(public_bins(facts, 6), facts)
    weights = SplitWeights(candidates.bins.starts, facts.ordered)
    return CountedGrowth(Memberships(facts.n_classes), candidates, LevelMemory(np.int64), weights)


def nodes_of(table, heap, level):
    """Node of each record, by the book."""
    node = np.zeros(table.n_records, dtype=int)
    feature, low, high = heap
    for _ in range(level):
        f = feature[node]
        code = table.codes[np.arange(node.size), np.maximum(f, 0)]
        node = 2 * node + 2 - ((f < 0) | ((low[node] <= code) & (code <= high[node])))
    return node - ((1 << level) - 1)


def twin_scores(table, growth, query, shares):
    """Scores of every candidate by itself, from the records' classes."""
    bins, own = query.bins, np.eye(shares.shape[1], dtype=np.int64)[table.labels] * GRADIENT_STEPS
    cells = bins.of_code[table.offsets[:-1] + table.codes]
    node, boxes, starts = nodes_of(table, query.heap, query.level), growth._boxes, bins.starts
    out = np.full((1 << query.level, int(starts[-1])), -np.inf)
    for v, f in np.ndindex(out.shape[0], len(table.n_codes)):
        inside, alive = node == v, boxes.alive[v, starts[f] : starts[f + 1]]
        x = own[inside] - shares[v]
        offered = np.flatnonzero(alive) if alive.sum() > 1 else []
        if table.ordered[f]:
            offered = range(boxes.low[v, f], boxes.high[v, f])
        for b in offered:
            left = cells[inside, f] <= b if table.ordered[f] else cells[inside, f] == b
            apart = np.abs(x[left].sum(axis=0)).sum() + np.abs(x[~left].sum(axis=0)).sum()
            assert apart % 2 == 0
            factor = FACTOR_STEPS * GRADIENT_STEPS // (GRADIENT_STEPS - shares[v].min())
            out[v, starts[f] + b] = apart // 2 * factor
    return out


@pytest.mark.parametrize("n_classes", CLASSES)
def test_sums_of_memberships_do_not_say_that_they_add_up_to_nothing(facts_of, table_of, n_classes):
    facts = facts_of(CODES, n_classes)
    chunk, memberships = Chunk(table_of(facts, 30)), Memberships(n_classes)
    none = np.empty(0, dtype=np.int64)
    query = LeafSums(memberships, (none, none, none), 0, np.array([0]))
    assert memberships.rows(chunk).sum(axis=1).min() == GRADIENT_STEPS
    moved = query.sensitivity
    # One class, and one record of mass 1.
    assert moved.zero_sum == 0 and moved.l1 >= GRADIENT_STEPS + 1
    assert moved.l2_squared >= GRADIENT_STEPS**2 + 1


@pytest.mark.parametrize("n_classes", CLASSES)
def test_counts_and_scores_are_those_of_slow_twins_at_every_level(facts_of, table_of, n_classes):
    facts = facts_of(CODES, n_classes)
    table = table_of(facts, 400, seed=n_classes)
    chunk, growth, generator = Chunk(table), growth_of(facts), np.random.default_rng(3)
    for level in range(4):
        query = growth.level() if level < 3 else growth.leaves()
        counted = query.count(chunk)
        counts, expected = growth.sums(query).counts(counted), np.zeros((2**level, n_classes))
        np.add.at(expected, (nodes_of(table, query.heap, level), table.labels), 1)
        assert np.array_equal(counts, expected)
        if level == 3:
            break
        shares = whole_shares(generator.normal(size=(2**level, n_classes), scale=50))
        scores = growth.score(query, shares, math.inf).rows(counted).scores
        twin = twin_scores(table, growth, query, shares)
        assert np.array_equal(scores.reshape(twin.shape), twin)
        growth.split(np.array([generator.choice(np.flatnonzero(row > -np.inf)) for row in twin]))


class AllCounted:
    """Siblings where every node was counted."""

    def bins(self, query, counted):
        return query.parted(counted)[0]


@pytest.mark.parametrize("n_classes", CLASSES)
def test_one_record_moves_scores_within_their_range(facts_of, table_of, n_classes):
    facts = facts_of(CODES, n_classes)
    table, growth = table_of(facts, 80, seed=n_classes), growth_of(facts)
    generator, widest = np.random.default_rng(8), Fraction(0)
    for level in range(3):
        query, every = growth.level(), np.arange(2**level)
        fresh = LevelSums(query.gradients, query.bins, query.heap, level, every)
        # One class alone, as far out as may be; and whatever else may have been released.
        far = np.where(np.arange(n_classes) == level % n_classes, 1e6, -1e6)
        shares = whole_shares(np.where(every[:, None] % 2 == 0, far, generator.random(n_classes)))
        preference = Preference(generator.random(query.bins.starts[-1]), 1e-9)
        score = CountScore(fresh, shares, growth._boxes, AllCounted(), preference)
        found = [score.rows(fresh.count(Chunk(rows_of(table, 0, n)))).scores for n in range(50, 81)]
        for fewer, more in pairwise(found):
            offered = more > -np.inf
            assert np.array_equal(offered, fewer > -np.inf), "public"
            moved = [Fraction(int(v)) * score.unit for v in more[offered] - fewer[offered]]
            assert max(map(abs, moved)) <= score.score_range / 2
            widest = max(widest, max(map(abs, moved)))
        growth.split(generator.integers(0, 5, 2**level))
    assert widest == CountScore.score_range / 2, "reached: half of the range would not do"


@pytest.mark.parametrize("n_classes", CLASSES)
def test_one_record_adds_one_count_to_one_node(facts_of, table_of, n_classes):
    facts = facts_of(CODES, n_classes)
    table, growth = table_of(facts, 60, seed=1), growth_of(facts)
    generator, counted = np.random.default_rng(4), [growth._counted]
    for level in range(3):
        growth.split(generator.integers(0, 5, 2**level))
        counted.append(growth._counted)

    def leaves_of(part):
        chunk, siblings = Chunk(part), Siblings(growth._gradients, LevelMemory(np.int64))
        for level in range(4):
            rows, heap = growth._gradients, tuple(own[: 2**level - 1] for own in growth.heap)
            kind = LeafSums(rows, growth.heap, level, counted[level])
            if level < 3:
                kind = LevelSums(rows, growth._candidates.bins, heap, level, counted[level])
            part = NodeCounts(kind, siblings)
            counts = part.counts(kind.count(chunk))
        return counts, part.sensitivity

    for fewer, more in pairwise(leaves_of(rows_of(table, 0, n)) for n in range(20, 60)):
        moved = more[0] - fewer[0]
        assert np.abs(moved).sum() == more[1].l1 == more[1].l2_squared == 1


@given(st.lists(st.integers(-50, 10**9), min_size=3, max_size=9))
def test_shares_are_whole_and_add_up(counts):
    shares = whole_shares(np.array([counts]))
    assert shares.min() >= 0 and shares.sum() == GRADIENT_STEPS
    factor = int(share_factors(shares)[0])
    assert factor * (GRADIENT_STEPS - int(shares.min())) <= FACTOR_STEPS * GRADIENT_STEPS


def test_without_noise_and_with_many_records_leaves_have_their_own_shares():
    leaves = np.array([[9000, 1000, 0], [0, 5000, 5000]])
    shares, sizes = leaf_shares(np.array([1.0, 1.0, 1.0]), [leaves], [0.01])
    assert np.allclose(shares, [[0.9, 0.1, 0], [0, 0.5, 0.5]], atol=0.01)
    assert sizes.tolist() == [10000, 10000]
    drowned, _ = leaf_shares(np.array([1.0, 1.0, 2.0]), [leaves], [1e12])
    assert np.allclose(drowned, [0.25, 0.25, 0.5], atol=0.01)
