"""Choice of the way that curves are learnt: a rule from public facts alone."""

from __future__ import annotations

from fractions import Fraction

from dpforest.accounting.releases import LearnerBudget
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.plan import CurvesAtOnce
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.base import PlannedCurves
from dpforest.trees.curves.in_turn.plan import CurvesInTurn
from dpforest.trees.curves.in_turn.settings import InTurnSettings


def planned_curves(
    facts: TableFacts,
    budget: LearnerBudget,
    in_turn: InTurnSettings,
    at_once: AtOnceSettings | None,
    part: Fraction = Fraction(1),
) -> PlannedCurves:
    """Curves at once where they are known better so, else in turn.

    They are in pure epsilon, where noise of many sums adds up in full; of two classes or a
    regression, which one minimum tells of; of records that are in memory, since every step of a
    minimum looks at all of them; of no more columns than a step can solve for; and of no less
    epsilon than leaves a minimum that can be found.

    Parameters
    ----------
    facts : TableFacts
    budget : LearnerBudget
        The whole one, which sizes of curves in turn go by.
    in_turn : InTurnSettings
    at_once : AtOnceSettings or None
        Without them curves are in turn everywhere.
    part : Fraction
        Of the budget, that curves at once have for themselves.
    """
    if at_once is not None and budget.is_pure and facts.n_classes == 2 and facts.in_memory:
        own = LearnerBudget(budget.epsilon * part, budget.delta)
        together = CurvesAtOnce.of(facts, own, at_once)
        if together.is_solvable(facts, own.epsilon):
            return together
    return CurvesInTurn.of(facts, budget, in_turn)
