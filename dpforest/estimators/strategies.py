"""Choice of a strategy by its name, for the private forests for classes and for numbers."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.releases import LearnerBudget
from dpforest.checks import check_choice
from dpforest.estimators.fit_plan import FitRequest
from dpforest.trees.strategies import STRATEGIES

_STRATEGIES = ("auto", *STRATEGIES)


def by_strategy(budget: LearnerBudget, strategy: Any) -> FitRequest:
    """Check a strategy.

    Raises
    ------
    ParameterError, ParameterTypeError
    """
    return FitRequest(budget, check_choice(strategy, "strategy", _STRATEGIES))
