"""Training rules and a forest on the same records, and the private choice of their weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import Event
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge import Bridge
from dpforest.records.base import ClassCounts, Released
from dpforest.records.rows import Totals
from dpforest.trees.base import TableFacts
from dpforest.trees.combined.model import CombinedModel
from dpforest.trees.combined.plan import (
    CombinedSettings,
    CombinedShape,
    Role,
    build_plan,
    by_classes,
)
from dpforest.trees.combined.queries import BlendTotals


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

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[CombinedShape]:
        """Make a plan that costs exactly epsilon, from public facts alone."""
        return build_plan(facts, budget, self.settings)

    def train(self, shape: CombinedShape, bridge: Bridge, facts: TableFacts) -> CombinedModel:
        """Ask for all that was planned, each before it is counted, and release the model.

        Notes
        -----
        **Claim**: what is returned costs the plan's loss under add/remove of one record.
        **Proof**: class counts, rules, forest and weights are released one after the other, each
        under its own grants; the sensitivities are those of `ClassCounts`, of the two learners,
        and of `BlendTotals`. **Tests**: tests/trees/combined.
        """
        settings, classes = shape.settings, by_classes(facts)
        prior = released_prior(
            bridge.ask(ClassCounts(), Role.PRIOR).noised(Role.PRIOR), bridge.event(Role.PRIOR)
        )
        rules = settings.rules.train(shape.rules, bridge.within("rules"), classes)
        forest = settings.forest.train(shape.forest, bridge.within("forest"), classes)
        model = CombinedModel(rules, forest, np.log(prior), (0.0, 0.0))
        return model.weighed(chosen_weights(model, shape, bridge))


def released_prior(noisy: Released, event: Event) -> NDArray[np.float64]:
    """Class shares from a noisy histogram, even where the noise drowns it, shape (K,)."""
    counts = np.maximum(noisy, 0) + 1.0 + 2**0.5 / float(event.loss.epsilon)
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def chosen_weights(
    model: CombinedModel, shape: CombinedShape, bridge: Bridge
) -> tuple[float, float]:
    """Pick the weights of rules and forest by the log score of the records under them."""
    pairs = shape.settings.pairs
    query = BlendTotals(model, np.array(pairs), shape.log_bound)
    totals = bridge.ask(query, Role.WEIGHTS)
    return pairs[int(totals.chosen(Role.WEIGHTS, Totals(query))[0])]
