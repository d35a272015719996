"""Forests of the papers' regression tables that have no class of their own.

Nobody defined MRF (2020) or Denil14 for regression, yet the tables print them: the same records,
candidates and splits, with the decrease of the mean squared error and leaves' means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dpforest.consistent.base import ConsistentRegressor, included
from dpforest.consistent.candidates import AllFeatures, PoissonFeatures
from dpforest.consistent.inclusion import Partition
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import BEST, TwoStage


@dataclass(kw_only=True, eq=False, repr=False)
class _TableRegressor(ConsistentRegressor):
    """Parameters that both have in common."""

    records: str = "partition"
    inclusion: float = 1 - 1 / math.e
    categorical_features: Any = None

    def _rules_of(self, candidates: Any, splits: Any) -> ForestRules:
        parted = self.records == "partition"
        return ForestRules(
            records=Partition(1.0) if parted else included(self.inclusion),
            candidates=candidates,
            splits=splits,
            answers=self._answers(),
            stop=self._stop(split_from_size=not parted),
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
