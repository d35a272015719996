"""Tables of any kind, read column by column: arrays and lists by position, frames by narwhals.

What is checked here is shape and type only. No message of this module holds a value or a
number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.rows import RowTable
from dpforest.domain.series import (
    CONVERT,
    Column,
    Repeated,
    column_of,
    is_plain_arrow,
    is_time_of_pandas,
    kind_of_arrow,
    repeated_column,
    series_column,
)
from dpforest.domain.shapes import refuse_dimensions, repair_of_row
from dpforest.exceptions import Described, ParameterError, ParameterTypeError
from dpforest.observation import observe_read


class Table(Protocol):
    """Table as the encoder needs it."""

    names: tuple[str, ...] | None
    n_rows: int
    n_columns: int

    @property
    def broken(self) -> NDArray[np.bool_] | None:
        """Rows that are none, or of another width; None where the table has a shape."""

    def check_column(self, index: int) -> None:
        """Raise `ParameterTypeError` if the table's schema gives a type without meaning."""

    def is_of_times(self, index: int) -> bool:
        """Say if a column is of dates or times by its own type, whatever its cells are."""

    def column(self, index: int) -> Column:
        """Values of one column."""


class ArrayTable:
    """A numpy array of two dimensions; of more, if its cells are lists of one length."""

    broken = None

    def __init__(self, array: NDArray[Any], names: tuple[str, ...] | None = None) -> None:
        self._array, self.names = array, names
        self.n_rows, self.n_columns = array.shape[:2]

    def check_column(self, index: int) -> None:
        """Nothing to check: numpy infers types, so that a record may decide them."""

    def is_of_times(self, index: int) -> bool:
        """Say if the array is one of dates or times."""
        return self._array.dtype.kind in "mM"

    def column(self, index: int) -> Column:
        """Values of one column, by position."""
        observe_read(f"column {index}")
        values = self._array[:, index]
        return array_column(values) if values.ndim == 1 else list(values)

    def numbers(self, indices: Sequence[int]) -> NDArray[np.float64] | None:
        """Columns side by side as doubles, where all are plain numbers; else None."""
        array = self._array
        if type(array) is not np.ndarray or array.ndim != 2 or not _is_plain(array.dtype):
            return None
        _observe_all(indices)
        return _side_by_side(array.astype(np.float64, copy=False), indices)


class ListTable(RowTable):
    """Rows that are given one by one."""

    def check_column(self, index: int) -> None:
        """Nothing to check: lists have no types."""

    def is_of_times(self, index: int) -> bool:
        """Say no: lists have no types."""
        return False

    def column(self, index: int) -> Column:
        """Values of one column, by position."""
        observe_read(f"column {index}")
        return super().column(index)


class FrameTable:
    """A data frame of any library that narwhals knows."""

    broken = None

    def __init__(self, frame: Any) -> None:
        names = tuple(str(name) for name in frame.columns)
        self.names: tuple[str, ...] | None = names
        self._labels = names
        self._frame = frame
        self._has_schema = frame.implementation.is_pyarrow()
        self.n_rows, self.n_columns = frame.shape

    @cached_property
    def _columns(self) -> list[Any]:
        return list(self._frame.iter_columns())

    def _column(self, index: int) -> Any:
        """One column of the frame.

        Of pandas each is made when it is asked for, which takes long, and by its place: a label
        that can be called would be called.
        """
        if not self._frame.implementation.is_pandas():
            return self._columns[index]
        import narwhals as nw

        return nw.from_native(self._frame.to_native().iloc[:, index], series_only=True)

    @cached_property
    def _types(self) -> list[Any]:
        """Types of the columns of a frame of pandas: quicker than its columns."""
        return list(self._frame.to_native().dtypes)

    def check_column(self, index: int) -> None:
        """Refuse times and nested types of an Arrow schema."""
        if self._has_schema:
            check_series(self._column(index), self._labels[index])

    @cached_property
    def _are_of_times(self) -> list[bool]:
        """Columns that are of dates or times; pandas is asked once a type, not once a column."""
        if not self._frame.implementation.is_pandas():
            return [bool(column.dtype.is_temporal()) for column in self._columns]
        # By identity: hashing a type with many categories takes long.
        every = {id(dtype): dtype for dtype in self._types}
        answers = {key: is_time_of_pandas(dtype) for key, dtype in every.items()}
        return [answers[id(dtype)] for dtype in self._types]

    def is_of_times(self, index: int) -> bool:
        """Say if a column is of dates or times by its own type, whatever its cells are."""
        return self._are_of_times[index]

    def column(self, index: int) -> Column:
        """Values of one column."""
        observe_read(f"column {index}")
        return series_column(self._column(index))

    def repeated(self, index: int) -> Repeated:
        """Values of one column, each of them once if the library can tell."""
        observe_read(f"column {index}")
        return repeated_column(self._column(index))

    def numbers(self, indices: Sequence[int]) -> NDArray[np.float64] | None:
        """Columns side by side as doubles, where all are plain numbers of pandas; else None."""
        if not self._frame.implementation.is_pandas():
            return None
        native = self._frame.to_native()
        if not all(map(_is_plain, set(self._types))):
            return None
        _observe_all(indices)
        return _side_by_side(native.to_numpy(dtype=np.float64), indices)


def names_of_index(table: Table) -> tuple[Any, ...]:
    """Names of the index of a frame of pandas, which is no column; nothing of other tables."""
    if not isinstance(table, FrameTable) or not table._frame.implementation.is_pandas():
        return ()
    return tuple(table._frame.to_native().index.names)


def _is_plain(dtype: Any) -> bool:
    """Say if numpy turns every value of a type into the nearest double, without a warning."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8


def _side_by_side(numbers: NDArray[np.float64], indices: Sequence[int]) -> NDArray[np.float64]:
    """Columns in an order; no copy where it is the table's own."""
    every = list(range(numbers.shape[1]))
    return numbers if list(indices) == every else numbers[:, list(indices)]


def _observe_all(indices: Sequence[int]) -> None:
    for index in indices:
        observe_read(f"column {index}")


def check_series(series: Any, name: str) -> None:
    """Refuse a type that has no meaning where a schema declares it.

    That is Arrow alone. pandas and polars infer types from values, so that one record may bring
    such a type about, or take it away.
    """
    if not series.implementation.is_pyarrow():
        return
    dtype = series.to_native().type
    if is_plain_arrow(dtype):
        return
    if series.dtype.is_temporal():
        _refuse_times(name)
    raise ParameterTypeError(
        name,
        Described(f"a column of type {kind_of_arrow(dtype)}"),
        "a column must hold numbers, text or booleans",
        "Turn it into plain columns first",
    )


def _refuse_times(name: str) -> NoReturn:
    raise ParameterTypeError(
        name,
        Described("a column of dates or times"),
        "dates and times are not supported",
        "Turn it into numbers first, such as days since a public date",
    )


def check_width(table: Table, n_features: int, estimator_name: str) -> None:
    """Refuse a table of another width, in scikit-learn's words."""
    if table.n_columns != n_features:
        _refuse_width(table.n_columns, n_features, estimator_name)


def check_row_widths(table: Table, estimator_name: str) -> None:
    """Refuse rows of another width, where each is to be predicted."""
    if isinstance(table, ListTable) and table.broken.any():
        row = int(table.broken.argmax())
        width, kind = table.width_of(row), table.kind_of(row)
        if width == 0 and table.is_foreign(row):
            raise ParameterError(
                "X", Described("a pandas Series whose type another library made"),
                "it cannot be read as a row", CONVERT,
            )  # fmt: skip
        if width == 0:
            refuse_dimensions(1, repair_of_row(kind))
        _refuse_width(width, table.n_columns, estimator_name)


def _refuse_width(width: int, n_features: int, estimator_name: str) -> NoReturn:
    raise ParameterError(
        "X",
        Described(f"a table of {width} columns"),
        f"X has {width} features, but {estimator_name} is expecting {n_features} features as input",
        "Pass the columns that the domain declares",
    )


def array_column(array: NDArray[Any]) -> Column:
    """A one-dimensional array as a column; plain numbers are one already."""
    plain = type(array) is np.ndarray and array.dtype.kind in "biuf"
    return array if plain else column_of(array)
