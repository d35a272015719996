"""Words on labels whose type tells that they mean nothing, for whoever fits.

Of intervals, structs and pairs no value is a class or a number, so a fit drops every record and is
charged for it. Such a type is told of and never refused, since a library may have inferred it. One
record can bring it about only where no other label means anything, or where its library changed the
others. Dates and times are not told: one of them makes times of numpy's whole numbers beside it.
"""

from __future__ import annotations

import sys
from typing import Any

from dpforest.domain.labels import label_series
from dpforest.domain.series import is_plain_arrow, is_time_of_pandas

_DROPPED = "no value of this type means a class or a number, so every record is dropped"
#: Repairs by what a type holds.
_REPAIRS = {
    "intervals": "Declare their texts as classes and give y.astype(str), or give numbers",
    "lists": "Give one label a record, such as y.arr.first()",
    "structs": "Give one of their fields, such as y.struct.field(name)",
    "nested values": "Give one label a record, as a plain column",
}
_ONE_EACH = (
    "labels come in a column of lists: a list of one is read as its cell, and a record with any "
    "other is dropped. Give one label a record, such as y.list.first()"
)


def told_of_label_type(y: Any) -> str:
    """Words on the type of labels; empty where it says nothing against them.

    Parameters
    ----------
    y : array, list, series or frame of one column
        Its type alone is looked at; lists and arrays say nothing of their cells.
    """
    series = label_series(y)
    held = "" if series is None else _held_by(series)
    if held == "lists of any length":
        return _ONE_EACH
    return f"labels of a type of {held}: {_DROPPED}. {_REPAIRS[held]}" if held else ""


def _held_by(series: Any) -> str:
    """Name what a type holds whose values may mean nothing; empty for any other type."""
    if series.implementation.is_polars():
        return _held_by_polars(series.to_native().dtype)
    return _held_by_pandas(series.to_native().dtype) if series.implementation.is_pandas() else ""


def _held_by_polars(dtype: Any) -> str:
    polars = sys.modules["polars"]
    if isinstance(dtype, polars.Struct):
        return "structs"
    if isinstance(dtype, polars.Array) and dtype.shape != (1,):
        return "lists"
    return "lists of any length" if isinstance(dtype, (polars.List, polars.Array)) else ""


def _held_by_pandas(dtype: Any) -> str:
    pandas = sys.modules["pandas"]
    if isinstance(dtype, pandas.CategoricalDtype):
        return _held_by_pandas(dtype.categories.dtype)
    if isinstance(dtype, pandas.IntervalDtype):
        return "intervals"
    of_arrow = isinstance(dtype, pandas.ArrowDtype) and not is_time_of_pandas(dtype)
    return "nested values" if of_arrow and not is_plain_arrow(dtype.pyarrow_dtype) else ""
