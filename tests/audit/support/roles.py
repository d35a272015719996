"""Every role that a plan of a learner can contain, and where: task, currency, unit, reading.

A role is what a request is for, in the ledger's words. A public grid of plans reaches all of them;
``tests/audit/test_roles.py`` holds that every request in the sources is reached, that every role
of the grid is in some case of `role_cases`, and that the audited parts have them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from dpforest.accounting.fits import DIFFPRIVLIB, OWN_BUDGET
from dpforest.accounting.releases import Plan
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import COUNT_ROLE, RANGE_ROLE, table_facts
from dpforest.estimators.multinomial import MultinomialForestClassifier
from dpforest.estimators.planning import budget_after, make_plan, planned
from dpforest.exceptions import ParameterError
from dpforest.trees.base import TableFacts
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.plan import LEAF_RULES
from dpforest.trees.strategies import ASKED, NOT_STREAMED

#: How records may come, and who pays: one record, or a unit that owns several.
READINGS = ("memory", "stream", "dask")
UNITS = (1, 3)
#: How a budget adds up: in a pure epsilon; in rho, where an accountant with a delta is shared;
#: or as a certified list, where a fit has that budget to itself.
CURRENCIES = ("epsilon", "rho", "certified")
TASKS = ("two classes", "more classes", "target")
#: Strategy of `MultinomialForestClassifier` among those of the private forests.
PUBLISHED = "published forest"


@dataclass(frozen=True, slots=True, order=True)
class Role:
    """What a request is for, and who makes it.

    Attributes
    ----------
    strategy : str
        Of the forest that is fitted.
    learner : str
        Whose request it is: the strategy's own, or that of a learner inside.
    role : str
    mechanism : str
    """

    strategy: str
    learner: str
    role: str
    mechanism: str


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A role, and where it is met."""

    role: Role
    task: str
    currency: str
    unit: int
    reading: str


# -- what a plan asks for ------------------------------------------------------------------------


def asked_by(plan: Plan[Any]) -> Iterator[tuple[str, str, Any]]:
    """Learner, role and event of every request that a learner's plan makes."""
    for one in plan.rounds:
        yield from ((one.owner, r.role, r.event) for r in one.releases)


def roles_of_plan(strategy: str, plan: Any) -> set[Role]:
    """Roles of a learner's plan."""
    return {Role(strategy, who, role, event.mechanism) for who, role, event in asked_by(plan)}


def variant_of(role: str, forest: MultinomialForestClassifier) -> str:
    """A role of a published forest with the choice that its sensitivity goes by."""
    if role.startswith("leaf"):
        leaves = forest.leaves
        if leaves == "auto":
            leaves = "gaussian" if forest.delta else "geometric"
        return f"{role}, {leaves}"
    return f"{role}, {forest.criterion}, {forest.thresholds}"


# -- the public grid -----------------------------------------------------------------------------

_FEATURES: tuple[dict[str, Any], ...] = (
    {"a": (0, 3), "b": (0.0, 10.0), "c": ["x", "y", "z"]},
    {"only": ["x", "y"]},
    {**{f"n{i}": (0.0, 1.0) for i in range(20)}, **{f"c{i}": list("wxyz") for i in range(12)}},
)
_LABELS: dict[str, tuple[int, ...]] = {"two classes": (2,), "more classes": (3, 14), "target": (0,)}
_DELTA = Fraction(1, 10**6)
#: Epsilon, number of records, and whether that is bought: from hopeless to more than enough.
_MANY = (
    *((Fraction(1), rows, False) for rows in (2.0, 20.0, 200.0, 5000.0, 1e5, 1e8)),
    *((Fraction(1), rows, True) for rows in (2.0, 200.0, 1e6)),
    (Fraction(1, 100), 1e5, False),
    (Fraction(30), 200.0, False),
)
#: Where, with a delta, "auto" takes one-shot forests in a pure epsilon: below what others need.
_BETWEEN = tuple(
    (Fraction(1), rows, False)
    for rows in (10.0, 30.0, 100.0, 300.0, 1000.0, 1500.0, 2000.0, 3000.0, 5000.0, 6000.0)
)
_STRATEGIES = ("auto", *ASKED)
_FEW = ((Fraction(1), 2.0, False), (Fraction(1), 200.0, True), (Fraction(1), 1e8, False))


def private_places() -> set[Place]:
    """Every place that a plan of a private forest can put a role in, over the grid.

    What is asked for goes by whether records are in memory, and not by what else reads them.
    """
    found: set[Place] = set()
    in_passes = tuple(one for one in _STRATEGIES if one not in NOT_STREAMED)
    ways = (("memory", _STRATEGIES, READINGS[:1]), ("stream", in_passes, READINGS[1:]))
    for task, currency, unit in product(TASKS, CURRENCIES, UNITS):
        for reading, strategies, readings in ways:
            for strategy, facts, points in _grid(task, currency, unit, reading, strategies):
                for role in _roles_over(points, strategy, facts, currency, unit):
                    if role.strategy not in NOT_STREAMED or reading == "memory":
                        found |= {Place(role, task, currency, unit, way) for way in readings}
    return found


def _grid(
    task: str, currency: str, unit: int, reading: str, strategies: tuple[str, ...]
) -> Iterator[tuple[str, TableFacts, tuple[Any, ...]]]:
    """Strategies and facts, with as many budgets as tell something new."""
    for strategy, number, labels in product(strategies, range(len(_FEATURES)), _LABELS[task]):
        output = {"classes": list(range(labels))} if labels else {"target": (0.0, 1.0)}
        public: dict[str, Any] = {"features": _FEATURES[number], **output}
        encoder = DomainEncoder(Domain(**public), task="classification" if labels else "regression")
        facts = table_facts(encoder, None, reading == "memory")
        # To certify a list takes long and changes its noise alone; a unit changes prices alone.
        many = number == 0 and unit == 1 and currency != "certified"
        if many or number == 0 or (unit == 1 and currency != "certified"):
            points = _MANY if many else _FEW
            own = strategy in ("auto", "one_shot") and number == 0
            yield strategy, facts, (*points, *(_BETWEEN if own else ()))


def _roles_over(
    points: tuple[Any, ...], strategy: str, facts: TableFacts, currency: str, unit: int
) -> set[Role]:
    """Roles at some budgets and numbers of records."""
    found: set[Role] = set()
    delta = Fraction(0) if currency == "epsilon" else _DELTA
    place = OWN_BUDGET if currency == "certified" else DIFFPRIVLIB
    for epsilon, rows, bought in points:
        known = replace(facts, approximate_rows=rows)
        try:
            own = facts if bought else known
            plan = make_plan(strategy, own, epsilon, delta, place, unit)
            if plan.count is not None:
                rest = budget_after(plan.budget, plan.count)
                plan = planned(strategy, known, rest, plan.count)
        except ParameterError:  # such as a budget that buys no number
            continue
        for role, event in ((COUNT_ROLE, plan.count), (RANGE_ROLE, plan.target_range)):
            if event is not None:
                found.add(Role(plan.strategy, "forest", role, event.mechanism))
        found |= roles_of_plan(plan.strategy, plan.plan)
    return found


def published_forests() -> Iterator[dict[str, Any]]:
    """Parameters of the published forest that together have every role and mechanism."""
    yield {}
    yield {"leaves": "geometric"}
    yield {"selection": "permute_and_flip", "leaves": "label"}
    yield {"choice": "joint", "leaves": "count_label"}
    yield {"choice": "joint", "selection": "permute_and_flip",
           "leaves": "count_label_permute_and_flip", "partition_rate": 1}  # fmt: skip


def varied_forests() -> Iterator[dict[str, Any]]:
    """Every criterion, draw, choice, grid, leaf rule and allocation, and the paper's forest."""
    draws, choices = ("exponential", "permute_and_flip"), ("two_stage", "joint")
    for criterion, selection, choice in product(CRITERIA, draws, choices):
        yield {"criterion": criterion, "selection": selection, "choice": choice}
    yield from ({"criterion": criterion, "thresholds": "lattice"} for criterion in CRITERIA)
    yield from ({"leaves": leaves} for leaves in LEAF_RULES)
    yield {"allocation": "per_level", "partition_rate": 1}
    yield {"criterion": "gini_decrease", "partition_rate": 1, "leaves": "label",
           "allocation": "theorem2"}  # fmt: skip


def is_varied(task: str, unit: int) -> bool:
    """Where every choice is tried: with others a role is tried once."""
    return task == TASKS[0] and unit == 1


def published_places() -> set[Place]:
    """Every place of a role of the published forest, with the choice that it goes by."""
    found: set[Place] = set()
    public: dict[str, Any] = {"features": _FEATURES[0], "classes": [0, 1]}
    domain = Domain(**public)
    facts = table_facts(DomainEncoder(domain), None)
    for task, currency, unit in product(TASKS[:2], CURRENCIES[:2], UNITS):
        delta = 0 if currency == "epsilon" else float(_DELTA)
        for parameters in varied_forests():
            forest = MultinomialForestClassifier(
                epsilon=1, delta=delta, domain=domain, max_depth=2, max_records_per_unit=unit,
                **parameters,
            )  # fmt: skip
            try:
                wanted = forest._wanted()
            except ParameterError:  # such as Gaussian leaves without a delta
                continue
            readings = READINGS[:1] if forest.thresholds == "lattice" else READINGS
            assert wanted.learner is not None
            plan = wanted.learner.plan(facts, wanted.budget)
            for who, role, event in asked_by(plan):
                named = variant_of(role, forest) if is_varied(task, unit) else role
                which = Role(PUBLISHED, who, named, event.mechanism)
                found |= {Place(which, task, currency, unit, way) for way in readings}
    return found
