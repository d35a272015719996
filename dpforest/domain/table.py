"""Tables of any kind, read column by column: arrays and lists by position, frames by narwhals.

What is checked here is shape and type only. No message of this module holds a value or a
number of rows. (Drafting, which is not private, tells the shape of an empty table.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import DomainError, ParameterError, ParameterTypeError
from dpforest.observation import observe_read

#: A column: numbers as an array, everything else as a list of Python objects.
Column = NDArray[Any] | list[Any]


class Described(str):
    """A description that stands in an error for something too large or too secret to print."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Table(Protocol):
    """What the encoder needs of a table."""

    names: tuple[str, ...] | None
    n_rows: int
    n_columns: int

    def check_column(self, index: int) -> None:
        """Raise `ParameterTypeError` if the column's type has no meaning here."""

    def column(self, index: int) -> Column:
        """Values of one column."""


class ArrayTable:
    """A two-dimensional numpy array."""

    names: tuple[str, ...] | None = None

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self.n_rows, self.n_columns = array.shape

    def check_column(self, index: int) -> None:
        """Nothing to check: an array has one type, and `read_table` has looked at it."""

    def column(self, index: int) -> Column:
        """Values of one column, by position."""
        observe_read(f"column {index}")
        return column_of(self._array[:, index])


class FrameTable:
    """A data frame of any library that narwhals knows."""

    def __init__(self, frame: Any) -> None:
        names = tuple(str(name) for name in frame.columns)
        self.names: tuple[str, ...] | None = names
        self._labels = names
        self._columns = list(frame.iter_columns())
        self.n_rows, self.n_columns = frame.shape

    def check_column(self, index: int) -> None:
        """Refuse times, nested types and bytes."""
        _check_series(self._columns[index], self._labels[index])

    def column(self, index: int) -> Column:
        """Values of one column."""
        observe_read(f"column {index}")
        return _series_values(self._columns[index])


def column_of(array: NDArray[Any]) -> Column:
    """A one-dimensional array as a column."""
    return array if array.dtype.kind in "biuf" else array.tolist()


def _check_series(series: Any, name: str) -> None:
    dtype = series.dtype
    if dtype.is_temporal():
        _refuse_times(name)
    if dtype.is_nested() or str(dtype) == "Binary":
        raise ParameterTypeError(
            name,
            Described(f"a column of type {dtype}"),
            "a column must hold numbers, text or booleans",
            "Turn it into plain columns first",
        )


def _series_values(series: Any) -> Column:
    dtype = series.dtype
    # One large number makes a column of 128 bits, which numpy has not.
    if dtype.is_numeric() and not dtype.is_decimal() and "128" not in str(dtype):
        # Gaps turn integers into doubles here, which changes no meaning: see values.py.
        values = np.asarray(series.to_numpy())
        if values.dtype.kind in "biuf":
            return values
    return list(series.to_list())


def _refuse_times(name: str) -> NoReturn:
    raise ParameterTypeError(
        name,
        Described("a column of dates or times"),
        "dates and times are not supported",
        "Turn it into numbers first, such as days since a public date",
    )


def read_table(X: Any, n_columns: int | None = None) -> Table:
    """Open a table for reading by column; see `Table`.

    Parameters
    ----------
    X : array, list or data frame of shape (n_samples, n_features)
        The table.
    n_columns : int, optional
        Width of a table that says nothing of its shape, such as an empty list: a table
        without records is as good as one with a single record. By default it is refused.

    Raises
    ------
    ParameterTypeError
        For sparse, complex, date or record types.
    ParameterError
        If the table does not have two dimensions.
    """
    if hasattr(X, "tocsr"):
        raise ParameterTypeError(
            "X",
            Described("a sparse matrix"),
            "sparse input is not supported",
            "Use X.toarray() to convert it to a dense array",
        )
    if not isinstance(X, (np.ndarray, list, tuple)):
        frame = _as_frame(X)
        if frame is not None and (n_columns is None or frame.shape != (0, 0)):
            return FrameTable(frame)
        X = X if frame is None else []
    array = _as_array(X, "X", two_levels=True)
    if n_columns is not None and array.shape in ((0,), (0, 0)):
        array = array.reshape(0, n_columns)
    if array.ndim != 2:
        raise ParameterError(
            "X",
            Described(f"a table with {array.ndim} dimension(s)"),
            f"Expected 2D array, got {array.ndim}D array instead",
            "Reshape your data, with X.reshape(-1, 1) for a single feature or "
            "X.reshape(1, -1) for a single sample",
        )
    return ArrayTable(array)


def _as_frame(X: Any) -> Any:
    """The object as an eager narwhals frame, or None if it is no frame."""
    import narwhals as nw

    unique = True
    try:
        native = nw.from_native(X, pass_through=True, allow_series=True)
    except ValueError:
        unique = False
    if not unique:
        _refuse_repeated_names()
    if isinstance(native, nw.LazyFrame):
        raise ParameterTypeError(
            "X", Described("a lazy frame"), "a lazy frame holds no values", "Collect it first"
        )
    return native if isinstance(native, nw.DataFrame) else None


def _as_array(values: Any, name: str, *, two_levels: bool = False) -> NDArray[Any]:
    """Anything else as an array; values keep their own type where they come in lists."""
    array: NDArray[Any] | None = None
    # A list of numbers and texts would become all text without dtype=object.
    in_lists = isinstance(values, (list, tuple))
    with contextlib.suppress(Exception):
        array = np.array(values, dtype=object) if in_lists else np.asarray(values)
    if two_levels and in_lists and (array is None or array.ndim > 2):
        array = _rows_of_cells(values)
    # Outside any handler: numpy's own message may hold values.
    if array is None:
        raise ParameterTypeError(
            name, Described("an object"), "cannot be read as a table", "Pass an array or a frame"
        )
    _check_kind(array, name)
    return array


def _rows_of_cells(rows: Sequence[Any]) -> NDArray[Any] | None:
    """Lists of lists as a table of cells, however deep; None if rows differ in width.

    Numpy goes as deep as all cells allow, so that one plain cell would decide the shape.
    """
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        return None
    if len({len(row) for row in rows}) != 1:
        return None
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            array[i, j] = cell
    return array


def _check_kind(array: NDArray[Any], name: str) -> None:
    kind = array.dtype.kind
    if kind == "c":
        raise ParameterTypeError(
            name, Described("complex numbers"), "Complex data not supported", "Use real numbers"
        )
    if kind in "mM":
        _refuse_times(name)
    if kind == "V":
        raise ParameterTypeError(
            name,
            Described("a structured array"),
            "structured arrays are not supported",
            "Pass a data frame or a plain array",
        )


def select_columns(table: Table, names: Sequence[str], estimator_name: str) -> tuple[int, ...]:
    """Which columns of a table are the declared features.

    By name where the table has names and every declared one is among them, else by
    position. A table that has some of the declared names but not all is refused:
    reading it by position would mix columns up.
    """
    if table.names is not None and len(set(table.names)) != len(table.names):
        _refuse_repeated_names()
    absent = [name for name in names if name not in (table.names or ())]
    if table.names is not None and not absent:
        place = {name: index for index, name in enumerate(table.names)}
        return tuple(place[name] for name in names)
    check_width(table, len(names), estimator_name)
    if table.names is not None and len(absent) < len(names):
        raise DomainError(
            absent[0],
            "declared, but the table has no column of this name while it has others",
            "Rename the column, or rename all so that they are read by position",
        )
    return tuple(range(len(names)))


def _refuse_repeated_names() -> NoReturn:
    raise DomainError("features", "the table's column names must differ", "Rename columns")


def check_width(table: Table, n_features: int, estimator_name: str) -> None:
    """Refuse a table of another width, in scikit-learn's words."""
    if table.n_columns != n_features:
        raise ParameterError(
            "X",
            Described(f"a table of {table.n_columns} columns"),
            f"X has {table.n_columns} features, but {estimator_name} is expecting "
            f"{n_features} features as input",
            "Pass the columns that the domain declares",
        )


def read_labels(y: Any, estimator_name: str) -> Column:
    """Labels as a one-dimensional column.

    Raises
    ------
    ParameterError
        If there are none, or several a record.
    ParameterTypeError
        For types that are no labels.
    """
    if y is None:
        raise ParameterError(
            "y",
            None,
            f"{estimator_name} requires y to be passed, but the target y is None",
            "Pass the labels",
        )
    if hasattr(y, "tocsr"):
        raise ParameterTypeError(
            "y", Described("a sparse matrix"), "sparse labels are not supported", "Use an array"
        )
    if not isinstance(y, (np.ndarray, list, tuple)):
        values = _frame_labels(y)
        if values is not None:
            return values
    return column_of(_one_dimension(_as_array(y, "y")))


def _frame_labels(y: Any) -> Column | None:
    """Labels from a series, or from a frame with one column; None for anything else."""
    import narwhals as nw

    native = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(native, nw.DataFrame):
        if native.shape[1] != 1:
            _refuse_outputs()
        _warn_column_vector()
        native = next(native.iter_columns())
    if not isinstance(native, nw.Series):
        return None
    _check_series(native, "y")
    return _series_values(native)


def _one_dimension(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_column_vector()
        return array[:, 0]
    if array.ndim != 1:
        _refuse_outputs()
    return array


def _refuse_outputs() -> NoReturn:
    raise ParameterError(
        "y",
        Described("labels of another shape"),
        "y should be a 1d array, one label a record; multi-output is not supported",
        "Fit one estimator for each output",
    )


def _warn_column_vector() -> None:
    import warnings

    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. "
        "Please change the shape of y to (n_samples, ), for example using ravel().",
        DataConversionWarning,
        stacklevel=5,
    )


def check_lengths(table: Table, labels: Column) -> None:
    """Refuse a table and labels of different lengths, without saying which."""
    if table.n_rows != len(labels):
        raise ParameterError(
            "y",
            Described("labels"),
            "X and y have inconsistent numbers of samples",
            "Pass one label for each record",
        )
