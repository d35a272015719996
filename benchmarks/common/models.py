"""The classifiers that the utility benchmark compares, each made from a table and an epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from common.our_forests import MULTINOMIAL, our_forest
from common.tables import Table
from dpforest import Domain

DELTA = 1e-6
#: That the stored results of DP-EBM were made with; kept, so that they can be mixed.
EBM_DELTA = 1e-5

#: Between a model's name and a choice of its grid.
GRID = ": "

#: An unfitted classifier from the table, the number of its training records, epsilon, and a seed
#: for models that are not ours: ours draw their noise from the operating system.
Maker = Callable[[Table, int, float, int], Any]


@dataclass(frozen=True)
class Model:
    """A classifier under the name that its result lines carry."""

    name: str
    make: Maker
    private: bool = True
    view: Literal["table", "ordinal"] = "table"
    binary_only: bool = False

    def features(self, table: Table) -> np.ndarray:
        """The records as this model takes them."""
        return table.X if self.view == "table" else table.ordinal.X

    def epsilons(self, asked: Iterable[float]) -> list[float | None]:
        """Those asked for; a model that is not private has one result for all."""
        return list(asked) if self.private else [None]


def rounded_rows(n: int) -> int:
    """A number of records as somebody would declare it: its first digit, and noughts."""
    unit = 10 ** math.floor(math.log10(n))
    return round(n / unit) * unit


class MajorityClass(ClassifierMixin, BaseEstimator):
    """The most frequent class, with the training shares of the classes as probabilities."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> MajorityClass:
        """Count the classes."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The same class for all."""
        return np.full(len(X), self.classes_[self.shares_.argmax()])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """The same shares for all."""
        return np.tile(self.shares_, (len(X), 1))


def references() -> list[Model]:
    """What every private model is held against."""
    from sklearn.ensemble import RandomForestClassifier

    def grown_out(table: Table, n: int, epsilon: float, seed: int) -> Any:
        return RandomForestClassifier(100, n_jobs=1, random_state=seed)

    majority = Model("majority", lambda *_: MajorityClass(), private=False)
    return [majority, Model("non-private forest", grown_out, private=False, view="ordinal")]


def private_forests(strategies: Iterable[str]) -> Iterator[Model]:
    """The private forest by strategy, without and with a delta, its rows bought or declared.

    The multinomial forest buys none.
    """
    for strategy in strategies:
        for delta in (0, DELTA):
            for declares_rows in (False, True) if strategy != MULTINOMIAL else (True,):
                name = f"dpforest {strategy}, {_of_delta(delta)}" + ", rows" * declares_rows
                yield Model(name, _private_forest(strategy, delta, declares_rows))


def _of_delta(delta: float) -> str:
    return "delta=1e-6" if delta else "pure"


def _private_forest(strategy: str, delta: float, declares_rows: bool) -> Maker:
    def make(table: Table, n: int, epsilon: float, seed: int) -> Any:
        rows = rounded_rows(n)
        domain = _with_rows(table.domain, rows) if declares_rows else table.domain
        return our_forest(strategy, domain, epsilon, delta)

    return make


def _with_rows(domain: Domain, rows: int) -> Domain:
    return domain.model_copy(update={"approximate_rows": rows})


def missing_strategies(strategies: Iterable[str]) -> dict[str, str]:
    """Those that cannot be imported here, each with the reason."""
    from dpforest.trees.strategies import STRATEGIES

    reasons = {}
    for strategy in strategies:
        try:
            if strategy != "auto":
                STRATEGIES[strategy].make()
        except (ImportError, AttributeError, KeyError) as error:
            reasons[strategy] = f"{type(error).__name__}: {error}"
    return reasons


def multinomial_forests() -> Iterator[Model]:
    """The multinomial forest with its defaults, without and with a delta."""

    def maker(delta: float) -> Maker:
        def make(table: Table, n: int, epsilon: float, seed: int) -> Any:
            from dpforest import MultinomialForestClassifier

            return MultinomialForestClassifier(epsilon=epsilon, delta=delta, domain=table.domain)

        return make

    for delta in (0, DELTA):
        yield Model(f"multinomial forest, {_of_delta(delta)}", maker(delta))


def diffprivlib_forest(trees: int, depth: int, name: str) -> Model:
    """diffprivlib's forest on positions of categories, with public bounds."""

    def make(table: Table, n: int, epsilon: float, seed: int) -> Any:
        from diffprivlib.models import RandomForestClassifier

        return RandomForestClassifier(
            trees,
            max_depth=depth,
            epsilon=epsilon,
            bounds=(table.ordinal.lower, table.ordinal.upper),
            classes=np.arange(table.n_classes),
            n_jobs=1,
            random_state=seed,
        )

    return Model(name, make, view="ordinal")


def private_ebm() -> Model:
    """DP-EBM with its defaults; for two classes."""

    def make(table: Table, n: int, epsilon: float, seed: int) -> Any:
        from interpret.privacy import DPExplainableBoostingClassifier

        numeric = [feature.kind == "numeric" for feature in table.domain.features]
        bounds = zip(table.ordinal.lower, table.ordinal.upper, strict=True)
        return DPExplainableBoostingClassifier(
            epsilon=epsilon,
            delta=EBM_DELTA,
            feature_types=["continuous" if is_number else "nominal" for is_number in numeric],
            privacy_bounds={
                place: pair
                for place, (pair, is_number) in enumerate(zip(bounds, numeric, strict=True))
                if is_number
            },
            n_jobs=1,
            random_state=seed,
        )

    return Model("DP-EBM", make, view="ordinal", binary_only=True)


def peers(tuned: bool) -> list[Model]:
    """Other packages' models that can be imported here; ``tuned`` adds a grid."""
    found = []
    if find_spec("diffprivlib"):
        found.append(diffprivlib_forest(10, 5, "diffprivlib forest"))
        sizes = [(trees, depth) for trees in (5, 10, 30, 100) for depth in (4, 6, 8)]
        found += [
            diffprivlib_forest(
                trees, depth, f"diffprivlib forest{GRID}{trees} trees, depth {depth}"
            )
            for trees, depth in sizes * tuned
        ]
    if find_spec("interpret"):
        found.append(private_ebm())
    return found
