"""The plan of a private selection: which candidates, at what each, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.scopes import ParallelRecordsScope, Scope
from dpforest.exceptions import ParameterError
from dpforest.trees.base import LearnerBudget, LearnerPlan, PlanPart, TableFacts
from dpforest.trees.strategies import LEARNERS, MANY_CLASSES, pick_strategy, spends_pure_epsilon

#: Probability with which a record is for training; a multiple of 2^-64, so drawn exactly.
TRAINING_SHARE = Fraction(3, 4)
#: Role of the choice, and names of the two sides.
ROLE = "private selection"
TRAINING, VALIDATION = "training", "validation"
#: Candidates that learn means, not classes alone.
OF_MEANS = ("one_shot", "refitted")


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """What a private selection asks for.

    Attributes
    ----------
    facts : TableFacts
        As the candidates see them: with the rows of the training side.
    names : tuple of str
    plans : tuple of LearnerPlan
        Of the candidates.
    choice : ExponentialSelection
        On the validation side.
    """

    facts: TableFacts
    names: tuple[str, ...]
    plans: tuple[LearnerPlan, ...]
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

    @property
    def parts(self) -> tuple[PlanPart, ...]:
        """What is released, in order."""
        own = [
            replace(part, name=f"{name}: {part.name}")
            for name, plan in zip(self.names, self.plans, strict=True)
            for part in plan.parts
        ]
        better = "nearer to the targets" if self.facts.unit > 1 else "right more often"
        text = f"which of {len(self.names)} candidates is {better} on records set aside"
        return *own, PlanPart(ROLE, text, self.choice.loss)

    @property
    def n_steps(self) -> int:
        """How often training says that a part is done."""
        return sum(plan.n_steps for plan in self.plans) + 1

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        measure = "how near each candidate comes" if self.facts.unit > 1 else "what each gets right"
        words = {
            "candidates": ", ".join(self.names),
            "records": f"each draws its side: training with probability {float(TRAINING_SHARE):g}, "
            "else validation",
            "choice": f"the exponential mechanism on {measure} in validation",
        }
        for name, plan in zip(self.names, self.plans, strict=True):
            words |= {f"{name}: {key}": text for key, text in plan.describe().items()}
        return words


def open_sides(scope: Scope) -> ParallelRecordsScope:
    """The scope of the two sides."""
    shares = {TRAINING: TRAINING_SHARE, VALIDATION: 1 - TRAINING_SHARE}
    return scope.parallel_records("records", shares)


def build_plan(
    facts: TableFacts, budget: LearnerBudget, candidates: tuple[str, ...] | None
) -> SelectionPlan:
    """Make a plan that costs at most the budget, from public facts alone.

    Candidates divide the budget, in epsilon where that is what they spend or all there is, else in
    rho. The choice has the whole of it, since its records are others.

    Parameters
    ----------
    facts : TableFacts
    budget : LearnerBudget
    candidates : tuple of str, optional
        Names of learners; None takes those that the public rule would look at.

    Raises
    ------
    ParameterError
    """
    if candidates is None and facts.unit > 1 and not budget.delta:
        raise ParameterError(
            "strategy", "private_selection", "needs delta > 0 for a regression",
            'Give a delta, or use "one_shot"',
        )  # fmt: skip
    names = default_candidates(facts, budget) if candidates is None else candidates
    _check(names, facts, budget)
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
        LEARNERS[name].make().plan(own, part) for name, part in zip(names, budgets, strict=True)
    ]
    return SelectionPlan(own, names, tuple(plans), ExponentialSelection(epsilon, Fraction(1)))


def default_candidates(facts: TableFacts, budget: LearnerBudget) -> tuple[str, ...]:
    """The two learners between which the public rule decides for such a budget."""
    if facts.unit > 1:
        return OF_MEANS
    if budget.delta and pick_strategy(facts, budget) == "refitted":
        return "one_shot", "refitted"
    return "rules", "one_shot" if facts.n_classes > MANY_CLASSES else "combined"


def _in_rho(name: str, budget: LearnerBudget, share: Fraction) -> LearnerBudget:
    """A share of rho; for those that spend a pure epsilon, the one that costs at most it."""
    rho = budget.rho * share
    if spends_pure_epsilon(name):
        return LearnerBudget(min(budget.epsilon * share, sqrt_in_steps(2 * rho)), Fraction(0))
    return replace(budget, concentrated=rho, certified=False)


def _check(names: tuple[str, ...], facts: TableFacts, budget: LearnerBudget) -> None:
    rule = repair = None
    known = set(OF_MEANS if facts.unit > 1 else LEARNERS) - {"private_selection"}
    if len(names) < 2 or len(set(names)) < len(names):
        rule, repair = "must name at least two strategies, each once", "Name two or three"
    elif not set(names) <= known:
        rule, repair = "must be strategies for this task", f"Use some of {sorted(known)}"
    elif "refitted" in names and not budget.delta:
        rule, repair = "holds 'refitted', which needs delta > 0", "Give a delta, or leave it out"
    if rule is not None and repair is not None:
        raise ParameterError("candidates", names, rule, repair)
