"""CompRF-C and CompRF-I: forests that learn from triplet comparisons alone. Not private."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from dpforest.checks import check_choice, check_integer, check_n_jobs
from dpforest.consistent.inclusion import Everyone, Partition, RecordRule
from dpforest.estimators.parameters import check_partition_rate
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.entropy import RandomSource, make_source
from dpforest.report.guarantee import Guarantee
from papers.comprf.comparison_metrics import Comparer, make_comparer
from papers.comprf.comparison_trees import (
    BlockGrower,
    ComparisonRule,
    ComparisonTrees,
    Members,
    TreeRecords,
)

_VOTING = ("pooled", "average", "majority")
# Trees that grow together; fixed, so that a forest does not depend on the number of threads.
_TREES_A_BLOCK, _RECORDS_A_BLOCK = 10, 2**22


class _ComparisonForest(ClassifierMixin, BaseEstimator):
    """What both forests share: everything but who may be pivots and which records answer."""

    n_estimators: Any
    metric: Any
    metric_params: Any
    max_samples_leaf: Any
    min_samples_leaf: Any
    voting: Any
    n_jobs: Any
    random_state: Any

    @abstractmethod
    def _is_supervised(self) -> bool:
        """Whether pivots must be of different classes."""

    @abstractmethod
    def _record_rule(self) -> RecordRule:
        """Which records make a tree's structure, and which answer in its leaves."""

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n, n_features), numbers
            With ``metric="precomputed"`` the distances between all records, shape (n, n).
        y : array-like of shape (n,)

        Returns
        -------
        self

        Raises
        ------
        ValueError
            What scikit-learn's own forests refuse: missing or infinite values, unequal lengths,
            a continuous target. :class:`ParameterError`, for a parameter, is one.
        """
        n_trees, rule = check_integer(self.n_estimators, "n_estimators", 1), self._rule()
        self._record_rule()
        n_threads = check_n_jobs(self.n_jobs)
        check_choice(self.voting, "voting", _VOTING)
        source = make_source(self.random_state)
        # The records are kept, so they are copied: the caller may change theirs.
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", copy=True)
        check_classification_targets(y)
        self._check_square(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._comparer = make_comparer(self.metric, self.metric_params, X)
        self._labels = codes.astype(np.int32)
        sources = [source.spawn("tree", number) for number in range(n_trees)]
        size = max(1, min(_TREES_A_BLOCK, _RECORDS_A_BLOCK // X.shape[0]))
        blocks = Parallel(n_jobs=n_threads, require="sharedmem")(
            delayed(self._grow_block)(rule, sources[first : first + size])
            for first in range(0, n_trees, size)
        )
        self.forest_ = ComparisonTrees.joined(blocks)
        del self._labels
        if self.metric == "precomputed":
            self._comparer.fitted = np.empty((0, 0))  # distances come with the records to predict
        self.guarantee_ = Guarantee(status="none")
        return self

    def _rule(self) -> ComparisonRule:
        largest = check_integer(self.max_samples_leaf, "max_samples_leaf", 1)
        smallest = check_integer(self.min_samples_leaf, "min_samples_leaf", 1)
        return ComparisonRule(self._is_supervised(), smallest, largest)

    def _grow_block(self, rule: ComparisonRule, sources: list[RandomSource]) -> ComparisonTrees:
        comparer = self._comparer

        def compare(members: Members, pivots: NDArray[np.int32]) -> NDArray[np.bool_]:
            return comparer.closer_to_first(comparer.fitted, members, pivots)

        records = [draw_records(self._record_rule(), self._labels.size, s) for s in sources]
        grower = BlockGrower(compare, self._labels, self.classes_.size, rule, sources)
        return grower.grow(records)

    def _check_square(self, X: NDArray[np.float64]) -> None:
        if self.metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise ParameterError(
                "metric",
                self.metric,
                "takes a square matrix of distances in fit",
                "Give the distances between all training records",
            )

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of the forest's votes for each class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            With ``metric="precomputed"`` the distances to all training records.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns in the order of ``classes_``. Where no leaf holds an answering record, every
            class has the same share.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        X = np.require(X, requirements=["C", "W"])  # else the kernels compile for read-only too
        values = leaf_answers(
            self.forest_.leaf_counts, check_choice(self.voting, "voting", _VOTING)
        )
        comparer: Comparer = self._comparer
        n_threads = check_n_jobs(self.n_jobs)
        parts = Parallel(n_jobs=n_threads, require="sharedmem")(
            delayed(comparer.sum_answers)(comparer.prepare(part), self.forest_, values)
            for part in np.array_split(X, min(n_threads, X.shape[0]))
        )
        votes = np.concatenate(parts)
        votes[votes.sum(axis=1) == 0.0] = 1.0
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the most votes, shape (n,); a tie goes to the first in ``classes_``."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


class CompRFCClassifier(_ComparisonForest):
    """Consistent comparison-based forest (CompRF-C).

    A node draws two of its records as pivots, whatever their classes, and sends each record to
    the pivot it is closer to. Only such triplet comparisons are used, so the records may live in
    any metric space. Labels do not enter the structure. A random half of the records makes a tree's
    structure, the other half answers in its leaves. Not private: the model holds the records.

    Source: Haghiri, Garreau, von Luxburg, Comparison-Based Random Forests (ICML 2018), the
    unsupervised variant; with the partition into structure and estimation points that
    Multinomial Random Forest (2020), section 5.1, sets for every consistent forest.
    docs/comparison_forests.md says what is open there and how it was decided.

    Parameters
    ----------
    n_estimators : int, default=100
    metric : str or callable, default="euclidean"
        ``"euclidean"``, ``"manhattan"``, ``"chebyshev"``, ``"hamming"`` and ``"cosine"`` are
        compiled; ``"precomputed"`` takes distances instead of records. Anything else goes to
        ``sklearn.metrics.DistanceMetric``, one call a node, which is slow (a callable: very).
    metric_params : dict or None, default=None
        Further arguments of a metric of scikit-learn's.
    max_samples_leaf : int, default=5
        A node of at most so many answering records is a leaf (n_0 of ICML 2018; k here).
    min_samples_leaf : int, default=1
        Answering records that each side of a split must keep; raise it to the k of the other
        forests for leaves of at least k.
    voting : {"pooled", "average", "majority"}, default="pooled"
        One vote for each answering record of a reached leaf, as the authors count; or for each
        tree its leaf's class shares; or for each tree its leaf's majority (shared in a tie).
    partition_rate : number or None, default=1
        Structure records over answering records, drawn afresh for each tree. None uses all for
        both: the structure is still made without labels.
    n_jobs : int or None, default=None
        Threads. The forest does not depend on it.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where the table had names.
    forest_ : ComparisonTrees
    guarantee_ : Guarantee
        ``status`` is ``"none"``.

    Examples
    --------
    >>> from papers.comprf import CompRFCClassifier
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> forest = CompRFCClassifier(max_samples_leaf=1, random_state=0)
    >>> forest.fit(X, ["low"] * 3 + ["high"] * 3).predict([[0.05], [1.05]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        max_samples_leaf: int = 5,
        min_samples_leaf: int = 1,
        voting: str = "pooled",
        partition_rate: Any = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.metric = metric
        self.metric_params = metric_params
        self.max_samples_leaf = max_samples_leaf
        self.min_samples_leaf = min_samples_leaf
        self.voting = voting
        self.partition_rate = partition_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _is_supervised(self) -> bool:
        return False

    def _record_rule(self) -> RecordRule:
        if check_partition_rate(self.partition_rate) is None:
            return Everyone()
        return Partition(float(self.partition_rate))


class CompRFIClassifier(_ComparisonForest):
    """Supervised, inconsistent comparison-based forest (CompRF-I).

    A node draws two of its records of different classes as pivots, every such pair alike, and
    sends each record to the pivot it is closer to. All records serve for structure and leaves;
    a node of one class is a leaf. Not private: the model holds the records.

    Source: Haghiri, Garreau, von Luxburg, Comparison-Based Random Forests (ICML 2018), the
    supervised variant. The authors' experiments train it one class against one; with
    ``sklearn.multiclass.OneVsOneClassifier`` around it that is what this does too.

    Parameters
    ----------
    n_estimators : int, default=100
    metric : str or callable, default="euclidean"
        As in :class:`CompRFCClassifier`.
    metric_params : dict or None, default=None
        Further arguments of a metric of scikit-learn's.
    max_samples_leaf : int, default=5
        A node of at most so many records is a leaf (n_0 of ICML 2018; k here).
    min_samples_leaf : int, default=1
        Records that each side of a split must keep.
    voting : {"pooled", "average", "majority"}, default="pooled"
        As in :class:`CompRFCClassifier`.
    n_jobs : int or None, default=None
        Threads. The forest does not depend on it.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where the table had names.
    forest_ : ComparisonTrees
    guarantee_ : Guarantee
        ``status`` is ``"none"``.

    Examples
    --------
    >>> from papers.comprf import CompRFIClassifier
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> forest = CompRFIClassifier(metric="manhattan", random_state=0)
    >>> forest.fit(X, ["low"] * 3 + ["high"] * 3).predict([[0.05], [1.05]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        max_samples_leaf: int = 5,
        min_samples_leaf: int = 1,
        voting: str = "pooled",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.metric = metric
        self.metric_params = metric_params
        self.max_samples_leaf = max_samples_leaf
        self.min_samples_leaf = min_samples_leaf
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _is_supervised(self) -> bool:
        return True

    def _record_rule(self) -> RecordRule:
        return Everyone()


def draw_records(rule: RecordRule, n: int, source: RandomSource) -> TreeRecords:
    """The records of one tree, by a generator that the tree's source keys."""
    generator = np.random.Generator(np.random.Philox(key=source.words(2)))
    structure, answering = rule.draw(n, generator)
    return TreeRecords(structure, structure if answering is None else answering)


def leaf_answers(counts: NDArray[np.int64], voting: str) -> NDArray[np.float64]:
    """What each leaf adds to the votes, shape (leaves, K); nothing where it holds no record."""
    if voting == "pooled":
        return counts.astype(np.float64)
    if voting == "majority":
        counts = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
