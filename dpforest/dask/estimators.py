"""The private forests on Dask collections, with records on workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpforest.dask.collections import DaskTable, is_array, is_collection, mapped
from dpforest.estimators.classifier import PrivateForestClassifier
from dpforest.estimators.multinomial import MultinomialForestClassifier
from dpforest.estimators.regressor import PrivateForestRegressor
from dpforest.exceptions import ParameterError


class _OnDask:
    """Fit and predict on Dask collections; everything else as in memory."""

    _by_passes = True
    _codes: Callable[[Any], Any]

    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Train on a Dask array or data frame, partition by partition, where the records are.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame
        y : dask.array.Array or dask.dataframe.Series, partitioned as X, or a column's name
        **fit_parameters
            Of ``fit`` in memory.

        Raises
        ------
        StreamError
            A partition does not fit the domain.
        """
        return super().fit(DaskTable(X, y), **fit_parameters)  # type: ignore[misc]

    def predict(self, X: Any, *wanted: Any, **named: Any) -> Any:
        """Predictions, lazy for a Dask collection.

        Raises
        ------
        ParameterError
            Standard errors are asked of a collection.
        """
        check_is_fitted(self)
        if not is_collection(X):
            return super().predict(X, *wanted, **named)  # type: ignore[misc]
        if any(wanted) or any(named.values()):
            raise ParameterError(
                "return_std", True, "is for tables in memory", "Give parts of X, or call compute()"
            )
        self._look_at_names(X)
        classes = getattr(self, "classes_", None)
        dtype = np.float64 if classes is None else classes.dtype
        return mapped(X, super().predict, None, dtype)  # type: ignore[misc]

    def _look_at_names(self, X: Any) -> None:
        """Refuse a frame by its columns, or tell of them, as in memory and before it is computed.

        What a worker warns of stands in its log alone.
        """
        if not is_array(X):
            from pandas import DataFrame

            self._codes(DataFrame(columns=list(X.columns)))


class _ClassifierOnDask(_OnDask):
    classes_: Any

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, lazy for a Dask collection."""
        return self._by_parts(X, super().predict_proba)  # type: ignore[misc]

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of class probabilities, lazy for a Dask collection."""
        return self._by_parts(X, super().predict_log_proba)  # type: ignore[misc]

    def decision_function(self, X: Any) -> Any:
        """Score of each class, lazy for a Dask collection."""
        return self._by_parts(X, super().decision_function, of_two=None)  # type: ignore[misc]

    def _by_parts(self, X: Any, scores: Callable[[Any], Any], of_two: int | None = 2) -> Any:
        """Scores with a column a class; of two classes ``of_two``, where None is shape (n,)."""
        check_is_fitted(self)
        if not is_collection(X):
            return scores(X)
        self._look_at_names(X)
        n_classes = self.classes_.size
        return mapped(X, scores, of_two if n_classes == 2 else n_classes, np.float64)


class DaskPrivateForestClassifier(_ClassifierOnDask, PrivateForestClassifier):
    """``PrivateForestClassifier`` on Dask collections.

    The forest is bit for bit the one that the same words make in memory, whatever the
    partitions, the number of workers and their processors. Rules look at
    all records at once and are refused; ``strategy="auto"`` picks among the others.

    Parameters, attributes and methods are those of ``PrivateForestClassifier``; ``n_jobs``
    plays no part. The cluster is that of the current ``distributed.Client``.
    """

    _of_its_own = "DaskMultinomialForestClassifier"


class DaskPrivateForestRegressor(_OnDask, PrivateForestRegressor):
    """``PrivateForestRegressor`` on Dask collections.

    See :class:`DaskPrivateForestClassifier`.
    """


class DaskMultinomialForestClassifier(_ClassifierOnDask, MultinomialForestClassifier):
    """``MultinomialForestClassifier`` on Dask collections.

    All trees grow together, one pass over the partitions a level. See
    :class:`DaskPrivateForestClassifier`; lattice thresholds are refused.
    """
