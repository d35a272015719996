"""Noise of a one-shot plan is made for what a record adds: 1 to a table, or all of a target."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.targets import TARGET_STEPS
from dpforest.trees.one_shot import OneShotForest
from dpforest.trees.one_shot.plan import Role
from dpforest.trees.one_shot.settings import OneShotSettings
from dpforest.trees.prior import prior_round
from dpforest.trees.random.bins import quantiles_round


def events_of(plan):
    return [(release.role, release.event) for one in plan.rounds for release in one.releases]


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
@pytest.mark.parametrize("unit", [1, TARGET_STEPS])
def test_every_count_is_paid_for_at_the_size_of_a_record(unit, delta, facts_of):
    facts = replace(facts_of([12, -4, 300, 20], 2, 1e5), unit=unit)
    plan = OneShotForest().plan(facts, LearnerBudget(Fraction(1), delta))
    each = unit**2 if delta else unit
    expected = {
        Role.QUANTILES: 3,  # widths of features in order, whatever the target is
        Role.LEAVES: plan.shape.size.n_trees * each,
        Role.CALIBRATION: each,
    }
    if unit > 1:
        expected[Role.PRIOR] = each
    name = "l2_sensitivity_squared" if delta else "l1_sensitivity"
    assert {role: getattr(event, name) for role, event in events_of(plan)} == expected


@pytest.mark.parametrize("rows", [3.0, 100.0])
def test_a_mean_alone_is_paid_for_at_the_size_of_a_target(rows, facts_of):
    facts = replace(facts_of([12, -4], 2, rows), unit=TARGET_STEPS)
    plan = OneShotForest().plan(facts, LearnerBudget(Fraction(1), Fraction(0)))
    ((role, event),) = events_of(plan)
    assert (role, event.l1_sensitivity) == (Role.PRIOR, TARGET_STEPS)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
def test_parts_come_in_their_order_and_are_asked_for_as_other_forests_do(delta, facts_of):
    facts = replace(facts_of([12, -4, 300, 20], 2, 1e5), unit=TARGET_STEPS)
    budget, settings = LearnerBudget(Fraction(1), delta), OneShotSettings()
    plan, total = OneShotForest().plan(facts, budget), budget.rho if delta else Fraction(1)
    roles = [role for role, _ in events_of(plan)]
    assert roles == [Role.PRIOR, Role.QUANTILES, Role.LEAVES, Role.CALIBRATION]
    prior = total * settings.mean_share(budget.signal(1e5))
    quantiles = total * settings.quantile_share
    assert plan.rounds[:2] == (
        prior_round("one_shot", TARGET_STEPS, prior, not delta),
        quantiles_round("one_shot", facts, quantiles, not delta),
    )
    assert plan.describe()["budget shares add up in"] == ("rho" if delta else "epsilon")
