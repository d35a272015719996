"""Columns of data frames, as each library holds them: numbers as arrays, else Python objects.

A library gives all values of a column one type. Whatever that type is, each value handed on means
what it means alone (see `dpforest.domain.values.meaning_of`). Dates, times and nested
values have no meaning, and are not even turned into Python objects: some have none. Nor is any
library asked for what it may refuse because of one cell, such as text that is no UTF-8.
"""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.reading import reading_records
from dpforest.domain.values import NO_MEANING
from dpforest.exceptions import StreamError

#: A column: numbers as an array, everything else as a list of Python objects.
Column = NDArray[Any] | list[Any]

#: A column whose type another library made, and what to do where that does not work.
_FOREIGN = "a column of another library's type"
CONVERT = "Turn it into a type of pandas first, such as by series.astype(str)"
#: Cells from which it pays to have Arrow tell a column's texts apart.
_MANY_CELLS = 1000


class Repeated(NamedTuple):
    """A column by its values, of which several cells may have the same one.

    Attributes
    ----------
    values : Column
    places : integer array of shape (n,), or None
        Where each cell's value stands, -1 for the last; None where each cell has its own.
    """

    values: Column
    places: NDArray[np.integer] | None = None


#: Types of Arrow that are handed on as Python objects, by the name of the test for each.
_ARROW_PLAIN = (
    "boolean", "string", "large_string", "string_view", "binary", "large_binary", "binary_view",
    "fixed_size_binary", "decimal", "null",
)  # fmt: skip


def column_of(array: NDArray[Any]) -> Column:
    """A one-dimensional array as a column; masked cells are missing."""
    kind = array.dtype.kind
    if kind in "mM":
        return _unreadable(np.isnat(np.ma.getdata(array)) | np.ma.getmaskarray(array))
    if isinstance(array, np.ma.MaskedArray):
        return _unmasked(array, kind)
    return array if kind in "biuf" else list(array.tolist())


def _unmasked(array: Any, kind: str) -> Column:
    values, absent = np.asarray(array.data), np.ma.getmaskarray(array)
    if kind in "biuf":
        with np.errstate(all="ignore"):
            return np.where(absent, np.nan, values.astype(np.float64))
    listed = values.tolist()
    return [None if gap else value for value, gap in zip(listed, absent.tolist(), strict=True)]


def _unreadable(absent: Any) -> list[Any]:
    """A column of a type that has no meaning: missing where missing."""
    return [None if gap else NO_MEANING for gap in np.asarray(absent).tolist()]


def series_column(series: Any) -> Column:
    """Values of a narwhals series."""
    kind = series.implementation
    if kind.is_polars():
        return polars_column(series.to_native())
    if kind.is_pandas():
        return pandas_column(series.to_native())
    if kind.is_pandas_like():
        return pandas_column(series.to_pandas())
    return arrow_column(series.to_native() if kind.is_pyarrow() else series.to_arrow())


def repeated_column(series: Any) -> Repeated:
    """Values of a narwhals series; each once, for pandas' categories and many texts in Arrow."""
    kind = series.implementation
    if kind.is_pandas():
        return _repeated_of_pandas(series.to_native())
    if kind.is_pyarrow():
        return repeated_texts(series.to_native())
    return Repeated(series_column(series))


def _repeated_of_pandas(series: Any) -> Repeated:
    pandas, dtype = sys.modules["pandas"], series.dtype
    if is_foreign(dtype):
        return Repeated(pandas_column(series))
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = series.cat.codes.to_numpy()
        return _at_places(index_column(series.cat.categories), codes, codes == -1)
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
        return repeated_texts(series.array.__arrow_array__())
    return Repeated(pandas_column(series))


def _at_places(values: Column, places: NDArray[Any], absent: NDArray[np.bool_]) -> Repeated:
    """Cells by the places of their values; at a place that is none stands what has no meaning.

    Not every library looks whether a place is one, and one cell must not be an error.
    """
    known, whole = cells_of(values), places.astype(np.int64)
    n_known = len(known)
    found = np.where((whole < 0) | (whole >= n_known), n_known, whole)
    found[absent] = n_known + 1
    return Repeated([*known, NO_MEANING, None], found)


def _cells_at(column: Repeated) -> list[Any]:
    """Cells of a column, each with its own value."""
    values, places = cells_of(column.values), column.places
    return values if places is None else [values[place] for place in places.tolist()]


def cells_of(column: Column) -> list[Any]:
    """A column as a list."""
    return list(column.tolist()) if isinstance(column, np.ndarray) else column


def repeated_texts(values: Any) -> Repeated:
    """Values of an Arrow array, in chunks or whole; each once if they are many texts."""
    import pyarrow as pa

    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if not is_text or len(values) < _MANY_CELLS:
        return Repeated(arrow_column(values))
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    encoded = pa.chunked_array([chunk.dictionary_encode() for chunk in chunks])
    chunks = encoded.unify_dictionaries().chunks
    places = [chunk.indices.fill_null(-1).to_numpy() for chunk in chunks]
    # A missing cell has the last place.
    texts = arrow_column(chunks[0].dictionary)
    return Repeated([*texts, None], np.concatenate(places))


def polars_column(series: Any) -> Column:
    """Values of a polars series."""
    polars, dtype = sys.modules["polars"], series.dtype
    if dtype.is_temporal() or dtype.is_nested():
        return _unreadable(series.is_null().to_list())
    if isinstance(dtype, (polars.String, polars.Categorical, polars.Enum)):
        # As bytes, since polars panics where text is no UTF-8.
        return _texts(series.cast(polars.String).cast(polars.Binary).to_list())
    # One large number makes a column of 128 bits, which numpy has not.
    if dtype.is_numeric() and not dtype.is_decimal() and "128" not in str(dtype):
        # Gaps turn integers into doubles here, which changes no meaning: see values.py.
        return column_of(np.asarray(series.to_numpy()))
    return list(series.to_list())


def is_of_lists_of_polars(series: Any) -> bool:
    """Say if a narwhals series is of polars, which makes one of lists of any rows."""
    polars = sys.modules.get("polars")
    kinds = () if polars is None else (polars.List, polars.Array)
    return bool(series.implementation.is_polars()) and isinstance(series.to_native().dtype, kinds)


def sole_cells_of_polars(series: Any) -> Column:
    """Cells of a series of lists: of a list of one its cell, as where rows come one by one."""
    native = series.to_native()
    lists = native.arr.to_list() if native.dtype == sys.modules["polars"].Array else native
    lengths = lists.list.len().to_list()
    firsts = cells_of(polars_column(lists.list.first()))
    found = zip(lengths, firsts, strict=True)
    return [None if n is None else cell if n == 1 else NO_MEANING for n, cell in found]


def _texts(cells: list[Any]) -> Column:
    """Bytes as text; all stay bytes, which mean the same, where one is no UTF-8."""
    try:
        return [None if cell is None else cell.decode() for cell in cells]
    except UnicodeDecodeError:
        return cells


def pandas_column(series: Any) -> Column:
    """Values of a pandas series; those of types that nobody listed here have no meaning.

    Other types are not gone through: a date near the ends of time has no Python object.

    Raises
    ------
    StreamError
        It is of a type of another library, which does not say what is missing.
    """
    if not is_foreign(series.dtype):
        return _pandas_column(series)
    with reading_records(_FOREIGN, CONVERT):
        return _pandas_column(series)


def index_column(index: Any) -> Column:
    """Values of an index of pandas, in its own type.

    Its ``to_series`` takes another one where all are text, and text that is no UTF-8 has none.
    """
    return pandas_column(sys.modules["pandas"].Series(index, dtype=index.dtype))


def is_time_of_pandas(dtype: Any) -> bool:
    """Say if a type of pandas is one of dates, times, periods or spans, or of such categories."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "mM"
    pandas = sys.modules["pandas"]
    if isinstance(dtype, pandas.CategoricalDtype):
        return is_time_of_pandas(dtype.categories.dtype)
    if isinstance(dtype, pandas.ArrowDtype):
        import pyarrow as pa

        return bool(pa.types.is_temporal(dtype.pyarrow_dtype))
    period = isinstance(dtype, pandas.PeriodDtype)
    return period or (not is_foreign(dtype) and dtype.kind in "mM")


def is_foreign(dtype: Any) -> bool:
    """Say if a type of a column of pandas is another library's than pandas' or numpy's."""
    return type(dtype).__module__.partition(".")[0] not in ("numpy", "pandas")


def _pandas_column(series: Any) -> Column:
    pandas, dtype, array = sys.modules["pandas"], series.dtype, series.array
    if isinstance(dtype, np.dtype):
        return column_of(series.to_numpy())
    if isinstance(dtype, pandas.CategoricalDtype):
        return _cells_at(_repeated_of_pandas(series))
    if isinstance(dtype, pandas.SparseDtype):
        return column_of(np.asarray(array))
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
        return arrow_column(array.__arrow_array__())
    if isinstance(dtype, pandas.StringDtype):
        return list(array)
    if dtype.kind in "biuf" and type(dtype).__module__.partition(".")[0] == "pandas":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return _unreadable(_gaps(series))


def _gaps(series: Any) -> list[bool]:
    """Gaps of a series, as its library says, whose word is looked at."""
    gaps = np.asarray(series.isna()).tolist()
    if len(gaps) != len(series) or any(type(gap) is not bool for gap in gaps):
        raise StreamError(_FOREIGN, "it does not say which cells are missing", CONVERT)
    return gaps


def arrow_column(values: Any) -> Column:
    """Values of an Arrow array, in chunks or whole."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    while isinstance(values.type, pa.BaseExtensionType):
        stored = [chunk.storage for chunk in values.chunks]
        values = pa.chunked_array(stored, values.type.storage_type)
    if _is_indirect(values.type, pa):
        return [cell for chunk in values.chunks for cell in _cells_at(_looked_up(chunk, pa))]
    if not is_plain_arrow(values.type):
        return _unreadable(values.is_null().to_pylist())
    if pa.types.is_null(values.type):
        return [None] * len(values)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        # Gaps turn integers into doubles here, which changes no meaning: see values.py.
        return column_of(np.asarray(values.to_numpy()))
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:  # Arrow does not look whether text is text
        return [cell.as_buffer().to_pybytes() if cell.is_valid else None for cell in values]


def _looked_up(chunk: Any, pa: Any) -> Repeated:
    """A dictionary, or runs of equal values. Arrow decodes neither of every type of value."""
    if pa.types.is_dictionary(chunk.type):
        absent = np.asarray(chunk.indices.is_null().to_numpy(zero_copy_only=False))
        places = np.asarray(chunk.indices.fill_null(0).to_numpy())
        return _at_places(arrow_column(chunk.dictionary), places, absent)
    rows = chunk.offset + np.arange(len(chunk))
    places = np.searchsorted(chunk.run_ends.to_numpy(), rows, side="right")
    return _at_places(arrow_column(chunk.values), places, np.zeros(len(chunk), np.bool_))


def is_plain_arrow(kind: Any) -> bool:
    """Say if values of an Arrow type have a meaning: no dates, times or nested values."""
    import pyarrow as pa

    inner = _inner(kind, pa)
    if pa.types.is_integer(inner) or pa.types.is_floating(inner):
        return True
    tests = (getattr(pa.types, f"is_{name}", None) for name in _ARROW_PLAIN)
    return any(test(inner) for test in tests if test is not None)


def kind_of_arrow(kind: Any) -> str:
    """Name the kind of an Arrow type alone, such as struct.

    Names of its fields, sizes and zones may be those of cells, where a type was inferred.
    """
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return "extension"
    return re.split(r"[^a-z_0-9]", str(kind), maxsplit=1)[0]


def _inner(kind: Any, pa: Any) -> Any:
    """The type of the values, however they are stored."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif _is_indirect(kind, pa):
            kind = kind.value_type
        else:
            return kind


def _is_indirect(kind: Any, pa: Any) -> bool:
    """Say if cells point to their values."""
    return bool(pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind))
