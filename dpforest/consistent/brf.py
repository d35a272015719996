"""The Bernoulli Random Forest."""

from __future__ import annotations

import math
from typing import Any

from dpforest.consistent.answers import Label
from dpforest.consistent.base import (
    ConsistentClassifier,
    ConsistentRegressor,
    check_number,
    record_rule,
)
from dpforest.consistent.candidates import RandomFeatures
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import BEST, RANDOM, Mixture


class BRFClassifier(ConsistentClassifier):
    """Bernoulli Random Forest (Wang, Xia and others 2018), not private.

    As described in MRF 2019 (section 6), MRF 2020 (appendix D) and DMRF (section "Baselines"). With
    probability p1 a single random feature is the candidate, else √D are; with probability p2 the
    split is a random one of their values, else the best one. Leaves answer by
    majority, trees vote.

    Open there, and chosen here: the second Bernoulli is one a node, and its random split is
    uniform over candidate features and then over the midpoints of the feature; if no drawn
    feature has two values others are drawn; ties, pure nodes and empty children as in
    :class:`MRFClassifier`.

    Parameters
    ----------
    n_estimators : int, default=100
    p1 : float, default=0.05
        Probability of a single candidate feature.
    p2 : float, default=0.05
        Probability of a random split.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        The papers' N(D), rounded down; as in scikit-learn's forests.
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
        p1: float = 0.05,
        p2: float = 0.05,
        max_features: Any = "sqrt",
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
        self.p1 = p1
        self.p2 = p2
        self.max_features = max_features
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
        single, random = (
            check_number(getattr(self, name), name, 0.0, 1.0) for name in ("p1", "p2")
        )
        return ForestRules(
            records=record_rule(self.records, self.partition_rate, self.inclusion),
            candidates=RandomFeatures(self.max_features, single, bool(self.redraw)),
            splits=Mixture(random, RANDOM, BEST),
            answers=Label(),
            stop=self._stop(split_from_size=self.records == "bernoulli"),
        )


class BRFRegressor(ConsistentRegressor):
    """Bernoulli Random Forest (Wang, Xia and others 2018), for regression, not private.

    As described in MRF 2019 (section 6), MRF 2020 (appendix D) and DMRF (section "Baselines"). With
    probability p1 a single random feature is the candidate, else √D are; with probability p2 the
    split is a random one of their values, else the best one. Leaves answer by
    their mean.

    Open there, and chosen here: the second Bernoulli is one a node, and its random split is
    uniform over candidate features and then over the midpoints of the feature; errors of the
    children weigh by their shares of the records; if no drawn
    feature has two values others are drawn; ties, pure nodes and empty children as in
    :class:`MRFClassifier`.

    Parameters
    ----------
    n_estimators : int, default=100
    p1 : float, default=0.05
        Probability of a single candidate feature.
    p2 : float, default=0.05
        Probability of a random split.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        The papers' N(D), rounded down; as in scikit-learn's forests.
    redraw : bool, default=True
        Whether other features are drawn if none of those drawn has two values in the node.
        Otherwise the node is a leaf, which is what DMRF's printed figures agree with.
    criterion : {"mse", "weighted_mse"}, default="weighted_mse"
        How a decrease is computed: children weigh by their shares of the records, or are added
        without weights as in eq. 15 of MRF 2019.
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
        p1: float = 0.05,
        p2: float = 0.05,
        max_features: Any = "sqrt",
        redraw: bool = True,
        criterion: str = "weighted_mse",
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
        self.p1 = p1
        self.p2 = p2
        self.max_features = max_features
        self.redraw = redraw
        self.criterion = criterion
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
        single, random = (
            check_number(getattr(self, name), name, 0.0, 1.0) for name in ("p1", "p2")
        )
        return ForestRules(
            records=record_rule(self.records, self.partition_rate, self.inclusion),
            candidates=RandomFeatures(self.max_features, single, bool(self.redraw)),
            splits=Mixture(random, RANDOM, BEST),
            answers=self._mean(),
            stop=self._stop(split_from_size=self.records == "bernoulli"),
        )
