"""Learners by the names users ask by, and the public rule that picks one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dpforest.learners.base import Learner, LearnerBudget, ReleasedModel, TableFacts


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a learner and its released model live; imported when used."""

    package: str
    learner: str
    model: str

    def make(self) -> Learner:
        """The learner with its defaults."""
        made: Learner = getattr(import_module(f"{self.package}.learner"), self.learner)()
        return made

    def read(self, data: Any, facts: TableFacts) -> ReleasedModel:
        """The released model that its ``to_data`` wrote, checked against the public facts."""
        model_class = getattr(import_module(f"{self.package}.model"), self.model)
        model: ReleasedModel = model_class.from_data(data, facts)
        return model


#: Learners by name.
LEARNERS: dict[str, Entry] = {
    "rules": Entry("dpforest.learners.rules", "RulesLearner", "RuleModel"),
    "one_shot": Entry("dpforest.learners.one_shot", "OneShotForest", "OneShotModel"),
    "refitted": Entry("dpforest.learners.refitted", "RefittedForest", "RefittedModel"),
    "multinomial": Entry("dpforest.learners.multinomial", "MultinomialForest", "MultinomialModel"),
}


#: Signal for each class, 2 R / K, from which refitted forests pass selected rules.
REFITTED_SIGNAL = 400.0
#: The same for one-shot forests, in pure epsilon: rules of two labels hold out longer.
ONE_SHOT_SIGNAL_OF_TWO = 2500.0
ONE_SHOT_SIGNAL = 500.0


def pick_strategy(facts: TableFacts, budget: LearnerBudget) -> str:
    """The learner that serves this budget best, from public quantities only.

    Rules are drawn at the whole pure epsilon, so they win where the budget is small for the
    table; sums of many noisy tables win above. The limits are in 2 R / K, with R = n / sigma_1
    (``LearnerBudget.signal``) and K classes; docs/private_forest.md says how they were found.
    """
    if facts.unit > 1:
        # Means need no labels: tables of one-shot forests hold out where rules would guess.
        enough = budget.delta and budget.signal(facts.approximate_rows or 1.0) >= REFITTED_SIGNAL
        return "refitted" if enough else "one_shot"
    signal = 2 * budget.signal(facts.approximate_rows or 1.0) / max(facts.n_classes, 2)
    if budget.delta:
        return "refitted" if signal >= REFITTED_SIGNAL else "rules"
    limit = ONE_SHOT_SIGNAL_OF_TWO if facts.n_classes <= 2 else ONE_SHOT_SIGNAL
    return "one_shot" if signal >= limit else "rules"
