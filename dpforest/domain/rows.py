"""Rows that are given one by one, as lists: each is read by itself.

Numpy would look at all of them to say how wide and how deep the table is, so that one row more
could change its shape. Here the domain says how wide a row is, and a row that is not so wide is
a record that cannot be read, whatever the others are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.series import Column

_LISTS = frozenset(map(id, (list, tuple)))


class RowTable:
    """A table as a list of rows: lists, tuples, arrays or pandas series.

    Parameters
    ----------
    rows : sequence
    n_columns : int
        How wide a row is.

    Attributes
    ----------
    broken : bool array of shape (n_rows,)
        True where a row is none, or of another width; it reads as a row without values.
    """

    names: tuple[str, ...] | None = None

    def __init__(self, rows: Sequence[Any], n_columns: int) -> None:
        read = list(rows) if _are_lists(rows) else [cells_of_row(row) for row in rows]
        self.n_rows, self.n_columns = len(read), n_columns
        widths = np.fromiter(map(len, read), dtype=np.int64, count=len(read))
        self.broken: NDArray[np.bool_] = widths != n_columns
        if self.broken.any():
            nothing = (None,) * n_columns
            wrong = self.broken.tolist()
            read = [nothing if w else row for w, row in zip(wrong, read, strict=True)]
        self._columns = list(zip(*read, strict=True)) if read else [()] * n_columns

    def column(self, index: int) -> Column:
        """Values of one column, by position."""
        return list(self._columns[index])


def _are_lists(rows: Sequence[Any]) -> bool:
    return _LISTS.issuperset(map(id, map(type, rows)))


def cells_of_row(row: Any) -> Sequence[Any]:
    """Cells of a row; none of what is no row."""
    kind = type(row)
    if issubclass(kind, list):
        return list.__getitem__(row, slice(None))
    if issubclass(kind, tuple):
        return tuple.__getitem__(row, slice(None))
    pandas = sys.modules.get("pandas")
    if pandas is not None and kind is pandas.Series:
        return list(row.to_numpy(dtype=object))
    is_array = kind is np.ndarray or kind is np.ma.MaskedArray
    return list(row) if is_array and row.ndim == 1 and row.dtype.kind != "V" else ()


def width_of_rows(rows: Sequence[Any]) -> int | None:
    """Width of all rows, or None if they differ or are none."""
    widths = {len(cells_of_row(row)) for row in rows}
    return widths.pop() if len(widths) == 1 and 0 not in widths else None
