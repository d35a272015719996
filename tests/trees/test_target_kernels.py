"""Kernels over targets against slow twins, and what one record can change in each release."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.accounting.releases import LearnerBudget, PlanError
from dpforest.bridge import bridge
from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords, reveal
from dpforest.records.counts import ClassCounts
from dpforest.records.table import Table
from dpforest.trees.base import TableFacts
from dpforest.trees.one_shot import OneShotForest
from dpforest.trees.one_shot import queries as one_shot_queries
from dpforest.trees.one_shot.kernels.leaf_tables import add_target_tables
from dpforest.trees.one_shot.kernels.score_tables import add_target_histogram
from dpforest.trees.one_shot.queries import LeafScoring, LeafTables, ScoreHistogram
from dpforest.trees.random.bins import public_bins
from dpforest.trees.random.trees import draw_random_trees
from dpforest.trees.refitted import learner as refitted_learner
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.queries import STEPS
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize
from dpforest.trees.scored.kernels.residuals import target_residuals
from dpforest.trees.training import train_on

N_CODES = np.array([30, 4, 70])
ORDERED = np.array([True, False, True])
OFFSETS = np.concatenate([[0], np.cumsum(N_CODES)]).astype(np.int64)
PURE = LearnerBudget(Fraction(20), Fraction(0))
CONCENTRATED = LearnerBudget(Fraction(20), Fraction(1, 10**6))


def facts_of(rows: float | None = 5000.0) -> TableFacts:
    scaled = tuple(
        np.linspace(0.0, 1.0, n) if kind else None for n, kind in zip(N_CODES, ORDERED, strict=True)
    )
    return TableFacts(N_CODES, ORDERED, np.zeros(3, bool), scaled, 2, rows, TARGET_STEPS)


def table_of(n: int, seed: int = 1) -> Table:
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(0, k, n) for k in N_CODES]).astype(np.uint8)
    targets = generator.integers(0, TARGET_STEPS + 1, n).astype(np.int32)
    targets[: n // 4] = 0
    targets[n // 4 : n // 3] = TARGET_STEPS
    zeros = np.zeros(n, dtype=np.uint8)
    return Table(codes, zeros, N_CODES, OFFSETS, ORDERED, 2, targets=targets)


def without(table: Table, place: int) -> Table:
    """The same table but for one record."""
    codes, labels, targets = (
        np.delete(array, place, axis=0) for array in (table.codes, table.labels, table.targets)
    )
    return Table(codes, labels, N_CODES, OFFSETS, ORDERED, 2, targets=targets)


def test_target_tables_hold_the_parts_of_every_record():
    table = table_of(1100)
    facts = facts_of()
    trees = draw_random_trees(3, 4, public_bins(facts, 16), facts, SeededSource(2))
    arguments = table.codes, table.targets, TARGET_STEPS, trees.feature, trees.mask, trees.depth
    tables = np.zeros((3, 16, 2), dtype=np.int64)
    add_target_tables(*arguments, tables)
    twin = np.zeros_like(tables)
    for tree, leaves in enumerate(trees.leaves(table.codes)):
        for leaf, target in zip(leaves, table.targets, strict=True):
            twin[tree, leaf] += [TARGET_STEPS - target, target]
    assert (tables == twin).all()
    assert (tables.sum(axis=(1, 2)) == 1100 * TARGET_STEPS).all()
    add_target_tables(*arguments, tables)  # added to, not overwritten
    assert (tables == 2 * twin).all()


def test_target_histogram_holds_the_parts_of_every_record():
    generator = np.random.default_rng(2)
    # More than one block; NaN is not above any edge.
    ends = [-1.0, 0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    scores = np.concatenate([ends, generator.normal(size=1100), ends])
    targets = generator.integers(0, TARGET_STEPS + 1, scores.size).astype(np.int32)
    edges = np.array([-1.0, 0.0, 1.0])
    counts = np.zeros((4, 2), dtype=np.int64)
    add_target_histogram(scores, targets, TARGET_STEPS, edges, counts)
    twin = np.zeros_like(counts)
    places = np.searchsorted(edges, np.nan_to_num(scores, nan=-np.inf), side="right")
    np.add.at(twin, places, np.column_stack([TARGET_STEPS - targets, targets]))
    assert (counts == twin).all()


@pytest.mark.parametrize(("unit", "other"), [(1, TARGET_STEPS), (TARGET_STEPS, 1)])
def test_counts_are_of_the_unit_that_they_were_priced_for(unit, other):
    table = table_of(30)
    table = table if unit > 1 else replace(table, targets=None)
    facts = facts_of()
    trees = draw_random_trees(3, 4, public_bins(facts, 16), facts, SeededSource(2))
    scoring = LeafScoring(trees, np.zeros((3, 16, 1)))
    for make in (
        ClassCounts,
        lambda unit: LeafTables(trees, unit),
        lambda unit: ScoreHistogram(scoring, np.zeros(1), unit),
    ):
        n_tables = 3 if isinstance(make(unit), LeafTables) else 1
        assert make(unit).count(Chunk(table)).sum() == n_tables * 30 * unit
        with pytest.raises(PlanError, match="priced for"):
            make(other).count(Chunk(table))


FAR = [np.nan, np.inf, -np.inf, 0.0, 745.0, -745.0, 1e300, -1e300]


#: Largest residuals: uncut, cut a little, to the half, and far below it.
MOST = [STEPS, STEPS * 7 // 10, STEPS // 2, STEPS // 10]


def residuals_of(scores, targets, most):
    out = np.empty((len(scores), 1), dtype=np.int32)
    scores, targets = np.array(scores)[:, None], np.array(targets, np.int32)
    target_residuals(scores, targets, TARGET_STEPS, STEPS, most, out)
    return out.ravel().tolist()


@given(
    st.floats(-60, 60) | st.sampled_from(FAR), st.integers(0, TARGET_STEPS), st.sampled_from(MOST)
)
def test_target_residuals_keep_their_bound_and_are_those_of_the_twin(score, target, most):
    (residual,) = residuals_of([score], [target], most)
    assert abs(residual) <= most
    if math.isnan(score):
        assert residual == 0
        return
    p = 0.0 if score < -700 else 1.0 / (1.0 + math.exp(-score))
    apart = target / TARGET_STEPS - p
    cut = min(max(apart * STEPS, -most), most)
    assert abs(residual - cut) <= 1 and residual * apart >= 0


@pytest.mark.parametrize("most", MOST)
def test_residual_bounds_are_reached(most):
    assert residuals_of([-800.0, 800.0], [TARGET_STEPS, 0], most) == [most, -most]


class Releases:
    """Raw arrays of every noisy release, in place of the noise; noise of a fixed seed beside."""

    def __init__(self, monkeypatch, modules):
        self.seen: list[tuple] = []
        for module, name in modules:
            monkeypatch.setattr(module, name, self.replaced(getattr(module, name)))

    def replaced(self, real):
        def release(raw, grant, source):
            self.seen.append((grant.event, np.array(raw)))
            generator = np.random.default_rng(len(self.seen))
            grant.consume(type(grant.event), raw.shape[0] if raw.ndim > 1 else 1)
            return raw + generator.integers(-3, 4, raw.shape)

        return release

    def of(self, learner, budget, table):
        """Releases of a fit, with the same noise for every table."""
        self.seen = []
        facts = facts_of()
        plan = learner.plan(facts, budget)
        accountant = BudgetAccountant._unlimited()
        with accountant.open_scope("fit") as scope:
            records = MemoryRecords(table)
            train_on(learner, plan, scope, SeededSource(1), records, facts, lambda: None)
        return self.seen


def check_sensitivity(event, difference):
    """What one record changed is no more than the event was priced for."""
    l1 = int(np.abs(difference).sum())
    l2 = int((difference.astype(object) ** 2).sum())
    if isinstance(event, GeometricNoise):
        assert 0 < l1 <= event.l1_sensitivity
    else:
        assert isinstance(event, DiscreteGaussianNoise)
        assert 0 < l2 <= event.l2_sensitivity_squared


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize("place", [0, 14, 30])  # targets at a bound, at the other, between
def test_one_record_moves_one_shot_releases_as_priced(budget, place, monkeypatch):
    names = "add_geometric_noise", "add_discrete_gaussian_noise"
    releases = Releases(monkeypatch, [(bridge, name) for name in names])
    # Bins would be released values of their own, and these have to be the same for both tables.
    monkeypatch.setattr("dpforest.trees.random.bins.quantiles_are_affordable", lambda *_: False)
    table = table_of(48)
    learner = OneShotForest()
    with_it = releases.of(learner, budget, table)
    without_it = releases.of(learner, budget, without(table, place))
    assert len(with_it) == len(without_it) == 3
    for (event, one), (_, other) in list(zip(with_it, without_it, strict=True))[:2]:
        check_sensitivity(event, one - other)
    (_, prior), (leaf_event, leaves) = with_it[:2]
    assert prior.sum() == 48 * TARGET_STEPS
    difference = (leaves - without_it[1][1]).reshape(-1, 2)
    n_trees = difference.sum() // TARGET_STEPS
    assert difference.sum() == n_trees * TARGET_STEPS and difference.min() == 0
    if isinstance(leaf_event, GeometricNoise):
        assert leaf_event.l1_sensitivity == difference.sum()  # reached


@pytest.mark.parametrize("place", [0, 14, 30])
def test_leaf_tables_say_what_a_target_moves(place):
    table, facts = table_of(48), facts_of()
    trees = draw_random_trees(3, 4, public_bins(facts, 16), facts, SeededSource(2))
    query = one_shot_queries.LeafTables(trees, TARGET_STEPS)
    whole, fewer = (
        reveal(MemoryRecords(t).sealed_total(query)) for t in (table, without(table, place))
    )
    moved = whole - fewer
    assert moved.shape == (3 * 16, 2) and moved.min() == 0
    assert moved.sum() == query.sensitivity.l1
    assert (moved**2).sum() <= query.sensitivity.l2_squared
    assert ((moved**2).sum() == query.sensitivity.l2_squared) == (place in (0, 14)), "at a bound"


@pytest.mark.parametrize("place", [0, 14, 30])
def test_one_record_moves_a_calibration_as_priced(place):
    table = table_of(48)
    scores = np.random.default_rng(3).normal(size=(48, 1))

    class Scored:
        def __init__(self, rows):
            self.rows = rows

        def scores(self, codes):
            return self.rows

    edges = np.array([-1.0, 0.0, 1.0])
    counting = one_shot_queries.ScoreHistogram
    query = counting(Scored(scores), edges, TARGET_STEPS)
    one = reveal(MemoryRecords(table).sealed_total(query))
    fewer = Scored(np.delete(scores, place, axis=0))
    other = reveal(
        MemoryRecords(without(table, place)).sealed_total(counting(fewer, edges, TARGET_STEPS))
    )
    difference = one - other
    assert difference.min() == 0 and difference.sum() == TARGET_STEPS == query.sensitivity.l1
    assert (difference**2).sum() <= query.sensitivity.l2_squared == TARGET_STEPS**2
    assert (difference.sum(axis=1) > 0).sum() == 1


@pytest.mark.parametrize("place", [0, 14, 30])
def test_one_record_moves_refitted_releases_as_priced(place, monkeypatch):
    releases = Releases(monkeypatch, [(bridge, "add_discrete_gaussian_noise")])
    monkeypatch.setattr("dpforest.trees.random.bins.quantiles_are_affordable", lambda *_: False)
    size = RefittedSize(3, 1, 2)
    settings = RefittedSettings(fixed_size=size, start_signal=1e9, curve_signal=1e9)
    table, learner = table_of(48), RefittedForest(settings)
    with_it = releases.of(learner, CONCENTRATED, table)
    without_it = releases.of(learner, CONCENTRATED, without(table, place))
    (prior_event, prior), (_, fewer) = with_it[0], without_it[0]
    check_sensitivity(prior_event, prior - fewer)
    # The first round's sums: base scores come from the prior, and are made up here, so that both
    # tables have the same released values.
    monkeypatch.setattr(refitted_learner, "start_scores", lambda *_: np.array([0.3]))
    with_it = releases.of(learner, CONCENTRATED, table)
    without_it = releases.of(learner, CONCENTRATED, without(table, place))
    event, sums = with_it[1]
    difference = sums - without_it[1][1]
    check_sensitivity(event, difference)
    assert (np.abs(difference).sum(axis=1) > 0).sum() == 1  # one leaf
