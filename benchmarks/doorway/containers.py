"""Containers in memory: every kind that an encoder takes, in the ways in which people make them.

A way takes rows (tuples of cells) or labels and gives what would be handed to ``fit``. Where the
container's own library refuses the values, no table was made, and there is no pair.
"""

from __future__ import annotations

import array
import collections
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from doorway.tables import Manner, Row, Setting
from doorway.values import shown

Rows = list[Row]


class NotMade(Exception):
    """The container will not have these values."""


@dataclass(frozen=True)
class Way:
    """How tables and labels are put into a container.

    Attributes
    ----------
    family, name : the container, and how it came to be
    table : of (rows, setting)
    labels : of (labels, setting); lists by default
    """

    family: str
    name: str
    table: Callable[[Rows, Setting], Any]
    labels: Callable[[list[Any], Setting], Any] = lambda labels, setting: list(labels)


def columns_of(rows: Rows, setting: Setting) -> list[list[Any]]:
    """Cells by column; not made where rows differ in width."""
    width = len(setting.names)
    if any(not isinstance(row, tuple) or len(row) != width for row in rows):
        raise NotMade
    return [[row[place] for row in rows] for place in range(width)]


def objects_of(values: list[Any]) -> np.ndarray:
    """An array of objects that holds the values as they are."""
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = value
    return made


def held(values: list[Any], make: Callable[[list[Any]], Any], gap: Any = None) -> Any:
    """What a declared type makes of values; a gap where it refuses one.

    Each is tried alone: pandas refuses 1.5 as a whole number, and beside True makes it 1.
    """
    return make([value if _takes(make, value) else gap for value in values])


def _takes(make: Callable[[list[Any]], Any], value: Any) -> bool:
    try:
        make([value])
    except Exception:
        return False
    return True


def by_column(frame: Callable[[dict[str, Any]], Any], column: Callable[..., Any]) -> Any:
    """A table of columns that are each made alone."""

    def table(rows: Rows, setting: Setting) -> Any:
        columns = columns_of(rows, setting)
        pairs = zip(setting.names, columns, strict=True)
        return frame({name: column(values, setting) for name, values in pairs})

    return table


# -- lists ---------------------------------------------------------------------------------------


def _alternating(rows: Rows, setting: Setting) -> list[Any]:
    kinds = (list, tuple, objects_of)
    return [
        kinds[hash(setting.choice + place) % 3](row) if isinstance(row, tuple) else row
        for place, row in enumerate(rows)
    ]


def _listed(row: Row) -> Any:
    return list(row) if isinstance(row, tuple) else row


def _each(made: Callable[[tuple[Any, ...]], Any]) -> Callable[[Rows, Setting], list[Any]]:
    return lambda rows, s: [made(row) if isinstance(row, tuple) else row for row in rows]


def _dicts(rows: Rows, setting: Setting) -> list[Any]:
    columns_of(rows, setting)
    return [dict(zip(setting.names, row, strict=True)) for row in rows]


class _Sequence(collections.UserList):
    """A sequence that is no list."""


class _Arrays:
    """What becomes an array when asked."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self._values if dtype is None else self._values.astype(dtype)


def _lists() -> Iterator[Way]:
    yield Way("lists", "list of lists", lambda rows, s: [_listed(row) for row in rows])
    yield Way("lists", "list of tuples", lambda rows, s: list(rows), lambda y, s: tuple(y))
    yield Way("lists", "tuple of tuples", lambda rows, s: tuple(rows), lambda y, s: tuple(y))
    yield Way("lists", "rows of several types", _alternating)
    yield Way("lists", "list of arrays of objects", _each(objects_of), lambda y, s: objects_of(y))
    yield Way("lists", "list of inferred arrays", _each(np.array))
    yield Way("lists", "list of pandas rows", _each(pd.Series))
    yield Way("lists", "list of dictionaries", _dicts)
    yield Way("lists", "sequence of another class", lambda rows, s: _Sequence(rows),
              lambda y, s: collections.deque(y))  # fmt: skip
    yield Way("lists", "labels in lists of one", lambda rows, s: [_listed(row) for row in rows],
              lambda y, s: [[label] for label in y])  # fmt: skip


# -- numpy ---------------------------------------------------------------------------------------

#: Types that a table may be declared with; others are refused by their kind.
NUMPY_TYPES = (
    "?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "n", "N", "p", "P", "e", "f", "d", "g",
    "F", "D", "G", "S", "U", "O", "M8[D]", "M8[ns]", "m8[s]", "V8", "T",
)  # fmt: skip


def _numpy_typed(values: Any, setting: Setting) -> np.ndarray:
    code = setting.random.choice(NUMPY_TYPES)
    dtype = np.dtypes.StringDType() if code == "T" else code
    return held(values, lambda some: np.array(some, dtype=dtype), gap=0)


def _numpy_typed_table(rows: Rows, setting: Setting) -> np.ndarray:
    columns = columns_of(rows, setting)
    return np.stack([_numpy_typed(column, setting) for column in columns], axis=1)


def _numpy_text(values: Any, setting: Setting) -> np.ndarray:
    nullable = np.dtypes.StringDType(na_object=setting.random.choice([None, np.nan]))
    code = setting.random.choice(["U", "S", "T", nullable, "U3", "S2"])
    return np.array(values, dtype=np.dtypes.StringDType() if code == "T" else code)


def _object_table(rows: Rows, setting: Setting) -> np.ndarray:
    columns = columns_of(rows, setting)
    made = np.empty((len(rows), len(setting.names)), dtype=object)
    for place, column in enumerate(columns):
        made[:, place] = objects_of(column)
    return made


def _stacked(rows: Rows, setting: Setting) -> np.ndarray:
    return np.column_stack([np.array(column) for column in columns_of(rows, setting)])


def _joined(rows: Rows, setting: Setting) -> np.ndarray:
    return np.concatenate([np.array(part) for part in setting.parts(rows) if part] or [[]])


def _joined_labels(labels: list[Any], setting: Setting) -> np.ndarray:
    return np.concatenate([np.array(part) for part in setting.parts(labels) if part] or [[]])


def _assigned(rows: Rows, setting: Setting) -> np.ndarray:
    """An array of a type of its own, into which cells are written one by one."""
    made = np.zeros((len(rows), len(setting.names)), setting.random.choice("dfqDUO"))
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            made[i, j] = cell
    return made


def _masked_objects(rows: Rows, setting: Setting) -> np.ma.MaskedArray:
    table = _object_table(rows, setting)
    mask = np.array([[cell is None for cell in row] for row in rows], dtype=bool)
    return np.ma.masked_array(table, mask.reshape(table.shape))


def _masked_invalid(values: Any, setting: Setting) -> np.ma.MaskedArray:
    return np.ma.masked_invalid(np.array(values))


def _masked_values(values: Any, setting: Setting) -> np.ma.MaskedArray:
    return np.ma.masked_equal(np.array(values), setting.random.choice([0, 1, -1]))


def _masked_filled(rows: Rows, setting: Setting) -> np.ma.MaskedArray:
    """Gaps are masked, and something else lies below."""
    below = setting.random.choice([0, 1, 999, "yes"])
    gaps = np.array([[_is_gap(cell) for cell in row] for row in rows], dtype=bool)
    rows = [tuple(below if _is_gap(cell) else cell for cell in row) for row in rows]
    table = np.array(rows)
    return np.ma.masked_array(table, gaps.reshape(table.shape))


def _masked_filled_labels(labels: list[Any], setting: Setting) -> np.ma.MaskedArray:
    below = setting.random.choice([0, 1, 999, "yes"])
    gaps = [_is_gap(label) for label in labels]
    return np.ma.masked_array(np.array([below if _is_gap(y) else y for y in labels]), gaps)


def _is_gap(cell: Any) -> bool:
    return cell is None or cell is pd.NA or (type(cell) is float and cell != cell)


def _record_array(rows: Rows, setting: Setting) -> np.ndarray:
    return np.rec.fromrecords(rows, names=list(setting.names))


def _numpy() -> Iterator[Way]:
    inferred = "numpy, inferred"
    yield Way(inferred, "np.array(rows)", lambda rows, s: np.array(rows), lambda y, s: np.array(y))
    yield Way(inferred, "np.column_stack", _stacked, lambda y, s: np.array(y).reshape(-1, 1))
    yield Way(inferred, "np.concatenate of parts", _joined, _joined_labels)
    yield Way(inferred, "np.vstack", lambda rows, s: np.vstack(rows), lambda y, s: np.array(y))
    yield Way(inferred, "order of Fortran", lambda rows, s: np.asfortranarray(np.array(rows)),
              lambda y, s: np.array(y)[::-1][::-1])  # fmt: skip
    yield Way(inferred, "np.matrix",
              lambda rows, s: np.asmatrix(np.array(rows).reshape(len(rows), len(s.names))),
              lambda y, s: np.array(y))  # fmt: skip
    yield Way(inferred, "from an iterator", lambda rows, s: np.stack([np.array(r) for r in rows]),
              lambda y, s: np.array(list(iter(y))))  # fmt: skip
    typed = "numpy, declared type"
    yield Way(typed, "np.array(rows, dtype)", _numpy_typed_table, _numpy_typed)
    yield Way(typed, "text of fixed and free width", _numpy_text, _numpy_text)
    yield Way(typed, "cells written one by one", _assigned, _numpy_typed)
    yield Way(typed, "other order of bytes",
              lambda rows, s: np.array(rows).astype(np.array(rows).dtype.newbyteorder()),
              lambda y, s: np.array(y).astype(np.array(y).dtype.newbyteorder()))  # fmt: skip
    yield Way(typed, "record array", _record_array)
    held = "numpy, objects"
    yield Way(held, "cells as they are", _object_table, lambda y, s: objects_of(y))
    yield Way(held, "np.array(rows, object)", lambda rows, s: np.array(rows, dtype=object),
              lambda y, s: np.array(y, dtype=object))  # fmt: skip
    yield Way(held, "column of objects", _object_table,
              lambda y, s: objects_of(y).reshape(-1, 1))  # fmt: skip
    masked = "numpy, masked"
    yield Way(masked, "np.ma.array(rows)", lambda rows, s: np.ma.array(rows),
              lambda y, s: np.ma.array(y))  # fmt: skip
    yield Way(masked, "objects", _masked_objects,
              lambda y, s: np.ma.masked_array(objects_of(y), list(map(_is_gap, y))))  # fmt: skip
    yield Way(masked, "masked_invalid", _masked_invalid, _masked_invalid)
    yield Way(masked, "masked_equal", _masked_values, _masked_values)
    yield Way(masked, "gaps with something below", _masked_filled, _masked_filled_labels)
    yield Way(masked, "list of masked rows",
              lambda rows, s: [np.ma.masked_array(row, [_is_gap(c) for c in row]) for row in rows],
              lambda y, s: np.ma.array(y).reshape(-1, 1))  # fmt: skip
    like = "array-likes"
    yield Way(like, "__array__, inferred", lambda rows, s: _Arrays(np.array(rows)),
              lambda y, s: _Arrays(np.array(y)))  # fmt: skip
    yield Way(like, "__array__, objects", lambda rows, s: _Arrays(_object_table(rows, s)),
              lambda y, s: _Arrays(objects_of(y)))  # fmt: skip
    yield Way(like, "memoryview", lambda rows, s: memoryview(np.array(rows)),
              lambda y, s: memoryview(np.array(y)))  # fmt: skip
    yield Way(like, "array.array labels", lambda rows, s: [_listed(row) for row in rows],
              lambda y, s: array.array(s.random.choice("dfqbB"), y))  # fmt: skip
    yield Way(like, "index of pandas", lambda rows, s: [_listed(row) for row in rows],
              lambda y, s: pd.Index(y))  # fmt: skip
    yield Way(like, "array of pandas", lambda rows, s: [_listed(row) for row in rows],
              lambda y, s: pd.array(y))  # fmt: skip
    yield Way(like, "array of Arrow", lambda rows, s: [_listed(row) for row in rows],
              lambda y, s: pa.array(y))  # fmt: skip


# -- pandas --------------------------------------------------------------------------------------

PANDAS_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", "object", "string", "category",
    "datetime64[ns]", "datetime64[s]", "datetime64[ns, UTC]", "timedelta64[ns]", "period[D]",
    "interval[float64]", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64",
    "Float32", "Float64", "boolean", "string[python]", "string[pyarrow]", "str",
)  # fmt: skip
NULLABLE = ("Int8", "Int64", "UInt8", "UInt64", "Float32", "Float64", "boolean", "string")


def _frame(rows: Rows, setting: Setting) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(setting.names))


def _one_by_one(rows: Rows, setting: Setting) -> pd.DataFrame:
    """The last row is set by its label, which enlarges the frame."""
    frame = _frame(rows[:-1], setting)
    if rows:
        frame.loc[len(rows) - 1] = rows[-1]
    return frame


def _set_cells(rows: Rows, setting: Setting) -> pd.DataFrame:
    """Every cell is set in a frame of zeros or of nothing."""
    empty = setting.random.choice([0, None, 0.0])
    frame = pd.DataFrame(empty, index=range(len(rows)), columns=list(setting.names))
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            frame.iloc[i, j] = cell
    return frame


def _concatenated(rows: Rows, setting: Setting) -> pd.DataFrame:
    parts = [_frame(part, setting) for part in setting.parts(rows)]
    return pd.concat(parts, ignore_index=setting.random.random() < 0.5)


def _concatenated_labels(labels: list[Any], setting: Setting) -> pd.Series:
    return pd.concat([pd.Series(part) for part in setting.parts(labels)])


def _applied(rows: Rows, setting: Setting) -> pd.DataFrame:
    """Each column is what a function of each value gave."""
    frame = by_column(pd.DataFrame, lambda v, s: pd.Series(objects_of(v), dtype=object))(
        rows, setting
    )
    return pd.DataFrame({name: frame[name].apply(lambda value: value) for name in frame})


def _series(values: list[Any], setting: Setting, **options: Any) -> pd.Series:
    return pd.Series(values, name="target", **options)


def _pandas_typed(values: list[Any], setting: Setting) -> pd.Series:
    dtype = setting.random.choice(PANDAS_TYPES)
    gap = 0 if dtype.startswith(("bool", "int", "uint")) else None
    return held(values, lambda some: pd.Series(some, dtype=dtype), gap)


def _nullable(values: list[Any], setting: Setting) -> pd.Series:
    dtype = setting.random.choice(NULLABLE)
    return held(values, lambda some: pd.Series(some, dtype=dtype))


def _coerced(values: list[Any], setting: Setting) -> pd.Series:
    if pd.Series(values).dtype.kind in "mM":
        raise NotMade  # counts of days and seconds
    return pd.to_numeric(pd.Series(values), errors="coerce", dtype_backend="numpy_nullable")


def _sparse(values: list[Any], setting: Setting) -> pd.Series:
    fill = setting.random.choice([None, 0, np.nan, False])
    return pd.Series(pd.arrays.SparseArray(values, fill_value=fill))


def _categorical(values: list[Any], setting: Setting) -> pd.Series:
    return pd.Series(values, dtype="category")


def _categorical_ordered(values: list[Any], setting: Setting) -> pd.Series:
    return pd.Series(pd.Categorical(values, ordered=True))


def _union_of_categories(values: list[Any], setting: Setting) -> pd.Series:
    parts = [pd.Categorical(part) for part in setting.parts(values)]
    return pd.Series(pd.api.types.union_categoricals(parts, ignore_order=True))


def _powers(values: list[Any], setting: Setting) -> pd.Series:
    """What a computation made of numbers: complex where one was negative."""
    return pd.Series(values).apply(_root)


def _root(value: Any) -> Any:
    kind = type(value)
    if value is None or value is pd.NA:
        return np.nan
    if kind is complex or issubclass(kind, np.complexfloating):
        return value if value.imag else float(value.real) ** 0.5
    is_real = kind in (bool, int, float) or issubclass(kind, (np.number, np.bool_))
    return float(value) ** 0.5 if is_real and not issubclass(kind, np.timedelta64) else value


def _frame_as(converted: Callable[[pd.DataFrame], Any]) -> Callable[[Rows, Setting], Any]:
    return lambda rows, setting: converted(_frame(rows, setting))


def _labels_as(converted: Callable[[pd.Series], Any]) -> Callable[[list[Any], Setting], Any]:
    return lambda labels, setting: converted(pd.Series(labels))


def _arrow_backed(frame: Any) -> Any:
    return frame.convert_dtypes(dtype_backend="pyarrow")


def _nullable_backed(frame: Any) -> Any:
    return frame.convert_dtypes()


def _pandas_arrow_typed(values: list[Any], setting: Setting) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(_arrow_typed(values, setting)))


def _mixed(values: list[Any], setting: Setting) -> pd.Series:
    return pd.Series(objects_of(values), dtype=object)


def _pandas() -> Iterator[Way]:
    def columns(family: str, name: str, made: Callable[..., Any], labels: Any = None) -> Way:
        return Way(family, name, by_column(pd.DataFrame, made), labels or made)

    inferred = "pandas, inferred"
    yield Way(inferred, "DataFrame(rows)", _frame, _series)
    yield columns(inferred, "DataFrame(columns)", lambda v, s: v, _series)
    yield columns(inferred, "DataFrame(series)", _series)
    yield Way(inferred, "DataFrame(np.array(rows))",
              lambda rows, s: pd.DataFrame(np.array(rows), columns=list(s.names)),
              lambda y, s: pd.Series(np.array(y)))  # fmt: skip
    yield Way(inferred, "list of dictionaries",
              lambda rows, s: pd.DataFrame([dict(zip(s.names, r, strict=True)) for r in rows],
                                           columns=list(s.names)),
              lambda y, s: pd.DataFrame({"target": y}))  # fmt: skip
    yield Way(inferred, "from_records",
              lambda rows, s: pd.DataFrame.from_records(rows, columns=list(s.names)),
              _series)  # fmt: skip
    yield Way(inferred, "index of pandas", _frame, lambda y, s: pd.Index(y).to_series())
    changed = "pandas, changed frames"
    yield Way(changed, "a row set by label", _one_by_one, _labels_as(lambda y: y.shift(0)))
    yield Way(changed, "cells set one by one", _set_cells, _series)
    yield Way(changed, "transposed twice", _frame_as(lambda f: f.T.T), _series)
    yield Way(changed, "replaced and inferred",
              _frame_as(lambda f: f.replace("", None).infer_objects()),
              _labels_as(lambda y: y.infer_objects()))  # fmt: skip
    yield Way(changed, "a gap in front, taken away",
              _frame_as(lambda f: pd.concat([f.iloc[:0], f.reindex([-1, *f.index])]).iloc[1:]),
              lambda y, s: pd.Series(y).reindex([-1, *range(len(y))]).iloc[1:])  # fmt: skip
    concat = "pandas, concatenated"
    yield Way(concat, "pd.concat of parts", _concatenated, _concatenated_labels)
    applied = "pandas, applied"
    yield Way(applied, "Series.apply", _applied, _labels_as(lambda y: y.apply(lambda v: v)))
    yield Way(applied, "DataFrame.apply by rows",
              _frame_as(lambda f: f.apply(lambda row: row, axis=1)), _series)  # fmt: skip
    yield Way(applied, "DataFrame.map", _frame_as(lambda f: f.map(lambda v: v)),
              _labels_as(lambda y: y.map(lambda v: v)))  # fmt: skip
    yield columns(applied, "v ** 0.5", _powers)
    nullable = "pandas, nullable"
    yield Way(nullable, "convert_dtypes", _frame_as(_nullable_backed), _labels_as(_nullable_backed))
    yield columns(nullable, "declared type", _nullable)
    yield columns(nullable, "to_numeric", _coerced)
    yield columns(nullable, "pd.array", lambda v, s: pd.Series(pd.array(v)))
    arrow = "pandas, Arrow"
    yield Way(arrow, "convert_dtypes", _frame_as(_arrow_backed), _labels_as(_arrow_backed))
    yield columns(arrow, "declared type", _pandas_arrow_typed)
    yield columns(arrow, "inferred by Arrow",
                  lambda v, s: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(v))))  # fmt: skip
    yield columns(arrow, "text",
                  lambda v, s: pd.Series(v, dtype=s.random.choice(["string[pyarrow]", "str"])),
                  )  # fmt: skip
    category = "pandas, categorical"
    yield columns(category, "category", _categorical)
    yield columns(category, "ordered", _categorical_ordered)
    yield columns(category, "union of categories", _union_of_categories)
    other = "pandas, declared type"
    yield columns(other, "any type", _pandas_typed)
    yield columns(other, "sparse", _sparse)
    yield columns(other, "objects", _mixed)
    yield columns(other, "complex", lambda v, s: pd.Series(np.array(v).astype(complex)))
    yield columns(other, "text",
                  lambda v, s: pd.Series(v).astype(s.random.choice(["str", "string"])))  # fmt: skip


# -- polars --------------------------------------------------------------------------------------

POLARS_TYPES = (
    pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
    pl.Float32, pl.Float64, pl.Decimal(20, 3), pl.Boolean, pl.String, pl.Categorical,
    pl.Enum(["no", "yes", "a", "1", ""]), pl.Binary, pl.Date, pl.Time, pl.Datetime("us"),
    pl.Datetime("ns", "UTC"), pl.Duration("us"), pl.List(pl.Int64), pl.Array(pl.Int64, 1),
    pl.Struct({"a": pl.Int64}), pl.Null, pl.Object,
)  # fmt: skip
#: Those that not every release has.
POLARS_TYPES += tuple(getattr(pl, name) for name in ("Float16", "UInt128") if hasattr(pl, name))
if hasattr(pl, "Map"):
    POLARS_TYPES += (pl.Map(pl.String, pl.Int64),)


def _polars_rows(rows: Rows, setting: Setting, **options: Any) -> pl.DataFrame:
    length = setting.random.choice([None, None, 1, 100])
    return pl.DataFrame(
        rows, schema=list(setting.names), orient="row", infer_schema_length=length, **options
    )


def _polars_dicts(rows: Rows, setting: Setting) -> pl.DataFrame:
    dicts = [dict(zip(setting.names, row, strict=True)) for row in rows]
    return pl.from_dicts(dicts, infer_schema_length=None, strict=setting.random.random() < 0.5)


def _polars_typed(values: list[Any], setting: Setting) -> pl.Series:
    dtype = setting.random.choice(POLARS_TYPES)
    return held(values, lambda some: pl.Series("target", some, dtype=dtype, strict=False))


def _polars_cast(values: list[Any], setting: Setting) -> pl.Series:
    dtype = setting.random.choice(POLARS_TYPES)
    return pl.Series("target", values, strict=False).cast(dtype, strict=False)


def _polars_series(values: list[Any], setting: Setting) -> pl.Series:
    return pl.Series("target", values, strict=False)


def _polars_parts(rows: Rows, setting: Setting) -> pl.DataFrame:
    parts = [
        pl.DataFrame(part, schema=list(setting.names), orient="row", strict=False)
        for part in setting.parts(rows)
    ]
    return pl.concat(parts, how=setting.random.choice(["vertical_relaxed", "diagonal_relaxed"]))


def _polars_category(values: list[Any], setting: Setting) -> pl.Series:
    texts = [None if value is None else str(value) for value in values]
    dtype = setting.random.choice([pl.Categorical, pl.String])
    return pl.Series("target", texts, dtype=dtype, strict=False)


def _polars() -> Iterator[Way]:
    def columns(family: str, name: str, made: Callable[..., Any]) -> Way:
        return Way(family, name, by_column(pl.DataFrame, made), made)

    inferred = "polars, inferred"
    yield Way(inferred, "DataFrame(rows), not strict",
              functools.partial(_polars_rows, strict=False), _polars_series)  # fmt: skip
    yield Way(inferred, "DataFrame(rows), strict", _polars_rows, lambda y, s: pl.Series(y))
    yield columns(inferred, "DataFrame(columns)", _polars_series)
    yield Way(inferred, "from_dicts", _polars_dicts, lambda y, s: pl.DataFrame({"target": y}))
    yield Way(inferred, "from pandas", lambda rows, s: pl.from_pandas(_frame(rows, s)),
              lambda y, s: pl.from_pandas(pd.Series(y)))  # fmt: skip
    yield Way(inferred, "from numpy",
              lambda rows, s: pl.from_numpy(np.array(rows), schema=list(s.names)),
              lambda y, s: pl.Series(np.array(y)))  # fmt: skip
    yield Way("polars, concatenated", "pl.concat of parts", _polars_parts, _polars_series)
    typed = "polars, declared type"
    yield columns(typed, "Series(values, dtype)", _polars_typed)
    yield columns(typed, "cast", _polars_cast)
    yield columns(typed, "text and categories", _polars_category)
    held = "polars, objects"
    yield columns(held, "dtype Object", lambda v, s: pl.Series("target", v, dtype=pl.Object))
    lazy = "lazy frames and narwhals"
    yield Way(lazy, "lazy frame", lambda rows, s: _polars_rows(rows, s, strict=False).lazy(),
              _polars_series)  # fmt: skip
    yield Way(lazy, "narwhals of pandas", lambda rows, s: nw.from_native(_frame(rows, s)),
              lambda y, s: nw.from_native(pd.Series(y), series_only=True))  # fmt: skip
    yield Way(lazy, "narwhals of polars",
              lambda rows, s: nw.from_native(_polars_rows(rows, s, strict=False)),
              lambda y, s: nw.from_native(_polars_series(y, s), series_only=True))  # fmt: skip


# -- Arrow ---------------------------------------------------------------------------------------

ARROW_TYPES = (
    pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
    pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal32(9, 2),
    pa.decimal64(18, 3), pa.decimal128(30, 4), pa.decimal256(70, 5), pa.string(),
    pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(),
    pa.binary(1), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.timestamp("us"),
    pa.timestamp("ns", "UTC"), pa.duration("s"), pa.month_day_nano_interval(), pa.list_(pa.int64()),
    pa.large_list(pa.int64()), pa.list_(pa.int64(), 1), pa.list_view(pa.int64()),
    pa.large_list_view(pa.int64()), pa.struct([("a", pa.int64())]),
    pa.map_(pa.string(), pa.int64()),
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()),
    pa.dictionary(pa.int32(), pa.float64()), pa.run_end_encoded(pa.int32(), pa.int64()),
    pa.dense_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]),
    pa.sparse_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]),
)  # fmt: skip


def _arrow_typed(values: list[Any], setting: Setting) -> pa.Array:
    dtype = setting.random.choice(ARROW_TYPES)
    if pa.types.is_dictionary(dtype):
        plain = held(values, lambda some: pa.array(some, dtype.value_type))
        return plain.dictionary_encode().cast(dtype)
    if pa.types.is_run_end_encoded(dtype):
        plain = held(values, lambda some: pa.array(some, dtype.value_type))
        return pc.run_end_encode(plain)
    return held(values, lambda some: pa.array(some, dtype))


def _arrow(values: list[Any], setting: Setting) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def _arrow_chunks(values: list[Any], setting: Setting) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(part) for part in setting.parts(values)])


def _arrow_list(rows: Rows, setting: Setting) -> pa.Table:
    dicts = [dict(zip(setting.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(dicts)


def _arrow_parts(rows: Rows, setting: Setting) -> pa.Table:
    parts = [_arrow_list(part, setting) for part in setting.parts(rows) if part]
    return pa.concat_tables(parts, promote_options=setting.random.choice(["default", "permissive"]))


def unchecked_text(values: list[Any], setting: Setting) -> pa.ChunkedArray:
    """Bytes that pass for text, as Arrow looks at none before it is read."""
    return pa.chunked_array([pa.array(list(map(_as_bytes, values)), pa.binary()).view(pa.string())])


def unchecked_categories(values: list[Any], setting: Setting) -> pa.ChunkedArray:
    """The same as categories, with numbers of any width as pandas and Arrow have them."""
    coded = unchecked_text(values, setting).combine_chunks().dictionary_encode()
    width = setting.random.choice([pa.int8(), pa.int16(), pa.int32()])
    return pa.chunked_array([
        pa.DictionaryArray.from_arrays(coded.indices.cast(width), coded.dictionary, safe=False)
    ])  # fmt: skip


def _as_bytes(value: Any) -> bytes | None:
    if value is None or type(value) is bytes:
        return value
    text = value if type(value) is str else shown(value)
    return text.encode("utf-8", "surrogatepass")


def _dictionary(values: list[Any], setting: Setting) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values).dictionary_encode()])


def _arrow_ways() -> Iterator[Way]:
    def columns(family: str, name: str, made: Callable[..., Any]) -> Way:
        return Way(family, name, by_column(pa.table, made), made)

    inferred = "Arrow, inferred"
    yield columns(inferred, "table(columns)", _arrow)
    yield columns(inferred, "chunks", _arrow_chunks)
    yield Way(inferred, "from_pylist", _arrow_list, _arrow)
    yield Way(inferred, "concat_tables", _arrow_parts, _arrow_chunks)
    yield Way(inferred, "from pandas",
              lambda rows, s: pa.Table.from_pandas(_frame(rows, s), preserve_index=False),
              _arrow)  # fmt: skip
    yield columns(inferred, "dictionaries", _dictionary)
    yield Way(inferred, "from polars",
              lambda rows, s: _polars_rows(rows, s, strict=False).to_arrow(),
              lambda y, s: _polars_series(y, s).to_arrow())  # fmt: skip
    typed = "Arrow, declared type"
    yield columns(typed, "array(values, type)",
                  lambda v, s: pa.chunked_array([_arrow_typed(v, s)]))  # fmt: skip
    yield columns(typed, "text that is none", unchecked_text)
    yield columns(typed, "categories that are no text", unchecked_categories)
    yield Way(typed, "record batch",
              by_column(pa.RecordBatch.from_pydict, _arrow_typed), _arrow)  # fmt: skip


#: Containers that refuse mixtures of types, where people hand over values of one type a column.
ALIKE = ("Arrow", "pandas, Arrow", "pandas, nullable", "pandas, categorical", "pandas, declared",
         "polars", "lazy", "numpy, inferred", "numpy, declared", "numpy, masked", "array-likes",
         "ParquetStream", "BatchStream of frames")  # fmt: skip
#: Those in which a row may have another width than others.
ROWS_DIFFER = ("lists", "pandas, inferred", "BatchStream of pairs", "CSVStream")


def manner_of(family: str) -> Manner:
    """What pairs are drawn for a container."""
    alike = 0.2
    if family.startswith(ALIKE):
        alike = 0.5 if family.startswith("pandas") else 0.75
    return Manner(family.startswith(ROWS_DIFFER), alike)


def ways() -> tuple[Way, ...]:
    """All of them."""
    return (*_lists(), *_numpy(), *_pandas(), *_polars(), *_arrow_ways())


def made(way: Callable[..., Any], values: Any, setting: Setting) -> Any:
    """What a way gives, or `NotMade` where the container's library refuses."""
    try:
        with (
            warnings.catch_warnings(),
            # What libraries could not raise; to show it asks the cell for its text.
            mock.patch.object(sys, "unraisablehook", lambda *_: None),
        ):
            warnings.simplefilter("ignore")
            return way(values, setting)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # polars' panics are no Exception
        raise NotMade from error
