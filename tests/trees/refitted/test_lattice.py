"""What one record can change, measured exactly: residuals, scores, sums, the linear design."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from dpforest.kernels.vectors import add_four
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, rows_of
from dpforest.trees.random.bins import Bins, public_bins
from dpforest.trees.random.kernels.slots import slot_tables
from dpforest.trees.random.trees import draw_random_trees
from dpforest.trees.refitted.design import LEVELS, LinearDesign, n_columns
from dpforest.trees.refitted.kernels.linear import add_code_values, gradient_sums, gram_sums
from dpforest.trees.refitted.kernels.residuals import lattice_residuals
from dpforest.trees.refitted.kernels.rounds import add_steps, leaf_sums
from dpforest.trees.refitted.queries import (
    SIZE_STEPS,
    STEPS,
    DesignedColumns,
    GradientSums,
    GramSums,
    LeafSums,
    LeanOfTrees,
    ScoreHistory,
    candidate_scores,
    residual_sensitivity,
    sums_sensitivity,
)
from dpforest.trees.refitted.steps import n_score_columns

FAR = [np.nan, np.inf, -np.inf, 0.0, 40.0, -40.0, 745.0, -745.0, 1e300, -1e300]
extreme = st.floats(-1e6, 1e6) | st.sampled_from(FAR)


def sums_of(codes, residuals, trees, facts):
    sums = np.full((trees.n_trees, trees.n_leaves, residuals.shape[1] + 1), 7, dtype=np.int64)
    shape = trees.feature, trees.mask, trees.depth
    tables = slot_tables(*shape, facts.n_codes, len(codes))
    layout = np.ascontiguousarray(codes), np.ascontiguousarray(codes.T)
    leaf_sums(*layout, residuals, *shape, tables, sums)
    return sums


def residuals_of(scores, labels):
    out = np.empty(scores.shape, dtype=np.int32)
    lattice_residuals(scores, np.asarray(labels, dtype=np.uint8), STEPS, out)
    return out


@given(extreme, st.integers(0, 1))
def test_two_class_residuals_keep_their_bound(score, label):
    r = int(residuals_of(np.array([[score]]), [label])[0, 0])
    assert abs(r) <= residual_sensitivity(1).l1 and r**2 <= residual_sensitivity(1).l2_squared
    assert r >= 0 if label == 1 else r <= 0


@given(st.lists(extreme, min_size=3, max_size=40), st.integers(0, 10**6))
def test_class_residuals_keep_their_bounds(scores, pick):
    label = pick % len(scores)
    r = residuals_of(np.array([scores]), [label])[0].astype(object)
    assert sum(r) == 0
    bounds = residual_sensitivity(len(scores))
    assert sum(abs(v) for v in r) <= bounds.l1 == 2 * STEPS
    assert sum(v * v for v in r) <= bounds.l2_squared
    assert r[label] >= 0 and all(r[k] <= 0 for k in range(len(scores)) if k != label)


def test_the_bounds_are_reached():
    assert abs(residuals_of(np.array([[-800.0]]), [1])[0, 0]) == STEPS
    r = residuals_of(np.array([[900.0, 0.0, 0.0]]), [1])[0].astype(np.int64)
    assert (r**2).sum() == residual_sensitivity(3).l2_squared
    assert np.abs(r).sum() == residual_sensitivity(3).l1


@pytest.mark.parametrize("n_classes", [2, 5])
def test_residuals_are_those_of_a_slow_twin_rounded_toward_zero(n_classes):
    generator = np.random.default_rng(n_classes)
    scores = generator.normal(size=(300, n_score_columns(n_classes)), scale=2)
    labels = generator.integers(0, n_classes, 300)
    full = scores if n_classes > 2 else np.column_stack([np.zeros(300), scores])
    p = np.exp(full) / np.exp(full).sum(axis=1, keepdims=True)
    exact = (np.eye(n_classes)[labels] - p) * STEPS
    ours = residuals_of(scores, labels)
    theirs = exact if n_classes > 2 else exact[:, 1:]
    others = np.arange(n_classes) != labels[:, None] if n_classes > 2 else np.ones((300, 1), bool)
    assert np.all(np.abs(ours)[others] <= np.abs(theirs)[others] + 1e-6)
    assert np.all(np.abs(theirs - ours)[others] < 1 + 1e-6)
    assert np.all(np.abs(theirs - ours) < n_classes)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_record_moves_scores_and_sums_by_what_is_paid_for(facts_of, table_of, n_classes):
    facts = facts_of([12, -5, 7], n_classes)
    table = table_of(facts, 60, seed=n_classes)
    trees = draw_random_trees(16, 4, public_bins(facts, 8), facts, SeededSource(1))
    generator = np.random.default_rng(1)
    # Scores far out, so that residuals come near their bound.
    raw = generator.normal(size=(60, n_score_columns(n_classes)), scale=6)
    residuals = residuals_of(raw, table.labels)

    def released(n):
        sums = sums_of(table.codes[:n], residuals[:n], trees, facts)
        expected = np.zeros_like(sums)
        added = np.column_stack([residuals[:n], np.ones(n, dtype=np.int64)])
        for tree, leaves in enumerate(trees.leaves(table.codes[:n])):
            np.add.at(expected[tree], leaves, added)
        assert np.array_equal(sums, expected)
        scores = candidate_scores(sums[:, :, :-1])
        sums[:, :, -1] *= SIZE_STEPS
        return scores, sums

    paid_for = sums_sensitivity(n_score_columns(n_classes))
    for n in range(30, 60):
        (more, more_sums), (fewer, fewer_sums) = released(n + 1), released(n)
        change = (more - fewer) * float(LeanOfTrees().unit)
        assert np.abs(change).max() <= LeanOfTrees().score_range / 2
        assert change.max() - change.min() <= LeanOfTrees().score_range
        moved = (more_sums - fewer_sums).astype(object)
        assert max((moved**2).sum(axis=(1, 2))) <= paid_for.l2_squared
        assert max(np.abs(moved).sum(axis=(1, 2))) <= paid_for.l1


def test_candidate_scores_are_half_the_l1_over_classes():
    sums = np.array([[[3, -1, -2], [0, 0, 0]], [[-4, 2, 2], [5, -5, 0]]])
    assert candidate_scores(sums).tolist() == [3.0, 9.0]
    assert candidate_scores(sums[:, :, :1]).tolist() == [3.0, 9.0]


def test_no_records_make_sums_of_nothing(facts_of, table_of):
    facts = facts_of([12, -5], 2)
    table = table_of(facts, 0)
    trees = draw_random_trees(2, 3, public_bins(facts, 8), facts, SeededSource(1))
    nothing = np.empty((0, 1), dtype=np.int32)
    sums = sums_of(table.codes, nothing, trees, facts)
    assert not sums.any()


def test_steps_go_to_the_records_of_their_leaf():
    scores = np.zeros((3, 2))
    add_steps(np.array([1, 0, 1], dtype=np.int32), np.array([[1.0, 2.0], [3.0, 4.0]]), scores)
    assert scores.tolist() == [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("place", [None, 1e9, -1e9])
def test_the_linear_sums_of_one_record_stay_within_what_is_paid_for(facts_of, table_of, place):
    facts = facts_of([12, -5, 7, -2], 3)
    table = table_of(facts, 40)
    design = LinearDesign.of(facts)
    bins = public_bins(facts, 8)
    if place is not None:  # whatever was released
        bins = Bins(bins.of_code, bins.starts, np.full_like(bins.place, place))
    values = design.values(bins)
    assert np.abs(values).max() <= LEVELS
    columns = DesignedColumns(facts.offsets, design.column, values, design.n_columns)
    history = ScoreHistory(np.array([9.0, -9.0, 2.0]))
    queries = {"gram": GramSums(columns), "gradient": GradientSums(history, columns)}
    for i, (name, query) in product(range(40), queries.items()):
        chunk = Chunk(rows_of(table, i, i + 1))
        moved = query.count(chunk).astype(object)
        assert moved.shape == ((design.n_columns * (design.n_columns + 1) // 2,)
                               if name == "gram" else (design.n_columns * 3,))  # fmt: skip
        assert (moved**2).sum() <= query.sensitivity.l2_squared
        assert np.abs(moved).sum() <= query.sensitivity.l1
        if place is not None and name == "gram":
            assert (moved**2).sum() == query.sensitivity.l2_squared, "reached"
            assert np.abs(moved).sum() == query.sensitivity.l1


@pytest.mark.parametrize("n_columns", [1, 2, 3, 5, 6, 7, 8, 9, 14, 15, 18, 26])
@pytest.mark.parametrize("n", [3, 5000])
def test_leaf_sums_are_those_of_a_slow_twin_for_any_number_of_classes(
    facts_of, table_of, n_columns, n
):
    facts = facts_of([12, -5, 7, -2], 3)
    table = table_of(facts, n)
    trees = draw_random_trees(3, 4, public_bins(facts, 8), facts, SeededSource(1))
    residuals = np.random.default_rng(0).integers(-STEPS, STEPS, (n, n_columns), dtype=np.int32)
    if n_columns > 1:
        residuals[:, -1] -= residuals.sum(axis=1, dtype=np.int32)
    expected = np.zeros((3, trees.n_leaves, n_columns + 1), dtype=np.int64)
    for tree, leaves in enumerate(trees.leaves(table.codes)):
        np.add.at(expected[tree], leaves, np.column_stack([residuals, np.ones(n, np.int64)]))
    assert np.array_equal(sums_of(table.codes, residuals, trees, facts), expected)


def test_four_neighbours_are_added_at_once():
    @njit
    def add(sums, words):
        add_four(sums, np.uint64(2), words, np.uint64(1))

    sums, words = np.arange(8), np.array([7, 2**40, -3, 5, 2**62, 9])
    expected = sums.copy()
    expected[2:6] += words[1:5]
    add(sums, words)
    assert np.array_equal(sums, expected)
    with pytest.raises(TypingError):  # no array that lies otherwise
        add(sums[::2], words)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaf_sums_say_what_a_record_moves(facts_of, table_of, n_classes):
    facts = facts_of([12, -5, 7, -2], n_classes)
    table, n_columns = table_of(facts, 40), n_score_columns(n_classes)
    trees = draw_random_trees(4, 3, public_bins(facts, 8), facts, SeededSource(1))
    # Scores so far out that every residual is at its bound, or nothing.
    query = LeafSums(ScoreHistory(np.resize([-900.0, 900.0, -900.0], n_columns)), trees)
    sizes = []
    for i in range(40):
        moved = query.count(Chunk(rows_of(table, i, i + 1))).astype(object)
        assert (moved[:, :, -1].sum(axis=1) == SIZE_STEPS).all()
        sizes += [*zip(np.abs(moved).sum(axis=(1, 2)), (moved**2).sum(axis=(1, 2)), strict=True)]
    assert max(sizes) == (query.sensitivity.l1, query.sensitivity.l2_squared), "reached"


def test_the_linear_sums_are_those_of_a_dense_design(facts_of, table_of):
    facts = facts_of([12, -5, 7], 2)
    table = table_of(facts, 90)
    design = LinearDesign.of(facts)
    assert design.n_columns == n_columns(facts) == 8
    values = design.values(public_bins(facts, 8))
    dense = np.zeros((90, design.n_columns), dtype=np.int64)
    dense[:, 0] = LEVELS
    cells = facts.offsets[:-1] + table.codes
    dense[np.arange(90)[:, None], design.column[cells]] = values[cells]
    gram = np.empty((8, 8), dtype=np.int64)
    gram_sums(table.codes, facts.offsets, design.column, values, LEVELS, gram)
    assert np.array_equal(gram, np.triu(dense.T @ dense))
    residuals = residuals_of(np.zeros((90, 1)), table.labels)
    gradient = np.empty((8, 1), dtype=np.int64)
    gradient_sums(table.codes, facts.offsets, design.column, values, LEVELS, residuals, gradient)
    assert np.array_equal(gradient, dense.T @ residuals.astype(np.int64))
    scores = np.zeros((90, 1))
    worth = np.random.default_rng(0).normal(size=(int(facts.offsets[-1]), 1))
    add_code_values(table.codes, facts.offsets, worth, scores)
    assert np.allclose(scores[:, 0], worth[cells, 0].sum(axis=1), rtol=0, atol=1e-12)
