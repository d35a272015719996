"""Choice of a strategy by its name, for the private forests for classes and for numbers."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.releases import LearnerBudget
from dpforest.checks import check_choice
from dpforest.estimators.fit_plan import FitRequest
from dpforest.exceptions import ParameterError
from dpforest.trees.strategies import ASKED, STRATEGIES

#: The strategy that became an estimator of its own: models and reports of it are read.
_OF_ITS_OWN = "multinomial"


def by_strategy(
    budget: LearnerBudget, strategy: Any, of_its_own: str | None = None, done: bool = False
) -> FitRequest:
    """Check a strategy.

    Parameters
    ----------
    budget : LearnerBudget
    strategy : object
        As somebody gave it.
    of_its_own : str, optional
        Estimator of the multinomial forest for such records, where there is one.
    done : bool
        Whether the fit was made already, and is read: it may be of a strategy that nobody can ask
        for any more.

    Raises
    ------
    ParameterError, ParameterTypeError
    """
    if isinstance(strategy, str) and strategy == _OF_ITS_OWN and not done:
        raise _refusal(of_its_own)
    names = STRATEGIES if done else ASKED
    return FitRequest(budget, check_choice(strategy, "strategy", ("auto", *names)))


def _refusal(estimator: str | None) -> ParameterError:
    """Of the strategy that became an estimator, with what to use instead."""
    rule = "the multinomial forest is an estimator of its own"
    if estimator is not None:
        return ParameterError("strategy", _OF_ITS_OWN, rule, f"Use {estimator}")
    rule, names = f"{rule}, for classes alone", ", ".join(map(repr, ASKED))
    return ParameterError("strategy", _OF_ITS_OWN, rule, f"Choose 'auto' or one of {names}")
