"""The plan of an additive model: one list of releases, made from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.accounting.tightening import within_budget
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.base import PlannedCurves
from dpforest.trees.scored.confidence import (
    CONFIDENCE_WORDS,
    confidence_is_affordable,
    confidence_round,
)

OWNER = "additive"


def build_plan(
    facts: TableFacts, budget: LearnerBudget, curves: PlannedCurves, confidence_share: Fraction
) -> Plan[PlannedCurves]:
    """Make a plan that costs at most the budget, from public facts alone.

    Parameters
    ----------
    facts : TableFacts
    budget : LearnerBudget
    curves : PlannedCurves
    confidence_share : Fraction
        Of the whole: for a look at how sure scores may be, of more than two classes, where that
        says something.
    """
    looks = facts.n_classes > 2 and confidence_is_affordable(facts, budget, confidence_share)
    of_total = _plan_of(facts, budget, curves, confidence_share if looks else Fraction(0))
    return within_budget(budget, of_total)


def _plan_of(
    facts: TableFacts, budget: LearnerBudget, curves: PlannedCurves, looks: Fraction
) -> Callable[[Fraction], Plan[PlannedCurves]]:
    """The plan whose shares are those of a total."""
    words = curves.words(facts, budget)

    def of_total(total: Fraction) -> Plan[PlannedCurves]:
        rounds = curves.rounds(facts, budget, total * (1 - looks), OWNER)
        if not looks:
            return Plan(rounds, curves, words)
        last = confidence_round(OWNER, total * looks, budget.is_pure)
        return Plan((*rounds, last), curves, words | CONFIDENCE_WORDS)

    return of_total
