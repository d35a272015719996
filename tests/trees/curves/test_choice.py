"""Which way curves are learnt goes by public facts alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.targets import TARGET_STEPS
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.curves.at_once import plan as plan_module
from dpforest.trees.curves.at_once.plan import CurvesAtOnce
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.choice import planned_curves
from dpforest.trees.curves.in_turn.plan import CurvesInTurn
from dpforest.trees.curves.in_turn.settings import InTurnSettings

PURE = LearnerBudget(Fraction(1), Fraction(0))
WITH_DELTA = LearnerBudget(Fraction(1), Fraction(1, 10**6))


@pytest.mark.parametrize("rows", [None, 50.0, 1e6])
@pytest.mark.parametrize("unit", [1, TARGET_STEPS])
def test_one_minimum_tells_of_two_classes_or_a_target_in_pure_epsilon_and_memory(
    facts_of, rows, unit
):
    facts = replace(facts_of([40, -5], 2, rows), unit=unit)
    learner = AdditiveForest()
    assert isinstance(learner.plan(facts, PURE).shape, CurvesAtOnce)
    streamed = replace(facts, in_memory=False)
    others = [(facts, WITH_DELTA), (streamed, PURE), (facts_of([40, -5], 3, rows), PURE)]
    for of_facts, budget in others:
        assert isinstance(learner.plan(of_facts, budget).shape, CurvesInTurn)
    never = AdditiveForest(at_once=None)
    assert isinstance(never.plan(facts, PURE).shape, CurvesInTurn)


def test_more_columns_than_can_be_solved_for_are_learnt_in_turn(facts_of, monkeypatch):
    facts = facts_of([-9, 40], 2, 1000.0)
    together = AdditiveForest().plan(facts, PURE).shape
    n_columns = together.columns(facts).n_columns
    for most, kind in ((n_columns, CurvesAtOnce), (n_columns - 1, CurvesInTurn)):
        monkeypatch.setattr(plan_module, "MOST_COLUMNS", most)
        plan = AdditiveForest().plan(facts, PURE)
        assert isinstance(plan.shape, kind)
        assert plan.loss.epsilon == 1


def test_sizes_go_by_the_part_of_the_budget_that_curves_have(facts_of):
    settings = InTurnSettings(), AtOnceSettings()
    facts = facts_of([40, 40], 2, 40.0 * 2 / PURE.signal(1.0))
    whole = planned_curves(facts, PURE, *settings)
    part = planned_curves(facts, PURE, *settings, Fraction(1, 4))
    quarter = LearnerBudget(Fraction(1, 4), Fraction(0))
    assert part == CurvesAtOnce.of(facts, quarter, settings[1]) != whole
    assert part.n_knots < whole.n_knots
