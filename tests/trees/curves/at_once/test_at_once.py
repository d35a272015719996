"""Curves at once: their plan is their cost, records move little, and they find known laws."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import root

from dpforest import BudgetAccountant, Domain, PrivateForestRegressor
from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.releases import LearnerBudget, PlanError
from dpforest.bridge.bridge import Bridge
from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.objective import Calibration
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.additive.model import AdditiveModel
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once import training as training_module
from dpforest.trees.curves.at_once.columns import CurveColumns
from dpforest.trees.curves.at_once.queries import CodedRecords, CurveLosses
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.at_once.sizes import Role
from dpforest.trees.scored.score_steps import SCORE_STEPS

CODES = [40, -5, 7, -2]
#: Classes, and steps of a record.
TASKS = [pytest.param(k, unit, id=name) for k, unit, name in (
    (2, 1, "two classes"), (2, TARGET_STEPS, "target"),
)]  # fmt: skip


def releases_of(plan):
    return [release for one in plan.rounds for release in one.releases * one.times]


def event_of(plan) -> ObjectivePerturbation:
    return releases_of(plan)[-1].event


# -- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 3000.0])
@pytest.mark.parametrize(("n_classes", "unit"), TASKS)
def test_training_asks_for_exactly_what_was_planned(
    facts_of, table_of, of_targets, train, n_classes, unit, rows
):
    facts = facts_of(CODES, n_classes, rows)
    table = table_of(facts, 200)
    if unit > 1:
        facts, table = of_targets(facts, table, np.linspace(0.0, 1.0, 200))
    done = train(facts, table)
    assert done.books.loss == done.plan.loss
    asked = [(e.role, e.mechanism, e.cells, e.level) for e in done.books.ledger]
    listed = [(r.role, r.event.mechanism, r.cells, r.level) for r in releases_of(done.plan)]
    assert asked == listed
    assert [role for role, *_ in asked] == [Role.PRIOR, Role.CURVES]
    assert done.n_done == done.plan.n_steps == 2
    again = AdditiveModel.from_data(done.model.to_data(), facts)
    codes = table.codes[:50]
    assert np.array_equal(again.log_odds(codes), done.model.log_odds(codes))


@pytest.mark.parametrize("epsilon", ["0.001", "1", "50"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e9])
@pytest.mark.parametrize("unit", [1, TARGET_STEPS])
def test_a_plan_costs_exactly_epsilon(facts_of, epsilon, rows, unit):
    facts = replace(facts_of(CODES, 2, rows), unit=unit)
    plan = AdditiveForest().plan(facts, LearnerBudget(Fraction(epsilon), Fraction(0)))
    assert plan.loss.epsilon == Fraction(epsilon) and plan.loss.delta == 0
    first, event = [release.event for release in releases_of(plan)]
    assert first.epsilon + event.epsilon == Fraction(epsilon)
    assert 0 < event.determinant <= min(event.epsilon / 2, 3)
    assert (event.clip, event.blocks) == (plan.shape.clip, len(CODES) + 1)
    assert event.curvature == Fraction(1, 4)


def test_owners_of_several_records_have_a_part_of_epsilon_for_each(facts_of, table_of, train):
    facts = facts_of(CODES, 2, 1000.0)
    done = train(facts, table_of(facts, 100), epsilon=3, unit=3)
    assert done.plan.loss.epsilon == 1
    domain = Domain(features={"a": (0, 9)}, target=(0, 1), approximate_rows=500)
    forest = PrivateForestRegressor(
        epsilon=3, domain=domain, strategy="additive", max_records_per_unit=3, random_state=0
    ).fit([[i % 10] for i in range(500)], [i % 10 / 9 for i in range(500)])
    assert forest.spent_.exact.epsilon == 3
    assert sum(Fraction(entry.epsilon) for entry in forest.accountant_.ledger) == 1


def test_the_plan_is_made_of_public_facts(facts_of):
    facts, budget = facts_of(CODES, 2, 5000.0), LearnerBudget(Fraction(1), Fraction(0))
    plan = AdditiveForest().plan(facts, budget)
    assert plan == AdditiveForest().plan(facts, budget)
    words = plan.describe()
    assert all(isinstance(text, str) for text in words.values())
    columns = CurveColumns.of(facts, plan.shape.n_knots)
    assert words["columns"] == str(columns.n_columns) and "a ridge" in words["rounds"]
    assert words["composed by"] == "addition in epsilon"


@pytest.mark.parametrize("unit", [1, TARGET_STEPS])
def test_knots_clips_and_ridges_go_by_the_signal_of_a_feature(facts_of, unit):
    budget, settings = LearnerBudget(Fraction(1), Fraction(0)), AtOnceSettings()
    of_means = unit > 1
    for n_features in (1, 8, 45):
        for level in (1.0, 11.9, 12.1, 24.0, 39.0, 41.0, 61.0, 95.0, 210.0, 260.0):
            rows = level * n_features / budget.signal(1.0)
            facts = replace(facts_of([40] * n_features, 2, rows), unit=unit)
            plan = AdditiveForest().plan(facts, budget)
            assert plan.shape.n_knots == settings.n_knots(level, n_features, of_means)
            assert plan.shape.clip == settings.clip_at(level, of_means)
            event = event_of(plan)
            assert event.determinant / event.epsilon == settings.determinant(level, of_means)


def test_without_a_number_of_records_curves_are_straight_lines(facts_of, table_of, train):
    facts = facts_of([40, 9], 2, None)
    done = train(facts, table_of(facts, 300), epsilon=5)
    assert done.plan.shape.n_knots == 2 and "a straight line" in done.plan.describe()["curves"]
    for first, end in ((0, 39), (40, 48)):
        bends = np.diff(done.model.code_values[first:end, 0], 2)
        assert np.abs(bends).max() <= 4.0 / SCORE_STEPS
    # About as many as the noisy prior says.
    assert done.model.sizes[:40].sum() == pytest.approx(300, abs=60)


# -- how far a record moves it -------------------------------------------------------------------


@st.composite
def neighbours(draw) -> Any:
    """Facts, a table and one with a record more, with labels or targets, and some weights."""
    sizes = draw(st.lists(st.integers(2, 30), min_size=1, max_size=4))
    ordered = np.array(draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes))))
    facts = TableFacts(
        np.array(sizes), ordered, ordered & draw(st.booleans()), (None,) * len(sizes), 2, None
    )
    n = draw(st.integers(0, 6)) + 1
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = np.floor(generator.random((n, len(sizes))) * sizes).astype(np.uint8)
    labels = generator.integers(0, 2, n).astype(np.uint8)
    targets = None
    if draw(st.booleans()):
        targets = generator.choice([0, TARGET_STEPS, TARGET_STEPS // 3], n).astype(np.int32)
    table = Table(
        codes, labels, facts.n_codes, facts.offsets, facts.ordered, 2, targets=targets
    )  # fmt: skip
    less = replace(
        table, codes=codes[:-1], labels=labels[:-1],
        targets=None if targets is None else targets[:-1],
    )  # fmt: skip
    n_knots, spread = draw(st.integers(2, 9)), draw(st.sampled_from([0.0, 1.0, 30.0]))
    columns = CurveColumns.of(facts, n_knots)
    return columns, less, table, spread * generator.normal(size=columns.n_columns)


def losses_of(columns: CurveColumns, table: Table, clip: Fraction) -> Any:
    calibration: Any = None  # losses do not go by it
    query = CodedRecords(table.unit)
    return CurveLosses(query, columns, 0.3, clip, calibration).losses(query.look(table))


def gradient_of(losses: Any, weights: np.ndarray) -> np.ndarray:
    hi, lo = np.zeros(weights.size), np.zeros(weights.size)
    losses.add_gradient(weights, hi, lo)
    return hi + lo


def moved(columns: CurveColumns, less: Table, table: Table, weights: Any, clip: Fraction):
    """How far the last record moves each block of the gradient, in L1, over the clip."""
    one, other = (gradient_of(losses_of(columns, t, clip), weights) for t in (less, table))
    starts = np.cumsum((0, *columns.widths[:-1]))
    return np.add.reduceat(np.abs(other - one), starts) / float(clip)


@given(neighbours(), st.sampled_from([Fraction(1, 8), Fraction(1, 2), Fraction(1)]))
def test_one_record_more_moves_no_block_by_more_than_the_clip(case, clip):
    columns, less, table, weights = case
    assert (moved(columns, less, table, weights, clip) <= 1.0 + 1e-9).all()
    # Nor the curvature along any direction by more than a quarter of what it is in the score.
    grams = []
    for one in (less, table):
        losses = losses_of(columns, one, clip)
        _, curvatures = losses.slopes(losses.scores(weights))
        grams.append(losses.gram(curvatures, weights.size))
    change = grams[1] - grams[0]
    grown = np.linalg.eigvalsh(change)
    assert grown.min() >= -1e-9
    assert np.abs(change).max() <= 0.25 + 1e-9


def test_where_all_is_wrong_a_record_moves_every_block_by_the_clip(facts_of, table_of):
    facts = facts_of([40, -5, -2], 2, None)
    columns, table = CurveColumns.of(facts, 7), table_of(facts, 1, labels=np.array([1]))
    nobody = replace(table, codes=table.codes[:0], labels=table.labels[:0])
    weights = np.append(np.zeros(columns.n_columns - 1), -40.0)
    reached = moved(columns, nobody, table, weights, Fraction(1, 2))
    assert reached == pytest.approx(1.0, abs=1e-9)


def test_losses_are_of_the_second_class_or_of_the_target(facts_of, table_of, of_targets):
    facts = facts_of([40, -5], 2, None)
    table, columns = table_of(facts, 90), CurveColumns.of(facts, 4)
    assert set(table.labels.tolist()) == {0, 1}
    assert np.array_equal(losses_of(columns, table, Fraction(1, 2)).targets, table.labels == 1)
    shares = np.linspace(0.0, 1.0, 90)
    _, means = of_targets(facts, table, shares)
    assert losses_of(columns, means, Fraction(1, 2)).targets == pytest.approx(shares, abs=1e-4)
    with pytest.raises(PlanError, match="a record adds"):
        CodedRecords(1).look(means)


# -- what is refused -----------------------------------------------------------------------------


def test_losses_are_those_that_were_paid_for(facts_of, table_of):
    facts = facts_of([40, -5], 2, 1000.0)
    table, budget = table_of(facts, 50), LearnerBudget(Fraction(1), Fraction(0))
    plan = AdditiveForest().plan(facts, budget)
    columns, clip = CurveColumns.of(facts, plan.shape.n_knots), plan.shape.clip
    calibration = Calibration.of(event_of(plan), columns.widths)
    with BudgetAccountant(1).open_scope("fit", reserve=plan.loss) as scope:
        bridge = Bridge(plan.rounds, scope, MemoryRecords(table), SeededSource(0))
        query = CodedRecords(1)
        with pytest.raises(PlanError):
            bridge.ask(query, Role.CURVES)  # the prior is first
        other = CurveLosses(CodedRecords(1), columns, 0.0, clip, calibration)
        steeper = CurveLosses(query, columns, 0.0, 2 * clip, calibration)
        plain = SimpleNamespace(query=query, calibration=calibration, losses=steeper.losses)
        bridge.ask(CodedRecords(1), Role.PRIOR)
        sealed = bridge.ask(query, Role.CURVES)
        for wrong in (other, steeper, plain):
            with pytest.raises(PlanError):
                sealed.minimised(Role.CURVES, wrong)


# -- what it learns ------------------------------------------------------------------------------


def design_of(codes: np.ndarray, n_codes: list[int], n_knots: int) -> np.ndarray:
    """Columns of ordered features and the constant, made in another way."""
    parts = []
    for column, n in zip(codes.T, n_codes, strict=True):
        places, knots = column / (n - 1), np.linspace(0.0, 1.0, n_knots)
        hats = [np.interp(places, knots, np.eye(n_knots)[k]) for k in range(n_knots)]
        parts += [2.0 * places - 1.0] if n_knots == 2 else hats
    return np.column_stack([*parts, np.ones(len(codes))])


def optimum(design: np.ndarray, targets: np.ndarray, clip: float, event: Any) -> np.ndarray:
    """Scores where clipped losses and the ridge are least, by an equation solver."""
    ridge = np.full(design.shape[1], Calibration.of(event, (1,) * int(event.blocks)).ridge[0])
    ridge[-1] = Calibration.of(event, (1,) * int(event.blocks)).ridge[1]

    def gradient(weights):
        u = np.clip((1.0 / (1.0 + np.exp(-design @ weights)) - targets) / clip, -1.5, 1.5)
        return design.T @ (clip * (u - 4.0 / 27.0 * u**3)) + ridge * weights

    found = root(gradient, np.zeros(design.shape[1]), tol=1e-8)
    assert found.success
    return design @ found.x


LAWS = {
    "a line": lambda u, v: 1.5 * (2.0 * u - 1.0) - 2.0 * v + 0.7,
    "a bent curve": lambda u, v: 4.0 * np.abs(u - 0.5) - np.sin(6.0 * v),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("task", ["classes", "target"])
def test_at_a_large_epsilon_it_is_near_the_optimum_of_its_own_losses(
    facts_of, train, of_targets, law, task
):
    n, sizes, generator = 4000, [40, 25], np.random.default_rng(3)
    facts = facts_of(sizes, 2, float(n))
    facts = replace(facts, has_missing_code=np.zeros(2, dtype=bool))
    codes = np.floor(generator.random((n, 2)) * sizes)
    scores = LAWS[law](*(codes / (np.array(sizes) - 1)).T)
    shares = 1.0 / (1.0 + np.exp(-scores))
    labels = (generator.random(n) < shares).astype(np.uint8)
    table = Table(
        codes.astype(np.uint8), labels, facts.n_codes, facts.offsets, facts.ordered, 2
    )  # fmt: skip
    targets: Any = labels.astype(float)
    if task == "target":
        facts, table = of_targets(facts, table, shares)
        targets = shares
    n_knots = 2 if law == "a line" else 9
    knots = ((0.0, n_knots),)
    learner = AdditiveForest(at_once=AtOnceSettings(knots=knots, knots_of_means=knots))
    done = train(facts, table, learner, epsilon=5000)
    odds = done.model.log_odds(table.codes)
    found = odds[:, 1] - odds[:, 0]
    event, clip = event_of(done.plan), float(done.plan.shape.clip)
    best = optimum(design_of(codes, sizes, n_knots), targets, clip, event)
    # The ridge is around the released start, here around a half.
    assert np.abs(found - best).max() < 0.05
    # Clips draw classes away from a half; means that all lie on a curve are where all losses end.
    assert np.corrcoef(found, scores)[0, 1] > 0.99
    assert task == "classes" or np.abs(found - scores).mean() < 0.1


def test_noise_that_drowns_all_leaves_finite_scores(facts_of, table_of, train):
    facts = facts_of(CODES, 2, 50.0)
    model = train(facts, table_of(facts, 50), epsilon="0.0001").model
    assert np.isfinite(model.code_values).all() and np.isfinite(model.base).all()


def test_no_code_is_worth_more_than_20_log_odds(facts_of, table_of, train, monkeypatch):
    """Nor than another limit: weights of nobody are what noise makes of them."""
    assert training_module._MOST == 20.0
    facts = facts_of([-2], 2, 50.0)
    nobody = table_of(facts, 0)

    def worths():
        models = [train(facts, nobody, AdditiveForest(), 6, seed=seed).model for seed in range(20)]
        return [np.abs(model.code_values).max() for model in models]

    assert max(worths()) > 0.25
    monkeypatch.setattr(training_module, "_MOST", 0.25)
    assert max(worths()) == 0.25


def test_an_empty_table_is_as_good_as_any(facts_of, table_of, train):
    facts = facts_of(CODES, 2, 50.0)
    table = table_of(facts, 3)
    nobody = replace(table, codes=table.codes[:0], labels=table.labels[:0])
    assert np.isfinite(train(facts, nobody).model.base).all()


def test_sizes_are_even_over_declared_codes(facts_of, table_of, train):
    facts = replace(facts_of([9, -4, -2], 2, 120.0), unknown=(-1, 3, 0))
    model = train(facts, table_of(facts, 60)).model
    assert model.sizes == pytest.approx([120 / 9] * 9 + [40.0] * 3 + [0.0, 0.0, 120.0])
    worth = np.split(model.code_values[:, 0], facts.offsets[1:-1])
    assert worth[1][3] == worth[2][0] == 0, "what nobody declared is worth the mean of the others"
    means = [worth[0].mean(), worth[1][:3].mean(), worth[2][1]]
    assert np.abs(means).max() < 1 / SCORE_STEPS and np.ptp(worth[1][:3]) > 0
