"""Fitted private estimators of every kind, whose reports are checked, shown and compared."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest

from dpforest import (
    BudgetAccountant,
    BudgetLedger,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.accounting.allocation import PerLevelAllocation

FACTS = {
    "features": [
        {"kind": "numeric", "name": "age", "lower": 0, "upper": 100, "integer": True,
         "declared_by": "the registry", "source": "codebook, page 3"},
        {"kind": "categorical", "name": "colour", "categories": ["red", "green", "blue"]},
        {"kind": "numeric", "name": "size", "lower": -1, "upper": 1, "missing": True},
    ],
    "classes": {"labels": ["ill", "well"], "declared_by": "the registry"},
}  # fmt: skip
TABLE = (
    [[20 + i % 60, ("red", "green", "blue")[i % 3], (i % 7) / 7] for i in range(40)],
    ["ill" if i % 3 else "well" for i in range(40)],
)


def declared(rows: int | None = 40) -> Domain:
    return Domain(**FACTS, approximate_rows=rows)


def of_three_classes() -> Domain:
    """Residuals of these add up to nothing; the table has records of two of them."""
    return Domain(**FACTS | {"classes": ["ill", "well", "neither"]}, approximate_rows=40)


def multinomial(**parameters: Any) -> MultinomialForestClassifier:
    small = {"epsilon": 1, "domain": declared(), "n_estimators": 2, "max_depth": 1}
    return MultinomialForestClassifier(**(small | parameters))


def private(strategy: str, rows: int | None = 40, **parameters: Any) -> PrivateForestClassifier:
    given = {"epsilon": "0.9", "domain": declared(rows), "strategy": strategy} | parameters
    return PrivateForestClassifier(**given)


def regression_domain() -> Domain:
    target = {"lower": 0, "upper": 10, "declared_by": "the registry"}
    return Domain(features=FACTS["features"], target=target, approximate_rows=40)


class Accountant:
    """What the adapter uses of diffprivlib's accountant."""

    def total(self) -> tuple[float, float]:
        return 0.0, 0.0

    def remaining(self) -> tuple[float, float]:
        return 100.0, 0.5

    def check(self, epsilon: float, delta: float) -> bool:
        return True

    def spend(self, epsilon: float, delta: float) -> None:
        pass


#: Folders of ledgers, which are there as long as the tests run.
FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def kept(maker: Any) -> Any:
    """An estimator that is charged to a ledger of its own, where a fit was charged before."""
    folder = tempfile.TemporaryDirectory(prefix="dpforest-")
    ledger = BudgetLedger.open(f"sqlite:///{Path(folder.name) / 'book'}", actor="ana", create=True)
    forest = maker()
    ledger.register("claims", domain=forest.domain, epsilon=9, delta="1e-6")
    held = ledger.reserve("claims", ledger.charge("claims", forest))
    ledger.start("claims", held.id)
    forest.accountant = ledger.accountant("claims", purpose="a <b>purpose</b>")
    FOLDERS.append(folder)
    return forest


MAKERS = {
    "multinomial": lambda: multinomial(),
    "multinomial in rho": lambda: multinomial(delta=1e-6, allocation=PerLevelAllocation([1])),
    "multinomial by Theorem 2": lambda: multinomial(
        leaves="label", partition_rate=1, allocation="theorem2", n_estimators=1
    ),
    "multinomial, sides of unequal cost": lambda: multinomial(
        partition_rate=3, allocation="uniform", epsilon=2
    ),
    "demonstration": lambda: multinomial(random_state=3),
    "void": lambda: multinomial(domain=None),
    "shared accountant": lambda: multinomial(accountant=BudgetAccountant(3, name="the survey")),
    "diffprivlib accountant": lambda: multinomial(accountant=Accountant()),
    "rules": lambda: private("rules"),
    "one shot": lambda: private("one_shot"),
    "one shot in rho": lambda: private("one_shot", delta=1e-6),
    "refitted": lambda: private("refitted", delta=1e-6),
    "looked at last": lambda: private("refitted", rows=1000, delta=1e-6),
    "looked at last, pure": lambda: private("refitted", rows=5000),
    "refitted, of three classes": lambda: private("refitted", domain=of_three_classes()),
    "boosted": lambda: private("boosted", delta=1e-6),
    "additive": lambda: private("additive", delta=1e-6),
    "curves at once": lambda: private("additive"),
    "refitted, shared accountant": lambda: private(
        "refitted", delta=1e-6, accountant=BudgetAccountant(3, delta=1e-5)
    ),
    "refitted beside other fits": lambda: private(
        "refitted", delta=1e-6, accountant=BudgetAccountant(3, 1e-5)
    ),
    "units of three records": lambda: private("one_shot", delta=1e-6, max_records_per_unit=3),
    "regression": lambda: PrivateForestRegressor(epsilon=1, domain=regression_domain()),
    "a ledger": lambda: kept(lambda: private("one_shot")),
    "a ledger, in rho": lambda: kept(lambda: private("refitted", delta="1e-7")),
    "waits for a count, in a ledger": lambda: kept(lambda: private("auto", rows=None)),
    "waits for a count": lambda: private("auto", rows=None),
    "curves at once, of a count": lambda: private("additive", rows=None, epsilon=2),
    "curves at once, of a large count": lambda: private("additive", rows=None, epsilon=2),
    "refitted, of a count": lambda: private("refitted", rows=None, delta=1e-6),
    "waits for a count, in rho": lambda: private("one_shot", rows=None, delta=1e-6),
    "waits for a large count, in rho": lambda: private("one_shot", rows=None, delta=1e-6),
    "waits for a count, beside other fits": lambda: private(
        "refitted", rows=None, delta=1e-6, accountant=BudgetAccountant(3, delta=1e-5)
    ),
}


#: Of so many records that a plan for the few that noise may make of none is another one.
LARGE = {"curves at once, of a large count", "waits for a large count, in rho"}


def fit(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = (75 * part for part in TABLE) if name in LARGE else TABLE
        return MAKERS[name]().fit(X, range(40) if name == "regression" else y)


@pytest.fixture(scope="session")
def fitted() -> Any:
    """A fitted estimator by name; each is fitted once."""
    known: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in known:
            known[name] = fit(name)
        return known[name]

    return get


@pytest.fixture(params=MAKERS)
def model(request: pytest.FixtureRequest, fitted: Any) -> Any:
    """Each kind of fitted private estimator in turn."""
    return fitted(request.param)


@pytest.fixture
def fit_anew() -> Any:
    """An estimator of some parameters, fitted to the small table."""

    def make(**parameters: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return multinomial(**parameters).fit(*TABLE)

    return make
