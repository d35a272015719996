"""Tables of any kind, opened without a look at any value.

What is checked here is type and number of dimensions only. No message holds a value or a number of
rows. (Drafting, which is not private, tells the shape of an empty table.)
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from os import PathLike
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.column_names import read_by_name, refuse_repeated_columns, table_names
from dpforest.domain.reading import PASSED
from dpforest.domain.rows import cells_of_array, width_of_rows
from dpforest.domain.shapes import (
    OF_LISTS,
    OF_SERIES,
    OF_SOURCES,
    OF_TURNS,
    refuse_dimensions,
    repair_of_row,
)
from dpforest.domain.table import ArrayTable, FrameTable, ListTable, Table
from dpforest.exceptions import Described, ParameterTypeError, raise_alone

P = ParamSpec("P")
R = TypeVar("R")


def without_its_words(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate what opens an object: what the object's own code raises is an error without words.

    They may quote a value, or tell the row that was come to. A warning that somebody made an error
    is ours, and passes.
    """

    def decorate(open_it: Callable[P, R]) -> Callable[P, R]:
        @wraps(open_it)
        def opened(*given: P.args, **named: P.kwargs) -> R:
            try:
                return open_it(*given, **named)
            except (*PASSED, Warning):
                raise
            except BaseException:
                raise_alone(ParameterTypeError(name, Described("an object"), _RAISED, _GO_THROUGH))

        return opened

    return decorate


_RAISED = "cannot be read, since its own code raised an error"
_GO_THROUGH = "Go through it without dpforest to see why, or pass an array or a frame"


@without_its_words("X")
def read_table(X: Any, declared: Sequence[str] | None = None) -> Table:
    """Open a table for reading by column; see `Table`.

    Parameters
    ----------
    X : array, list or data frame of shape (n_samples, n_features)
        The table. Where it is a list of rows, each row is read by itself.
    declared : sequence of str, optional
        Names of the features. As wide is a table that says nothing of its shape, such as a list of
        rows; by default it is the width of all rows, and there must be one. Rows that have
        names, such as dictionaries, are read by these names.

    Raises
    ------
    ParameterTypeError
        For sparse, lazy or record types.
    ParameterError
        If the table does not have two dimensions.
    """
    _refuse_other_kinds(X)
    if not isinstance(X, (np.ndarray, list, tuple)):
        frame = open_frame(X, declared or ())
        if frame is not None and (declared is None or frame.shape != (0, 0)):
            return FrameTable(frame)
        X = X if frame is None else []
        if isinstance(X, Mapping):  # numpy would make an array of its names
            refuse_dimensions(0)
    read = as_array(X, "X")
    if isinstance(read, list):
        return _list_table(read, declared)
    if declared is not None and read.shape in ((0,), (0, 0)):
        read = read.reshape(0, len(declared))
    if read.ndim != 2 and not (read.ndim > 2 and read.dtype == object):
        refuse_dimensions(read.ndim, _repair_of(X, read.ndim))
    return ArrayTable(read, _names_of_columns(X, read.shape[1]))


def is_named(X: Any, names: Sequence[str]) -> bool:
    """True if a table has all declared names, and is read by them."""
    if not set(names) <= set(table_names(X) or ()):
        return False
    return bool(read_by_name(read_table(X, names).names, names))


def _refuse_other_kinds(X: Any) -> None:
    """Refuse what is no table, and tables whose cells cannot be read one by one."""
    if isinstance(X, (str, PathLike)):
        raise ParameterTypeError(
            "X",
            Described("a path or a text"),
            "is no table (Expected 2D array, got 0D array instead)",
            "Read the file first, such as by pandas.read_csv(path, dtype=str)",
        )
    if X is None:
        rule = "Expected 2D array, got 0D array instead"
        raise ParameterTypeError("X", None, rule, "Pass a data frame or an array")
    refuse_levels(X, "X")
    if is_sparse(X):
        raise ParameterTypeError(
            "X",
            Described("a sparse matrix"),
            "sparse input is not supported",
            "Use X.toarray() to convert it to a dense array; leave a one-hot encoder out, since "
            "categories are declared and read as they are",
        )


def _names_of_columns(X: Any, width: int) -> tuple[str, ...] | None:
    """Names of a table of a library that nobody knows here, one for each column of its array."""
    names = None if isinstance(X, np.ndarray) else table_names(X)
    return names if names is not None and len(names) == width else None


def _repair_of(values: Any, n_dimensions: int) -> str:
    """Repair where an object is no table, by its type; empty where the usual one does."""
    if _can_be_read(values):
        return OF_SOURCES
    # Arrays of other libraries have dimensions.
    one_by_one = hasattr(type(values), "__iter__") and not isinstance(values, np.ndarray | Mapping)
    return OF_TURNS if one_by_one and n_dimensions == 0 else ""


def _can_be_read(values: Any) -> bool:
    """Say if an object is where Arrow can read a table, such as a reader or a dataset."""
    return any(hasattr(type(values), name) for name in ("__arrow_c_stream__", "to_table"))


def is_sparse(values: Any) -> bool:
    # Its class is asked: labels of rows are attributes of a pandas series.
    return hasattr(type(values), "tocsr")


def _list_table(rows: list[Any], declared: Sequence[str] | None) -> Table:
    if declared is not None:
        return ListTable(rows, len(declared), declared)
    n_columns = width_of_rows(rows)
    if n_columns is None:
        refuse_dimensions(1, repair_of_row(type(rows[0])) if rows else OF_LISTS)
    return ListTable(rows, n_columns)


def open_frame(X: Any, declared: Sequence[str] = ()) -> Any:
    """The object as an eager narwhals frame, or None if it is no frame."""
    import narwhals as nw

    native = in_narwhals(X, lambda: refuse_repeated_columns(X, declared))
    refuse_lazy(native, "X")
    if isinstance(native, nw.Series):
        refuse_dimensions(1, OF_SERIES if native.implementation.is_pandas() else "")
    return native if isinstance(native, nw.DataFrame) else None


def in_narwhals(values: Any, refuse_repeated: Callable[[], NoReturn]) -> Any:
    """The object as narwhals has it; columns of one name, which it does not open, are refused."""
    import narwhals as nw

    with contextlib.suppress(ValueError):
        return nw.from_native(as_known(values), pass_through=True, allow_series=True)
    # Outside any handler, so that no error of narwhals trails behind.
    refuse_repeated()


def refuse_lazy(native: Any, name: str) -> None:
    """Refuse a frame that holds no values yet."""
    import narwhals as nw

    if isinstance(native, nw.LazyFrame):
        of_dask = ", by X.compute(), or fit with an estimator of dpforest.dask"
        raise ParameterTypeError(
            name, Described("a lazy frame"), "a lazy frame holds no values",
            f"Collect it first{of_dask if native.implementation.is_dask() else ''}",
        )  # fmt: skip


def as_known(X: Any) -> Any:
    """Parts of Arrow and pandas as what narwhals knows of them; anything else as it is.

    Numpy would read an array of theirs in a type that all of its values allow.
    """
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow":
        import pyarrow as pa

        if isinstance(X, pa.RecordBatch):
            return pa.Table.from_batches([X])
        return pa.chunked_array([X]) if isinstance(X, pa.Array) else X
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return X
    if isinstance(X, pandas.arrays.NumpyExtensionArray):
        return X.to_numpy()  # a series of it would take another type where all are text
    flat = isinstance(X, pandas.Index) and X.nlevels == 1
    # Also those of other libraries, which nobody but pandas asks for their values.
    return pandas.Series(X) if flat or isinstance(X, pandas.api.extensions.ExtensionArray) else X


#: Sequences that are one value, or an array of numbers.
_NO_ROWS = (str, bytes, bytearray, memoryview)
#: By what an object tells that it holds an array, or names and not rows.
_OTHERWISE = ("__array__", "__array_interface__", "__array_struct__", "dtype", "keys")


def _holds_rows(values: Any) -> bool:
    """Say if an object is a sequence of objects, registered as one or not."""
    if isinstance(values, Sequence):
        return not isinstance(values, _NO_ROWS)
    kind = type(values)
    is_sequence = hasattr(kind, "__len__") and hasattr(kind, "__getitem__")
    return is_sequence and not any(hasattr(kind, name) for name in _OTHERWISE)


def refuse_levels(values: Any, name: str) -> None:
    """Refuse an index of several levels: pandas looks at its codes before it says what it holds."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, pandas.MultiIndex):
        raise ParameterTypeError(
            name, Described("an index of several levels"), "is no table", "Give index.to_frame()"
        )


def as_array(values: Any, name: str) -> NDArray[Any] | list[Any]:
    """Anything else: a list, if it holds objects one by one, or an array."""
    if _holds_rows(values):
        # Numpy would give all of them one type, and go as deep as all of them allow.
        return list(values)
    array: NDArray[Any] | None = None
    with contextlib.suppress(Exception):
        array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    # Outside any handler: numpy's own message may hold values.
    if array is None:
        raise ParameterTypeError(
            name, Described("an object"), "cannot be read as a table", "Pass an array or a frame"
        )
    if array.dtype.kind == "V":
        raise ParameterTypeError(
            name,
            Described("a structured array"),
            "structured arrays are not supported",
            "Pass a data frame or a plain array",
        )
    return cells_of_array(array) if array.dtype == object and array.ndim == 1 else array
