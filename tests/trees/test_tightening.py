"""Plans under a certificate: the releases of training, less noise, never above the budget."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.certificates import delta_bound
from dpforest.accounting.events import DiscreteGaussianNoise
from dpforest.accounting.lists import Price, open_list
from dpforest.accounting.loss_curves import gaussian_shift
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.releases import LearnerBudget, scaled_noise
from dpforest.accounting.tightening import in_epsilon_and_delta
from dpforest.trees.base import TableFacts
from dpforest.trees.one_shot import plan as one_shot
from dpforest.trees.one_shot.settings import OneShotSettings
from dpforest.trees.refitted import plan as refitted
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize

MILLIONTH = F(1, 10**6)
QUICK = RefittedSettings(fixed_size=RefittedSize(3, 8, 30))
KINDS = {
    "refitted": lambda facts, budget: refitted.build_plan(facts, budget, QUICK),
    "one_shot": lambda facts, budget: one_shot.build_plan(facts, budget, OneShotSettings()),
}


def facts_of(n_classes: int = 2, rows: float | None = 40_000.0) -> TableFacts:
    middle = (np.arange(16) + 0.5) / 16
    return TableFacts(
        n_codes=np.full(5, 16),
        ordered=np.array([True, True, True, False, False]),
        has_missing_code=np.zeros(5, dtype=np.bool_),
        scaled=(middle, middle, middle, None, None),
        n_classes=n_classes,
        approximate_rows=rows,
    )


def plans(kind, epsilon, facts, delta=MILLIONTH):
    budgets = (LearnerBudget(F(epsilon), delta, certified=c) for c in (False, True))
    return [KINDS[kind](facts, budget) for budget in budgets]


def grant_all(plan, scope):
    for one in plan.rounds:
        for _ in range(one.times):
            scope.grant(*one.steps)


def variances(plan) -> list[F]:
    events = [event for repeat in plan.repeats for event in repeat.events]
    return [e.sigma_squared for e in events if isinstance(e, DiscreteGaussianNoise)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rows", [None, 300.0, 40_000.0])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_list_is_what_training_asks_for(kind, n_classes, rows, epsilon):
    plan = plans(kind, epsilon, facts_of(n_classes, rows))[1]
    certificate = plan.certificate
    assert certificate.holds and certificate.repeats == plan.repeats
    assert plan.loss == PrivacyLoss(F(epsilon), certificate.rho, MILLIONTH)
    with open_list(
        BudgetAccountant(F(epsilon), MILLIONTH)._root, kind, plan.rounds, Price.of(plan)
    ) as scope:
        grant_all(plan, scope)
    assert scope.loss == plan.loss
    assert sum(part.loss.rho for part in plan.parts) == certificate.rho


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "most"), [("0.1", 0.93), ("1", 0.945)])
def test_there_is_less_noise_for_the_same_budget(kind, epsilon, most):
    plain, tight = plans(kind, epsilon, facts_of())
    # Without dp_accounting the plan in rho has more noise still.
    for before, after in zip(variances(plain), variances(tight), strict=True):
        assert float(after / before) ** 0.5 < most
    assert plain.certificate is None and plain.loss.delta == 0
    # Next to what one normal release may have.
    shift = gaussian_shift(float(epsilon), 1e-6)
    assert 0.98 < float(tight.certificate.rho) / (shift**2 / 2) < 1.001


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_hardly_a_grain_less_noise_to_be_had(kind):
    plan = plans(kind, "1", facts_of())[1]
    less = plan.with_variances(F(999, 1000)).repeats
    assert (
        delta_bound(plan.repeats, F(1), MILLIONTH) <= MILLIONTH < delta_bound(less, F(1), MILLIONTH)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["1e-6", "0.001", "30", "5000"])
@pytest.mark.parametrize("delta", [F(1, 3), F(1, 10**10), F(1, 10**40)])
def test_it_never_takes_more_noise_than_adding_up_in_rho(kind, epsilon, delta):
    plain, tight = plans(kind, epsilon, facts_of(), delta)
    if tight.certificate is None:
        assert tight == plain
    else:
        assert tight.certificate.holds and tight.certificate.rho > plain.loss.rho
    kept = in_epsilon_and_delta(tight, LearnerBudget(F(epsilon), delta))
    assert (kept.loss.epsilon, kept.loss.delta) == (F(epsilon), delta)
    assert kept.repeats == tight.repeats and kept.certificate.holds


@pytest.mark.parametrize("factor", [F(1), F(7, 8), F(8191, 8192), F(3, 2), F(1, 3)])
def test_variances_that_are_scaled_are_rounded_up(factor):
    for variance in (F(1, 3), F(2), F(10**9, 7), F(2**40) + F(1, 3)):
        scaled = scaled_noise(DiscreteGaussianNoise(variance, F(3)), factor)
        assert 1 <= scaled.sigma_squared / (variance * factor) < 1 + F(1, 2**38)
        assert scaled.l2_sensitivity_squared == 3


def test_nothing_is_certified_without_a_delta():
    budget = LearnerBudget(F(1), F(0), certified=True)
    assert KINDS["one_shot"](facts_of(), budget).certificate is None


def test_plans_say_how_they_are_composed():
    for kind in KINDS:
        plain, tight = plans(kind, "1", facts_of())
        assert plain.describe()["composed by"] == "addition in rho"
        assert "Balle and Wang" in tight.describe()["composed by"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_delta_below_the_doubles_adds_up_in_rho(kind):
    plain, plan = plans(kind, 1, facts_of(), F(1, 10**400))
    assert plan == plain and plan.certificate is None
