"""Trainings and targets that tests of the convex learner share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.base import TableFacts
from dpforest.trees.convex.learner import ConvexLearner
from dpforest.trees.convex.model import AdditiveModel
from dpforest.trees.training import train_on


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
        facts: TableFacts,
        table: Table,
        learner: ConvexLearner | None = None,
        epsilon: Any = 2,
        delta: Any = 0,
        seed: int = 1,
        unit: int = 1,
    ) -> Trained:
        learner = learner or ConvexLearner()
        budget = LearnerBudget.of_unit(Fraction(epsilon), Fraction(delta), unit)
        plan = learner.plan(facts, budget)
        books = BudgetAccountant(budget.unit_epsilon, budget.delta)
        done: list[int] = []
        with books.open_scope("fit", reserve=plan.loss) as scope:
            model = train_on(
                learner, plan, scope, SeededSource(seed), MemoryRecords(table), facts,
                lambda: done.append(1),
            )  # fmt: skip
            assert scope.loss == plan.loss
        return Trained(model, plan, books, len(done))

    return make


@pytest.fixture
def of_targets() -> Callable[..., tuple[TableFacts, Table]]:
    """Facts and a table with targets from 0 to 1 in the place of labels."""

    def make(facts: TableFacts, table: Table, targets: Any) -> tuple[TableFacts, Table]:
        steps = np.rint(np.asarray(targets) * TARGET_STEPS).astype(np.int32)
        nothing = np.zeros_like(table.labels)
        facts = replace(facts, unit=TARGET_STEPS, n_classes=2)
        return facts, replace(table, targets=steps, labels=nothing, n_classes=2)

    return make
