"""The plan of an additive model: one list of releases, made from public facts alone."""

from __future__ import annotations

from fractions import Fraction

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.accounting.tightening import within_budget
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.base import PlannedCurves
from dpforest.trees.scored.confidence import CONFIDENCE_WORDS, bought_confidence

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
    words = curves.words(facts, budget)
    asked = confidence_share if facts.n_classes > 2 else Fraction(0)

    def of_total(total: Fraction) -> Plan[PlannedCurves]:
        last, taken = bought_confidence(OWNER, facts, budget, total, asked)
        rounds = curves.rounds(facts, budget, total - taken, OWNER)
        return Plan((*rounds, *last), curves, words | (CONFIDENCE_WORDS if last else {}))

    return within_budget(budget, of_total)
