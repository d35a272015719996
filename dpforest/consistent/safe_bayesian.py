"""SafeBayesianForestClassifier: trees from a prior, weighted by a power of their evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from dpforest.checks import check_integer, check_n_jobs, is_real
from dpforest.consistent.kernels.safe_bayesian import (
    count_leaves,
    leaves_of_records,
    log_evidence,
    mix_predictions,
)
from dpforest.consistent.names import named_alike
from dpforest.consistent.safe_bayesian_prior import PriorTrees, draw_prior_trees, rank_codes
from dpforest.decisions import ClassScores
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.mechanisms.entropy import make_source
from dpforest.report.guarantee import Guarantee

_ROWS_A_BLOCK = 1024  # bounds the memory of leaf numbers, records times trees


@dataclass(frozen=True, slots=True)
class OperatingCurve:
    """Results of a forest at several effective sample sizes (Figure 4 of the paper).

    Attributes
    ----------
    effective_sample_size : float64 array of shape (M,)
    beta : float64 array of shape (M,)
        Exponents of the likelihood, ``effective_sample_size / n``.
    accuracy : float64 array of shape (M,)
    log_probability : float64 array of shape (M,)
        Mean log predictive probability of the true class.
    """

    effective_sample_size: NDArray[np.float64]
    beta: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    log_probability: NDArray[np.float64]


class SafeBayesianForestClassifier(ClassScores, ClassifierMixin, BaseEstimator):
    """Safe-Bayesian random forest. Not private.

    Trees are drawn from a prior that does not look at the data: after a root, which is always an
    inner node, each node is inner with probability lambda; an inner node cuts a uniform feature
    at a uniform place of [0, 1], to which every feature is brought by the probability-integral
    transform. Each leaf has a Dirichlet-multinomial model of the classes. A tree's prediction is
    weighted by its evidence (marginal likelihood) to the power beta = m / n.

    Source: Quadrianto and Ghahramani, A very simple safe-Bayesian random forest (TPAMI 2015).
    docs/safe_bayesian.md says what is open there and how it was decided.

    Parameters
    ----------
    n_estimators : int, default=1000
    effective_sample_size : float, "bma" or "best_tree", default=5
        m in beta = m / n. ``"bma"`` is beta = 1, Bayesian model averaging; ``"best_tree"`` is m =
        infinity, the tree (or trees, alike) of the highest evidence; 0 weights all trees alike.
    split_probability : float, default=0.475
        Lambda, in [0, 0.5]: a tree has 1 + 2 / (1 - 2 lambda) nodes on average, 41 by default, and
        no bound on average at one half, above which trees need not end.
    concentration : float or array-like of shape (n_classes,), default=1
        Dirichlet parameter alpha; 1 is the uniform prior on class probabilities.
    n_jobs : int or None, default=None
        Threads. The forest does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Structures depend on it, ``n_estimators`` and ``split_probability`` alone.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where the table had names.
    trees_ : PriorTrees
    log_evidence_ : ndarray of shape (n_estimators,)
        Log marginal likelihood of the training labels under each tree.
    beta_ : float
    weights_ : ndarray of shape (n_estimators,)
        Weights of the trees at ``beta_``; they sum to one.
    guarantee_ : Guarantee
        ``status`` is ``"none"``.

    Examples
    --------
    >>> from dpforest import SafeBayesianForestClassifier
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> forest = SafeBayesianForestClassifier(random_state=0)
    >>> forest.fit(X, ["low"] * 3 + ["high"] * 3).predict([[0.05], [1.05]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        n_estimators: int = 1000,
        effective_sample_size: float | str = 5,
        split_probability: float = 0.475,
        concentration: ArrayLike = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.effective_sample_size = effective_sample_size
        self.split_probability = split_probability
        self.concentration = concentration
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SafeBayesianForestClassifier:
        """Draw trees from the prior and weigh them by the training labels.

        Parameters
        ----------
        X : array-like of shape (n, n_features), numbers
        y : array-like of shape (n,)

        Returns
        -------
        SafeBayesianForestClassifier
            This object.

        Raises
        ------
        ValueError
            What scikit-learn's own forests refuse: missing or infinite values, unequal lengths,
            a continuous target. :class:`ParameterError`, for a parameter, is one.
        """
        n_trees = check_integer(self.n_estimators, "n_estimators", 1)
        n_threads = check_n_jobs(self.n_jobs)
        split_probability = check_split_probability(self.split_probability)
        check_effective_sample_size(self.effective_sample_size, 1)
        source = make_source(self.random_state)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        alpha = check_concentration(self.concentration, self.classes_.size)
        self._n = X.shape[0]
        self._sorted_columns = np.ascontiguousarray(np.sort(X, axis=0).T)
        self.trees_ = draw_prior_trees(n_trees, split_probability, X.shape[1], source)
        self._cuts = self.trees_.cuts(self._n)
        counts = self._count(
            rank_codes(self._sorted_columns, X), labels.astype(np.int32), n_threads
        )
        self.log_evidence_ = evidence(counts, self.trees_, alpha, self._n)
        self._values = (counts + alpha) / (counts.sum(axis=1, keepdims=True) + alpha.sum())
        m = check_effective_sample_size(self.effective_sample_size, self._n)
        self.beta_ = m / self._n
        self.weights_ = power_weights(self.log_evidence_, self.beta_)
        self.guarantee_ = Guarantee(
            status="none",
            reasons=("cuts, leaves and weights of trees are computed from the records directly",),
        )
        return self

    def _count(
        self, codes: NDArray[np.int32], labels: NDArray[np.int32], n_threads: int
    ) -> NDArray[np.int32]:
        """Class counts of every leaf; threads take different trees, so different nodes."""
        trees = self.trees_
        counts = np.zeros((trees.feature.size, self.classes_.size), dtype=np.int32)
        edges = np.linspace(0, trees.roots.size - 1, n_threads + 1).astype(int)
        Parallel(n_jobs=n_threads, require="sharedmem")(
            delayed(count_leaves)(
                codes,
                labels,
                trees.feature,
                self._cuts,
                trees.second,
                trees.roots[a : b + 1],
                counts,
            )
            for a, b in zip(edges[:-1], edges[1:], strict=True)
        )
        return counts

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Weighted mean of the trees' predictive probabilities (equation 6 with w^beta).

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._mix(X, self._checked_weights())[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each record; ties go to the first in ``classes_``.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
            Of ``classes_``, and of its dtype.
        """
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def operating_curve(
        self, X: Any, y: Any, effective_sample_sizes: ArrayLike | None = None
    ) -> OperatingCurve:
        """Accuracy and log probability on labelled records over effective sample sizes.

        The paper draws it on the training records; a small validation set is its other proposal
        (section 4). Records are placed in the trees once for the whole curve.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        effective_sample_sizes : array-like of float, optional
            Values of m; infinity is the best tree. By default up to 50 whole numbers, evenly
            spaced in their logarithms, from 1 to the number of training records (beta = 1).
        """
        check_is_fitted(self)
        check_consistent_length(X, y)
        if effective_sample_sizes is None:
            sizes = np.unique(np.geomspace(1, self._n, 50).round())
        else:
            sizes = np.atleast_1d(np.asarray(effective_sample_sizes, dtype=np.float64))
        sizes = np.array([check_effective_sample_size(float(m), self._n) for m in sizes])
        weights = np.stack([power_weights(self.log_evidence_, m / self._n) for m in sizes])
        probability = self._mix(X, weights)
        hit = np.asarray(y)[:, np.newaxis] == self.classes_
        # A class that was not there in training has probability zero.
        with np.errstate(divide="ignore"):
            true = np.log((probability * hit).sum(axis=2))
        best = probability.argmax(axis=2)
        accuracy = hit[np.arange(hit.shape[0]), best].mean(axis=1)
        return OperatingCurve(sizes, sizes / self._n, accuracy, true.mean(axis=1))

    def _checked_weights(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.weights_[np.newaxis]

    def _mix(self, X: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions under each row of ``weights``, shape (M, n, K)."""
        X = validate_data(named_alike(self, X), X, dtype=np.float64, reset=False)
        codes = rank_codes(self._sorted_columns, X)
        n_blocks = math.ceil(codes.shape[0] / _ROWS_A_BLOCK)
        parts = Parallel(n_jobs=check_n_jobs(self.n_jobs), require="sharedmem")(
            delayed(self._mix_block)(part, weights) for part in np.array_split(codes, n_blocks)
        )
        mixed = np.concatenate(parts, axis=1)
        # Weights sum to one but for rounding.
        return np.asarray(mixed / mixed.sum(axis=2, keepdims=True))

    def _mix_block(
        self, codes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        trees = self.trees_
        leaves = np.empty((codes.shape[0], weights.shape[1]), dtype=np.int32)
        leaves_of_records(codes, trees.feature, self._cuts, trees.second, trees.roots, leaves)
        out = np.empty((weights.shape[0], codes.shape[0], self.classes_.size), dtype=np.float64)
        mix_predictions(leaves, self._values, weights, out)
        return out


def evidence(
    counts: NDArray[np.int32], trees: PriorTrees, alpha: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Log Dirichlet-multinomial likelihood of each tree (equation 3 of the paper).

    Parameters
    ----------
    counts : int32 array of shape (nodes, K)
    trees : PriorTrees
    alpha : float64 array of shape (K,)
    n : int
        No count is above it.
    """
    class_terms = np.stack([log_rising_factorials(a, n) for a in alpha])
    total_terms = log_rising_factorials(alpha.sum(), n)
    out = np.empty(trees.roots.size - 1, dtype=np.float64)
    log_evidence(counts, trees.feature, trees.roots, class_terms, total_terms, out)
    return out


def log_rising_factorials(a: float, n: int) -> NDArray[np.float64]:
    """ln Gamma(a + m) - ln Gamma(a) = ln a (a + 1) … (a + m - 1), for m = 0 … n."""
    return np.concatenate([[0.0], np.cumsum(np.log(a + np.arange(n)))])


def power_weights(log_weights: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    """Weights w^beta, summing to one; an infinite beta leaves those of the highest evidence."""
    below = log_weights - log_weights.max()
    weights = (below == 0.0).astype(np.float64) if math.isinf(beta) else np.exp(beta * below)
    return np.asarray(weights / weights.sum())


def check_effective_sample_size(value: Any, n: int) -> float:
    """m as a number: n for ``"bma"``, infinity for ``"best_tree"``."""
    named = {"bma": float(n), "best_tree": math.inf}
    if isinstance(value, str) and value in named:
        return named[value]
    repair = "Use 5 as the paper does, 'bma' for beta = 1, or 'best_tree'"
    if not is_real(value):
        raise ParameterTypeError(
            "effective_sample_size", value, "must be a number, 'bma' or 'best_tree'", repair
        )
    if not value >= 0:
        raise ParameterError("effective_sample_size", value, "must not be negative", repair)
    return float(value)


def check_split_probability(value: Any) -> float:
    """Lambda in [0, 1/2]."""
    if not is_real(value):
        raise ParameterTypeError("split_probability", value, "must be a number", "Use 0.475")
    if not 0 <= value <= 0.5:
        raise ParameterError(
            "split_probability", value,
            "must lie in [0, 0.5], since above one half trees need not end", "Use 0.475",
        )  # fmt: skip
    return float(value)


def check_concentration(value: Any, n_classes: int) -> NDArray[np.float64]:
    """Dirichlet parameters, one a class."""
    try:
        alpha = np.broadcast_to(np.asarray(value, dtype=np.float64), (n_classes,))
    except (TypeError, ValueError):
        alpha = np.zeros(1)
    if not np.all((alpha > 0) & np.isfinite(alpha)):
        raise ParameterError(
            "concentration", value, "must be a positive number, or one for each class",
            "Use 1 for the uniform prior",
        )  # fmt: skip
    return np.array(alpha)
