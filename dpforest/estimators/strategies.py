"""Choice of a strategy by its name, for the private forests for classes and for numbers."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.releases import LearnerBudget
from dpforest.checks import check_choice
from dpforest.estimators.fit_plan import Wanted
from dpforest.exceptions import ParameterError
from dpforest.trees.strategies import NEED_DELTA, STRATEGIES

_STRATEGIES = ("auto", *STRATEGIES)


def by_strategy(budget: LearnerBudget, strategy: Any) -> Wanted:
    """Check a strategy.

    Raises
    ------
    ParameterError, ParameterTypeError
    """
    name = check_choice(strategy, "strategy", _STRATEGIES)
    if name in NEED_DELTA and not budget.delta:
        raise ParameterError("strategy", name, "needs delta > 0", 'Give a delta, or use "one_shot"')
    return Wanted(budget, name)
