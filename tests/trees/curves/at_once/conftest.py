"""Trainings and targets that tests of curves at once share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.targets import TARGET_STEPS
from dpforest.records.table import Table
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.base import TableFacts


@pytest.fixture
def train(trained_by) -> Callable[..., Any]:
    """Train on a table of its facts; any part may be overridden."""

    def make(
        facts: TableFacts,
        table: Table,
        learner: AdditiveForest | None = None,
        epsilon: Any = 2,
        delta: Any = 0,
        seed: int = 1,
        unit: int = 1,
    ) -> Any:
        budget = LearnerBudget.of_unit(Fraction(epsilon), Fraction(delta), unit)
        return trained_by(learner or AdditiveForest(), facts, table, budget, seed)

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
