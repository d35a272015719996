"""Forests of the papers' regression tables that have no class of their own.

Nobody defined MRF (2020) or Denil14 for regression, yet the tables print them: the same records,
candidates and splits, with the decrease of the mean squared error and leaves' means.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpforest.consistent.base import ConsistentRegressor, record_rule
from dpforest.consistent.candidates import AllFeatures, PoissonFeatures
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import BEST, TwoStage


class _TableRegressor(ConsistentRegressor):
    """Parameters that both have in common."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "mse",
        records: str = "partition",
        inclusion: float = 1 - 1 / math.e,
        leaf_size: int = 5,
        enforce_leaf_size: bool = False,
        max_depth: int | None = None,
        categorical_features: Any = None,
        categorical_splits: str = "one_against_rest",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.records = records
        self.inclusion = inclusion
        self.leaf_size = leaf_size
        self.enforce_leaf_size = enforce_leaf_size
        self.max_depth = max_depth
        self.categorical_features = categorical_features
        self.categorical_splits = categorical_splits
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rules_of(self, candidates: Any, splits: Any) -> ForestRules:
        return ForestRules(
            records=record_rule(self.records, 1.0, self.inclusion),
            candidates=candidates,
            splits=splits,
            answers=self._mean(),
            stop=self._stop(split_from_size=self.records == "bernoulli"),
        )


class MRFRegressor(_TableRegressor):
    """MRF's (2020) two draws with B1 = B2 = 10."""

    B1: float = 10.0
    B2: float = 10.0

    def _rules(self) -> ForestRules:
        return self._rules_of(AllFeatures(), TwoStage(feature=self.B1 / 2, value=self.B2 / 2))


class Denil14Regressor(_TableRegressor):
    """Denil14's candidates and search range with λ = 10 and m = 100."""

    poisson_mean: float = 10.0
    search_points: int = 100
    redraw: bool = True

    def _rules(self) -> ForestRules:
        splits = replace(BEST, search_points=self.search_points)
        return self._rules_of(PoissonFeatures(self.poisson_mean, self.redraw), splits)
