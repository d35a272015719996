"""The plan of rules and forest together: a class histogram, two learners' lists, one choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.releases import LearnerBudget, Plan, Release, once
from dpforest.records.base import ClassCounts
from dpforest.records.rows import Totals
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.one_shot import OneShotForest, OneShotShape
from dpforest.trees.rules import RulesLearner
from dpforest.trees.rules.plan import RulesShape

OWNER = "combined"


class Role:
    """Purposes of the own requests, in the ledger's words."""

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
class CombinedShape:
    """Sizes of rules and forest, and what the choice of their weights looks at.

    Attributes
    ----------
    rules : RulesShape
    forest : OneShotShape
    log_bound : float
        Largest loss in log probability that the choice looks at.
    settings : CombinedSettings
    """

    rules: RulesShape
    forest: OneShotShape
    log_bound: float
    settings: CombinedSettings


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: CombinedSettings
) -> Plan[CombinedShape]:
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
    own, others = (
        LearnerBudget(left * share, Fraction(0))
        for share in (settings.rules_share, 1 - settings.rules_share)
    )
    rules = settings.rules.plan(facts, own)
    forest = settings.forest.plan(by_classes(facts), others)
    prior, weights = _own_releases(epsilon, settings)
    bound = math.log(facts.n_classes) + settings.bound_over_even
    return Plan(
        (once(OWNER, prior), *rules.rounds, *forest.rounds, once(OWNER, weights)),
        CombinedShape(rules.shape, forest.shape, bound, settings),
        _words(rules, forest, settings),
    )


def _own_releases(epsilon: Fraction, settings: CombinedSettings) -> tuple[Release, Release]:
    """Requests before and after the two learners."""
    histogram = GeometricNoise(epsilon * settings.prior_share, ClassCounts().sensitivity.l1)
    choice = ExponentialSelection(epsilon * settings.weights_share, Totals.score_range)
    pairs = f"one of {len(settings.pairs)} pairs of weights"
    return (
        Release(Role.PRIOR, histogram, says="one noisy class histogram"),
        Release(Role.WEIGHTS, choice, says=pairs),
    )


def _words(
    rules: Plan[RulesShape], forest: Plan[OneShotShape], settings: CombinedSettings
) -> dict[str, str]:
    """The plan in words, for the report."""
    share = settings.rules_share
    own = {k: v for k, v in rules.describe().items() if k in ("rules", "stages")}
    words = {
        "combination": f"rules with {float(share):.0%} and a one-shot forest with "
        f"{float(1 - share):.0%} of what prior and weights leave",
        "weights": "picked by the clipped log probability of the records, on a lattice",
    }
    return own | forest.describe() | words


def by_classes(facts: TableFacts) -> TableFacts:
    """The facts of a table whose records have whole classes."""
    return replace(facts, unit=1)
