"""Sums, scores and what one record can change of them, against slow twins and exactly."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.accounting.releases import PlanError
from dpforest.records.base import Chunk, Sensitivity, rows_of
from dpforest.trees.boosted.growth import Candidates, CountedGrowth, Growth
from dpforest.trees.boosted.kernels.histograms import (
    _MOST_HALVED,
    _MOST_PACKED,
    add_leaf_steps,
    leaf_sums,
    list_bins,
    n_words,
    node_histograms,
    node_sums,
    number_leaves,
)
from dpforest.trees.boosted.parts import (
    FACTOR_STEPS,
    NodeSums,
    Siblings,
    SplitScore,
    node_factors,
)
from dpforest.trees.boosted.queries import BoostedMove, LeafSums, LevelSums
from dpforest.trees.boosted.settings import BoostedSettings
from dpforest.trees.boosted.split_weights import Preference, SplitWeights
from dpforest.trees.boosted.steps import centres
from dpforest.trees.multinomial.memory import LevelMemory
from dpforest.trees.random.bins import public_bins
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.gradients import GRADIENT_STEPS, GradientLattice, Gradients
from dpforest.trees.scored.kernels.gradients import class_gradients, odds_gradients
from dpforest.trees.scored.queries import ScoreHistory

HALF = Fraction(1, 2)
FAR = [np.nan, np.inf, -np.inf, 0.0, 40.0, -40.0, 745.0, -745.0, 1e300, -1e300]
extreme = st.floats(-1e6, 1e6) | st.sampled_from(FAR)
CODES = [12, -5, 7, 2, -2]


def lattice_of(n_classes, clip=Fraction(7, 10), weighted=False, norm=None):
    n_columns = n_score_columns(n_classes)
    return GradientLattice.of(n_columns, clip, Fraction(1), Fraction(1, 10), weighted, norm)


def rows_of_scores(scores, labels, lattice, unit=1):
    scores = np.asarray(scores, dtype=np.float64)
    out = np.empty((len(scores), 2 * lattice.n_columns), dtype=np.int32)
    if lattice.n_columns > 1:
        labels = np.asarray(labels, dtype=np.uint8)
        sizes = GRADIENT_STEPS, lattice.most, lattice.square, lattice.curvature
        class_gradients(scores, labels, *sizes, out)
    else:
        labels = np.asarray(labels, dtype=np.int32)
        sizes = GRADIENT_STEPS, lattice.most, lattice.curvature
        odds_gradients(scores, labels, unit, *sizes, lattice.weighted, out)
    return out.astype(object)


def is_within(row, lattice):
    """Whether a record's row keeps the bounds that are paid for."""
    full = [*row, lattice.mass]
    residuals, curvatures = row[: lattice.n_columns], row[lattice.n_columns :]
    size = sum(map(abs, residuals)) // min(2, lattice.n_columns)
    return (
        size <= lattice.most
        and (lattice.n_columns == 1 or sum(residuals) == 0)
        and min(curvatures) >= 0
        and sum(map(abs, full)) <= lattice.row.l1
        and sum(v * v for v in full) <= lattice.row.l2_squared
    )


@given(
    st.lists(extreme, min_size=3, max_size=30),
    st.integers(0, 10**6),
    st.sampled_from([HALF, Fraction(7, 10), Fraction(1)]),
    st.sampled_from([None, Fraction(11, 10), Fraction(1, 50)]),
)
def test_rows_of_classes_keep_their_bounds(scores, pick, clip, norm):
    lattice = lattice_of(len(scores), clip, norm=norm)
    row = rows_of_scores([scores], [pick % len(scores)], lattice)[0]
    assert is_within(list(row), lattice)
    squares = sum(v * v for v in row[: len(scores)])
    assert squares <= lattice.square and (norm is None or squares <= (norm * lattice.most) ** 2)


@given(extreme, st.integers(0, 1000), st.sampled_from([1, 1000]), st.booleans())
def test_rows_of_one_column_keep_their_bounds(score, label, unit, weighted):
    lattice = lattice_of(2, weighted=weighted)
    row = rows_of_scores([[score]], [min(label, unit)], lattice, unit)[0]
    assert is_within(list(row), lattice)


def test_the_bounds_are_nearly_reached():
    three = lattice_of(3)
    squares = rows_of_scores([[0.0, 0.0, 0.0]], [0], three)[0][3:]
    assert 4 / 27 * three.curvature**2 * 0.999 < sum(v * v for v in squares)
    row = rows_of_scores([[900.0, 0.0, 0.0]], [1], three)[0]
    assert sum(v * v for v in row[:3]) == 2 * three.most**2
    short = lattice_of(3, norm=Fraction(1))
    row = rows_of_scores([[900.0, 0.0, 0.0]], [1], short)[0]
    assert 0.999 * short.square < sum(v * v for v in row[:3]) <= short.square == short.most**2
    two = lattice_of(2)
    assert rows_of_scores([[-900.0]], [1], two)[0][0] == two.most
    assert rows_of_scores([[0.0]], [1], two)[0][1] == two.curvature // 4
    weighted = lattice_of(2, Fraction(1), weighted=True)
    for label in (0, 1):
        residual, curvature = rows_of_scores([[0.0]], [label], weighted)[0]
        assert (abs(residual), curvature) == (weighted.most, weighted.curvature // 2)
    odds = -np.random.default_rng(4).exponential(5.0, 5000)[:, None]
    full = rows_of_scores(odds, np.ones(5000), weighted)[:, 0]
    assert np.all(full == weighted.most), "whoever is of the less likely class"


def test_weighted_residuals_are_those_of_a_slow_twin_and_nothing_in_the_mean():
    lattice, odds = lattice_of(2, Fraction(1), weighted=True), np.linspace(-6, 6, 501)
    p = 1 / (1 + np.exp(-odds))
    larger = np.maximum(p, 1 - p)
    of_none, of_one = (
        rows_of_scores(odds[:, None], np.full(odds.size, label), lattice).astype(float)
        for label in (0, 1)
    )
    for label, ours in ((0, of_none), (1, of_one)):
        exact = (label - p) / larger * lattice.most
        assert np.all(np.abs(ours[:, 0]) <= np.abs(exact) + 1e-6)
        assert np.abs(ours[:, 0] - exact).max() < 1 + 1e-6
        assert np.abs(ours[:, 1] - np.minimum(p, 1 - p) * lattice.curvature).max() < 1 + 1e-6
    assert np.abs((1 - p) * of_none[:, 0] + p * of_one[:, 0]).max() < 1, "whoever is of class 1"
    assert np.all(np.maximum(-of_none[:, 0], of_one[:, 0]) >= lattice.most - 1), (
        "as large as may be"
    )


@pytest.mark.parametrize("norm", [None, Fraction(11, 10)])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_rows_are_those_of_a_slow_twin_rounded_toward_zero(n_classes, norm):
    generator = np.random.default_rng(n_classes)
    lattice, n = lattice_of(n_classes, HALF, norm=norm), 700
    scores = generator.normal(size=(n, lattice.n_columns), scale=2)
    labels = generator.integers(0, n_classes, n)
    full = scores if n_classes > 2 else np.column_stack([np.zeros(n), scores])
    p = np.exp(full) / np.exp(full).sum(axis=1, keepdims=True)
    apart = np.eye(n_classes)[labels] - p
    factor = np.minimum(1.0, 0.5 / (1.0 - p[np.arange(n), labels]))
    if norm is not None and n_classes > 2:
        of_norm = float(norm) * 0.5 / np.linalg.norm(apart, axis=1)
        assert 0 < (of_norm < factor).mean() < 1
        factor = np.minimum(factor, of_norm)
    shrunk = apart * factor[:, None]
    exact = np.hstack([shrunk * GRADIENT_STEPS, p * (1 - p) * lattice.curvature])
    if n_classes == 2:
        exact = exact[:, [1, 3]]
    ours = rows_of_scores(scores, labels, lattice).astype(float)
    own = np.zeros(ours.shape, dtype=bool)
    if n_classes > 2:
        own[np.arange(n), labels] = True  # the sum of the others
    assert np.all((np.abs(ours) <= np.abs(exact) + 1e-6) | own)
    assert np.all(np.abs(ours - exact) < np.where(own, n_classes, 1) + 1e-6)


# -- sums and scores -----------------------------------------------------------------------------


def history_of(n_classes, scale=2.0):
    """Scores that lie apart, so that residuals differ."""
    base = np.linspace(-scale, scale, n_classes)[: n_score_columns(n_classes)]
    return ScoreHistory(base)


def growth_of(facts, n_classes, scale=2.0, weighted=False):
    candidates = Candidates.of(public_bins(facts, 6), facts)
    lattice = lattice_of(n_classes)
    if weighted:
        sizes = BoostedSettings().scales(n_classes, of_means=False)
        lattice = GradientLattice.of(lattice.n_columns, *sizes, weighted)
    gradients = Gradients(history_of(n_classes, scale), lattice)
    weights = SplitWeights(candidates.bins.starts, facts.ordered)
    return Growth(gradients, candidates, LevelMemory(np.int64), weights)


def twin_scores(table, growth, query, own_centres):
    """Scores by the book: every candidate by itself, from sums over records."""
    lattice, bins = query.gradients.lattice, query.bins
    rows = query.gradients.rows(Chunk(table)).astype(np.int64)[:, : lattice.n_columns]
    cells = bins.of_code[table.offsets[:-1] + table.codes]
    node = np.zeros(len(rows), dtype=int)
    feature, low, high = query.heap
    for _ in range(query.level):
        f = feature[node]
        code = table.codes[np.arange(len(rows)), np.maximum(f, 0)]
        node = 2 * node + 2 - ((f < 0) | ((low[node] <= code) & (code <= high[node])))
    node -= (1 << query.level) - 1
    boxes, starts = growth._boxes, bins.starts
    out = np.full((1 << query.level, int(starts[-1])), -np.inf)
    for v, f in np.ndindex(out.shape[0], len(table.n_codes)):
        inside = node == v
        x = rows[inside] - own_centres[v]
        alive = boxes.alive[v, starts[f] : starts[f + 1]]
        if table.ordered[f]:
            offered = range(boxes.low[v, f], boxes.high[v, f])
        else:
            offered = np.flatnonzero(alive) if alive.sum() > 1 else []
        for b in offered:
            goes = cells[inside, f] <= b if table.ordered[f] else cells[inside, f] == b
            apart = np.abs(x[goes].sum(axis=0)).sum() + np.abs(x[~goes].sum(axis=0)).sum()
            half = 2 if lattice.n_columns > 1 else 1
            assert apart % half == 0
            a = lattice.most + np.abs(own_centres[v]).sum() // half
            factor = FACTOR_STEPS * 2 * lattice.most // a
            out[v, starts[f] + b] = apart // half * factor
    return out


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_tree_is_scored_as_a_slow_twin_says_at_every_level(facts_of, table_of, n_classes):
    facts = facts_of(CODES, n_classes)
    table = table_of(facts, 500, seed=n_classes)
    chunk, growth = Chunk(table), growth_of(facts, n_classes)
    generator = np.random.default_rng(3)
    for level in range(4):
        query = growth.level()
        counted = query.count(chunk)
        sums = growth.sums(query).counts(counted)
        assert sums.shape == (2**level, 2 * query.gradients.lattice.n_columns + 1)
        lattice = query.gradients.lattice
        own = centres(sums, lattice.most, lattice.mass)
        score = growth.score(query, own, math.inf)
        expected = twin_scores(table, growth, query, own)
        found = score.rows(counted).scores.reshape(expected.shape)
        assert np.array_equal(found, expected)
        places = np.array([generator.choice(np.flatnonzero(row > -np.inf)) for row in expected])
        if level == 2:
            places[1] = -1
        growth.split(places)
    leaves = growth.leaves()
    whole = growth.sums(leaves).counts(leaves.count(chunk))
    assert whole.shape[0] == 16 and whole[:, -1].sum() == 500 * lattice.mass
    assert np.array_equal(whole.sum(axis=0), sums.sum(axis=0))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sums_do_not_depend_on_chunks_or_on_what_they_kept(facts_of, table_of, n_classes):
    facts = facts_of(CODES, n_classes)
    table = table_of(facts, 300, seed=5)
    chunk, growth = Chunk(table), growth_of(facts, n_classes)
    chunks = [Chunk(rows_of(table, a, b), a) for a, b in ((0, 0), (0, 110), (110, 111), (111, 300))]
    for _ in range(3):
        query = growth.level()
        whole = query.count(chunk)
        assert np.array_equal(whole, sum(query.count(part) for part in chunks))
        assert np.array_equal(whole, query.count(Chunk(table))), "kept nothing"
        score = growth.score(
            query,
            np.zeros(
                (len(whole[:0]) + 2**query.level, query.gradients.lattice.n_columns), np.int64
            ),
            1.0,
        )
        growth.split(np.argmax(score.rows(whole).scores.reshape(2**query.level, -1), axis=1))
    leaves = growth.leaves()
    kept, steps = leaves.count(chunk), np.arange(8.0 * n_score_columns(n_classes)).reshape(8, -1)
    assert np.array_equal(kept, sum(leaves.count(part) for part in chunks))
    move = BoostedMove(0, growth.heap, steps)
    later = growth._gradients.scored.then(move)
    assert np.array_equal(later.scores(chunk), later.scores(Chunk(table)))
    assert later.scores(chunk).shape == (300, n_score_columns(n_classes))
    after = Gradients(later, growth._gradients.lattice)
    assert np.array_equal(after.rows(chunk), after.rows(Chunk(table)))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sums_over_nodes_alone_are_those_beside_sums_over_bins(facts_of, table_of, n_classes):
    facts = facts_of(CODES, n_classes)
    chunk, growth = Chunk(table_of(facts, 300, seed=6)), growth_of(facts, n_classes)
    for level in range(4):
        query = growth.level()
        own = query.parted(query.recount(chunk, None))[1]
        assert np.array_equal(own, query.parted(query.count(chunk))[1]) and own[:, -1].any()
        growth.split(np.full(2**level, 1 + level))


def test_leaves_are_numbered_summed_and_stepped_as_their_records_are():
    generator = np.random.default_rng(0)
    wanted = generator.integers(0, 5, 60).astype(np.uint16)
    order = np.argsort(wanted, kind="stable").astype(np.int32)
    starts, leaves = np.searchsorted(wanted[order], np.arange(6)), np.empty_like(wanted)
    number_leaves(order, starts, leaves)
    assert np.array_equal(leaves, wanted)
    rows = generator.integers(-9, 9, (60, 6)).astype(np.int32)
    grouped, found = np.empty((2, 5, 7), dtype=np.int64)
    node_sums(order, starts, np.arange(5), rows, grouped)
    leaf_sums(leaves, rows, found)
    assert np.array_equal(found, grouped) and found[:, -1].sum() == 60
    scores, steps = generator.normal(size=(60, 3)), generator.normal(size=(5, 3))
    expected = scores + steps[wanted]
    add_leaf_steps(leaves, steps, scores)
    assert np.array_equal(scores, expected)


class AllCounted:
    """Siblings where every node was counted."""

    def bins(self, query, counted):
        return query.parted(counted)[0]


def largest_share(part, tables):
    """Largest change of a part from each table to the next, over what it says."""
    shares = []
    sums = [part(table).astype(object) for table in tables]
    for one, two in pairwise(sums):
        said, moved = part.sensitivity, (two - one).ravel()
        shares += [sum(map(abs, moved)) / said.l1, sum(moved**2) / said.l2_squared]
    return max(shares)


class Remade:
    """Sums of a tree's level as they are of any table, made from the root down."""

    def __init__(self, growth, level):
        self.growth, self.level = growth, level
        self.sensitivity = growth.sums(growth.leaves()).sensitivity

    def __call__(self, table):
        chunk, made = Chunk(table), self.growth
        siblings = Siblings(made._gradients, LevelMemory(np.int64))
        heap = made.heap
        for level in range(self.level + 1):
            own = [part[: 2**level - 1] for part in heap]
            counted = made.counted[level]
            leaf = level == self.level
            query = (
                LeafSums(made._gradients, heap, level, counted)
                if leaf
                else LevelSums(made._gradients, made._candidates.bins, tuple(own), level, counted)
            )
            sums = NodeSums(query, siblings).counts(query.count(chunk))
        return sums


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("scale", [0.5, 900.0])
def test_one_record_moves_all_nodes_by_what_their_part_says(facts_of, table_of, n_classes, scale):
    table = table_of(facts_of(CODES, n_classes), 60, seed=n_classes)
    growth = growth_of(facts_of(CODES, n_classes), n_classes, scale)
    growth.counted = [growth._counted]
    generator = np.random.default_rng(4)
    for level in range(3):
        growth.split(generator.integers(0, 5, 2**level))
        growth.counted.append(growth._counted)
    part = Remade(growth, 3)
    tables = [rows_of(table, 0, n) for n in range(20, 60)]
    assert largest_share(part, tables) <= 1
    # What says half of it is found out.
    said = part.sensitivity
    part.sensitivity = Sensitivity(said.l1 / 2, said.l2_squared / 2)
    assert scale < 1 or largest_share(part, tables) > 1


def test_sums_of_another_tree_or_level_are_not_put_together(facts_of, table_of):
    facts = facts_of(CODES, 3)
    growth, other = growth_of(facts, 3), growth_of(facts, 3)
    chunk = Chunk(table_of(facts, 60))
    query, foreign = growth.level(), other.level()
    with pytest.raises(PlanError, match="one tree"):
        growth.sums(foreign).counts(foreign.count(chunk))
    deeper = replace(query, level=1)
    for part in (
        growth.sums(deeper).counts,
        growth.score(deeper, np.zeros((1, 3), "i8"), 1.0).rows,
    ):
        with pytest.raises(PlanError, match="one level after the other"):
            part(query.count(chunk))
    growth.sums(query).counts(query.count(chunk))


def test_sums_are_handed_out_for_the_very_count_alone(facts_of, table_of):
    facts = facts_of(CODES, 3)
    growth, chunk = growth_of(facts, 3), Chunk(table_of(facts, 60))
    query = growth.level()
    counted = query.count(chunk)
    score = growth.score(query, np.zeros((1, 3), "i8"), 1.0)
    score.rows(counted)  # paid for: what the bridge does for a choice
    counts = CountedGrowth.sums(growth, query)
    for part in (growth.sums(query).counts, counts.counts, score.rows):
        for other in (None, counted.copy()):
            with pytest.raises(PlanError, match="the very count"):
                part(other)


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (2, True), (3, False)])
@pytest.mark.parametrize("scale", [0.0, 0.5, 900.0])
def test_one_record_moves_scores_and_sums_by_what_is_paid_for(
    facts_of, table_of, n_classes, weighted, scale
):
    facts = facts_of(CODES, n_classes)
    table = table_of(facts, 80, seed=n_classes)
    growth = growth_of(facts, n_classes, scale, weighted)
    generator = np.random.default_rng(8)
    widest = Fraction(0)
    for level in range(3):
        query, n_columns = growth.level(), n_score_columns(n_classes)
        # Centres as far out as may be: whatever was released.
        raw = generator.normal(size=(2**level, 2 * n_columns + 1), scale=1e6)
        raw[:, -1] = 1.0
        own = centres(raw, query.gradients.lattice.most, 1)

        preference = Preference(generator.random(query.bins.starts[-1]), 1e-9)

        def scores_of(n, query=query, own=own, growth=growth, preference=preference):
            fresh = LevelSums(query.gradients, query.bins, query.heap, query.level,
                              np.arange(2**query.level))  # fmt: skip
            counted = fresh.count(Chunk(rows_of(table, 0, n)))
            score = SplitScore(fresh, own, growth._boxes, AllCounted(), preference)
            return score, score.rows(counted).scores, fresh.parted(counted)[1]

        for n in range(50, 80):
            (score, more, more_sums), (_, fewer, fewer_sums) = scores_of(n + 1), scores_of(n)
            offered = more > -np.inf
            assert np.array_equal(offered, fewer > -np.inf), "public"
            moved = [Fraction(int(v)) * score.unit for v in more[offered] - fewer[offered]]
            assert max(map(abs, moved)) <= score.score_range / 2
            assert max(moved) - min(moved) <= score.score_range
            widest = max(widest, max(map(abs, moved)))
            row = (more_sums - fewer_sums).astype(object)
            assert np.count_nonzero(np.abs(row).sum(axis=1)) == 1
            assert (row**2).sum() <= query.gradients.lattice.row.l2_squared
            assert np.abs(row).sum() <= query.gradients.lattice.row.l1
            assert growth.sums(query).sensitivity == query.gradients.lattice.row
        growth.split(generator.integers(0, 5, 2**level))
    if weighted or scale == 900.0:
        assert widest > score.score_range / 2 * Fraction(95, 100), "nearly reached"


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=9), st.floats(-1e6, 1e6))
def test_centres_are_whole_and_add_up_to_nothing(sums, size):
    row = np.array([[*sums, *np.zeros(len(sums)), size]])
    own = centres(row, 2048, 410)[0]
    assert own.sum() == 0
    assert node_factors(own[None], 2048)[0] * (2048 + np.abs(own).sum() // 2) <= 2 * 2048 * 256
    assert np.abs(own).sum() // 2 <= 2048 + len(sums)


@pytest.mark.parametrize("n_columns", [4, 5, 7, 12])
@pytest.mark.parametrize("n_times", [1, _MOST_HALVED // 9, _MOST_HALVED])
def test_sums_of_two_a_word_are_those_of_one(n_columns, n_times):
    # Ten records of the largest residuals, each listed so often that words are emptied in between.
    generator = np.random.default_rng(n_columns)
    order = np.repeat(np.arange(10, dtype=np.int32), n_times)
    rows = generator.choice([-4096, 4096, 1], size=(10, 2 * n_columns)).astype(np.int32)
    rows[:, 0], rows[:, 1] = -4096, 4096
    codes = np.array([[0, 1, 1, 2, 0, 1, 1, 2, 2, 1]], dtype=np.uint8).T
    starts, usual = np.array([0, 3]), np.array([1])
    first, listed = np.empty(11, np.int64), np.empty(5, np.uint16)
    list_bins(codes, np.array([0, 3]), np.arange(3), starts, usual, first, listed)
    nodes = order, np.array([0, order.size]), np.array([0])
    totals = np.empty((1, 2 * n_columns + 1), np.int64)
    out = np.empty((1, 3, n_words(n_columns)), np.int64)
    node_sums(*nodes, rows, totals)
    node_histograms(*nodes, first, listed, rows, starts, usual, totals, out)
    for code in range(3):
        own = codes[:, 0] == code
        expected = [*(rows[own, : n_columns - 1].sum(axis=0) * n_times), own.sum() * n_times]
        assert out[0, code, :n_columns].tolist() == expected


def test_a_code_that_no_declared_value_has_is_no_candidate(facts_of, table_of):
    facts = replace(facts_of([5, -4], 2), unknown=(-1, 2))
    growth = growth_of(facts, 2)
    query = growth.level()
    score = growth.score(query, np.zeros((1, 1), dtype=np.int64), 1.0)
    scores = score.rows(query.count(Chunk(table_of(facts, 50)))).scores
    own = scores[query.bins.starts[1] :]
    assert (own > -np.inf).tolist() == [True, True, False, True]


def test_more_records_than_a_word_can_count_are_added_up():
    # Ten records, each of them listed so often that words are emptied in between.
    n_times, residuals = 1_700_000, np.array([4096, -4096, 4096, 7, -5, 4096, 4096, 1, -1, 4096])
    order = np.repeat(np.arange(10, dtype=np.int32), n_times)
    rows = np.stack([residuals, np.zeros(10)], axis=1).astype(np.int32)
    codes = np.array([[0, 1, 1, 2, 0, 1, 1, 2, 2, 1]], dtype=np.uint8).T
    starts, usual = np.array([0, 3]), np.array([1])
    first, listed = np.empty(11, np.int64), np.empty(5, np.uint16)
    list_bins(codes, np.array([0, 3]), np.arange(3), starts, usual, first, listed)
    totals, out = np.empty((1, 3), np.int64), np.empty((1, 3, 2), np.int64)
    nodes = order, np.array([0, order.size]), np.array([0])
    node_sums(*nodes, rows, totals)
    node_histograms(*nodes, first, listed, rows, starts, usual, totals, out)
    expected = [
        [residuals[codes[:, 0] == code].sum() * n_times, (codes == code).sum() * n_times]
        for code in range(3)
    ]
    assert order.size > _MOST_PACKED and out[0].tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kept_residuals_are_of_their_lattice(facts_of, table_of, n_classes):
    table = table_of(facts_of([40, -5, 7], n_classes), 60)
    n_columns = n_score_columns(n_classes)
    chunk, history = Chunk(table), ScoreHistory(np.resize([3.0, -3.0], n_columns))
    for clip in (Fraction(1), Fraction(1, 10)):
        lattice = GradientLattice.of(n_columns, clip, Fraction(1), Fraction(1, 10))
        rows = Gradients(history, lattice).rows(chunk)[:, :n_columns]
        assert np.abs(rows).max() <= lattice.most
        assert np.array_equal(rows, Gradients(history, lattice).rows(Chunk(table))[:, :n_columns])
