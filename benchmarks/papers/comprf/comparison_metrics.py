"""Who answers "is the record closer to this pivot or to that one?": kernels, or scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import DistanceMetric

from dpforest.exceptions import ParameterError
from papers.comprf import kernels
from papers.comprf.comparison_trees import ComparisonTrees, Members

#: Metrics that are compiled in; every other one goes through scikit-learn.
KERNEL_METRICS = {
    "euclidean": kernels.EUCLIDEAN,
    "manhattan": kernels.MANHATTAN,
    "chebyshev": kernels.CHEBYSHEV,
    "hamming": kernels.HAMMING,
    "cosine": kernels.COSINE,
    "precomputed": kernels.PRECOMPUTED,
}


class Comparer(ABC):
    """Answers triplet comparisons against the training records ``fitted``."""

    fitted: NDArray[np.float64]

    @abstractmethod
    def prepare(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Records in the form that the other methods take; may be the same array."""

    @abstractmethod
    def closer_to_first(
        self, records: NDArray[np.float64], members: Members, pivots: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """For each member, whether it is at least as close to its node's first pivot."""

    @abstractmethod
    def sum_answers(
        self, records: NDArray[np.float64], trees: ComparisonTrees, values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sum over trees of the values of the leaves that records reach, shape (n, K)."""


class KernelComparer(Comparer):
    """Compiled metrics, and distances that the caller has computed."""

    def __init__(self, metric: str, fitted: NDArray[np.float64]) -> None:
        self._code = KERNEL_METRICS[metric]
        self.fitted = self.prepare(fitted)

    def prepare(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        records = np.ascontiguousarray(records)
        if self._code == kernels.COSINE:
            records = records.copy()
            kernels.scale_rows_to_length_one(records)
        return records

    def closer_to_first(
        self, records: NDArray[np.float64], members: Members, pivots: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        sides = np.empty(members.rows.size, dtype=np.bool_)
        kernels.closer_to_first(
            records, members.rows, members.starts, self.fitted, pivots, self._code, sides
        )
        return sides

    def sum_answers(
        self, records: NDArray[np.float64], trees: ComparisonTrees, values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        total = np.empty((records.shape[0], values.shape[1]), dtype=np.float64)
        kernels.sum_answers(
            records, self.fitted, trees.pivots, trees.child, trees.roots, values, self._code, total
        )
        return total


class DistanceMetricComparer(Comparer):
    """Any metric of ``sklearn.metrics.DistanceMetric``, one call a node: slow, but general.

    A node costs a call from Python, some ten microseconds beside the distances themselves; a
    Python callable costs one call a distance.
    """

    def __init__(
        self, metric: Any, parameters: dict[str, Any], fitted: NDArray[np.float64]
    ) -> None:
        self._metric = distance_metric(metric, parameters)
        self.fitted = fitted

    def prepare(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        return records

    def closer_to_first(
        self, records: NDArray[np.float64], members: Members, pivots: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        sides = np.ones(members.rows.size, dtype=np.bool_)
        for node in np.flatnonzero(pivots[:, 0] >= 0):
            start, stop = members.starts[node], members.starts[node + 1]
            if start == stop:
                continue
            pair = self.fitted[pivots[node]]
            distances = self._metric.pairwise(records[members.rows[start:stop]], pair)
            sides[start:stop] = distances[:, 0] <= distances[:, 1]
        return sides

    def sum_answers(
        self, records: NDArray[np.float64], trees: ComparisonTrees, values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        total = np.zeros((records.shape[0], values.shape[1]), dtype=np.float64)
        for root in trees.roots:
            total += values[self._leaves(records, trees, root)]
        return total

    def _leaves(
        self, records: NDArray[np.float64], trees: ComparisonTrees, root: int
    ) -> NDArray[np.int64]:
        """Leaf number of each record in one tree: all records take a step at a time."""
        node = np.full(records.shape[0], root, dtype=np.int64)
        moving = np.flatnonzero(trees.child[node] >= 0)
        while moving.size:
            moving = moving[np.argsort(node[moving], kind="stable")]
            here, starts = np.unique(node[moving], return_index=True)
            members = Members(moving.astype(np.int32), np.append(starts, moving.size))
            closer = self.closer_to_first(records, members, trees.pivots[here])
            node[moving] = trees.child[node[moving]] + ~closer
            moving = moving[trees.child[node[moving]] >= 0]
        return -1 - trees.child[node]


def distance_metric(metric: Any, parameters: dict[str, Any]) -> Any:
    """scikit-learn's object for a metric's name or callable."""
    arguments = {"func": metric, **parameters} if callable(metric) else parameters
    try:
        return DistanceMetric.get_metric("pyfunc" if callable(metric) else metric, **arguments)
    except (ValueError, TypeError, KeyError) as error:
        raise ParameterError(
            "metric",
            metric,
            "must be one of "
            + ", ".join(repr(name) for name in KERNEL_METRICS)
            + ", or what sklearn.metrics.DistanceMetric takes with metric_params "
            f"(it says: {error})",
            "Choose another metric, or give its parameters in metric_params",
        ) from error


def make_comparer(
    metric: Any, parameters: dict[str, Any] | None, fitted: NDArray[np.float64]
) -> Comparer:
    """The comparer of a metric, holding the training records.

    Parameters
    ----------
    metric : str or callable
    parameters : dict or None
        Further arguments of a metric of scikit-learn's; the compiled ones take none.
    fitted : float64 array of shape (n, D)

    Raises
    ------
    ParameterError
        An unknown metric, or parameters that it does not take.
    """
    if isinstance(metric, str) and metric in KERNEL_METRICS:
        if parameters:
            raise ParameterError(
                "metric_params", parameters, f"must be empty for metric {metric!r}", "Leave it out"
            )
        return KernelComparer(metric, fitted)
    return DistanceMetricComparer(metric, dict(parameters or {}), fitted)
