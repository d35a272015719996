"""Weights of splits: public, learnt from released sums, and exact beside scores."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.records.base import Chunk
from dpforest.trees.boosted.counts import Memberships
from dpforest.trees.boosted.growth import Candidates, CountedGrowth, Growth
from dpforest.trees.boosted.split_weights import SplitWeights, sibling_distances
from dpforest.trees.multinomial.memory import LevelMemory
from dpforest.trees.random.bins import public_bins
from dpforest.trees.scored.gradients import GradientLattice, Gradients
from dpforest.trees.scored.queries import ScoreHistory

#: Two ordered features of 6 and 3 bins, and one of 4 categories.
STARTS, ORDERED = np.array([0, 6, 9, 13]), np.array([True, True, False])


def weights_of():
    return SplitWeights(STARTS, ORDERED)


def twin(drawn, told):
    """Weights by the book, split by split."""
    sizes = np.diff(STARTS)
    feature = np.repeat(np.arange(3), sizes)
    known = 1 / (2 * 13) + 1 / (2 * 3 * sizes[feature])
    if not sum(t for cell, t in zip(drawn, told, strict=True) if cell >= 0):
        return known
    learnt = np.zeros(13)
    for cell, t in zip(drawn, told, strict=True):
        if cell < 0:
            continue
        f = feature[cell]
        learnt[feature == f] += t / sizes[f] / 2
        near = [c for c in range(cell - 2, cell + 3) if 0 <= c < 13 and feature[c] == f]
        near = near if ORDERED[f] else [cell]
        learnt[near] += t / len(near) / 2
    return known / 2 + learnt / learnt.sum() / 2


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_those_of_a_slow_twin(seed):
    generator = np.random.default_rng(seed)
    drawn = generator.integers(-1, 13, generator.integers(0, 12))
    told = generator.random(drawn.size) * 4
    ours, half = weights_of(), drawn.size // 2
    for part in (slice(None, half), slice(half, None)):
        ours.learn(drawn[part], told[part])
    assert np.allclose(ours.weights(), twin(drawn, told), rtol=1e-12)
    assert ours.weights().sum() == pytest.approx(1.0)
    assert ours.weights().min() > 1 / (4 * 13), "every split may still be drawn"


def test_nothing_is_learnt_where_nothing_was_drawn_or_told():
    fresh = weights_of().weights()
    for cells, told in (([-1, -1], [3.0, 4.0]), ([2, 9], [0.0, 0.0])):
        ours = weights_of()
        ours.learn(np.array(cells), np.array(told))
        assert np.array_equal(ours.weights(), fresh)


ONE = Fraction(1)


def test_what_is_added_multiplies_the_odds_and_stays_whole():
    ours = weights_of()
    ours.learn(np.array([3, 10]), np.array([4.0, 1.0]))
    unit, score_range, epsilon = Fraction(1, 2**20), Fraction(4, 3), 0.01
    step = 0.01 / 2**20 * 3 / 4
    raised, weights = ours.preference(epsilon).in_steps(unit, score_range), ours.weights()
    assert np.array_equal(raised, np.rint(raised)) and raised.max() == 0
    assert np.allclose(np.exp(raised * step), weights / weights.max(), rtol=1e-7)
    assert not ours.preference(math.inf).in_steps(unit, score_range).any()


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-40, 1e-18])
def test_scores_stay_exact_at_any_price(epsilon):
    ours = weights_of()
    ours.learn(np.array([3]), np.array([4.0]))
    raised = ours.preference(epsilon).in_steps(ONE, ONE)
    assert raised.max() == 0 and raised.min() >= -(2**50)
    largest = 2.0**52
    assert [int(largest + r) - 2**52 for r in raised] == [int(r) for r in raised]


def test_siblings_are_as_far_apart_as_noise_is_exceeded():
    # 100 and 300 records; rates of 1/2 and 1/10: 40 of 75 records' worth apart.
    sums, sizes = np.array([[50], [30]]), np.array([100.0, 300.0])
    between = (50 * 300 - 30 * 100) / 400
    for noise in (10.0, 20.0, 1000.0):
        deviation = noise * math.hypot(100, 300) / 400
        expected = min(max(between / deviation - 1, 0.0), 4.0)
        assert sibling_distances(sums, sizes, noise) == pytest.approx([expected])
    assert sibling_distances(sums, np.array([-5.0, 0.0]), 1e9)[0] == 0, "sizes may be noise"


def test_noise_alone_tells_as_little_as_it_must():
    # The mean of what is beyond 1 of a normal variable's size, and of the root of a mean of two
    # squares.
    generator = np.random.default_rng(5)
    for n_columns, expected in ((1, 0.1666), (3, 0.1394)):
        noise = np.rint(generator.normal(0, 100, (20_000, n_columns))).astype(np.int64)
        luck = sibling_distances(noise, np.full(20_000, 1000.0), 100.0)
        assert luck.mean() == pytest.approx(expected, abs=0.015) and luck.max() <= 4
        signal = noise + np.tile([[400], [0]], (10_000, 1)) * (np.arange(n_columns) == 0)
        assert sibling_distances(signal, np.full(20_000, 1000.0), 100.0).mean() > 4 * luck.mean()


def growth_of(kind, facts):
    """A tree on residuals or on class counts, at its root."""
    candidates = Candidates.of(public_bins(facts, 6), facts)
    tools = candidates, LevelMemory(np.int64), SplitWeights(candidates.bins.starts, facts.ordered)
    if kind == "counts":
        return CountedGrowth(Memberships(facts.n_classes), *tools)
    lattice = GradientLattice.of(3, Fraction(7, 10), Fraction(1), Fraction(1, 10))
    return Growth(Gradients(ScoreHistory(np.array([-1.0, 0.0, 1.0])), lattice), *tools)


@pytest.mark.parametrize("kind", ["sums", "counts"])
def test_growth_raises_what_released_sums_told_of(kind, facts_of, table_of):
    facts = facts_of([12, -5, 7], 3)
    growth, table = growth_of(kind, facts), table_of(facts, 200)
    query = growth.level()
    counted, own = query.count(Chunk(table)), np.zeros((1, 3), dtype=np.int64)
    plain = growth.score(query, own, math.inf).rows(counted).scores
    score = growth.score(query, own, 0.5)
    raised = growth._weights.preference(0.5).in_steps(score.unit, score.score_range)
    assert raised.any()
    offered = plain > -np.inf
    assert np.array_equal(score.rows(counted).scores[offered], (plain + raised)[offered])
    assert not (score.rows(counted).scores > -np.inf)[~offered].any()

    place = int(np.flatnonzero(offered)[2])
    growth.split(np.array([place]))
    before = growth._weights.weights()
    columns = 7 if kind == "sums" else 3
    told = np.zeros((2, columns), dtype=np.int64)
    told[:, -1], told[0, 0], told[1, 1] = 10**6, 10**5, 10**5
    growth.learn(told, 1.0)
    after = growth._weights.weights()
    assert after[place] == after.max() and after[place] > before[place]
