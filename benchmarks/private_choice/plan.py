"""The plan of a private choice: which candidates, at what each, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.accounting.scopes import ParallelRecordsScope, Scope
from dpforest.trees.base import TableFacts
from dpforest.trees.strategies import STRATEGIES, pick_strategy, spends_pure_epsilon

#: Probability with which a record is for training; a multiple of 2^-64, so drawn exactly.
TRAINING_SHARE = Fraction(3, 4)
#: Role of the choice, and names of the two sides.
ROLE = "private selection"
TRAINING, VALIDATION = "training", "validation"


@dataclass(frozen=True, slots=True)
class ChoicePlan:
    """What a private choice asks for.

    Attributes
    ----------
    facts : TableFacts
        As the candidates see them: with the rows of the training side.
    names : tuple of str
    plans : tuple of Plan
        Of the candidates.
    choice : ExponentialSelection
        On the validation side.
    """

    facts: TableFacts
    names: tuple[str, ...]
    plans: tuple[Plan[Any], ...]
    choice: ExponentialSelection

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost: a record is on one side only, so the larger side counts.

        rho is the larger side's, whether or not all around it was fixed beforehand.
        """
        with BudgetAccountant._unlimited().open_scope("scratch") as scope:
            sides = open_sides(scope)
            for name, plan in zip(self.names, self.plans, strict=True):
                sides.side(TRAINING).sequential(name, reserve=plan.loss)
            sides.side(VALIDATION).request(self.choice, role=ROLE)
            epsilon = sides.loss.epsilon
        training = sum((plan.loss for plan in self.plans), NO_LOSS)
        return PrivacyLoss(epsilon, max(training.rho, self.choice.loss.rho))


def open_sides(scope: Scope) -> ParallelRecordsScope:
    """The scope of the two sides."""
    shares = {TRAINING: TRAINING_SHARE, VALIDATION: 1 - TRAINING_SHARE}
    return scope.parallel_records("records", shares)


def build_plan(
    facts: TableFacts, budget: LearnerBudget, candidates: tuple[str, ...] | None = None
) -> ChoicePlan:
    """Make a plan that costs at most the budget, from public facts alone.

    Candidates divide the budget, in epsilon where that is what they spend or all there is, else in
    rho. The choice has the whole of it, since its records are others.

    Parameters
    ----------
    facts : TableFacts
    budget : LearnerBudget
    candidates : tuple of str, optional
        Names of learners; None takes those that the public rule would look at.
    """
    names = default_candidates(facts, budget) if candidates is None else candidates
    rows = facts.approximate_rows
    own = replace(facts, approximate_rows=None if rows is None else rows * float(TRAINING_SHARE))
    share = Fraction(1, len(names))
    if not budget.delta or all(map(spends_pure_epsilon, names)):
        each = LearnerBudget(budget.epsilon * share, Fraction(0))
        budgets, epsilon = [each] * len(names), budget.epsilon
    else:
        budgets = [_in_rho(name, budget, share) for name in names]
        epsilon = sqrt_in_steps(8 * budget.rho)
    plans = [
        STRATEGIES[name].make().plan(own, part) for name, part in zip(names, budgets, strict=True)
    ]
    return ChoicePlan(own, names, tuple(plans), ExponentialSelection(epsilon, Fraction(1)))


def default_candidates(facts: TableFacts, budget: LearnerBudget) -> tuple[str, ...]:
    """The two learners between which the public rule decides for such a budget."""
    if budget.delta and pick_strategy(facts, budget) in ("refitted", "boosted"):
        return "one_shot", "refitted"
    return "rules", "one_shot"


def _in_rho(name: str, budget: LearnerBudget, share: Fraction) -> LearnerBudget:
    """A share of rho; for those that spend a pure epsilon, the one that costs at most it."""
    rho = budget.rho * share
    if spends_pure_epsilon(name):
        return LearnerBudget(min(budget.epsilon * share, sqrt_in_steps(2 * rho)), Fraction(0))
    return replace(budget, concentrated=rho, certified=False)
