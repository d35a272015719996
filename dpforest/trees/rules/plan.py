"""The plan of selected rules: a few draws of whole trees, and counts of their leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.scopes import Scope
from dpforest.trees.base import PRIOR_ROLE, LearnerBudget, PlanPart, TableFacts
from dpforest.trees.rules.settings import RulesSettings

_ONE = Fraction(1)
#: Leaves of a drawn tree, at most: the cells in which a second stage draws in parallel.
LEAVES_OF_A_STAGE = 4
#: R where no row count is declared: a modest confidence, one tree, nothing counted.
_UNKNOWN_SIGNAL = 20.0


@dataclass(frozen=True, slots=True)
class FamilySize:
    """How many directions a family has: sums, single ones at most, and cuts of each at most."""

    n_sums: int
    n_singles: int
    n_cuts: int


@dataclass(frozen=True, slots=True)
class RulesPlan:
    """Selected rules as a list of requests.

    Attributes
    ----------
    n_classes : int
    stages : tuple of ExponentialSelection
        The first draws a tree of height at most two on all records, every further one such a
        tree in each leaf that is there. Empty where the budget teaches the class shares only.
    counts : GeometricNoise or None
        Class counts of the last trees' leaves; of all records where there is no stage.
    size : FamilySize
    signal : float
        R, from the declared or bought row count; the confidence of uncounted labels follows.
    settings : RulesSettings
    """

    n_classes: int
    stages: tuple[ExponentialSelection, ...]
    counts: GeometricNoise | None
    size: FamilySize
    signal: float
    settings: RulesSettings

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost of the whole, composed by the accountant's own scopes."""
        return _loss_of(lambda scope: charge(self, scope))

    @property
    def parts(self) -> tuple[PlanPart, ...]:
        """What is released, in order."""
        parts = []
        for stage, event in enumerate(self.stages):
            text = "a decision tree of height 2" if not stage else "one such tree in each leaf"
            parts.append(PlanPart(stage_role(stage), f"{text}, drawn whole", event.loss))
        if self.counts is not None:
            what = "class counts of the leaves" if self.stages else "one class histogram"
            name = COUNT_ROLE if self.stages else PRIOR_ROLE
            parts.append(PlanPart(name, f"{what}, with noise", self.counts.loss))
        return tuple(parts)

    @property
    def n_steps(self) -> int:
        """How often training says that a part is done."""
        return len(self.parts)

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        if not self.stages:
            return {"rules": "none: the budget teaches no more than the class shares"}
        size = self.size
        confidence = "noisy class counts of the leaves, shrunk by their noise"
        return {
            "rules": "whole decision trees by the exponential mechanism; score: records right",
            "stages": f"{len(self.stages)}, each adds at most two levels",
            "directions": f"up to {size.n_singles} single features and categories, "
            f"{size.n_sums} public random sums, at most {size.n_cuts} cuts each",
            "probabilities": confidence if self.counts else f"modest, from R = {self.signal:.3g}",
            "budget shares add up in": "epsilon",
        }


COUNT_ROLE = "leaf counts"


def stage_role(stage: int) -> str:
    """Role of a stage in the ledger."""
    return f"rules, stage {stage + 1}"


def build_plan(facts: TableFacts, budget: LearnerBudget, settings: RulesSettings) -> RulesPlan:
    """Make a plan that costs exactly epsilon, purely, from public facts alone.

    Delta is not used: the draws are epsilon-DP, and at a small R that is worth more than what
    rho would buy.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` one tree is drawn and nothing counted.
    budget : LearnerBudget
    settings : RulesSettings
    """
    epsilon = Fraction(budget.epsilon)
    signal = _UNKNOWN_SIGNAL
    if facts.approximate_rows is not None:
        signal = LearnerBudget(epsilon, Fraction(0)).signal(facts.approximate_rows)
    n_stages = settings.n_stages(signal, facts.n_classes)
    share = settings.count_share if signal >= settings.counted_signal else Fraction(0)
    if not n_stages:
        share = _ONE
    stages = (1 - share) * epsilon / max(n_stages, 1)
    return RulesPlan(
        facts.n_classes,
        (ExponentialSelection(stages, _ONE),) * n_stages,
        GeometricNoise(share * epsilon, _ONE) if share else None,
        family_size(facts, settings),
        signal,
        settings,
    )


def family_size(facts: TableFacts, settings: RulesSettings) -> FamilySize:
    """The largest family whose fit stays below ``settings.work`` elementary steps."""
    n_sums, n_cuts, n_singles = settings.n_sums, settings.n_cuts, 4 * settings.n_sums
    while n_sums > 8 and _work(facts, n_sums, n_singles, n_cuts) > settings.work:
        if n_cuts > 16:
            n_cuts = n_cuts // 2
        else:
            n_sums, n_singles = int(n_sums * 0.8), int(n_singles * 0.8)
    return FamilySize(n_sums, n_singles, n_cuts)


def _work(facts: TableFacts, n_sums: int, n_singles: int, n_cuts: int) -> float:
    """Steps of `root_bounds`: a record a pair of directions, and every pair of cuts."""
    singles = [
        min(int(n) - 1, n_cuts) if ordered else int(n)
        for n, ordered in zip(facts.n_codes, facts.ordered, strict=True)
    ]
    n_directions = sum(
        1 if ordered else int(n) for n, ordered in zip(facts.n_codes, facts.ordered, strict=True)
    )
    kept = min(1.0, n_singles / max(n_directions, 1))
    directions = kept * n_directions + n_sums
    cuts = kept * sum(singles) + n_sums * n_cuts
    return directions**2 * (facts.approximate_rows or 1e3) + cuts**2 * 2 * facts.n_classes


def charge(plan: RulesPlan, scope: Scope) -> None:
    """Make all requests of a plan, as training does."""
    for stage, event in enumerate(plan.stages):
        scope.request(event, role=stage_role(stage), cells=LEAVES_OF_A_STAGE**stage)
    if plan.counts is not None:
        role = COUNT_ROLE if plan.stages else PRIOR_ROLE
        scope.request(plan.counts, role=role, cells=LEAVES_OF_A_STAGE ** len(plan.stages))


def _loss_of(spend: Callable[[Scope], None]) -> PrivacyLoss:
    with BudgetAccountant._unlimited().open_scope("scratch") as scope:
        spend(scope)
        return scope.loss
