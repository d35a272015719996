"""Which fits stand against which: auto, our learners by name, and the references of a regression.

Auto is one of our learners, picked by a public rule, with that learner's settings and budget. So
what auto scores on a split is what the fit of that learner scored there, and auto against itself is
no cell: the true difference is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from common.our_forests import NAMES
from dpforest import Domain
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.planning import plan_of
from dpforest.estimators.strategies import by_strategy
from dpforest.trees.strategies import spends_pure_epsilon

DELTA = 1e-6
#: Currencies by the names that models of the benchmarks go by.
DELTAS = {"pure": 0.0, "delta=1e-6": DELTA}
CONSTANT, RIDGE = "noisy mean", "private ridge, delta=1e-6"


def model_name(strategy: str, currency: str) -> str:
    """Of one of our forests, its rows declared; what spends pure epsilon has one name."""
    return f"dpforest {strategy}, {'pure' if spends_pure_epsilon(strategy) else currency}, rows"


def short_name(model: str) -> str:
    """For tables."""
    return model.removeprefix("dpforest ").removesuffix(", rows").replace("delta=1e-6", "δ")


def learners(strategies: tuple[str, ...] = NAMES) -> list[str]:
    """All our learners by name, in each currency that they spend."""
    found = (model_name(strategy, currency) for strategy in strategies for currency in DELTAS)
    return list(dict.fromkeys(found))


def picked(domain: Domain, rows: float, epsilon: float, currency: str) -> str:
    """The model that auto is, from public facts: no record is read.

    Parameters
    ----------
    domain : Domain
    rows : float
        Declared number of training records.
    epsilon : float
    currency : str
        A key of `DELTAS`.
    """
    declared = domain.model_copy(update={"approximate_rows": rows})
    delta = Fraction(repr(DELTAS[currency]))
    budget = LearnerBudget.of_unit(Fraction(repr(epsilon)), delta, 1)
    task = "regression" if domain.classes is None else "classification"
    encoder = DomainEncoder(declared, task=task)
    plan = plan_of(by_strategy(budget, "auto"), encoder, rows, OWN_BUDGET)
    # A one-shot forest that auto picks beside a delta spends the pure epsilon.
    spent = currency if plan.budget.delta else "pure"
    return model_name(plan.strategy, spent)


@dataclass(frozen=True)
class Rivals:
    """What auto stands against on one table at one epsilon.

    Parameters
    ----------
    auto : dict of str to str
        The model that auto is, by currency.
    known : tuple of str
        Other models that have results there.
    """

    auto: dict[str, str]
    known: tuple[str, ...]

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Currency, auto's model, and a model that it stands against.

        With a delta these are all, since what is private without one is so with it: auto of pure
        epsilon too. None stands against itself.
        """
        for currency, own in self.auto.items():
            models = dict.fromkeys([*self.known, *self.auto.values()])
            for model in models:
                is_allowed = currency != "pure" or not needs_delta(model)
                if is_allowed and model != own:
                    yield currency, own, model


def needs_delta(model: str) -> bool:
    """Whether a model is private with a delta only."""
    return "delta=1e-6" in model


def known_models(task: str) -> list[str]:
    """What auto stands against in a task."""
    if task == "classification":
        return learners()
    return [*learners(("additive",)), CONSTANT, RIDGE]
