"""Our forests by the names that results have: the strategies, and the multinomial forest.

The multinomial forest was a strategy, whose sizes went by the number of records that was declared.
It is an estimator with sizes of its own, and here it has those that it had, so that rows of results
mean what they meant. Of a target there is none any more.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.accounting.releases import LearnerBudget
from dpforest.trees.multinomial.learner import sizes_at
from dpforest.trees.strategies import ASKED

MULTINOMIAL = "multinomial"
NAMES = (*ASKED, MULTINOMIAL)


def names_of(domain: Domain) -> tuple[str, ...]:
    """Those that a table of a domain can be fitted by."""
    return NAMES if domain.classes else tuple(ASKED)


def our_forest(
    name: str, domain: Domain, epsilon: float, delta: float | str = 0, **parameters: Any
) -> Any:
    """One of them, unfitted, or ``"auto"``; of the multinomial forest a domain declares rows."""
    parameters = {"epsilon": epsilon, "delta": delta, "domain": domain, **parameters}
    if name == MULTINOMIAL:
        return MultinomialForestClassifier(**parameters, **sizes(domain, epsilon, delta))
    kind: Any = PrivateForestClassifier if domain.classes else PrivateForestRegressor
    return kind(**parameters, strategy=name)


def sizes(domain: Domain, epsilon: float, delta: float | str = 0) -> dict[str, int]:
    """Trees and levels of a multinomial forest that serve at R (docs/multinomial.md)."""
    budget = LearnerBudget(Fraction(str(epsilon)), Fraction(str(delta)))
    n_trees, depth = sizes_at(budget.signal(domain.approximate_rows or 1.0))
    return {"n_estimators": n_trees, "max_depth": depth}
