"""What all consistent forests share: reading, growing by the rules, and predicting."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dpforest.consistent.answers import REGRESSION_CRITERIA, Mean
from dpforest.consistent.features import FeatureReader
from dpforest.consistent.grower import grow_forest, seed_of
from dpforest.consistent.records import BernoulliInclusion, Partition, RecordRule
from dpforest.consistent.rules import ForestRules, Stop
from dpforest.estimators.settings import check_choice, check_integer, check_n_jobs
from dpforest.exceptions import ParameterError
from dpforest.report.guarantee import Guarantee

_MAX_CLASSES = 2**16
RECORDS = ("partition", "bernoulli")


class ConsistentForest(BaseEstimator):
    """Base of the consistent forests. A subclass says its four choices in ``_rules``.

    Shared rules, where the papers leave them open: a node whose structure points agree, or that no
    feature can split, is a leaf; a split that would leave a child without estimation points is
    not made (as in the public code of MRF 2020).
    """

    n_estimators: Any
    leaf_size: Any
    enforce_leaf_size: Any
    max_depth: Any
    categorical_features: Any
    categorical_splits: Any
    random_state: Any
    n_jobs: Any

    @abstractmethod
    def _rules(self) -> ForestRules:
        """The forest's four choices and its stop, from checked parameters."""

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


class ConsistentClassifier(ClassifierMixin, ConsistentForest):
    """Base of the classifiers: every tree votes, ties are broken at random."""

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
            For parameters out of range (a ``ParameterError``) and for tables that
            scikit-learn's forests would refuse.
        """
        self._reader = FeatureReader(self.categorical_features)
        X, y = self._reader.fit(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size > _MAX_CLASSES:
            raise ValueError(f"more than {_MAX_CLASSES} classes are not supported")
        self._grow(X, codes, self.classes_.size)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of the trees that vote for each class, shape (n, n_classes).

        Of classes that share the first place, one drawn at random has 2**-20 of a vote more, so
        that ``predict`` is always the largest.
        """
        votes = self.forest_votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def forest_votes(self, X: Any) -> NDArray[np.float64]:
        """Number of trees that vote for each class, shape (n, n_classes)."""
        X = self._numbers(X)
        return self.forest_.votes(X, check_n_jobs(self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the most votes; ties at random by a hash of the record's leaves."""
        votes = self.forest_votes(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])


class ConsistentRegressor(RegressorMixin, ConsistentForest):
    """Base of the regressors: the mean of the trees' leaf means."""

    criterion: Any

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
        """Mean of the trees' answers, shape (n,)."""
        X = self._numbers(X)
        return self.forest_.means(X, check_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Unweighted errors favour splits that cut off a few records: a forest of few trees may fit
        # even its own training set badly.
        tags.regressor_tags.poor_score = self.criterion == "mse"
        return tags

    def _mean(self) -> Mean:
        return Mean(check_choice(self.criterion, "criterion", tuple(REGRESSION_CRITERIA)))


def check_targets(y: Any) -> NDArray[np.float64]:
    """Targets as finite doubles."""
    from sklearn.utils import check_array

    return np.asarray(
        check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), dtype=np.float64
    )


def check_number(
    value: Any, name: str, lowest: float, highest: float, closed: bool = True
) -> float:
    """A real number within bounds; the lowest is allowed only where ``closed``."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    inside = is_number and (lowest <= value <= highest) and (closed or value > lowest)
    if not inside:
        opening = "[" if closed else "("
        raise ParameterError(
            name, value, f"must be a number in {opening}{lowest:g}, {highest:g}]",
            "Give a number in that range",
        )  # fmt: skip
    return float(value)


def record_rule(records: Any, partition_rate: Any, inclusion: Any) -> RecordRule:
    """The record rule of the (SE) and (b) variants."""
    if check_choice(records, "records", RECORDS) == "partition":
        return Partition(check_number(partition_rate, "partition_rate", 0.0, 1e9, closed=False))
    return BernoulliInclusion(check_number(inclusion, "inclusion", 0.0, 1.0, closed=False))
