"""What one record can change, measured exactly: residuals, scores, sums, the linear design."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
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
from dpforest.trees.refitted.kernels.linear import gradient_sums, gram_sums
from dpforest.trees.refitted.kernels.rounds import add_steps, leaf_sums
from dpforest.trees.refitted.queries import (
    STEPS,
    DesignedColumns,
    GradientSums,
    GramSums,
    LeafSums,
    LeafSumsOfAll,
    ResidualLattice,
    Residuals,
    TreeScore,
    candidate_scores,
)
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.kernels.code_values import add_code_values
from dpforest.trees.scored.kernels.residuals import _share_out, lattice_residuals
from dpforest.trees.scored.queries import ScoreHistory, residual_sensitivity, square_of

#: Largest residuals: uncut, cut a little, to the half, and far below it.
MOST = [STEPS, STEPS * 7 // 10, STEPS // 2, STEPS // 10]
#: Largest L2 of several columns, in clips: what a clip leaves, less, and what counts alone.
NORMS = [None, Fraction(3, 2), Fraction(11, 10), Fraction(1, 50)]
CLIPS = [Fraction(1), Fraction(7, 10), Fraction(1, 2), Fraction(1, 10)]
FAR = [np.nan, np.inf, -np.inf, 0.0, 40.0, -40.0, 745.0, -745.0, 1e300, -1e300]
extreme = st.floats(-1e6, 1e6) | st.sampled_from(FAR)


def sums_of(codes, residuals, trees, facts):
    sums = np.full((trees.n_trees, trees.n_leaves, residuals.shape[1] + 1), 7, dtype=np.int64)
    shape = trees.feature, trees.mask, trees.depth
    tables = slot_tables(*shape, facts.n_codes, len(codes))
    layout = np.ascontiguousarray(codes), np.ascontiguousarray(codes.T)
    leaf_sums(*layout, residuals, *shape, tables, sums)
    return sums


def residuals_of(scores, labels, most=STEPS, norm=None):
    out, square = np.empty(scores.shape, dtype=np.int32), square_of(most, norm)
    lattice_residuals(scores, np.asarray(labels, dtype=np.uint8), STEPS, most, square, out)
    return out


@given(extreme, st.integers(0, 1), st.sampled_from(MOST))
def test_two_class_residuals_keep_their_bound(score, label, most):
    r, bounds = (
        int(residuals_of(np.array([[score]]), [label], most)[0, 0]),
        residual_sensitivity(1, most, 1),
    )
    assert abs(r) <= bounds.l1 == most and r**2 <= bounds.l2_squared == most**2
    assert r >= 0 if label == 1 else r <= 0


@given(
    st.lists(extreme, min_size=3, max_size=40),
    st.integers(0, 10**6),
    st.sampled_from(MOST),
    st.sampled_from(NORMS),
)
def test_class_residuals_keep_their_bounds(scores, pick, most, norm):
    label = pick % len(scores)
    r = residuals_of(np.array([scores]), [label], most, norm)[0].astype(object)
    assert sum(r) == 0
    bounds = residual_sensitivity(len(scores), most, square_of(most, norm))
    assert sum(abs(v) for v in r) <= bounds.l1 == 2 * most
    assert sum(v * v for v in r) <= bounds.l2_squared <= 2 * most**2
    assert norm is None or bounds.l2_squared <= (norm * most) ** 2
    assert r[label] >= 0 and all(r[k] <= 0 for k in range(len(scores)) if k != label)


@pytest.mark.parametrize("most", MOST)
def test_the_bounds_are_reached(most):
    assert residuals_of(np.array([[-800.0], [800.0]]), [1, 0], most).tolist() == [[most], [-most]]
    r = residuals_of(np.array([[900.0, 0.0, 0.0]]), [1], most)[0].astype(np.int64)
    reached = residual_sensitivity(3, most, square_of(most, None))
    assert (r**2).sum() == reached.l2_squared == 2 * most**2
    assert np.abs(r).sum() == reached.l1
    # A norm is reached but for the lattice: one step more of each would pass it.
    r = residuals_of(np.array([[900.0, 0.0, 0.0]]), [1], most, Fraction(1, 50))[0].astype(np.int64)
    assert (r**2).sum() <= square_of(most, Fraction(1, 50)) < 2 * (np.abs(r).max() + 1) ** 2


def test_a_row_that_would_pass_its_norm_has_nothing():
    sizes, labels = np.array([[0, 0], [3, 3], [4, 5]], dtype=np.int32), np.zeros(2, np.uint8)
    residuals = np.empty((2, 3), dtype=np.int32)
    _share_out(sizes, labels, 100, 3**2 + 4**2 + 7**2, residuals)
    assert residuals.tolist() == [[7, -3, -4], [0, 0, 0]]


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize(("n_classes", "norm"), [(2, None), *((5, norm) for norm in NORMS)])
def test_residuals_are_those_of_a_slow_twin_rounded_toward_zero(n_classes, norm, most):
    generator = np.random.default_rng(n_classes)
    scores = generator.normal(size=(300, n_score_columns(n_classes)), scale=2)
    labels = generator.integers(0, n_classes, 300)
    full = scores if n_classes > 2 else np.column_stack([np.zeros(300), scores])
    p = np.exp(full) / np.exp(full).sum(axis=1, keepdims=True)
    far = 1 - p[np.arange(300), labels]
    whole = np.eye(n_classes)[labels] - p
    cut = np.minimum(1.0, most / STEPS / far)[:, None]
    if norm is not None:
        cut = np.minimum(
            cut, float(norm) * most / STEPS / np.linalg.norm(whole, axis=1, keepdims=True)
        )
    assert (cut < 1).any() == (most < STEPS or (norm is not None and norm < 1.4))
    assert most * (norm or 1) <= 0.11 * STEPS or (cut == 1).any()
    # Of two classes a residual beyond the clip is the clip; of more all of a row shrink alike.
    exact = cut * whole * STEPS
    ours = residuals_of(scores, labels, most, norm)
    theirs = exact if n_classes > 2 else exact[:, 1:]
    others = np.arange(n_classes) != labels[:, None] if n_classes > 2 else np.ones((300, 1), bool)
    assert np.all(np.abs(ours)[others] <= np.abs(theirs)[others] + 1e-6)
    assert np.all(np.abs(theirs - ours)[others] < 1 + 1e-6)
    assert np.all(np.abs(theirs - ours) < n_classes)


def test_a_clip_is_rounded_down_to_the_lattice_and_leaves_a_size():
    thirds = ResidualLattice.of(3, Fraction(1, 3))
    assert thirds.most == STEPS // 3 and 3 * thirds.most < STEPS and thirds.n_columns == 3
    assert ResidualLattice.of(1, Fraction(1)).most == STEPS
    for clip, norm in product((*CLIPS, Fraction(1, 3), Fraction(1, 10**6)), NORMS):
        one, several = ResidualLattice.of(1, clip, norm), ResidualLattice.of(4, clip, norm)
        assert 0 < one.size == several.size <= one.most
        assert one.row.l1 == one.most + one.size
        assert one.row.l2_squared == one.most**2 + one.size**2
        assert several.row.l1 == 2 * several.most + several.size
        assert several.row.l2_squared == several.square + several.size**2
        assert several.square <= 2 * several.most**2
        assert (several.square == 2 * several.most**2) == (norm is None or norm**2 >= 2)
        assert one.score_range == several.score_range == Fraction(2 * one.most, STEPS)


@pytest.mark.parametrize("clip", [Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_record_moves_scores_and_sums_by_what_is_paid_for(facts_of, table_of, n_classes, clip):
    facts = facts_of([12, -5, 7], n_classes)
    table = table_of(facts, 60, seed=n_classes)
    trees = draw_random_trees(16, 4, public_bins(facts, 8), facts, SeededSource(1))
    generator = np.random.default_rng(1)
    # Scores far out, so that residuals come near their bound.
    raw = generator.normal(size=(60, n_score_columns(n_classes)), scale=6)
    raw[30:33] = np.resize([-900.0, 900.0, -900.0, 0.0], raw.shape[1])
    lattice = ResidualLattice.of(raw.shape[1], clip)
    residuals = residuals_of(raw, table.labels, lattice.most)

    def released(n):
        sums = sums_of(table.codes[:n], residuals[:n], trees, facts)
        expected = np.zeros_like(sums)
        added = np.column_stack([residuals[:n], np.ones(n, dtype=np.int64)])
        for tree, leaves in enumerate(trees.leaves(table.codes[:n])):
            np.add.at(expected[tree], leaves, added)
        assert np.array_equal(sums, expected)
        scores = candidate_scores(sums[:, :, :-1])
        sums[:, :, -1] *= lattice.size
        return scores, sums

    query = LeafSums(Residuals(ScoreHistory(np.zeros(raw.shape[1])), lattice), trees)
    paid_for, score = lattice.row, TreeScore(query)
    assert score.score_range == 2 * clip
    changes, moves = [], []
    for n in range(30, 60):
        (more, more_sums), (fewer, fewer_sums) = released(n + 1), released(n)
        change = (more - fewer) * float(score.unit)
        assert np.abs(change).max() <= score.score_range / 2
        assert change.max() - change.min() <= score.score_range
        changes.append(np.abs(change).max())
        moved = (more_sums - fewer_sums).astype(object)
        moves += zip(np.abs(moved).sum(axis=(1, 2)), (moved**2).sum(axis=(1, 2)), strict=True)
    assert max(changes) == score.score_range / 2, "reached"
    most = tuple(map(max, zip(*moves, strict=True)))
    assert most == (paid_for.l1, paid_for.l2_squared), "reached, and no more"


def test_two_trees_may_be_moved_apart_by_the_whole_range(facts_of):
    """One record's residual brings one tree's sums nearer to nothing, and another's away."""
    lattice, facts = ResidualLattice.of(1, Fraction(1, 2)), facts_of([12, -5], 2)
    trees, most = (
        draw_random_trees(2, 1, public_bins(facts, 8), facts, SeededSource(1)),
        lattice.most,
    )
    sums = np.array([[[most], [0]], [[-most], [0]]])
    change = candidate_scores(sums + np.array([[[most], [0]]] * 2)) - candidate_scores(sums)
    score = TreeScore(LeafSums(Residuals(ScoreHistory(np.zeros(1)), lattice), trees))
    assert (change[0] - change[1]) * float(score.unit) == score.score_range


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


@pytest.mark.parametrize("clip", [Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("place", [None, 1e9, -1e9])
def test_the_linear_sums_of_one_record_stay_within_what_is_paid_for(
    facts_of, table_of, place, clip
):
    facts = facts_of([12, -5, 7, -2], 3)
    table = table_of(facts, 40)
    design = LinearDesign.of(facts)
    bins = public_bins(facts, 8)
    if place is not None:  # whatever was released
        bins = Bins(bins.of_code, bins.starts, np.full_like(bins.place, place))
    values = design.values(bins)
    assert np.abs(values).max() <= LEVELS
    columns = DesignedColumns(facts.offsets, design.column, values, design.n_columns)
    lattice = ResidualLattice.of(3, clip)
    left = Residuals(ScoreHistory(np.array([900.0, 0.0, 0.0])), lattice)
    queries = {"gram": GramSums(columns), "gradient": GradientSums(left, columns)}
    sizes = []
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
        if name == "gradient":
            sizes.append((np.abs(moved).sum(), (moved**2).sum()))
    paid_for = queries["gradient"].sensitivity
    assert (max(sizes) == (paid_for.l1, paid_for.l2_squared)) == (place is not None), "reached"


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


UNCOMPILED = """
import numpy as np
from dpforest.kernels.vectors import add_four

sums, words = np.arange(8), np.array([7, 2**40, -3, 2**63 - 1, 2**62, 9])
add_four(sums, np.uint64(2), words, np.uint64(1))
print(sums.tolist())
"""


def test_four_neighbours_are_added_where_nothing_is_compiled():
    """As for a debugger or coverage: a fit of five classes ended once it was charged."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", UNCOMPILED], capture_output=True, text=True,
        check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert run.stdout == f"{[0, 1, 2 + 2**40, 0, 4 + 2**63 - 1 - 2**64, 5 + 2**62, 6, 7]}\n"


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaf_sums_say_what_a_record_moves(facts_of, table_of, n_classes, clip):
    facts = facts_of([12, -5, 7, -2], n_classes)
    table, n_columns = table_of(facts, 40), n_score_columns(n_classes)
    trees = draw_random_trees(4, 3, public_bins(facts, 8), facts, SeededSource(1))
    # Scores so far out that every residual is at its bound, or nothing.
    scored, lattice = (
        ScoreHistory(np.resize([-900.0, 900.0, 0.0], n_columns)),
        ResidualLattice.of(n_columns, clip),
    )
    query = LeafSums(Residuals(scored, lattice), trees)
    sizes = []
    for i in range(40):
        moved = query.count(Chunk(rows_of(table, i, i + 1))).astype(object)
        assert (moved[:, :, -1].sum(axis=1) == lattice.size).all()
        sizes += [*zip(np.abs(moved).sum(axis=(1, 2)), (moved**2).sum(axis=(1, 2)), strict=True)]
    assert max(sizes) == (query.sensitivity.l1, query.sensitivity.l2_squared), "reached"
    whole, sizes = LeafSumsOfAll(query.residuals, trees), []
    for i in range(40):
        moved = whole.count(Chunk(rows_of(table, i, i + 1))).astype(object)
        sizes.append((np.abs(moved).sum(), (moved**2).sum()))
    assert max(sizes) == (whole.sensitivity.l1, whole.sensitivity.l2_squared), "of all trees"


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
