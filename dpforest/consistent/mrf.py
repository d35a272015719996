"""The Multinomial Random Forest of 2020."""

from __future__ import annotations

import math
from typing import Any

from dpforest.consistent.answers import Label
from dpforest.consistent.base import ConsistentClassifier, check_number, record_rule
from dpforest.consistent.candidates import AllFeatures
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.splits import TwoStage


class MRFClassifier(ConsistentClassifier):
    """Multinomial Random Forest (Li, Bai and others 2020), not private.

    Multinomial Random Forest: Toward Consistency and Privacy-Preservation, section 3 and appendix
    B. Structure points choose splits, estimation points answer. Every feature is a candidate:
    one is drawn by ``softmax(B1/2 · Î)`` over each feature's best decrease of the Gini impurity,
    then one of its values by ``softmax(B2/2 · Î)``. A leaf's label is drawn by
    ``softmax(B3/2 · η)``, once; trees vote.

    The paper leaves open: ties (drawn at random), features with one value (no candidates, and not
    part of the normalisation), nodes whose structure points are of one class (leaves), children
    without estimation points (the split is given up): as in the authors' public code.
    :class:`dpforest.MultinomialForestClassifier` is the private forest of this idea.

    Parameters
    ----------
    n_estimators : int, default=100
    B1, B2 : float, default=10.0
        Strengths of the feature draw and of the value draw; 0 is uniform, infinite takes the best.
    B3 : float, default=inf
        Strength of the label draw; infinite is the majority.
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
        B1: float = 10.0,
        B2: float = 10.0,
        B3: float = math.inf,
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
        self.B1 = B1
        self.B2 = B2
        self.B3 = B3
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
        B1, B2, B3 = (
            check_number(getattr(self, name), name, 0.0, math.inf) for name in ("B1", "B2", "B3")
        )
        return ForestRules(
            records=record_rule(self.records, self.partition_rate, self.inclusion),
            candidates=AllFeatures(),
            splits=TwoStage(feature=B1 / 2, value=B2 / 2),
            answers=Label(strength=B3 / 2),
            stop=self._stop(split_from_size=self.records == "bernoulli"),
        )
