"""Parts that tests of learners share: small tables with their public facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.base import Learner, TableFacts
from dpforest.trees.training import train_on


@dataclass(frozen=True)
class Trained:
    """A model, and what it was made by."""

    model: Any
    plan: Plan[Any]
    books: BudgetAccountant
    n_done: int


@pytest.fixture
def trained_by() -> Callable[..., Trained]:
    """Train a learner on a table of its facts, for a budget that its plan uses up."""

    def make(
        learner: Learner,
        facts: TableFacts,
        table: Table,
        budget: LearnerBudget,
        seed: int = 1,
        n_threads: int = 1,
    ) -> Trained:
        plan = learner.plan(facts, budget)
        books = BudgetAccountant(budget.unit_epsilon, budget.delta)
        done: list[int] = []
        with books.open_scope("fit", reserve=plan.loss) as scope:
            records = MemoryRecords(table, n_threads)
            model = train_on(
                learner, plan, scope, SeededSource(seed), records, facts, lambda: done.append(1)
            )
            assert scope.loss == plan.loss
        return Trained(model, plan, books, len(done))

    return make


@pytest.fixture
def facts_of() -> Callable[..., TableFacts]:
    """Facts of a table: ordered features unless n_codes is negative, all may be missing."""

    def make(n_codes, n_classes, approximate_rows=None) -> TableFacts:
        sizes = np.abs(np.asarray(n_codes, dtype=np.int64))
        ordered = np.asarray(n_codes) > 0
        scaled = tuple(
            np.concatenate([(np.arange(size - 1) + 0.5) / (size - 1), [0.5]])
            if is_ordered
            else None
            for size, is_ordered in zip(sizes, ordered, strict=True)
        )
        return TableFacts(sizes, ordered, ordered.copy(), scaled, n_classes, approximate_rows)

    return make


@pytest.fixture
def table_of() -> Callable[..., Table]:
    """A skewed table; class 1 where the first code is small, else the class goes by the last."""

    def make(facts, n_records, seed=0, labels=None) -> Table:
        generator = np.random.default_rng(seed)
        shares = generator.random((n_records, facts.n_features)) ** 1.5
        codes = np.floor(shares * facts.n_codes)
        if labels is None:
            lean = shares[:, 0] + 0.3 * generator.random(n_records) < 0.4
            labels = np.where(lean, 1, np.floor(shares[:, -1] * facts.n_classes))
        return Table(
            np.ascontiguousarray(
                codes, dtype=np.uint8 if facts.n_codes.max() <= 256 else np.uint16
            ),
            np.ascontiguousarray(labels, dtype=np.uint8),
            facts.n_codes,
            facts.offsets,
            facts.ordered,
            facts.n_classes,
        )

    return make
