"""The multinomial forest as a learner: sizes from public quantities, post-processed counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpforest.accounting.allocation import UniformAllocation
from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Records
from dpforest.trees.base import LearnerBudget, PartDone, TableFacts
from dpforest.trees.multinomial.criteria import GINI_COUNT_CRITERION
from dpforest.trees.multinomial.growing import grow_forest
from dpforest.trees.multinomial.model import MultinomialModel
from dpforest.trees.multinomial.plan import ForestPlan, ForestSettings, build_plan

#: Trees and levels by R; more of either divides the budget further.
SIZES = ((100.0, 3, 3), (1000.0, 5, 5), (float("inf"), 10, 8))


@dataclass(frozen=True, slots=True)
class MultinomialForest:
    """Two-stage multinomial splits by count-weighted Gini, noisy histograms in the leaves.

    Parameters
    ----------
    selection_share : Fraction
        Share of a tree's budget for its splits.
    settings : ForestSettings, optional
        Somebody's own; None takes sizes by R.
    """

    selection_share: Fraction = Fraction(35, 100)
    settings: ForestSettings | None = None
    name: ClassVar[str] = "multinomial"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> ForestPlan:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(self.settings or self._settings_of(facts, budget), budget)

    def _settings_of(self, facts: TableFacts, budget: LearnerBudget) -> ForestSettings:
        signal = budget.signal(facts.approximate_rows or 1.0)
        n_trees, depth = next((t, d) for limit, t, d in SIZES if signal < limit)
        return ForestSettings(
            n_trees=n_trees,
            depth=depth,
            allocation=UniformAllocation(selection_share=self.selection_share),
            criterion=GINI_COUNT_CRITERION,
        )

    def train(
        self,
        plan: ForestPlan,
        scope: Scope,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        part_done: PartDone,
    ) -> MultinomialModel:
        """Make the plan's requests in ``scope``, each before its data is read, and release."""
        forest = grow_forest(plan, scope, source, records, part_done)
        return MultinomialModel(forest, facts.n_features)
