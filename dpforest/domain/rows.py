"""Rows that are given one by one, as lists: each is read by itself.

Numpy would look at all of them to say how wide and how deep the table is, so that one row more
could change its shape. Here the domain says how wide a row is, and a row that is not so wide is
a record that cannot be read, whatever the others are.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.series import Column, cells_of, pandas_column

_LISTS = frozenset(map(id, (list, tuple)))


class RowTable:
    """A table as a list of rows of any kind that `cells_of_row` knows.

    Parameters
    ----------
    rows : sequence
    n_columns : int
        How wide a row is.
    declared : sequence of str
        Names of the features, by which rows that have names are read.
    """

    names: tuple[str, ...] | None = None

    def __init__(self, rows: Sequence[Any], n_columns: int, declared: Sequence[str] = ()) -> None:
        self._rows, self._declared = rows, tuple(declared)
        self.n_rows, self.n_columns = len(rows), n_columns

    @cached_property
    def broken(self) -> NDArray[np.bool_]:
        """Mask of rows that are no rows or of another width; they read as rows without values."""
        widths = np.fromiter(map(len, self._read), dtype=np.int64, count=self.n_rows)
        return widths != self.n_columns

    @cached_property
    def _read(self) -> list[Any]:
        if _are_lists(self._rows):
            return list(self._rows)
        return [cells_of_row(row, self._declared) for row in self._rows]

    @cached_property
    def _columns(self) -> list[tuple[Any, ...]]:
        rows, broken = self._read, self.broken
        if broken.any():
            nothing = (None,) * self.n_columns
            rows = [nothing if b else row for b, row in zip(broken.tolist(), rows, strict=True)]
        return list(zip(*rows, strict=True)) if rows else [()] * self.n_columns

    def width_of(self, row: int) -> int:
        """Number of cells of a row; 0 if it is no row."""
        return len(self._read[row])

    def kind_of(self, row: int) -> type:
        """Type of a row."""
        return type(self._rows[row])

    def column(self, index: int) -> Column:
        """Values of one column, by position."""
        return list(self._columns[index])


def _are_lists(rows: Sequence[Any]) -> bool:
    return _LISTS.issuperset(map(id, map(type, rows)))


def cells_of_row(row: Any, declared: Sequence[str] = ()) -> Sequence[Any]:
    """Cells of a row in the order of the declared names, if it has them; none of what is no row.

    A dictionary is read by names alone. Other rows that have names, and not all declared ones
    among them, are read by place.
    """
    kind = type(row)
    if issubclass(kind, dict):
        return _cells_by_name(row, declared)
    cells = _cells_by_place(row, kind)
    names = _names_of(row, kind) if declared else ()
    place = {name: index for index, name in enumerate(names)}
    if len(names) != len(cells) or not all(name in place for name in declared):
        return cells
    return [cells[place[name]] for name in declared]


def _cells_by_place(row: Any, kind: type) -> Sequence[Any]:
    """Cells of a row as they stand."""
    if issubclass(kind, list):
        return list.__getitem__(row, slice(None))
    if issubclass(kind, tuple):
        return tuple.__getitem__(row, slice(None))
    if _is_of(kind, "pandas", "Series"):
        return cells_of(pandas_column(row))
    if _is_of(kind, "sqlite3", "Row"):
        return tuple(row)
    is_array = kind is np.ndarray or kind is np.ma.MaskedArray
    return cells_of_array(row) if is_array and row.ndim == 1 and row.dtype.kind != "V" else ()


def _names_of(row: Any, kind: type) -> list[Any]:
    """Names of the cells of a row, where it has some; what is no text is no name."""
    names: Sequence[Any] = ()
    if issubclass(kind, tuple):
        fields = inspect.getattr_static(kind, "_fields", None)
        names = fields if type(fields) is tuple else ()
    elif _is_of(kind, "pandas", "Series") and type(row.index) is sys.modules["pandas"].Index:
        names = cells_of(pandas_column(row.index.to_series()))
    elif _is_of(kind, "sqlite3", "Row"):
        names = row.keys()
    return [_text_of_name(name) for name in names]


def _is_of(kind: type, library: str, name: str) -> bool:
    """Say if a type is that of a library, which nobody has to have."""
    return kind is getattr(sys.modules.get(library), name, None)


def _text_of_name(name: Any) -> str | None:
    """A name as plain text, whatever its class makes of it; None for what is none."""
    return str.__str__(name) if issubclass(type(name), str) else None


def _cells_by_name(row: dict[Any, Any], declared: Sequence[str]) -> Sequence[Any]:
    """Cells of a dictionary, nothing where it has no such name; none where it has none of them.

    Names of other types are not looked at: comparing them might raise.
    """
    named = {_text_of_name(name): cell for name, cell in dict.items(row)}
    is_row = any(name in named for name in declared)
    return [named.get(name) for name in declared] if is_row else ()


def cells_of_array(array: NDArray[Any]) -> list[Any]:
    """Cells of an array of one dimension; numpy would ask those of a masked one for attributes."""
    if not isinstance(array, np.ma.MaskedArray):
        return list(array)
    gaps = np.ma.getmaskarray(array)
    cells = zip(np.ma.getdata(array), gaps, strict=True)
    return [None if gap else cell for cell, gap in cells]


def width_of_rows(rows: Sequence[Any]) -> int | None:
    """Width of all rows, or None if they differ or are none."""
    widths = {len(cells_of_row(row)) for row in rows}
    return widths.pop() if len(widths) == 1 and 0 not in widths else None
