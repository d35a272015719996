"""Trainings that tests of the additive model share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.additive.model import AdditiveModel
from dpforest.trees.additive.settings import AdditiveSettings
from dpforest.trees.training import train_on

#: As many bins and cycles whatever the signal.
SMALL = AdditiveForest(
    AdditiveSettings(cycles=3, pure_cycles=2, max_bins=9, few_pure_cycles=2, few_bins=9)
)


@dataclass(frozen=True)
class Trained:
    """A model, and what it was made by."""

    model: AdditiveModel
    plan: Plan[Any]
    books: BudgetAccountant
    n_done: int


@pytest.fixture
def train() -> Callable[..., Trained]:
    """Train on a table of its facts; any part may be overridden."""

    def make(
        facts: Any,
        table: Any,
        learner: AdditiveForest = SMALL,
        epsilon: Any = 2,
        delta: Any = "1e-6",
        seed: int = 1,
        n_threads: int = 1,
    ) -> Trained:
        budget = LearnerBudget(Fraction(epsilon), Fraction(delta))
        plan = learner.plan(facts, budget)
        books = BudgetAccountant(budget.epsilon, budget.delta)
        done: list[int] = []
        with books.open_scope("fit", reserve=plan.loss) as scope:
            records = MemoryRecords(table, n_threads)
            model = train_on(
                learner, plan, scope, SeededSource(seed), records, facts, lambda: done.append(1)
            )
            assert scope.loss == plan.loss
        return Trained(model, plan, books, len(done))

    return make
