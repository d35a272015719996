"""Base of all consistent forests: reading, growing by the rules, and predicting."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dpforest.checks import check_choice, check_integer, check_n_jobs, check_number
from dpforest.consistent.answers import REGRESSION_CRITERIA, Label, Mean
from dpforest.consistent.candidates import RandomFeatures
from dpforest.consistent.features import FeatureReader
from dpforest.consistent.grower import grow_forest, seed_of
from dpforest.consistent.inclusion import BernoulliInclusion, Partition, RecordRule
from dpforest.consistent.rules import ForestRules, Stop
from dpforest.decisions import ClassScores
from dpforest.exceptions import Described, ParameterError
from dpforest.report.guarantee import Guarantee

_MAX_CLASSES = 2**16
RECORDS = ("partition", "bernoulli")


@dataclass(kw_only=True, eq=False, repr=False)
class ConsistentForest(BaseEstimator):
    """Base of the consistent forests. A subclass says its four choices in ``_rules``.

    Shared rules, where the papers leave them open: a node whose structure points agree, or that no
    feature can split, is a leaf; a split that would leave a child without estimation points is
    not made (as in the public code of MRF 2020).

    Parameters
    ----------
    n_estimators : int, default=100
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
    categorical_features_ : ndarray of bool, shape (``n_features_in_``,)
    forest_ : TreeStack
        The trees.
    """

    n_estimators: int = field(default=100, kw_only=False)
    leaf_size: int = 5
    enforce_leaf_size: bool = False
    max_depth: int | None = None
    categorical_features: Any = "from_dtype"
    categorical_splits: str = "one_against_rest"
    random_state: Any = None
    n_jobs: int | None = None

    @abstractmethod
    def _rules(self) -> ForestRules:
        """The forest's four choices and its stop, from checked parameters."""

    @abstractmethod
    def _answers(self) -> Label | Mean:
        """Kind of answer that leaves give, by the task."""

    @property
    def guarantee_(self) -> Guarantee:
        """No privacy is claimed."""
        check_is_fitted(self)
        return Guarantee(
            status="none", reasons=("splits and leaves are computed from the records directly",)
        )

    def _stop(self, split_from_size: bool = False) -> Stop:
        """The stop by counts. A node of ``leaf_size`` estimation points is split by DMRF's rule
        (fewer stop), not by MRF's (more are split)."""
        size = check_integer(self.leaf_size, "leaf_size", 1)
        depth = self.max_depth
        if depth is not None:
            depth = check_integer(depth, "max_depth", 1)
        least = size if self.enforce_leaf_size else 1
        return Stop(size + (0 if split_from_size else 1), least, depth)

    def _grow(self, X: Any, y: Any, n_classes: int) -> None:
        rules = self._rules()
        n_trees = check_integer(self.n_estimators, "n_estimators", 1)
        ordered = check_choice(
            self.categorical_splits, "categorical_splits", ("one_against_rest", "ordered")
        )
        against_rest = self._reader.categorical & (ordered != "ordered")
        self.categorical_features_ = self._reader.categorical
        self.forest_ = grow_forest(
            X, y, n_classes, against_rest, rules, n_trees, seed_of(self.random_state),
            check_n_jobs(self.n_jobs),
        )  # fmt: skip

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Leaf of each record in each tree.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of int64, shape (n, n_estimators)
            Node numbers within each tree.
        """
        X = self._numbers(X)
        return self.forest_.leaves(X, check_n_jobs(self.n_jobs))

    def _numbers(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = self._reader.transform(self, X)
        # A read-only table would have the kernels compiled once more.
        return np.require(X, requirements=["C", "W"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Columns declared as categorical may hold text; others may not.
        tags.input_tags.categorical = self.categorical_features is not None
        return tags


class ConsistentClassifier(ClassScores, ClassifierMixin, ConsistentForest):
    """Base of the classifiers: every tree votes, ties are broken at random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    """

    def fit(self, X: Any, y: Any) -> Any:
        """Grow the forest.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Finite numbers, but for columns declared as categorical.
        y : array-like of shape (n,)
            Class labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters out of range and more than 65,536 classes (a ``ParameterError``), and
            for tables that scikit-learn's forests would refuse.
        """
        self._reader = FeatureReader(self.categorical_features)
        X, y = self._reader.fit(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size > _MAX_CLASSES:
            raise ParameterError(
                "y", Described("labels"), f"must be of at most {_MAX_CLASSES} classes",
                "Merge rare classes, or predict numbers by a regressor",
            )  # fmt: skip
        self._grow(X, codes, self.classes_.size)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of the trees that vote for each class.

        Of classes that share the first place, one drawn at random has 2**-20 of a vote more, so
        that ``predict`` is always the largest.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns in the order of ``classes_``; each row adds up to 1.
        """
        votes = self.forest_votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def forest_votes(self, X: Any) -> NDArray[np.float64]:
        """Number of trees that vote for each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Of classes that share the first place, one drawn at random has 2**-20 of a vote more.
        """
        X = self._numbers(X)
        return self.forest_.votes(X, check_n_jobs(self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the most votes; ties at random by a hash of the record's leaves.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
            Of ``classes_``, and of its dtype.
        """
        votes = self.forest_votes(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def _answers(self) -> Label:
        return Label()


@dataclass(kw_only=True, eq=False, repr=False)
class ConsistentRegressor(RegressorMixin, ConsistentForest):
    """Base of the regressors: the mean of the trees' leaf means.

    Parameters
    ----------
    criterion : {"mse", "weighted_mse"}
        How a decrease is computed. ``"mse"`` (the default, but for BRF) adds the children's errors
        without weights, as eq. 15 of MRF 2019 and eq. 5 of DMRF are printed. ``"weighted_mse"``
        weighs them by their shares of the records.
    """

    criterion: str = "mse"

    def fit(self, X: Any, y: Any) -> Any:
        """Grow the forest.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Finite numbers, but for columns declared as categorical.
        y : array-like of shape (n,)
            Targets.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters out of range (a ``ParameterError``) and for tables that
            scikit-learn's forests would refuse.
        """
        self._reader = FeatureReader(self.categorical_features)
        X, y = self._reader.fit(self, X, y)
        self._grow(X, check_targets(y), 0)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Mean of the trees' answers.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)

        Returns
        -------
        ndarray of float64, shape (n,)
            In the units of the targets that it was fitted to.
        """
        X = self._numbers(X)
        return self.forest_.means(X, check_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Unweighted errors favour splits that cut off a few records: a forest of few trees may fit
        # even its own training set badly.
        tags.regressor_tags.poor_score = self.criterion == "mse"
        return tags

    def _answers(self) -> Mean:
        return Mean(check_choice(self.criterion, "criterion", tuple(REGRESSION_CRITERIA)))


def check_targets(y: Any) -> NDArray[np.float64]:
    """Targets as finite doubles."""
    from sklearn.utils import check_array

    return np.asarray(
        check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), dtype=np.float64
    )


@dataclass(kw_only=True, eq=False, repr=False)
class DrawnFeatures:
    """Parameters of forests that draw a few features for a node.

    Parameters
    ----------
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        The papers' N(D), rounded down; as in scikit-learn's forests.
    redraw : bool, default=True
        Whether other features are drawn if none of those drawn has two values in the node.
        Otherwise the node is a leaf, which is what DMRF's printed figures agree with.
    """

    max_features: Any = "sqrt"
    redraw: bool = True

    def _candidates(self, single: float = 0.0) -> RandomFeatures:
        """The features of a node; with some probability a single one."""
        return RandomFeatures(self.max_features, single, bool(self.redraw))


@dataclass(kw_only=True, eq=False, repr=False)
class DrawnRecords:
    """Parameters of the (SE) and (b) variants: which records a tree sees.

    Parameters
    ----------
    records : {"partition", "bernoulli"}, default="partition"
        ``"partition"``: structure and estimation points, (SE) in DMRF's paper. ``"bernoulli"``:
        each record enters a tree with probability ``inclusion`` and serves for both, (b) there.
    partition_rate : float, default=1.0
        Structure points over estimation points.
    inclusion : float, default=1 - 1/e
    """

    records: str = "partition"
    partition_rate: float = 1.0
    inclusion: float = 1 - 1 / math.e

    def _records(self) -> RecordRule:
        if check_choice(self.records, "records", RECORDS) == "bernoulli":
            return included(self.inclusion)
        rate = check_number(self.partition_rate, "partition_rate", 0.0, 1e9, closed=False)
        return Partition(rate)

    @property
    def _serve_for_both(self) -> bool:
        return self.records == "bernoulli"


def included(inclusion: Any) -> BernoulliInclusion:
    """Records that each enter a tree with this probability."""
    return BernoulliInclusion(check_number(inclusion, "inclusion", 0.0, 1.0, closed=False))
