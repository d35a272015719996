"""Masked cells of numpy: missing in tables, as a fit takes them, and refused in what is released.

What stands below a mask is nobody's value, and ``numpy.asarray`` brings it back.

Held by tests/audit/test_gaps.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import Described, ParameterError


def table_of(given: Any) -> NDArray[Any]:
    """An array that keeps the masks of what was given; rows and cells of a list have some too."""
    if isinstance(given, np.ma.MaskedArray):
        return given
    return objects_of(given) if _holds_gaps(given) else np.asarray(given)


def objects_of(given: Any) -> NDArray[Any]:
    """Cells as Python objects, None where one is masked."""
    if isinstance(given, np.ma.MaskedArray):
        if given.dtype.names is not None:  # a mask a field
            return np.array(given.tolist(), dtype=object)
        cells = np.array(given.data, dtype=object)
        cells[np.ma.getmaskarray(given)] = None
        return cells
    rows = [_without_gaps(row) for row in given] if _holds_gaps(given) else given
    return np.asarray(rows, dtype=object)


def joined(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Rows of several tables or lists of labels, with their masks."""
    masked = any(isinstance(table, np.ma.MaskedArray) for table in tables)
    together: NDArray[Any] = (np.ma if masked else np).concatenate(tables)
    return together


def refuse_masked(given: Any, parameter: str, rule: str, repair: str) -> None:
    """Refuse what has a masked cell, itself or in a part of a list.

    Raises
    ------
    ParameterError
        It has one; nothing is told of what stands below.
    """
    if np.ma.is_masked(given) or _holds_gaps(given):
        raise ParameterError(parameter, Described("a masked cell"), rule, repair)


def _holds_gaps(given: Any) -> bool:
    """Say if a list has masked cells, or rows with some."""
    if not isinstance(given, (list, tuple)):
        return False
    return any(_is_masked(row) for row in given)


def _is_masked(row: Any) -> bool:
    if isinstance(row, (list, tuple)):
        return any(cell is np.ma.masked for cell in row)
    return bool(np.ma.is_masked(row))


def _without_gaps(row: Any) -> Any:
    """A row as a list, or a cell, with None for what is masked."""
    if row is np.ma.masked:
        return None
    if isinstance(row, np.ma.MaskedArray):
        return row.tolist()
    if isinstance(row, (list, tuple)):
        return [None if cell is np.ma.masked else cell for cell in row]
    return row
