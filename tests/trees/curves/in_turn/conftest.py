"""Trainings that tests of curves in turn share."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpforest.accounting.releases import LearnerBudget
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.curves.in_turn.settings import InTurnSettings

#: As many bins and cycles whatever the signal.
SMALL = AdditiveForest(
    InTurnSettings(cycles=3, pure_cycles=2, max_bins=9, few_pure_cycles=2, few_bins=9),
    at_once=None,
)


@pytest.fixture
def train(trained_by) -> Callable[..., Any]:
    """Train on a table of its facts; any part may be overridden."""

    def make(
        facts: Any,
        table: Any,
        learner: AdditiveForest = SMALL,
        epsilon: Any = 2,
        delta: Any = "1e-6",
        seed: int = 1,
        n_threads: int = 1,
    ) -> Any:
        budget = LearnerBudget(Fraction(epsilon), Fraction(delta))
        return trained_by(learner, facts, table, budget, seed, n_threads)

    return make
