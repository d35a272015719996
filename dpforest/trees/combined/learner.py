"""Training rules and a forest on the same records, and the private choice of their weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget
from dpforest.accounting.scopes import Scope
from dpforest.bridge import Bridge
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import ClassCounts, Records, Released
from dpforest.records.rows import Totals
from dpforest.trees.base import PartDone, TableFacts
from dpforest.trees.combined.model import CombinedModel
from dpforest.trees.combined.plan import (
    CombinedPlan,
    CombinedSettings,
    Role,
    build_plan,
    by_classes,
)
from dpforest.trees.combined.queries import STEPS, BlendTotals
from dpforest.trees.training import train_on


@dataclass(frozen=True, slots=True)
class CombinedLearner:
    """Rules see what goes together, tables of many trees see what adds up: here are both.

    Parameters
    ----------
    settings : CombinedSettings
        The defaults are meant for all tables.
    """

    settings: CombinedSettings = field(default_factory=CombinedSettings)
    name: ClassVar[str] = "combined"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> CombinedPlan:
        """Make a plan that costs exactly epsilon, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(
        self,
        plan: CombinedPlan,
        scope: Scope,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        part_done: PartDone,
    ) -> CombinedModel:
        """Make the plan's requests in ``scope``, each before its data is read, and release.

        Notes
        -----
        **Claim**: what is returned costs ``plan.loss`` under add/remove of one record.
        **Proof**: class counts, rules, forest and weights are released one after the other, each
        under its own grants; the sensitivities are those of `ClassCounts`, of the two learners,
        and of `BlendTotals`. **Tests**: tests/trees/combined.
        """
        settings, classes = plan.settings, by_classes(facts)
        own = Bridge(plan.own_rounds, scope, records, source, part_done)
        prior = released_prior(
            own.ask(ClassCounts(), Role.PRIOR).noised(Role.PRIOR), float(plan.prior.epsilon)
        )
        rules, forest = (
            train_on(learner, part, scope, source.spawn(name), records, classes, part_done)
            for name, learner, part in (
                ("rules", settings.rules, plan.rules),
                ("forest", settings.forest, plan.forest),
            )
        )
        model = CombinedModel(rules, forest, np.log(prior), (0.0, 0.0))
        model = model.weighed(chosen_weights(model, plan, own))
        own.finish()
        return model


def released_prior(noisy: Released, epsilon: float) -> NDArray[np.float64]:
    """Class shares from a noisy histogram, even where the noise drowns it, shape (K,)."""
    counts = np.maximum(noisy, 0) + 1.0 + 2**0.5 / epsilon
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def chosen_weights(model: CombinedModel, plan: CombinedPlan, bridge: Bridge) -> tuple[float, float]:
    """Pick the weights of rules and forest by the log score of the records under them."""
    pairs = plan.settings.pairs
    totals = bridge.ask(BlendTotals(model, np.array(pairs), plan.log_bound), Role.WEIGHTS)
    return pairs[int(totals.chosen(Role.WEIGHTS, Totals(Fraction(1, STEPS)))[0])]
