"""The Data-driven Multinomial Random Forest."""

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
from dpforest.consistent.splits import BEST, Mixture, TwoStage


def dmrf_splits(estimator: Any) -> Mixture:
    """The best split with probability p, else two draws."""
    B1, B2 = (check_number(getattr(estimator, name), name, 0.0, math.inf) for name in ("B1", "B2"))
    return Mixture(check_number(estimator.p, "p", 0.0, 1.0), BEST, TwoStage(feature=B1, value=B2))


class DMRFClassifier(ConsistentClassifier):
    """Data-driven Multinomial Random Forest (Chen, Wang, Lei 2024), not private.

    Data-driven multinomial random forest: a new random forest variant with strong consistency,
    section "The proposed DMRF algorithm". Each record enters a tree with probability q and
    serves for splits and leaves. Of √D random features, with probability p the best split is
    taken, else a feature is drawn by ``softmax(B1 · Î)`` and one of its values by
    ``softmax(B2 · Î)`` (not halved as in MRF 2020). Leaves answer by majority,
    trees vote, ties are broken at random.

    The paper leaves open what happens if no drawn feature has two values (see ``redraw``), which
    of equal best splits is taken (one at random), and pure nodes (leaves).

    Parameters
    ----------
    n_estimators : int, default=100
    B1, B2 : float, default=5.0
        Strengths of the feature draw and of the value draw.
    p : float, default=0.5
        Probability of taking the best split.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        The papers' N(D), rounded down; as in scikit-learn's forests.
    redraw : bool, default=True
        Whether other features are drawn if none of those drawn has two values in the node.
        Otherwise the node is a leaf, which is what DMRF's printed figures agree with.
    inclusion : float, default=1 - 1/e
        Probability q with which a record enters a tree.
    leaf_size : int, default=5
        The papers' k. A node with fewer records is not split (DMRF, split point training process).
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
        B1: float = 5.0,
        B2: float = 5.0,
        p: float = 0.5,
        max_features: Any = "sqrt",
        redraw: bool = True,
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
        self.p = p
        self.max_features = max_features
        self.redraw = redraw
        self.inclusion = inclusion
        self.leaf_size = leaf_size
        self.enforce_leaf_size = enforce_leaf_size
        self.max_depth = max_depth
        self.categorical_features = categorical_features
        self.categorical_splits = categorical_splits
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rules(self) -> ForestRules:
        return ForestRules(
            records=record_rule("bernoulli", 1.0, self.inclusion),
            candidates=RandomFeatures(self.max_features, redraw=bool(self.redraw)),
            splits=dmrf_splits(self),
            answers=Label(),
            stop=self._stop(split_from_size=True),
        )


class DMRFRegressor(ConsistentRegressor):
    """Data-driven Multinomial Random Forest (Chen, Wang, Lei 2024), for regression, not private.

    Data-driven multinomial random forest: a new random forest variant with strong consistency,
    section "The proposed DMRF algorithm". Each record enters a tree with probability q and
    serves for splits and leaves. Of √D random features, with probability p the best split is
    taken, else a feature is drawn by ``softmax(B1 · Î)`` and one of its values by
    ``softmax(B2 · Î)`` (not halved as in MRF 2020). Leaves answer by their
    mean.

    The paper leaves open what happens if no drawn feature has two values (see ``redraw``), which
    of equal best splits is taken (one at random), and pure nodes (leaves).

    Parameters
    ----------
    n_estimators : int, default=100
    B1, B2 : float, default=5.0
        Strengths of the feature draw and of the value draw.
    p : float, default=0.5
        Probability of taking the best split.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        The papers' N(D), rounded down; as in scikit-learn's forests.
    redraw : bool, default=True
        Whether other features are drawn if none of those drawn has two values in the node.
        Otherwise the node is a leaf, which is what DMRF's printed figures agree with.
    criterion : {"mse", "weighted_mse"}, default="mse"
        How a decrease is computed. ``"mse"`` is eq. 5 as printed: the children's errors are added
        without weights. ``"weighted_mse"`` weighs them by their shares of the records.
    inclusion : float, default=1 - 1/e
        Probability q with which a record enters a tree.
    leaf_size : int, default=5
        The papers' k. A node with fewer records is not split (DMRF, split point training process).
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
        B1: float = 5.0,
        B2: float = 5.0,
        p: float = 0.5,
        max_features: Any = "sqrt",
        redraw: bool = True,
        criterion: str = "mse",
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
        self.p = p
        self.max_features = max_features
        self.redraw = redraw
        self.criterion = criterion
        self.inclusion = inclusion
        self.leaf_size = leaf_size
        self.enforce_leaf_size = enforce_leaf_size
        self.max_depth = max_depth
        self.categorical_features = categorical_features
        self.categorical_splits = categorical_splits
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rules(self) -> ForestRules:
        return ForestRules(
            records=record_rule("bernoulli", 1.0, self.inclusion),
            candidates=RandomFeatures(self.max_features, redraw=bool(self.redraw)),
            splits=dmrf_splits(self),
            answers=self._mean(),
            stop=self._stop(split_from_size=True),
        )
