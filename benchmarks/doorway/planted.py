"""Planted faults: rules of the door as they were, or as they might be written wrongly.

Each brings the old or wrong behaviour back into the code of today for as long as it is planted. The
search must find every one with pairs that it draws anyway; `search` says after how many.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from doorway.containers import manner_of
from doorway.search import Line, first_found
from dpforest.dask import workers as dask_records
from dpforest.domain import codes, labels, opening, rows, series, table, values
from dpforest.exceptions import ParameterError, ParameterTypeError, StreamError
from dpforest.records.streams import csv_columns, csv_files, parquet_files

#: Pairs among which a fault must be found.
MOST_PAIRS = 1000

Planting = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Fault:
    """A planted fault.

    Attributes
    ----------
    name : what is wrong with it, as a sentence
    family : the container or reader that is searched
    planted : a context in which the package has it
    kinds : of odd values that are drawn; any by default
    """

    name: str
    family: str
    planted: Planting
    kinds: tuple[str, ...] | None = None


def replaced(owner: Any, name: str, new: Any) -> Planting:
    """A fault that is another value of an attribute."""
    return lambda: mock.patch.object(owner, name, new)


def read_as(reader: Callable[[Any], Any], *kinds: type) -> Planting:
    """A fault in how cells of some types are read."""
    return lambda: mock.patch.dict(values._READERS, {id(kind): reader for kind in kinds})


# -- what a value means --------------------------------------------------------------------------

_COMPLEX = (complex, np.complex64, np.complex128, np.clongdouble)
_meaning_of, _meaning_of_text = values.meaning_of, values._meaning_of_text


def _exact_whole(value: int) -> Any:
    """Whole numbers beyond 2**53 are not what their doubles are."""
    return str(int(value)) if abs(value) > 2**53 else float(value)


def _asks_objects(value: Any) -> Any:
    """What is no known type is asked for a number and its text; two errors are swallowed."""
    if id(type(value)) in values._READERS:
        return _meaning_of(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return _meaning_of_text(str(value))


def _with_nul(text: str) -> Any:
    """NUL at the end of a text is kept, which arrays of fixed width drop."""
    return text if text.endswith("\0") else _meaning_of_text(text)


@contextlib.contextmanager
def _remembers_all() -> Iterator[None]:
    """Values of every type are remembered by equality."""

    def remembered(self: Any, value: Any) -> int:
        try:
            return int(self[value])
        except Exception:
            return int(self._code_of(value))

    with (
        mock.patch.object(values, "_are_all", lambda types, cells: False),
        mock.patch.object(values.CategoryLookup, "_code_of_any", remembered),
    ):
        yield


_encode = values.CategoryLookup.encode


def _positions_by_column(self: Any, cells: list[Any]) -> Any:
    """Numbers are positions of categories only where no text is in the column."""
    if any(isinstance(cell, str) for cell in map(_plain, cells)):
        self._positions = 0
    return _encode(self, cells)


def _plain(cell: Any) -> Any:
    return cell if type(cell) is str else None


_to_floats = values.to_floats


def _all_or_none(cells: Any) -> Any:
    """One value that is no number makes the whole column none."""
    numbers, unparsable = _to_floats(cells)
    if unparsable is None:
        return numbers, None
    return np.full(len(numbers), np.nan), np.ones(len(numbers), dtype=bool)


def _loud(cells: Any) -> Any:
    """Doubles too long warn."""
    with np.errstate(all="warn"):
        plain = isinstance(cells, np.ndarray)
        return (cells.astype(np.float64), None) if plain else _to_floats(cells)


_label_codes = codes.label_codes


def _labels_by_text(labels: Any, classes: Any) -> Any:
    """Labels are compared as the column's type writes them."""
    if isinstance(labels, np.ndarray):
        labels = [f"{label} " if label % 1 else f"<{label}>" for label in labels.tolist()]
    return _label_codes(labels, classes)


# -- containers ----------------------------------------------------------------------------------

_as_array, _check_series, _unmasked = opening.as_array, table.check_series, series._unmasked


def _refuses_complex(read: Any, name: str) -> Any:
    """Complex arrays are refused."""
    array = _as_array(read, name)
    if isinstance(array, np.ndarray) and array.dtype.kind == "c":
        raise ParameterTypeError(name, "complex", "complex data not supported", "Use real numbers")
    return array


def _refuses(test: Callable[[Any], bool]) -> Planting:
    """Labels of an inferred type are refused."""

    def check(column: Any, name: str) -> None:
        if test(column.dtype):
            raise ParameterTypeError(name, "a column", "is of a type without meaning", "Change it")
        _check_series(column, name)

    return replaced(labels, "check_series", check)


_RowTable = rows.RowTable.__init__


def _refuses_rows(self: Any, *given: Any) -> None:
    """One row of another width, and the table is refused."""
    _RowTable(self, *given)
    if self.broken.any():
        raise ParameterError("X", "rows", "must be of one width", "Mend them")


def _codes_of_categories(_: Any, codes: Any, absent: Any) -> series.Repeated:
    """A categorical column is read by the places of its own categories."""
    both = zip(codes.tolist(), absent.tolist(), strict=True)
    return series.Repeated([None if gap else code for code, gap in both])


_pandas_column = series.pandas_column


def _gaps_are_zeros(column: Any) -> Any:
    """Gaps in nullable columns of numbers are zeros."""
    if type(column.dtype).__module__.split(".")[0] == "pandas" and column.dtype.kind in "iuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=0))
    return _pandas_column(column)


# -- files ---------------------------------------------------------------------------------------


def _swallowing(self: Any, stream: Any, name: str, wanted: Any) -> Iterator[Any]:
    """A quote that is open at the end of a line goes on in the next."""
    text = io.TextIOWrapper(io.BytesIO(stream.read()), "utf-8-sig", "replace", newline="")
    reader = csv.reader(text)
    names = next(reader)
    lines = [cells for cells in reader if len(cells) == len(names)]
    columns = {name: [cells[at] for cells in lines] for at, name in enumerate(names)}
    yield self._batch(pa.table({k: pa.array(v, pa.string()) for k, v in columns.items()}), name)


_blocks_of_lines, _table_of_block = csv_files.blocks_of_lines, csv_files.table_of_block


def _long_lines_end_it(read: Any, rest: bytes, block_bytes: int) -> Iterator[bytes]:
    """A line that is longer than a block ends the fit."""
    for block in _blocks_of_lines(read, rest, block_bytes):
        if any(len(line) > max(block_bytes, 60) for line in block.split(b"\n")):
            raise StreamError("a block", "it holds too long a line", "Write shorter lines")
        yield block


def _nan_by_block(text: str) -> Any:
    """nan(7) is missing in a block of numbers, and text in one of text."""
    return None if text.lower().startswith("nan(") else _meaning_of(text)


def _quotes_by_block(block: bytes, names: Any, wanted: Any, quoting: bool, longest: int) -> Any:
    """In a block with an open quote no quotes are read."""
    quoting = quoting and block.count(b'"') % 2 == 0
    return _table_of_block(block, names, wanted, quoting, longest)


_parquet_read = parquet_files.ParquetStream._read


def _first_types(self: Any, wanted: Any) -> Iterator[Any]:
    """The types of the first row group hold for all."""
    first = None
    for batch in _parquet_read(self, wanted):
        schema = batch.X.schema
        first = first or schema
        if schema != first:
            raise StreamError(batch.place, "its types are others", "Write it alike")
        yield batch


_conversion = parquet_files._conversion


def _from_dictionary(kind: Any) -> Any:
    """Columns of dictionaries, too."""
    if pa.types.is_dictionary(kind):
        return lambda column: parquet_files.plain_column(column.cast(kind.value_type))
    return _conversion(kind)


#: As it was before footers were read without Arrow's own types.
_ARROWS_OWN = {
    "without_dictionaries": lambda metadata: metadata, "_conversion": _from_dictionary,
}  # fmt: skip

_encode_part = dask_records.encode_part


def _no_mixed_partitions(part: Any, encoder: Any, place: str) -> Any:
    """A partition with a column of objects is refused."""
    if any(getattr(dtype, "kind", "") == "O" for dtype in getattr(part[0], "dtypes", ())):
        return StreamError(place, "it holds objects", "Write numbers")
    return _encode_part(part, encoder, place)


@contextlib.contextmanager
def _everywhere(name: str, new: Any) -> Iterator[None]:
    """In the module of values and where it was imported to."""
    with contextlib.ExitStack() as stack:
        for owner in (values, codes, csv_columns):
            if hasattr(owner, name):
                stack.enter_context(mock.patch.object(owner, name, new))
        yield


FAULTS = (
    Fault("complex numbers are no numbers, and one makes all others complex",
          "pandas, applied", read_as(str, *_COMPLEX), ("complex",)),
    Fault("complex numbers are no numbers, in columns that are inferred",
          "pandas, inferred", read_as(str, *_COMPLEX), ("complex",)),
    Fault("arrays of complex numbers are refused",
          "numpy, inferred", replaced(opening, "as_array", _refuses_complex),
          ("complex",)),
    Fault("columns of dictionaries and lists are refused in polars",
          "polars, inferred", _refuses(lambda dtype: dtype.is_nested()), ("nested",)),
    Fault("columns of bytes are refused in polars",
          "polars, inferred", _refuses(lambda dtype: str(dtype) == "Binary"), ("bytes",)),
    Fault("columns of dates are refused in pandas",
          "pandas, inferred", _refuses(lambda dtype: dtype.is_temporal())),
    Fault("a quote that is open at the end of a line goes on in the next",
          "CSVStream, raw lines", replaced(csv_files.CSVStream, "_blocks", _swallowing),
          ("word",)),
    Fault("a line longer than a block ends the fit",
          "CSVStream, one file", replaced(csv_files, "blocks_of_lines", _long_lines_end_it)),
    Fault("nan(7) is missing or text, by what else is in the block",
          "CSVStream, one file", replaced(csv_columns, "meaning_of", _nan_by_block),
          ("word", "text like NaN")),
    Fault("masks of arrays are ignored",
          "numpy, masked", replaced(series, "_unmasked", lambda array, kind: array.data.tolist())),
    Fault("errors of a cell's own methods end the fit",
          "numpy, objects", lambda: _everywhere("meaning_of", _asks_objects)),
    Fault("values of every type are remembered by equality", "numpy, objects", _remembers_all,
          ("hostile object",)),
    Fault("NUL at the end of a text is kept",
          "numpy, inferred", replaced(values, "_meaning_of_text", _with_nul),
          ("missing",)),
    Fault("whole numbers beyond 2**53 are compared exactly",
          "pandas, inferred", read_as(_exact_whole, int)),
    Fault("booleans beside a gap are words", "pandas, inferred", read_as(str, bool, np.bool_)),
    Fault("a number is a category's position only in columns without text",
          "pandas, inferred", replaced(values.CategoryLookup, "encode", _positions_by_column)),
    Fault("one value that is no number makes the whole column none",
          "lists", lambda: _everywhere("to_floats", _all_or_none)),
    Fault("doubles that are too long warn",
          "numpy, inferred", lambda: _everywhere("to_floats", _loud),
          ("infinity", "numpy scalar")),
    Fault("labels are compared as their column's type writes them",
          "pandas, inferred", replaced(codes, "label_codes", _labels_by_text)),
    Fault("a row of another width refuses the table",
          "lists", replaced(rows.RowTable, "__init__", _refuses_rows)),
    Fault("categorical columns are read by the places of their own categories",
          "pandas, categorical", replaced(series, "_at_places", _codes_of_categories)),
    Fault("gaps in nullable columns are zeros",
          "pandas, nullable", replaced(series, "pandas_column", _gaps_are_zeros),
          ("word", "missing")),
    Fault("quotes are text in a block in which one is open",
          "CSVStream, raw lines", replaced(csv_files, "table_of_block", _quotes_by_block),
          ("word",)),
    Fault("the types of the first row group hold for all",
          "ParquetStream, several files",
          replaced(parquet_files.ParquetStream, "_read", _first_types)),
    Fault("categories in Parquet are read as Arrow had them, and one that is no text ends it",
          "ParquetStream, one file",
          lambda: mock.patch.multiple(parquet_files, **_ARROWS_OWN), ("bytes",)),
    Fault("Dask partitions with columns of objects are refused",
          "Dask partitions", replaced(dask_records, "encode_part", _no_mixed_partitions)),
)  # fmt: skip


def search(fault: Fault, seed: int, most: int = MOST_PAIRS) -> Line:
    """Plant a fault and search."""
    manner = dataclasses.replace(manner_of(fault.family), kinds=fault.kinds)
    with tempfile.TemporaryDirectory() as folder, fault.planted():
        found = first_found(fault.family, most, seed, Path(folder), manner)
    return {"name": fault.name, "family": fault.family, "pairs": found, "most": most, "seed": seed}
