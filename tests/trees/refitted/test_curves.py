"""A regression that begins with curves of single features: one list, one history, one model."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.events import GeometricNoise, PermuteAndFlipSelection
from dpforest.accounting.releases import LearnerBudget, PlanError
from dpforest.bridge.bridge import Bridge
from dpforest.domain.targets import TARGET_STEPS
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import Chunk, MemoryRecords, Sensitivity
from dpforest.trees.curves.at_once.plan import MOST_COLUMNS, CurvesAtOnce
from dpforest.trees.curves.in_turn import plan as in_turn_plan
from dpforest.trees.curves.in_turn.queries import ResidualSums
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.curves.in_turn.sizes import Role as CurveRole
from dpforest.trees.refitted import RefittedForest, RefittedModel
from dpforest.trees.refitted.plan import OWNER, Role
from dpforest.trees.refitted.queries import STEPS, LeafSums
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.training import train_on

DELTA = Fraction(1, 10**6)
CODES = [40, -5, 7]
SETTINGS = RefittedSettings(
    fixed_size=RefittedSize(3, 4, 6), curves=InTurnSettings(cycles=3, max_bins=9)
)
PURE = PureRefittedSettings(
    fixed_size=RefittedSize(3, 4, 6), curves=InTurnSettings(pure_cycles=3, max_bins=9)
)
SMALL = RefittedForest(SETTINGS, PURE)
#: Cycles, features and rounds of `SMALL`.
CYCLES, D, ROUNDS = 3, len(CODES), 6


def releases_of(plan):
    """Every release of a plan, in the order of training."""
    return [release for one in plan.rounds for release in one.releases * one.times]


def run(facts, table, learner=SMALL, epsilon=2, seed=1, n_threads=1, delta=DELTA):
    budget = LearnerBudget(Fraction(epsilon), delta)
    plan, books, done = learner.plan(facts, budget), BudgetAccountant(budget.epsilon, delta), []
    with books.open_scope("fit", reserve=plan.loss) as scope:
        model = train_on(
            learner, plan, scope, SeededSource(seed), MemoryRecords(table, n_threads), facts,
            lambda: done.append(1),
        )  # fmt: skip
        assert scope.loss == plan.loss
    return model, plan, books, len(done)


# -- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize("buys", [True, False])
def test_curves_come_first_and_all_is_asked_for_as_it_is_listed(means, targets, buys):
    facts = means(30_000.0 if buys else 50.0)
    _, plan, books, done = run(facts, targets(facts, 300))
    assert plan.shape.curves.n_cycles == CYCLES
    curves = [Role.PRIOR, Role.CURVE_COUNTS] + [Role.CURVE_SUMS] * (CYCLES * D)
    rounds = [Role.SELECTION, Role.SUMS] * ROUNDS + [Role.CORRECTIONS]
    listed = releases_of(plan)
    assert [one.role for one in listed] == [*curves, *[Role.QUANTILES] * buys, *rounds]
    asked = [(entry.role, entry.mechanism, entry.cells) for entry in books.ledger]
    assert asked == [(one.role, one.event.mechanism, one.cells) for one in listed]
    assert books.loss.rho == plan.loss.rho == sum(part.loss.rho for part in plan.parts)
    assert done == plan.n_steps == 2 + CYCLES * D + buys + ROUNDS + 1
    assert {one.owner for one in plan.rounds} == {OWNER}, "it is one learner's list"
    start = plan.describe()["start"]
    assert "then curves of single features" in start and f"corrected {CYCLES} times" in start


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e6])
def test_a_plan_uses_its_budget_and_never_more(means, epsilon, rows):
    facts, budget = means(rows), LearnerBudget(Fraction(epsilon), DELTA)
    learner = RefittedForest()
    plan = learner.plan(facts, budget)
    assert plan == learner.plan(facts, budget), "of public facts"
    assert budget.rho * Fraction(999, 1000) < plan.loss.rho <= budget.rho
    begins = learner.settings.starts_with_curves(budget.signal(rows or 0.0), D, True)
    roles = {release.role for release in releases_of(plan)}
    assert begins == (plan.shape.curves is not None) == ({Role.CURVE_SUMS} <= roles)
    assert Role.GRAM not in roles or not begins


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(3, 4)])
def test_curves_cost_their_share(means, share):
    budget = LearnerBudget(Fraction(2), DELTA)
    plan = RefittedForest(replace(SETTINGS, curve_share=share)).plan(means(5000.0), budget)
    of_curves = {Role.PRIOR, Role.CURVE_COUNTS, Role.CURVE_SUMS}
    own = sum(part.loss.rho for part in plan.parts if part.name in of_curves)
    assert {part.name for part in plan.parts} > of_curves
    assert float(own / plan.loss.rho) == pytest.approx(float(share), rel=1e-3)


def test_classes_begin_without_curves(facts_of):
    budget = LearnerBudget(Fraction(10), DELTA)
    for n_classes in (2, 4):
        plan = RefittedForest().plan(facts_of(CODES, n_classes, 1e6), budget)
        assert plan.shape.curves is None
        assert Role.CURVE_SUMS not in {release.role for release in releases_of(plan)}


@pytest.mark.parametrize("stated", ["counts_sensitivity", "residual_sensitivity"])
def test_a_plan_that_understates_its_curves_is_refused(means, targets, monkeypatch, stated):
    facts, said = means(5000.0), getattr(in_turn_plan, stated)

    def understated(*sizes):
        own, less = said(*sizes), Fraction(1, 2)
        return Sensitivity(own.l1 - less, own.l2_squared - less)

    monkeypatch.setattr(in_turn_plan, stated, understated)
    with pytest.raises(PlanError, match="is for less than one record moves"):
        run(facts, targets(facts, 50))


def test_rounds_are_cut_by_their_own_clip_and_curves_by_theirs(means, targets, monkeypatch):
    facts, asked, ask = means(5000.0), [], Bridge.ask
    monkeypatch.setattr(
        Bridge,
        "ask",
        lambda own, query, *roles: asked.append((query, roles)) or ask(own, query, *roles),
    )
    model, plan, *_ = run(facts, targets(facts, 300))
    shape = plan.shape
    signal = LearnerBudget(Fraction(2), DELTA).signal(5000.0)
    clip = SETTINGS.clips(signal, 2, True)
    assert (
        shape.lattice.most == int(clip * STEPS) and shape.lattice.most != shape.curves.lattice.most
    )
    for query, _ in asked:
        if isinstance(query, ResidualSums):
            assert query.gradients.lattice == shape.curves.lattice
        elif isinstance(query, LeafSums):
            assert query.residuals.lattice == shape.lattice
    events = {release.role: release.event for release in releases_of(plan)}
    assert events[Role.SUMS].l2_sensitivity_squared == shape.lattice.row.l2_squared
    assert (
        events[Role.SELECTION].score_range
        == shape.lattice.score_range
        == 2 * Fraction(shape.lattice.most, STEPS)
    )
    # One history: each question's scores are made of all that was released before it.
    lengths = [len(query.history) for query, _ in asked if hasattr(query, "history")]
    assert lengths == list(range(CYCLES * D + ROUNDS + 1))


def test_in_pure_epsilon_and_passes_curves_come_first_too(means, targets):
    facts, pure = replace(means(30_000.0), in_memory=False), Fraction(0)
    model, plan, books, done = run(facts, targets(facts, 300), delta=pure)
    curves = [Role.PRIOR, Role.CURVE_COUNTS] + [Role.CURVE_SUMS] * (CYCLES * D)
    rounds = [Role.SELECTION, Role.SUMS] * ROUNDS
    listed = releases_of(plan)
    assert [one.role for one in listed] == [*curves, Role.QUANTILES, *rounds]
    asked = [(entry.role, entry.mechanism, entry.cells) for entry in books.ledger]
    assert asked == [(one.role, one.event.mechanism, one.cells) for one in listed]
    assert {type(one.event) for one in listed} == {GeometricNoise, PermuteAndFlipSelection}
    assert books.loss == plan.loss and plan.loss.epsilon == 2 and plan.loss.delta == 0
    assert done == plan.n_steps and model.code_values is not None


def test_in_pure_epsilon_and_memory_curves_at_once_come_first(means, targets):
    facts, pure = means(30_000.0), Fraction(0)
    model, plan, books, done = run(facts, targets(facts, 300), delta=pure)
    rounds = [Role.SELECTION, Role.SUMS] * ROUNDS
    listed = releases_of(plan)
    assert [one.role for one in listed] == [
        Role.PRIOR, Role.CURVES_AT_ONCE, Role.QUANTILES, *rounds
    ]  # fmt: skip
    asked = [(entry.role, entry.mechanism, entry.cells) for entry in books.ledger]
    assert asked == [(one.role, one.event.mechanism, one.cells) for one in listed]
    assert books.loss == plan.loss and plan.loss.epsilon == 2 and plan.loss.delta == 0
    assert {one.owner for one in plan.rounds} == {OWNER}
    own = sum(part.loss.epsilon for part in plan.parts if part.name in (
        Role.PRIOR, Role.CURVES_AT_ONCE
    ))  # fmt: skip
    assert own == 2 * PURE.share_at_once
    assert done == plan.n_steps and model.code_values is not None
    assert "curves of all features at once" in plan.describe()["start"]


def test_curves_of_more_columns_than_can_be_solved_for_are_made_in_turn(facts_of):
    budget, learner = LearnerBudget(Fraction(2), Fraction(0)), RefittedForest()
    few, many = (
        replace(facts_of([-n, 40], 2, 1e5), unit=TARGET_STEPS) for n in (100, MOST_COLUMNS)
    )
    assert isinstance(learner.plan(few, budget).shape.curves, CurvesAtOnce)
    plan = learner.plan(many, budget)
    assert isinstance(plan.shape.curves, in_turn_plan.CurvesInTurn)
    assert plan.loss.epsilon == 2


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1)])
@pytest.mark.parametrize("name", ["curve_share", "share_at_once"])
def test_curves_leave_something(name, share):
    with pytest.raises(ParameterError, match=f"{name}=.*must be above 0 and below"):
        replace(PURE, **{name: share})


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
@pytest.mark.parametrize("rows", [None, 100.0, 1e4, 1e6])
def test_a_pure_plan_costs_its_epsilon_with_curves_and_without(means, epsilon, rows, in_memory):
    budget, learner = LearnerBudget(Fraction(epsilon), Fraction(0)), RefittedForest()
    plan = learner.plan(replace(means(rows), in_memory=in_memory), budget)
    assert plan.loss.epsilon == budget.epsilon and plan.loss.delta == 0
    begins = learner.pure_settings.starts_with_curves(budget.signal(rows or 0.0), D, True)
    assert begins == (plan.shape.curves is not None)


# -- what is made of it --------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [DELTA, Fraction(0)])
def test_scores_of_training_are_those_of_the_model(means, targets, monkeypatch, delta):
    from dpforest.trees.refitted import learner as module

    kept = []

    class Watched(module._Rounds):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            kept.append(self)

    monkeypatch.setattr(module, "_Rounds", Watched)
    facts = means(5000.0)
    table = targets(facts, 300)
    learner = RefittedForest(
        replace(SETTINGS, target_stretch=1.0), replace(PURE, target_stretch=1.0)
    )
    model, *_ = run(facts, table, learner, delta=delta)
    assert model.code_values is not None and np.abs(model.code_values).max() > 0
    scores = kept[0].history.scores(Chunk(table))[:, 0]
    odds = model.log_odds(table.codes)
    assert np.allclose(scores, odds[:, 1] - odds[:, 0], rtol=0, atol=1e-9)


def test_curves_are_not_stretched_with_the_steps(means, targets):
    facts = means(5000.0)
    table = targets(facts, 300)
    (one, *_), (two, *_) = (
        run(facts, table, RefittedForest(replace(SETTINGS, target_stretch=by))) for by in (1.0, 2.0)
    )
    assert np.array_equal(2 * one.steps, two.steps)
    assert np.array_equal(one.code_values, two.code_values) and np.array_equal(one.base, two.base)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_make_the_same_forest(means, targets, monkeypatch, n_threads):
    monkeypatch.setattr("dpforest.records.base.RECORDS_A_THREAD", 50)
    facts = means(5000.0)
    table = targets(facts, 400)
    whole = run(facts, table)[0].to_data()
    assert run(facts, table, n_threads=n_threads)[0].to_data() == whole


def test_a_model_is_stored_and_read_back_and_explains_itself(means, targets):
    facts = means(5000.0)
    table = targets(facts, 300)
    model, *_ = run(facts, table)
    again = RefittedModel.from_data(json.loads(json.dumps(model.to_data())), facts)
    assert np.array_equal(again.log_odds(table.codes), model.log_odds(table.codes))
    assert np.array_equal(again.feature_importances(), model.feature_importances())
    assert model.feature_importances().sum() == pytest.approx(1.0)
    for feature, size in enumerate(facts.n_codes):
        assert model.partial_scores(feature, facts).shape == (size, 2)


@pytest.mark.parametrize("n", [0, 1])
def test_tables_of_hardly_a_record_make_a_model(means, targets, n):
    facts = means(5000.0)
    model, plan, books, _ = run(facts, targets(facts, n))
    assert books.loss.rho == plan.loss.rho
    assert np.isfinite(model.log_odds(targets(facts, 50).codes)).all()


def test_it_learns_curves_and_what_features_do_together(means, targets):
    facts, size = means(20_000.0), RefittedSize(4, 8, 40)
    table, unseen = targets(facts, 20_000), targets(facts, 4000, seed=9)
    settings = replace(SETTINGS, fixed_size=size, curves=InTurnSettings(cycles=8))
    truth = unseen.targets / TARGET_STEPS

    def error(model):
        odds = model.log_odds(unseen.codes)
        return np.mean((1 / (1 + np.exp(odds[:, 0] - odds[:, 1])) - truth) ** 2)

    model, *_ = run(facts, table, RefittedForest(settings), epsilon=20)
    none = np.zeros_like(model.steps)
    alone = error(replace(model, steps=none))
    assert alone < 0.2 * truth.var(), "curves say most"
    assert error(model) < 0.8 * alone, "and trees what is left"


def test_the_roles_are_the_curves_own():
    assert (Role.CURVE_COUNTS, Role.CURVE_SUMS) == (CurveRole.COUNTS, CurveRole.SUMS)
