"""Small fits that together put every role in every place that `roles` finds.

Each is a real fit of an estimator on a few dozen records. What it declares (rows, a budget) is
chosen so that its plan has all parts; what is declared has no part in what a release costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.domain.domain import Domain
from dpforest.estimators.classifier import PrivateForestClassifier
from dpforest.estimators.multinomial import MultinomialForestClassifier
from dpforest.estimators.regressor import PrivateForestRegressor
from dpforest.records.streams.batches import BatchStream
from dpforest.trees.rules.settings import MANY_CLASSES
from dpforest.trees.strategies import NOT_STREAMED
from support.roles import (
    CURRENCIES,
    PUBLISHED,
    READINGS,
    TASKS,
    UNITS,
    Place,
    Role,
    is_varied,
    published_forests,
    variant_of,
    varied_forests,
)
from support.watching import Watched

Dataset = tuple[NDArray[np.float64], NDArray[Any]]

#: Of a fit: so much that no noise drowns what a few dozen records say, so that a leak of any number
#: would show in what is made of it; and of a fit of a hopeless number of rows.
EPSILON, LEAST_EPSILON, DELTA = 20, 1, 1e-6
HOPELESS = 3.0
#: An ordered feature of few cells, one of many, and a categorical one, whose values are positions.
FEATURES: dict[str, Any] = {"a": (0, 3), "b": (0.0, 10.0), "c": ["0", "1", "2"]}
LABELS = {"two classes": 2, "more classes": 3}
#: Batches of a stream, and partitions of a Dask array.
PARTS = 3
#: Declared rows by strategy: so many that all is released that can be, and so few that little is.
#: None buys the number.
ROWS: dict[str, tuple[float | None, ...]] = {
    "rules": (1e4, HOPELESS, None),
    "one_shot": (1e4, HOPELESS, None),
    "refitted": (1e4, None),
    "boosted": (1e4, None),
    # About as many as there are: sizes of bins are told by them too.
    "additive": (100.0, 1e4, None),
    # With a delta "auto" takes one-shot forests in a pure epsilon where there are not many rows.
    "auto": (100.0, 250.0, 10.0),
}
#: The same for a target: between the two a median is drawn, and a range is bought for trees too.
ROWS_OF_TARGETS = ROWS | {
    "one_shot": (1e4, 2.0, None),
    "additive": (100.0, 1e4, None),
    "auto": (100.0, 250.0, 8.0, 4.0, 2.0),
}


@dataclass(frozen=True)
class RoleCase:
    """One fit.

    Attributes
    ----------
    strategy : str
        Of a private forest, or `PUBLISHED`.
    task, currency, reading : str
    unit : int
        Records of who pays.
    rows : float or None
        Declared.
    parameters : dict
        Further ones of the estimator.
    n_classes : int or None
        Declared; None for as many as a task of this name has.
    """

    strategy: str
    task: str
    currency: str
    unit: int
    reading: str
    rows: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    n_classes: int | None = None

    @property
    def name(self) -> str:
        """For messages."""
        options = [f"{key}={value!r}" for key, value in self.parameters.items()]
        own = (self.strategy, self.task, self.currency, f"unit {self.unit}", self.reading)
        declared = f"rows {self.rows}", f"classes {self.n_classes}"
        return ", ".join((*own, *declared, *options))

    @property
    def domain(self) -> Domain:
        """Public facts."""
        public: dict[str, Any] = {"features": FEATURES, "approximate_rows": self.rows}
        if self.task == "target":
            return Domain(**public | {"target": (0.0, 1.0)})
        classes = list(range(self.n_classes or LABELS[self.task]))
        return Domain(**public | {"classes": classes})

    def fit(self, dataset: Dataset, random_state: Any = 0) -> Any:
        """Fit to a table in the case's way of reading; the accountant is the fit's own."""
        delta = 0 if self.currency == "epsilon" else DELTA
        epsilon = LEAST_EPSILON if self.rows == HOPELESS else EPSILON
        shared = {"accountant": BudgetAccountant(epsilon, delta)} if self.currency == "rho" else {}
        estimator = self._estimator()(
            epsilon=epsilon, delta=delta, domain=self.domain, random_state=random_state,
            max_records_per_unit=self.unit, **shared, **self.parameters,
        )  # fmt: skip
        return estimator.fit(*self._presented(dataset))

    def _estimator(self) -> Any:
        def private(kind: Any) -> Any:
            return lambda **parameters: kind(strategy=self.strategy, **parameters)

        if self.reading == "dask":
            from dpforest import dask

            if self.strategy == PUBLISHED:
                return dask.DaskMultinomialForestClassifier
            if self.task == "target":
                return private(dask.DaskPrivateForestRegressor)
            return private(dask.DaskPrivateForestClassifier)
        if self.strategy == PUBLISHED:
            return MultinomialForestClassifier
        return private(PrivateForestRegressor if self.task == "target" else PrivateForestClassifier)

    def _presented(self, dataset: Dataset) -> tuple[Any, ...]:
        X, y = dataset
        if self.reading == "memory":
            return X, y
        ends = [len(y) * (part + 1) // PARTS for part in range(PARTS)]
        cuts = list(zip([0, *ends], ends, strict=False))
        if self.reading == "stream":
            return (BatchStream([(X[a:b], y[a:b]) for a, b in cuts], memory_limit=0),)
        import dask.array as da

        sizes = tuple(b - a for a, b in cuts)
        return da.from_array(X, chunks=(sizes, X.shape[1])), da.from_array(y, chunks=(sizes,))

    def places(self, watched: Watched) -> set[Place]:
        """Where a run of this case put which roles."""
        found = set()
        for given, site in watched.given:
            role, strategy = given.grant.role, self.strategy
            if strategy == PUBLISHED:
                if is_varied(self.task, self.unit):
                    role = variant_of(role, watched.model)
            else:
                strategy = watched.model.strategy_
            named = Role(strategy, site.learner, role, given.grant.event.mechanism)
            found.add(Place(named, self.task, self.currency, self.unit, self.reading))
        return found


def private_cases() -> Iterator[RoleCase]:
    """Fits of the private forests."""
    for task, currency, unit, reading in product(TASKS, CURRENCIES, UNITS, READINGS):
        ways = task, currency, unit, reading
        for strategy, rows in (ROWS_OF_TARGETS if task == "target" else ROWS).items():
            if reading != "memory" and strategy in NOT_STREAMED:
                continue
            if currency == "epsilon" and strategy == "auto":
                continue  # it picks what strategies by name are
            if strategy == "auto" and reading == "memory" and task != "target":
                continue
            yield from (RoleCase(strategy, *ways, declared) for declared in rows)
        if task == "more classes" and reading == "memory":
            # So many that rules have all stages.
            yield RoleCase("rules", *ways, 1e5, n_classes=MANY_CLASSES + 1)


def published_cases() -> Iterator[RoleCase]:
    """Fits of the published forest with each of its choices."""
    small = {"n_estimators": 2, "max_depth": 2}
    for task, currency, unit, reading in product(TASKS[:2], CURRENCIES[:2], UNITS, READINGS):
        for parameters in varied_forests() if is_varied(task, unit) else published_forests():
            if currency == "rho" and parameters.get("allocation") == "theorem2":
                continue
            if currency == "epsilon" and parameters.get("leaves") == "gaussian":
                continue
            if reading != "memory" and parameters.get("thresholds") == "lattice":
                continue
            yield RoleCase(PUBLISHED, task, currency, unit, reading, None, small | parameters)


def role_cases() -> tuple[RoleCase, ...]:
    """All of them."""
    return (*private_cases(), *published_cases())


def rare_table_of(task: str, which: int) -> Dataset:
    """A long table that is even between classes, and one where a class is rare.

    What rules make of class shares is whether one is rare, and that is told apart from noise by
    thousands of records.
    """
    generator = np.random.default_rng(which)
    X = np.column_stack([generator.integers(0, most, 8000) for most in (4, 10, 3)])
    high = generator.random(8000) < (0.5, 0.03)[which]
    last = 1.0 if task == "target" else LABELS[task] - 1
    y = np.where(high, last, 0)
    return X.astype(np.float64), y.astype(np.float64 if task == "target" else np.int64)


def narrow_table_of(task: str, which: int) -> Dataset:
    """As many records as are declared, whose targets lie in a small part of their bounds.

    A range of targets is made of counts where it holds nearly all records; else it is all there is.
    """
    generator = np.random.default_rng(which)
    X = np.column_stack([generator.integers(0, most, 100) for most in (4, 10, 3)])
    y = generator.uniform(*((0.2, 0.25), (0.7, 0.75))[which], 100)
    return X.astype(np.float64), y


def table_of(task: str, which: int) -> Dataset:
    """One of two tables of a task that have little in common: sizes, places, outputs.

    Whatever is made of one's numbers is not what is made of the other's, so a number that leaks
    shows. Records are in no order, since streams cut them into parts.
    """
    generator = np.random.default_rng(which)
    n = (45, 60)[which]
    a, c = generator.integers(0, 4, n), generator.integers(0, 3, n)
    near = generator.random(n) ** 3
    b = 10.0 * (near if which else 1.0 - near)
    # What one table is best told apart by says little of the other.
    lean = b < 1.0 if which else a > 1
    if task == "target":
        y = np.where(lean, 0.95, 0.8) if which else np.where(lean, 0.05, 0.3)
        return np.column_stack([a, b, c]).astype(np.float64), y * 1.0
    last = LABELS[task] - 1
    y = np.where(lean, last, np.where(c == 0, (0, last)[which], 0)).astype(np.int64)
    return np.column_stack([a, b, c]).astype(np.float64), y
