"""Dask arrays and data frames as partitions: one pair of X and y each, in row order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpforest.dask.workers import DaskRecords, reading_partitions
from dpforest.domain.column_names import read_by_name, refuse_feature
from dpforest.domain.encoder import DomainEncoder
from dpforest.exceptions import MissingExtraError, ParameterTypeError, StreamError, kind_of
from dpforest.records.base import Records
from dpforest.records.streams.base import EVERY_FRAME, ReadBy, Source, check_columns


def is_collection(X: Any) -> bool:
    """Say if something is a Dask array or data frame, without importing Dask.

    Only its type is looked at: a collection that is asked for its graph builds all of it, and may
    raise a reader's error.
    """
    kind = type(X)
    return str(kind.__module__).split(".")[0] in ("dask", "dask_expr") and hasattr(kind, "dask")


class DaskTable(Source):
    """A Dask array or data frame with its labels.

    Parameters
    ----------
    X : dask.array.Array of two dimensions, or dask.dataframe.DataFrame
    y : dask.array.Array, dask.dataframe.Series, or the name of a column of the data frame
    """

    def __init__(self, X: Any, y: Any) -> None:
        if not is_collection(X):
            raise ParameterTypeError(
                "X", kind_of(X), "must be a Dask array or data frame",
                "Use the estimator without Dask for a table in memory",
            )  # fmt: skip
        if isinstance(y, str) and hasattr(X, "columns"):
            if y not in X.columns:
                raise StreamError("the data frame", f"it has no column {y!r}", "Name the target")
        elif not is_collection(y):
            raise ParameterTypeError(
                "y", kind_of(y), "must be a Dask array or series, partitioned as X",
                "Make it with dask.array or dask.dataframe",
            )  # fmt: skip
        self._X, self._y = X, y
        self._made: list[Any] | None = None

    @property
    def named(self) -> bool:
        """Data frames are read by name."""
        return hasattr(self._X, "columns")

    def check(self, feature_names: tuple[str, ...]) -> ReadBy:
        """Check widths, names and partitions; dpforest itself looks at no record.

        Dask turns values of a frame in memory into text while it makes partitions. Where it cannot,
        that is a :class:`StreamError` here, before anything is spent.

        Types are not looked at: pandas and numpy infer them, so that a record may decide them.
        """
        if self.named:
            _check_names(self._X)
            check_columns("the data frame", self._X.columns, feature_names, EVERY_FRAME)
        else:
            _check_array(self._X, len(feature_names))
        if not isinstance(self._y, str):
            _check_labels(self._y)
            with reading_partitions():
                self._check_partitions()
        if self.named:
            refuse_feature(_name_of(self._y), read_by_name(list(self._X.columns), feature_names))
        self._pairs()
        return ReadBy(names=self.named)

    def _check_partitions(self) -> None:
        known = [getattr(part, "chunks", ((np.nan,),))[0] for part in (self._X, self._y)]
        rows_differ = known[0] != known[1] and not np.isnan([*known[0], *known[1]]).any()
        if rows_differ or len(self._features()) != len(self._labels()):
            raise StreamError(
                "y", "it has another number of partitions than X, or of records in one of them",
                "Give the name of a column of X, or make them alike",
            )  # fmt: skip

    def reach(self) -> None:
        """Refuse a fit without a cluster: a ledger would be charged before it is asked for one."""
        current_client()

    def records(self, encoder: DomainEncoder, n_threads: int) -> Records:
        """Records that workers hold; ``n_threads`` plays no part."""
        return DaskRecords(self._pairs(), encoder, current_client(), self.named)

    def _pairs(self) -> list[Any]:
        """Delayed pairs of X and y, one a partition; made once."""
        if self._made is None:
            with reading_partitions():
                self._made = self._make_pairs()
        return self._made

    def _make_pairs(self) -> list[Any]:
        from dask.delayed import delayed

        if isinstance(self._y, str):
            # Taken apart on the worker: read for one column, files may be cut otherwise.
            return [delayed(features_and_target)(part, self._y) for part in partitions(self._X)]
        both = zip(self._features(), self._labels(), strict=True)
        return [delayed(pair)(X, y) for X, y in both]

    def _features(self) -> list[Any]:
        return partitions(self._X, as_cut=True)

    def _labels(self) -> list[Any]:
        return partitions(self._y, as_cut=True)


def _check_names(frame: Any) -> None:
    names = list(frame.columns)
    if len(set(names)) != len(names):
        raise StreamError("the data frame", "two of its columns have one name", "Rename columns")


def _check_array(array: Any, n_features: int) -> None:
    if array.dtype.kind == "V":
        raise StreamError("the array", "structured arrays are not supported", "Give a data frame")
    if array.ndim != 2 or not np.isnan(array.shape[1]) and array.shape[1] != n_features:
        raise StreamError(
            "the array", f"it must have two dimensions and {n_features} columns, as the domain",
            "Pass the columns that the domain declares",
        )  # fmt: skip


def _check_labels(labels: Any) -> None:
    width = len(labels.columns) if hasattr(labels, "columns") else (*labels.shape, 1)[1]
    if width != 1 or labels.ndim > 2:
        raise StreamError(
            "y", "it must have one label a record; multi-output is not supported",
            "Fit one estimator for each output",
        )  # fmt: skip


def _name_of(labels: Any) -> Any:
    """Name of labels; None of an array, whose name in Dask is one of its graph."""
    if isinstance(labels, str):
        return labels
    if hasattr(labels, "columns"):
        return labels.columns[0]
    return labels.name if hasattr(labels, "to_frame") else None


def features_and_target(frame: Any, target: str) -> tuple[Any, Any]:
    """Features and target of a partition."""
    return frame.drop(columns=[target]), frame[target]


def pair(X: Any, y: Any) -> tuple[Any, Any]:
    """Both, as they are."""
    return X, y


def partitions(collection: Any, as_cut: bool = False) -> list[Any]:
    """Parts in row order, each a delayed array, frame or series.

    Dask optimises a frame so that small files are one part, the more of them the fewer columns are
    read. ``as_cut`` leaves parts as they are, so that one column's are those of the others.
    """
    if not is_array(collection):
        parts: list[Any] = collection.to_delayed(optimize_graph=not as_cut)
        return parts
    return list(np.ravel(of_whole_rows(collection).to_delayed()))


def is_array(collection: Any) -> bool:
    """Say if a collection is an array, not a frame."""
    return hasattr(collection, "chunks")


def of_whole_rows(array: Any) -> Any:
    """An array whose chunks hold whole rows."""
    if array.ndim == 2 and len(array.chunks[1]) > 1:
        return array.rechunk({1: -1})
    return array


def current_client() -> Any:
    """The client of the cluster that is in use.

    Raises
    ------
    MissingExtraError
        Without ``distributed``.
    StreamError
        Without a client.
    """
    try:
        from distributed import get_client
    except ImportError:
        raise MissingExtraError("distributed", "dask", "training on Dask") from None
    try:
        return get_client()
    except ValueError:
        raise StreamError(
            "the cluster", "no client of one is open",
            "Open a distributed.Client first; Client() starts a cluster on this machine",
        ) from None  # fmt: skip


def mapped(X: Any, predict: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
    """Predictions of a collection, as a Dask array that is computed when asked for."""
    import dask.array as da
    from dask.delayed import delayed

    if is_array(X):
        rows = of_whole_rows(X)
        if n_columns is None:
            return rows.map_blocks(predict, dtype=dtype, drop_axis=1)
        return rows.map_blocks(predict, dtype=dtype, chunks=(rows.chunks[0], (n_columns,)))
    shape = (np.nan,) if n_columns is None else (np.nan, n_columns)
    predicted = [delayed(predict)(part) for part in X.to_delayed()]
    return da.concatenate([da.from_delayed(part, shape=shape, dtype=dtype) for part in predicted])
