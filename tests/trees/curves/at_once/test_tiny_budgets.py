"""A budget too small for the curves of all features at once is spent on curves in turn.

Nothing is refused once a number of records is bought, whichever comes out.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest import Domain, PrivateForestRegressor, verify_report
from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.planning import make_plan, settled_by
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.curves.at_once.plan import CurvesAtOnce
from dpforest.trees.curves.in_turn.plan import CurvesInTurn
from dpforest.trees.refitted.learner import RefittedForest

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
#: Noisy numbers of records, near and far out.
NUMBERS = [-(2**61), -5, 0, 7, 10**6, 10**12, 10**15, 2**61]


def domain(n_features, rows):
    features = {f"x{i}": (0, 10) for i in range(n_features)}
    return Domain(features=features, target=(0, 1), approximate_rows=rows)


def pure(epsilon):
    return LearnerBudget(Fraction(epsilon), Fraction(0))


@pytest.mark.parametrize(
    ("strategy", "n_features", "rows", "epsilon"),
    [
        ("additive", 1, 20, 1e-12), ("additive", 20, None, 1e-9), ("auto", 5, 10**10, 1e-7),
        ("refitted", 5, 10**13, 1e-9), ("additive", 20, None, 1e-15),
    ],
)  # fmt: skip
def test_a_fit_is_paid_for_and_is_made(strategy, n_features, rows, epsilon):
    accountant = BudgetAccountant(epsilon=1)
    model = PrivateForestRegressor(
        epsilon=epsilon, domain=domain(n_features, rows), strategy=strategy, accountant=accountant
    )
    assert model.plan() is not None
    X = np.zeros((20, n_features))
    assert np.isfinite(model.fit(X, np.zeros(20)).predict(X)).all()
    assert accountant.spent.exact.epsilon == Fraction(str(epsilon))
    verify_report(model.privacy_report(), model=model)


@pytest.mark.parametrize("strategy", ["additive", "refitted", "auto"])
@pytest.mark.parametrize("epsilon", [1e-15, 1e-9, 1e-6, 1e-3, 1.0])
def test_no_bought_number_of_records_ends_in_a_refusal(facts_of, strategy, epsilon):
    for unit in (1, TARGET_STEPS):
        facts = replace(facts_of([40] * 20, 2, None), unit=unit)
        plan = make_plan(strategy, facts, Fraction(epsilon), Fraction(0))
        for noisy in NUMBERS:
            assert settled_by(plan, noisy).loss.epsilon == Fraction(epsilon)


@pytest.mark.parametrize("unit", [1, TARGET_STEPS])
def test_curves_take_turns_only_where_no_minimum_can_be_found(facts_of, unit):
    """From some epsilon on there is one minimum, and below it there is none."""
    facts = replace(facts_of([40] * 9, 2, None), unit=unit)
    kinds = [type(AdditiveForest().plan(facts, pure(Fraction(1, 10**k))).shape) for k in range(16)]
    n = kinds.count(CurvesAtOnce)
    assert 3 < n < 16 and kinds == [CurvesAtOnce] * n + [CurvesInTurn] * (16 - n)


def test_what_curves_of_a_forest_have_for_themselves_counts(facts_of):
    """A half of the budget may be too little where the whole is enough."""
    learner, found = RefittedForest(), set()
    for tenths in range(200):
        facts = replace(facts_of([40] * 5, 2, 1e15), unit=TARGET_STEPS)
        budget = pure(Fraction(10 ** (-tenths / 10 + 6)))
        whole = isinstance(AdditiveForest().plan(facts, budget).shape, CurvesAtOnce)
        curves = learner.plan(facts, budget).shape.curves
        found.add((whole, isinstance(curves, CurvesAtOnce)))
    assert (True, False) in found and (False, True) not in found
