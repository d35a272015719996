"""Bytes as text, cell by cell."""

from __future__ import annotations

from typing import Any

from dpforest.records.streams.files import pyarrow


def text_column(column: Any) -> Any:
    """Text of bytes; a byte that is no UTF-8 stands for an unknown sign, U+FFFD.

    Files may hold as text what is none, and Arrow hands it on until somebody reads it.

    Parameters
    ----------
    column : Arrow array or chunked array of binary

    Returns
    -------
    Arrow array or chunked array of large_string
    """
    pa = pyarrow()
    try:
        return pyarrow("compute").cast(column, pa.large_string())
    except pa.ArrowInvalid:
        cells = (cell and cell.decode("utf-8", "replace") for cell in column.to_pylist())
        return pa.array(list(cells), pa.large_string())
