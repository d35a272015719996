"""Tables of any kind, read column by column: arrays and lists by position, frames by narwhals.

What is checked here is shape and type only. No message of this module holds a value or a
number of rows. (Drafting, which is not private, tells the shape of an empty table.)
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property, wraps
from os import PathLike
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.call_stack import callers_stacklevel
from dpforest.domain.reading import PASSED
from dpforest.domain.rows import (
    RowTable,
    cells_of_array,
    has_columns,
    is_mapping,
    sole_cells,
    width_of_rows,
)
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
from dpforest.exceptions import (
    Described,
    DomainError,
    ParameterError,
    ParameterTypeError,
    RepeatedColumnsError,
    StreamError,
    kind_of,
    raise_alone,
)
from dpforest.observation import observe_read

P = ParamSpec("P")
R = TypeVar("R")


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

    names: tuple[str, ...] | None = None
    broken = None

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
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
        return _array_column(values) if values.ndim == 1 else list(values)

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
            _check_series(self._column(index), self._labels[index])

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


def _check_series(series: Any, name: str) -> None:
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


def _opening(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
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


@_opening("X")
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
    _refuse_levels(X, "X")
    if _is_sparse(X):
        raise ParameterTypeError(
            "X",
            Described("a sparse matrix"),
            "sparse input is not supported",
            "Use X.toarray() to convert it to a dense array; leave a one-hot encoder out, since "
            "categories are declared and read as they are",
        )
    if not isinstance(X, (np.ndarray, list, tuple)):
        frame = open_frame(X, declared or ())
        if frame is not None and (declared is None or frame.shape != (0, 0)):
            return FrameTable(frame)
        X = X if frame is None else []
    read = _as_array(X, "X")
    if isinstance(read, list):
        return _list_table(read, declared)
    if declared is not None and read.shape in ((0,), (0, 0)):
        read = read.reshape(0, len(declared))
    if read.ndim != 2 and not (read.ndim > 2 and read.dtype == object):
        _refuse_dimensions(read.ndim, _repair_of(X, read.ndim))
    return ArrayTable(read)


def _repair_of(values: Any, n_dimensions: int) -> str:
    """Repair where an object is no table, by its type; empty where the usual one does."""
    if _can_be_read(values):
        return _OF_SOURCES
    # Arrays of other libraries have dimensions.
    one_by_one = hasattr(type(values), "__iter__") and not isinstance(values, np.ndarray | Mapping)
    return _OF_TURNS if one_by_one and n_dimensions == 0 else ""


def _can_be_read(values: Any) -> bool:
    """Say if an object is where Arrow can read a table, such as a reader or a dataset."""
    return any(hasattr(type(values), name) for name in ("__arrow_c_stream__", "to_table"))


def _is_sparse(values: Any) -> bool:
    # Its class is asked: labels of rows are attributes of a pandas series.
    return hasattr(type(values), "tocsr")


def _list_table(rows: list[Any], declared: Sequence[str] | None) -> Table:
    if declared is not None:
        return ListTable(rows, len(declared), declared)
    n_columns = width_of_rows(rows)
    if n_columns is None:
        _refuse_dimensions(1, _repair_of_row(type(rows[0])) if rows else _OF_LISTS)
    return ListTable(rows, n_columns)


_RESHAPED = (
    "Reshape your data, with X.reshape(-1, 1) for a single feature or X.reshape(1, -1) for a "
    "single sample"
)
_IN_ROWS = (
    "Pass a data frame or an array: of columns in a mapping make pandas.DataFrame(X), of a single "
    "record in a mapping [X]"
)


_OF_LISTS = "Pass a list of rows, [X] for a single record"
_OF_MAPPINGS = "Make a frame of mappings, pandas.DataFrame(rows), which reads them by their names"
_OF_FRAMES = "Of several tables make one, such as by pandas.concat(X)"
_OF_SERIES = "Pass a data frame: frame.iloc[[0]] is one row of it, frame[['name']] one column"
_OF_SOURCES = (
    "Read it to a table first: pyarrow.table(X), or X.to_table() where it is a dataset. What does "
    "not fit into memory is fitted as a dpforest.streams.BatchStream(open_it, target=...), whose "
    "function opens a reader anew for each pass"
)
_OF_TURNS = (
    "Of rows that come one by one make list(X). Tables that do, such as "
    "pandas.read_csv(..., chunksize=...), are fitted as a dpforest.streams.BatchStream(lambda: "
    "pandas.read_csv(..., chunksize=...), target=...), which opens them anew for each pass, and "
    "predicted each by itself"
)
_OF_CUBES = "Pass one row a record, X.reshape(len(X), -1) where each cell is a feature"


def _repair_of_row(kind: type) -> str:
    """Repair where what stands in a list is no row, by its type."""
    if is_mapping(kind):
        return _OF_MAPPINGS
    return _OF_FRAMES if has_columns(kind) else _OF_LISTS


def _refuse_dimensions(n_dimensions: int, repair: str = "") -> NoReturn:
    usual = (_IN_ROWS, _RESHAPED)[n_dimensions] if n_dimensions < 2 else _OF_CUBES
    raise ParameterError(
        "X",
        Described(f"a table with {n_dimensions} dimension(s)"),
        f"Expected 2D array, got {n_dimensions}D array instead",
        repair or usual,
    )


def open_frame(X: Any, declared: Sequence[str] = ()) -> Any:
    """The object as an eager narwhals frame, or None if it is no frame."""
    import narwhals as nw

    native = _in_narwhals(X, lambda: _refuse_repeated_columns(X, declared))
    _refuse_lazy(native, "X")
    if isinstance(native, nw.Series):
        _refuse_dimensions(1, _OF_SERIES if native.implementation.is_pandas() else "")
    return native if isinstance(native, nw.DataFrame) else None


def _in_narwhals(values: Any, refuse_repeated: Callable[[], NoReturn]) -> Any:
    """The object as narwhals has it; columns of one name, which it does not open, are refused."""
    import narwhals as nw

    with contextlib.suppress(ValueError):
        return nw.from_native(as_known(values), pass_through=True, allow_series=True)
    # Outside any handler, so that no error of narwhals trails behind.
    refuse_repeated()


def _refuse_lazy(native: Any, name: str) -> None:
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


def _refuse_levels(values: Any, name: str) -> None:
    """Refuse an index of several levels: pandas looks at its codes before it says what it holds."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, pandas.MultiIndex):
        raise ParameterTypeError(
            name, Described("an index of several levels"), "is no table", "Give index.to_frame()"
        )


def _as_array(values: Any, name: str) -> NDArray[Any] | list[Any]:
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


def select_columns(table: Table, names: Sequence[str], estimator_name: str) -> tuple[int, ...]:
    """Find the columns of a table that are the declared features.

    By name where the table has names and every declared one is among them, else by
    position. A table that has some of the declared names but not all is refused:
    reading it by position would mix columns up.
    """
    given = frozenset(table.names or ())
    if table.names is not None and len(given) != len(table.names):
        _refuse_repeated_names(table.names, names, of_pandas=False)
    absent = [name for name in names if name not in given]
    if table.names is not None and not absent:
        place = {name: index for index, name in enumerate(table.names)}
        return tuple(place[name] for name in names)
    if table.names is not None and len(absent) < len(names):
        raise DomainError(
            absent[0],
            "declared, but the table has no column of this name while it has others",
            _repair_of_name(absent[0], table.names),
        )
    check_width(table, len(names), estimator_name)
    return tuple(range(len(names)))


def _repair_of_name(absent: str, names: Sequence[str]) -> str:
    alike = written_alike(absent, names)
    if alike is not None:
        return f"Its own is written {alike!r}: case and blanks count"
    return "Add or rename the column, or rename all so that they are read by position"


def written_alike(name: str, names: Sequence[str]) -> str | None:
    """The first name that differs in case or blanks alone, and so is as good as known.

    Of a file without a header names are cells of a record, so no other one is told.
    """
    own = name.strip().casefold()
    return next((other for other in names if other.strip().casefold() == own), None)


#: What libraries, and drafts of arrays, call columns that have no names.
_PLACES = ("", "column_", "x")


def is_read_by_position(table: Table, names: Sequence[str]) -> bool:
    """Say if a table has names of which not one is declared, so that places alone count.

    Parameters
    ----------
    table : Table
    names : sequence of str
        What is declared, as many as the table has columns.
    """
    if table.names is None or set(table.names) & set(names):
        return False
    unnamed = [tuple(f"{start}{k}" for k in range(len(names))) for start in _PLACES]
    return table.names not in unnamed and tuple(names) not in unnamed


def _refuse_repeated_columns(X: Any, declared: Sequence[str]) -> NoReturn:
    """Refuse a frame that narwhals does not open, by its own names."""
    pandas = sys.modules.get("pandas")
    of_pandas = pandas is not None and isinstance(X, pandas.DataFrame)
    names: list[str] = []
    if of_pandas:
        names = list(map(str, X.columns))
    elif type(X).__module__.partition(".")[0] == "pyarrow":
        names = list(X.schema.names)  # its ``columns`` are the values
    _refuse_repeated_names(names, declared, of_pandas)


def _refuse_repeated_names(
    names: Sequence[str], declared: Sequence[str], of_pandas: bool
) -> NoReturn:
    """Refuse columns of one name; which one is told where it is no cell of a file's first row."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    told = [name for name in repeated if of_pandas or name in declared]
    rule = "column names must differ"
    if told:
        times = names.count(told[0])
        rule += f", and {told[0]!r} stands {'twice' if times == 2 else f'{times} times'}"
    others_suffice = bool(declared) and set(declared) <= set(names) - set(repeated)
    raise RepeatedColumnsError(rule, _repair_of_repeated(others_suffice, of_pandas))


def _repair_of_repeated(others_suffice: bool, of_pandas: bool) -> str:
    """Repair of repeated names; undeclared ones go where the declared columns are selected."""
    if others_suffice:
        how = "X[list(domain.feature_names)]" if of_pandas else "X.select(domain.feature_names)"
        return f"Rename one, or pass the declared columns alone: {how}"
    first = ": X.loc[:, ~X.columns.duplicated()] keeps the first" if of_pandas else ""
    return f"Rename one or leave one out{first}"


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
            _refuse_dimensions(1, _repair_of_row(kind))
        _refuse_width(width, table.n_columns, estimator_name)


def _refuse_width(width: int, n_features: int, estimator_name: str) -> NoReturn:
    raise ParameterError(
        "X",
        Described(f"a table of {width} columns"),
        f"X has {width} features, but {estimator_name} is expecting {n_features} features as input",
        "Pass the columns that the domain declares",
    )


def read_labels(y: Any, estimator_name: str, check: bool = False) -> Column:
    """Labels as a one-dimensional column; see `open_labels`."""
    opened = open_labels(y, estimator_name, check)
    column = opened if isinstance(opened, list) else _column_of_labels(opened)
    # In a series of objects too. A column whose type is one of lists means nothing by its type.
    return sole_cells(column) if isinstance(column, list) else column


def _column_of_labels(opened: Any) -> Column:
    return _array_column(opened) if isinstance(opened, np.ndarray) else series_column(opened)


@_opening("y")
def open_labels(
    y: Any, estimator_name: str, check: bool = False, features: Sequence[str] = ()
) -> Any:
    """Open labels without a look at any, as a list, an array or a narwhals series.

    Parameters
    ----------
    y : array, list, series or frame of one column
        In a list, each label is read by itself.
    estimator_name : str
    check : bool
        Whether to refuse what `Table.check_column` does, and to warn of labels in a column. That is
        once a table: for each batch it would tell how many there are.
    features : sequence of str
        Names that the table's features are read by: see `read_by_name`.

    Raises
    ------
    ParameterError
        If there are none, or several a record, or they are one of the features.
    ParameterTypeError
        For types that are no labels.
    """
    _refuse_no_labels(y, estimator_name)
    if not isinstance(y, (np.ndarray, list, tuple)):
        series = _label_series(y, check)
        if series is not None:
            if check:
                _check_series(series, "y")
            refuse_feature(series.name, features)
            return series
    read = _as_array(y, "y")
    return read if isinstance(read, list) else _one_dimension(read, check)


def _refuse_no_labels(y: Any, estimator_name: str) -> None:
    """Refuse what holds no labels, by its type."""
    if y is None:
        raise ParameterError(
            "y",
            None,
            f"{estimator_name} requires y to be passed, but the target y is None",
            "Pass the labels",
        )
    _refuse_levels(y, "y")
    if _is_sparse(y):
        raise ParameterTypeError(
            "y", Described("a sparse matrix"), "sparse labels are not supported", "Use an array"
        )
    if isinstance(y, str):
        raise ParameterTypeError(
            "y", kind_of(y), "must be the labels themselves, not the name of their column",
            "Give table[name]",
        )  # fmt: skip


def read_by_name(given: Iterable[str] | None, names: Sequence[str]) -> Sequence[str]:
    """Names that a table's features are read by; none where they are read by their places."""
    return names if set(names) <= set(given or ()) else ()


def refuse_feature(name: Any, features: Sequence[str]) -> None:
    """Refuse labels that the features have among them: all would be learnt from the answer."""
    if isinstance(name, str) and name in features:
        raise ParameterError(
            "y",
            Described(f"the column {name}"),
            "is named as a feature of the domain",
            "Leave it out of the domain's features; give other values, such as what was worked out "
            "of it, a name of their own: y.rename('outcome')",
        )


def _array_column(array: NDArray[Any]) -> Column:
    """A one-dimensional array as a column; plain numbers are one already."""
    plain = type(array) is np.ndarray and array.dtype.kind in "biuf"
    return array if plain else column_of(array)


def _label_series(y: Any, check: bool) -> Any:
    """Labels as a series, also from a frame with one column; None for anything else."""
    import narwhals as nw

    native = _in_narwhals(y, _refuse_outputs)
    _refuse_lazy(native, "y")
    if isinstance(native, nw.DataFrame):
        if native.shape[1] != 1:
            _refuse_outputs()
        if check:
            _warn_column_vector()
        native = next(native.iter_columns())
    return native if isinstance(native, nw.Series) else None


def _one_dimension(array: NDArray[Any], check: bool) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        if check:
            _warn_column_vector()
        return array[:, 0]
    if array.ndim == 0:
        raise ParameterError(
            "y", Described("labels without an order"), "y should be a 1d array, one label a record",
            "Give a list of them, in the order of the records",
        )  # fmt: skip
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
        stacklevel=callers_stacklevel(),
    )


@contextlib.contextmanager
def placed(place: str) -> Iterator[None]:
    """Turn what is wrong with a part of a table into an error that names the part."""
    try:
        yield
    except (ParameterError, DomainError) as error:
        raise_alone(StreamError(place, str(error), "Write it as the domain says"))


def check_lengths(table: Table, labels: Sized) -> None:
    """Refuse a table and labels of different lengths, without saying which."""
    one_by_one = isinstance(table, ListTable)
    check_numbers(table.n_rows, labels, _ONE_EACH_IN_LISTS if one_by_one else _ONE_EACH)


_ONE_EACH = "Pass one label for each record"
_ONE_EACH_IN_LISTS = f"{_ONE_EACH}, which is what each place of a list holds. {_OF_FRAMES}"


def check_numbers(n_records: int, labels: Sized, repair: str = _ONE_EACH) -> None:
    """Refuse another number of labels than of records, without saying which."""
    if n_records != len(labels):
        rule = "X and y have inconsistent numbers of samples"
        raise ParameterError("y", Described("labels"), rule, repair)


def read_weights(n_records: int, weights: Any) -> NDArray[np.float64] | None:
    """Weights of a score, one for each record; None for none.

    Raises
    ------
    ParameterError
        They are not one finite number of at least 0 for each record, some above 0.
    """
    if weights is None:
        return None
    with np.errstate(all="ignore"):
        read = _as_doubles(weights)
        sound = read.shape == (n_records,) and np.isfinite(read.sum()) and (read >= 0).all()
    if not (sound and (read.any() or not n_records)):
        rule = "must be one finite number of at least 0 for each record, some of them above 0"
        raise_alone(ParameterError("sample_weight", Described("weights"), rule, _NO_WEIGHTS))
    return read


def _as_doubles(given: Any) -> NDArray[np.float64]:
    """Numbers as doubles; none where it holds anything else, whose own error may tell a value."""
    try:
        array = np.asarray(given)
        return np.asarray(array if array.dtype.kind in "biufO" else [], dtype=np.float64)
    except Exception:
        return np.empty(0)


_NO_WEIGHTS = "Pass an array of shape (n,), or leave it out"
