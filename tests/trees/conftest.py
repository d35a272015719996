"""Parts that tests of learners share: small tables with their public facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.domain.list_order import ListOrder
from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.base import Learner, TableFacts
from dpforest.trees.training import train_on

#: Sizes of the features of `means`: ordered, a categorical one, ordered.
CODES = [40, -5, 7]


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

    def make(n_codes, n_classes, approximate_rows=None, listed=()) -> TableFacts:
        sizes = np.abs(np.asarray(n_codes, dtype=np.int64))
        ordered = np.asarray(n_codes) > 0
        scaled = tuple(
            np.concatenate([(np.arange(size - 1) + 0.5) / (size - 1), [0.5]])
            if is_ordered
            else None
            for size, is_ordered in zip(sizes, ordered, strict=True)
        )
        return TableFacts(
            sizes, ordered, ordered.copy(), scaled, n_classes, approximate_rows,
            listed=tuple(map(ListOrder, listed)),
        )  # fmt: skip

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


@pytest.fixture
def means(facts_of):
    """Facts of a target that curves and trees can tell, by declared rows."""
    return lambda rows: replace(facts_of(CODES, 2, rows), unit=TARGET_STEPS)


@pytest.fixture
def targets(table_of):
    """A table whose target goes by its first feature and by the last two together."""

    def make(facts, n, seed=0):
        table, generator = table_of(facts, n, seed), np.random.default_rng(seed + 1)
        places = table.codes / facts.n_codes
        lean = 0.2 + 0.4 * np.sin(3 * places[:, 0]) + 0.3 * (places[:, 2] > 0.3) * places[:, 1]
        noisy = np.clip(lean + generator.normal(0, 0.03, n), 0, 1)
        whole = np.rint(noisy * TARGET_STEPS).astype(np.int32)
        return replace(table, targets=whole, labels=np.zeros_like(table.labels))

    return make
