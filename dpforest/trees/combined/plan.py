"""The plan of rules and forest together: a class histogram, two learners' plans, one choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, once
from dpforest.trees.base import PRIOR_ROLE, PlanPart, TableFacts
from dpforest.trees.one_shot import OneShotForest, OneShotShape
from dpforest.trees.rules import RulesLearner, RulesPlan

OWNER = "combined"
_ONE = Fraction(1)


class Role:
    """What the own requests are for, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    WEIGHTS = "weights of rules and forest"


@dataclass(frozen=True, slots=True)
class CombinedSettings:
    """Shares of epsilon, and what the choice of weights looks at.

    Attributes
    ----------
    prior_share, weights_share : Fraction
        Of the whole.
    rules_share : Fraction
        Of what is left; the forest has the rest.
    weights : tuple of float
        Tried for rules and forest alike, all pairs but (0, 0). Over what both are worth on their
        own: two that say the same are worth less than their sum.
    bound_over_even : float
        How much worse than even shares a log probability may look to the choice.
    """

    prior_share: Fraction = Fraction(1, 100)
    weights_share: Fraction = Fraction(5, 100)
    rules_share: Fraction = Fraction(1, 2)
    weights: tuple[float, ...] = (0.0, 0.3, 0.5, 0.7, 1.0)
    bound_over_even: float = 3.0
    rules: RulesLearner = field(default_factory=RulesLearner)
    forest: OneShotForest = field(default_factory=OneShotForest)

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Candidates of the choice."""
        return [(a, b) for a in self.weights for b in self.weights if a or b]


@dataclass(frozen=True, slots=True)
class CombinedPlan:
    """Rules and a forest as a list of requests.

    Attributes
    ----------
    n_classes : int
    prior : GeometricNoise
        One class histogram.
    rules : RulesPlan
    forest : Plan
    weights : ExponentialSelection
        Picks what each of the two is worth.
    log_bound : float
        Largest loss in log probability that the choice looks at.
    settings : CombinedSettings
    """

    n_classes: int
    prior: GeometricNoise
    rules: RulesPlan
    forest: Plan[OneShotShape]
    weights: ExponentialSelection
    log_bound: float
    settings: CombinedSettings

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost of the whole: what the four cost one after the other."""
        return self.prior.loss + self.rules.loss + self.forest.loss + self.weights.loss

    @property
    def own_rounds(self) -> tuple[Round, ...]:
        """What is asked for beside the two learners."""
        prior, weights = Release(Role.PRIOR, self.prior), Release(Role.WEIGHTS, self.weights)
        return once(OWNER, prior), once(OWNER, weights)

    @property
    def parts(self) -> tuple[PlanPart, ...]:
        """What is released, in order."""
        text = f"one of {len(self.settings.pairs)} pairs of weights"
        return (
            PlanPart(Role.PRIOR, "one noisy class histogram", self.prior.loss),
            *self.rules.parts,
            *self.forest.parts,
            PlanPart(Role.WEIGHTS, text, self.weights.loss),
        )

    @property
    def n_steps(self) -> int:
        """How often training says that a part is done."""
        return len(self.parts)

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        share = self.settings.rules_share
        rules = {k: v for k, v in self.rules.describe().items() if k in ("rules", "stages")}
        words = {
            "combination": f"rules with {float(share):.0%} and a one-shot forest with "
            f"{float(1 - share):.0%} of what prior and weights leave",
            "weights": "picked by the clipped log probability of the records, on a lattice",
        }
        return rules | self.forest.describe() | words


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: CombinedSettings
) -> CombinedPlan:
    """Make a plan that costs exactly epsilon, purely, from public facts alone.

    Delta is not used, as by rules alone.

    Parameters
    ----------
    facts : TableFacts
    budget : LearnerBudget
    settings : CombinedSettings
    """
    epsilon = Fraction(budget.epsilon)
    left = epsilon * (1 - settings.prior_share - settings.weights_share)
    rules, forest = (
        LearnerBudget(left * share, Fraction(0))
        for share in (settings.rules_share, 1 - settings.rules_share)
    )
    classes = by_classes(facts)
    return CombinedPlan(
        facts.n_classes,
        GeometricNoise(epsilon * settings.prior_share, _ONE),
        settings.rules.plan(classes, rules),
        settings.forest.plan(classes, forest),
        ExponentialSelection(epsilon * settings.weights_share, _ONE),
        math.log(facts.n_classes) + settings.bound_over_even,
        settings,
    )


def by_classes(facts: TableFacts) -> TableFacts:
    """The facts of a table whose records have whole classes."""
    return replace(facts, unit=1)
