"""What a container's own library does to the cells of other records, which nobody can undo.

A pair is set aside only if the container, asked by its own means, shows that cells of other records
were changed, or its shape or schema, and one of the effects below explains it. Each is said in
docs/domain.md.
"""

from __future__ import annotations

import csv
import datetime
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from doorway.answers import Case, NotMade, opened
from doorway.tables import Pair
from dpforest.domain.values import meaning_of

#: Types of Arrow that dpforest refuses by the schema.
_REFUSED = re.compile(r"timestamp|date|time|duration|interval|list|struct|map|union|extension")


@dataclass(frozen=True)
class Change:
    """How the container of the larger table differs from that of the smaller one.

    Attributes
    ----------
    cells : of other records that do not mean the same, without and with the record
    own : whether the pair has a number of a class of its own
    shapes, schemas : of both tables, where they are public
    """

    case: Case
    cells: list[tuple[Any, Any]]
    own: bool
    shapes: tuple[Any, Any]
    schemas: tuple[Any, Any]


@dataclass(frozen=True)
class Effect:
    """Something that a library does to a column because of one of its cells."""

    name: str
    reason: str
    explains: Callable[[Change], bool]


def _four_bytes(change: Change) -> bool:
    """Numbers that are the same in four bytes, or in two."""
    return bool(change.cells) and all(map(_are_one_in_few_bytes, *zip(*change.cells, strict=True)))


def _are_one_in_few_bytes(one: Any, other: Any) -> bool:
    meanings = meaning_of(one), meaning_of(other)
    if not all(isinstance(meaning, float) for meaning in meanings):
        return False
    with np.errstate(all="ignore"):
        return any(kind(meanings[0]) == kind(meanings[1]) for kind in (np.float32, np.float16))


def _spans_of_time(change: Change) -> bool:
    """Numbers on one side, numpy's spans or dates on the other."""
    return bool(change.cells) and any(
        isinstance(cell, (np.timedelta64, np.datetime64, datetime.timedelta, datetime.date))
        for pair in change.cells
        for cell in pair
    )


def _first_rows(change: Change) -> bool:
    return bool(change.cells) and "polars" in f"{change.case.family} {change.case.name}"


def _masked_constants(change: Change) -> bool:
    """numpy's constant for a masked cell, or what a plain array makes of it."""
    return bool(change.cells) and all(map(_is_masked, *zip(*change.cells, strict=True)))


def _is_masked(one: Any, other: Any) -> bool:
    return any(cell is np.ma.masked or cell == "--" for cell in (one, other))


def _cut_to_whole(change: Change) -> bool:
    """Numbers on one side, what is left of them as whole numbers on the other."""
    return bool(change.cells) and all(map(_is_cut, *zip(*change.cells, strict=True)))


def _is_cut(one: Any, other: Any) -> bool:
    meanings = meaning_of(one), meaning_of(other)
    numbers = all(isinstance(meaning, float) and math.isfinite(meaning) for meaning in meanings)
    return numbers and math.trunc(meanings[0]) == math.trunc(meanings[1])


def _rows_in_cells(change: Change) -> bool:
    """Whole rows on one side: of rows beside something that is none, pandas makes one column."""
    return bool(change.cells) and all(_is_row_of(*pair) for pair in change.cells)


def _is_row_of(one: Any, other: Any) -> bool:
    return any(isinstance(cell, (tuple, list, np.ndarray)) for cell in (one, other))


def _schema(change: Change) -> bool:
    """Other schemas, where one has a type without a meaning or no column at all."""
    odd = _REFUSED.search(str(change.schemas)) or "" in (*change.schemas[0], *change.schemas[1])
    return change.schemas[0] != change.schemas[1] and bool(odd)


def _shape(change: Change) -> bool:
    """Other shapes, or batches of several, with fields or with nested labels: reading tells."""
    places = [place for place, *_ in change.shapes[1]]
    odd = any(
        kind == "V" or (place == 1 and shape not in ((), (1,)))
        for place, shape, kind in change.shapes[1]
    )
    return change.shapes[0] != change.shapes[1] or len(places) > len(set(places)) or odd


EFFECTS = (
    Effect(
        "numbers of four bytes beside text",
        "a number of four or two bytes means its double, 0.1 being 0.100000001490116; where one "
        "record makes numpy, pandas or polars write the column as text, they write 0.1",
        _four_bytes,
    ),
    Effect(
        "numbers beside dates and spans of time",
        "numpy and pandas make spans of time of numbers beside one of numpy's, and Arrow makes "
        "dates of numbers beside a date",
        _spans_of_time,
    ),
    Effect(
        "masked cells in plain arrays",
        "np.array makes `--` of np.ma.masked beside text, and a number beside numbers",
        _masked_constants,
    ),
    Effect(
        "types from the first rows",
        "polars takes a column's type from its first rows and, where it is not to be strict, casts "
        "the others to it, or drops what does not fit",
        _first_rows,
    ),
    Effect(
        "numbers of a class of their own",
        "numpy and pandas call the methods of such a number where they compute with it or turn it "
        "into text, and it may say what it likes",
        lambda change: bool(change.cells) and change.own,
    ),
    Effect(
        "odd floats among whole numbers",
        "Arrow makes whole numbers of numpy's floats of two or more than eight bytes beside whole "
        "numbers, unless another number has a fraction",
        lambda change: (
            "Arrow" in f"{change.case.family} {change.case.name}" and _cut_to_whole(change)
        ),
    ),
    Effect(
        "rows in cells",
        "of rows beside something that is no row, such as a text, pandas makes one column with a "
        "whole row in each cell",
        _rows_in_cells,
    ),
    Effect(
        "schemas that were inferred",
        "the schema of Arrow and Parquet is public: a type without a meaning, such as dates, is "
        "refused by it, also where somebody had it inferred from records",
        _schema,
    ),
    Effect(
        "shapes that were inferred",
        "the shape of an array is public: np.array makes nested cells dimensions, and an array of "
        "the one record of a batch is as wide as that",
        _shape,
    ),
)


def effect_of(case: Case, pair: Pair, folder: Path) -> str | None:
    """Which effect explains that other records differ, or None."""
    tables = []
    try:
        for values, setting in zip((pair.table, pair.larger), pair.settings(folder), strict=True):
            parts = _parts(opened(case, *values, setting))
            tables.append((_cells(parts), _shapes(parts), _schemas(parts)))
        change = _change_of(case, pair, *tables)
        return next((effect.name for effect in EFFECTS if effect.explains(change)), None)
    except (NotMade, *_UNREAD):
        return None


#: What reading a container back may raise, where cells are hostile.
_UNREAD = (Exception,)


def _read(column: Any) -> list[Any]:
    """The cells of a column; none where its library cannot read them."""
    try:
        return _column(column)
    except _UNREAD:
        return []


def _change_of(case: Case, pair: Pair, smaller: Any, larger: Any) -> Change:
    changed, place = [], pair.place
    for before, after in zip(smaller[0], larger[0], strict=False):
        others = after[:place] + after[place + 1 :]
        both = zip(before, others, strict=False)
        changed += [(a, b) for a, b in both if meaning_of(a) != meaning_of(b)]
    own = any(map(_is_number_of_its_own, _given(pair)))
    return Change(case, changed, own, (smaller[1], larger[1]), (smaller[2], larger[2]))


def _given(pair: Pair) -> list[Any]:
    rows, labels = pair.larger
    return [*labels, *(cell for row in rows if isinstance(row, tuple) for cell in row)]


def _is_number_of_its_own(cell: Any) -> bool:
    kind = type(cell)
    standard = (int, float, bool, complex)
    return issubclass(kind, standard) and kind not in standard and not issubclass(kind, np.generic)


def _parts(table: Any) -> list[tuple[Any, Any]]:
    """Pairs of X and y, read by the container's own library, or a file's cells as text."""
    if hasattr(table, "X"):
        return [(table.X, table.y)]
    source = table.source
    if isinstance(source, list):
        return source
    if hasattr(source, "computed"):
        return source.computed
    if hasattr(source, "paths"):
        return [(_of_file(path), None) for path in source.paths]
    batches = source._batches
    parts = list(batches() if callable(batches) else batches)
    return [part if source.target is None else (part, None) for part in parts]


def _of_file(path: Path) -> Any:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".gz":
        return []
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return list(csv.reader(file))[1:]


def _shapes(parts: list[tuple[Any, Any]]) -> Any:
    """Widths and dimensions of arrays that are not empty, and whether they have fields."""
    return {
        (place, values.shape[1:], values.dtype.kind if values.dtype.kind == "V" else "")
        for part in parts
        for place, values in enumerate(part)
        if isinstance(values, np.ndarray) and values.ndim and len(values)
    }


def _schemas(parts: list[tuple[Any, Any]]) -> Any:
    """Types that Arrow gives columns, in its own tables or in frames of pandas."""
    return [text for part in parts for values in part for text in _types_of(values)]


def _types_of(values: Any) -> list[str]:
    if isinstance(values, (pa.Table, pa.RecordBatch)):
        return [str(values.schema)]
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return [str(values.type)]
    if isinstance(values, (pd.DataFrame, pd.Series)):
        types = map(str, np.atleast_1d(np.array(values.dtypes, dtype=object)))
        return [text for text in types if text.endswith("[pyarrow]")]
    return []


def _cells(parts: list[tuple[Any, Any]]) -> list[list[Any]]:
    """Columns with the labels, all parts of each in turn."""
    found = [[*_columns(X), *([] if y is None else [_read(y)])] for X, y in parts]
    width = max(map(len, found), default=0)
    whole = [columns for columns in found if len(columns) == width]
    return [[cell for columns in whole for cell in columns[place]] for place in range(width)]


def _columns(X: Any) -> list[list[Any]]:
    if isinstance(X, (list, tuple)):
        return [list(column) for column in zip(*map(tuple, X), strict=False)]
    if isinstance(X, np.ndarray):
        X = X.view(np.ma.MaskedArray if np.ma.isMaskedArray(X) else np.ndarray)  # no matrix
        return [_read(X[:, place]) for place in range(X.shape[1] if X.ndim > 1 else 0)]
    if hasattr(type(X), "to_native"):
        X = X.to_native()
    if hasattr(type(X), "iloc"):
        return [_read(X.iloc[:, place]) for place in range(X.shape[1])]
    if isinstance(X, (pa.Table, pa.RecordBatch)):
        return [_read(column) for column in X.columns]
    if hasattr(type(X), "iter_columns"):
        return [_read(column) for column in X.iter_columns()]
    return _columns(np.asarray(X))


def _column(y: Any) -> list[Any]:
    if isinstance(y, np.ndarray):
        # tolist makes numbers of spans of time
        return list(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y)
    for name in ("to_native", "to_pylist", "to_list"):
        if hasattr(type(y), name):
            made = getattr(y, name)()
            return _column(made) if name == "to_native" else list(made)
    return list(np.asarray(y)) if hasattr(type(y), "__array__") else list(y)
