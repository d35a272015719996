"""Rows that are given one by one, as lists: each is read by itself.

Numpy would look at all of them to say how wide and how deep the table is, so that one row more
could change its shape. Here the domain says how wide a row is, and a row that is not so wide is
a record that cannot be read, whatever the others are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.series import Column, cells_of, index_column, is_foreign, pandas_column
from dpforest.domain.values import are_plain
from dpforest.exceptions import StreamError

_LISTS = frozenset(map(id, (list, tuple)))
#: What a class is made of, past its metaclass.
_CLASSES_OF = type.__dict__["__mro__"].__get__
_NAMESPACE_OF = type.__dict__["__dict__"].__get__


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

    def is_foreign(self, row: int) -> bool:
        """Say if a row is a series of a type of another library than pandas."""
        one = self._rows[row]
        return _is_of(type(one), "pandas", "Series") and is_foreign(one.dtype)

    def column(self, index: int) -> Column:
        """Values of one column, by position."""
        return list(self._columns[index])


def _are_lists(rows: Sequence[Any]) -> bool:
    return _LISTS.issuperset(map(id, map(type, rows)))


def cells_of_row(row: Any, declared: Sequence[str] = ()) -> Sequence[Any]:
    """Cells of a row in the order of the declared names, if it has them; none of what is no row.

    A dictionary is read by names alone. Other rows that have names, and not each declared one
    once among them, are read by place.
    """
    kind = type(row)
    if issubclass(kind, dict):
        return _cells_by_name(row, declared)
    cells = _cells_by_place(row, kind)
    places = _places(row, kind, declared, len(cells))
    return cells if places is None else [cells[place] for place in places]


def sole_cells(rows: list[Any]) -> list[Any]:
    """Labels that are given one by one, each out of its row where it is one of a single cell.

    So a database hands on the one column that it was asked for. Each is looked at by itself: no
    warning may say what the others are.
    """
    return rows if are_plain(rows) else [_sole_cell(row) for row in rows]


def _sole_cell(row: Any) -> Any:
    cells = _cells_by_place(row, type(row))
    return cells[0] if len(cells) == 1 else row


def are_read_by_name(rows: Sequence[Any], declared: Sequence[str]) -> bool:
    """Say if each row is a dictionary, or is read by the declared names."""
    return len(rows) > 0 and all(_is_read_by_name(row, type(row), declared) for row in rows)


def _is_read_by_name(row: Any, kind: type, declared: Sequence[str]) -> bool:
    if issubclass(kind, dict) or id(kind) in _LISTS:
        return issubclass(kind, dict)
    return _places(row, kind, declared, len(_cells_by_place(row, kind))) is not None


def _places(row: Any, kind: type, declared: Sequence[str], width: int) -> list[int] | None:
    """Places of the declared names in a row; None where it is read by place.

    A name that stands twice says of neither cell what it is.
    """
    names = _names_of(row, kind) if declared else []
    if len(names) != width or not _has_each_once(names, declared):
        return None
    place = {name: index for index, name in enumerate(names)}
    return [place[name] for name in declared]


def _has_each_once(names: Sequence[str | None], declared: Sequence[str]) -> bool:
    """Say if each declared name stands once among those of a row."""
    found = frozenset(names)
    return found.issuperset(declared) and (
        len(found) == len(names) or all(names.count(name) == 1 for name in declared)
    )


def _cells_by_place(row: Any, kind: type) -> Sequence[Any]:
    """Cells of a row as they stand."""
    if issubclass(kind, list):
        return list.__getitem__(row, slice(None))
    if issubclass(kind, tuple):
        return tuple.__getitem__(row, slice(None))
    if _is_of(kind, "pandas", "Series"):
        return _cells_of_series(row)
    if _is_of(kind, "sqlite3", "Row"):
        return tuple(row)
    is_array = kind is np.ndarray or kind is np.ma.MaskedArray
    return cells_of_array(row) if is_array and row.ndim == 1 and row.dtype.kind != "V" else ()


def _cells_of_series(row: Any) -> Sequence[Any]:
    """Cells of a series; none where its type is another library's, which does not let it be read.

    Such a row is no row: it is dropped, or refused in prediction, and ends no fit.
    """
    try:
        return cells_of(pandas_column(row))
    except StreamError:
        return ()


def _names_of(row: Any, kind: type) -> list[str | None]:
    """Names of the cells of a row, where it has some; what is no text is no name."""
    names: Sequence[Any] = ()
    if issubclass(kind, tuple):
        names = _fields_of(kind)
    elif _is_of(kind, "pandas", "Series") and _may_be_names(row.index):
        names = cells_of(index_column(row.index))
    elif _is_of(kind, "sqlite3", "Row"):
        names = row.keys()
    return [_text_of_name(name) for name in names]


def _fields_of(kind: type) -> Sequence[Any]:
    """Names that a class of tuples has for its cells.

    Neither the class nor its metaclass is asked: what they answer, or raise, is one record's.
    """
    fields = _defined(kind, "_fields")
    return fields if type(fields) is tuple else ()


def is_mapping(kind: type) -> bool:
    """Say if a type is one of mappings; neither it nor its metaclass is asked."""
    return issubclass(kind, dict) or any(one is Mapping for one in _CLASSES_OF(kind))


def has_columns(kind: type) -> bool:
    """Say if a type is one of tables; neither it nor its metaclass is asked."""
    return _defined(kind, "columns") is not None


def _defined(kind: type, name: str) -> Any:
    """Definition of a name by a class, or by one that it is made of; None where there is none."""
    for one in _CLASSES_OF(kind):
        for key, found in _NAMESPACE_OF(one).items():
            # A key of another type might raise where it is compared.
            if type(key) is str and key == name:
                return found
    return None


def _may_be_names(index: Any) -> bool:
    """Say if an index may hold texts: those of numbers, times and several levels hold none.

    Neither do those whose type another library made: nothing of a row is asked of such a type.
    """
    pandas = sys.modules["pandas"]
    known = type(index) is pandas.Index or type(index) is pandas.CategoricalIndex
    return known and not is_foreign(index.dtype)


def _is_of(kind: type, library: str, name: str) -> bool:
    """Say if a type is that of a library, which nobody has to have."""
    return kind is getattr(sys.modules.get(library), name, None)


def _text_of_name(name: Any) -> str | None:
    """A name as plain text, whatever its class makes of it; None for what is none."""
    return str.__str__(name) if issubclass(type(name), str) else None


def _cells_by_name(row: dict[Any, Any], declared: Sequence[str]) -> Sequence[Any]:
    """Cells of a dictionary, nothing where it has no such name; none where it has none of them.

    None as well where it has one of them twice. Names of other types are not looked at: comparing
    them might raise.
    """
    named = {_text_of_name(name): cell for name, cell in dict.items(row)}
    # Keys that are one text, but not equal, may be told apart by their classes alone.
    if len(named) < dict.__len__(row) and _names_one_twice(row, declared):
        return ()
    is_row = any(name in named for name in declared)
    return [named.get(name) for name in declared] if is_row else ()


def _names_one_twice(row: dict[Any, Any], declared: Sequence[str]) -> bool:
    names = [_text_of_name(name) for name in dict.keys(row)]
    return any(names.count(name) > 1 for name in declared)


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
