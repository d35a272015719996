"""The random forest of Denil, Matheson and de Freitas."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpforest.consistent.answers import Label
from dpforest.consistent.base import ConsistentClassifier, check_number, record_rule
from dpforest.consistent.candidates import PoissonFeatures
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import BEST
from dpforest.estimators.settings import check_integer

#: Poisson numbers are made of products of uniforms, which must not underflow.
_LARGEST_MEAN = 500.0


class Denil14Classifier(ConsistentClassifier):
    """Denil14 (Denil, Matheson, de Freitas 2014), not private.

    As described in MRF 2019 (section 6), MRF 2020 (appendix D) and DMRF (section "Baselines").
    ``min(1 + Poisson(λ), D)`` random features are candidates. In a node, m structure points are
    drawn, and the best split is searched in the range that they span: all observed values of
    the node within that range are candidates, scored on all of its structure points. A value of a
    categorical feature is in the range if one of the m points has it. Leaves answer by majority,
    trees vote.

    The papers leave open what happens if no drawn feature has a split in the range (others are
    drawn); ties, pure nodes and empty children are as in :class:`MRFClassifier`.

    Parameters
    ----------
    n_estimators : int, default=100
    poisson_mean : float, default=10.0
        The paper's λ, at most 500.
    search_points : int, default=100
        The paper's m.
    redraw : bool, default=True
        Whether other features are drawn if none of those drawn has two values in the node.
        Otherwise the node is a leaf, which is what DMRF's printed figures agree with.
    records : {"partition", "bernoulli"}, default="partition"
        ``"partition"``: structure and estimation points, (SE) in DMRF's paper. ``"bernoulli"``:
        each record enters a tree with probability ``inclusion`` and serves for both, (b) there.
    partition_rate : float, default=1.0
        Structure points over estimation points.
    inclusion : float, default=1 - 1/e
    leaf_size : int, default=5
        The papers' k. With a partition, a node with more estimation points is split; else, as in
        DMRF, one with at least so many records.
    enforce_leaf_size : bool, default=False
        Whether a split that leaves a child with fewer than ``leaf_size`` estimation points is
        given up (the node stays a leaf), as the papers' texts imply but not their algorithms.
        Otherwise only a child without any is refused.
    max_depth : int or None, default=None
    categorical_features : "from_dtype", array-like of bool, int or str, or None
        Which columns are categorical: those of a frame's categorical types, a mask, numbers or
        names.
    categorical_splits : {"one_against_rest", "ordered"}, default="one_against_rest"
        How a categorical feature is split: one value against the rest (as in the public code of
        MRF 2020), or as a number, in the sorted order of its categories.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None, default=None
        Threads over trees. The forest does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    categorical_features_ : ndarray of bool, shape (n_features_in_,)
    forest_ : TreeStack
        The trees.
    guarantee_ : Guarantee
        Says that no privacy is claimed.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        poisson_mean: float = 10.0,
        search_points: int = 100,
        redraw: bool = True,
        records: str = "partition",
        partition_rate: float = 1.0,
        inclusion: float = 1 - 1 / math.e,
        leaf_size: int = 5,
        enforce_leaf_size: bool = False,
        max_depth: int | None = None,
        categorical_features: Any = "from_dtype",
        categorical_splits: str = "one_against_rest",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.poisson_mean = poisson_mean
        self.search_points = search_points
        self.redraw = redraw
        self.records = records
        self.partition_rate = partition_rate
        self.inclusion = inclusion
        self.leaf_size = leaf_size
        self.enforce_leaf_size = enforce_leaf_size
        self.max_depth = max_depth
        self.categorical_features = categorical_features
        self.categorical_splits = categorical_splits
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rules(self) -> ForestRules:
        points = check_integer(self.search_points, "search_points", 1)
        mean = check_number(self.poisson_mean, "poisson_mean", 0.0, _LARGEST_MEAN)
        return ForestRules(
            records=record_rule(self.records, self.partition_rate, self.inclusion),
            candidates=PoissonFeatures(mean, bool(self.redraw)),
            splits=replace(BEST, search_points=points),
            answers=Label(),
            stop=self._stop(split_from_size=self.records == "bernoulli"),
        )
