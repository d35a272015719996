"""Refusals of tables of another shape, with how to make one of what was given."""

from __future__ import annotations

from typing import NoReturn

from dpforest.domain.rows import has_columns, is_mapping
from dpforest.exceptions import Described, ParameterError

_RESHAPED = (
    "Reshape your data, with X.reshape(-1, 1) for a single feature or X.reshape(1, -1) for a "
    "single sample"
)
_IN_ROWS = (
    "Pass a data frame or an array: of columns in a mapping make pandas.DataFrame(X), of a single "
    "record in a mapping [X]"
)
OF_LISTS = "Pass a list of rows, [X] for a single record"
_OF_MAPPINGS = "Make a frame of mappings, pandas.DataFrame(rows), which reads them by their names"
OF_FRAMES = "Of several tables make one, such as by pandas.concat(X)"
OF_SERIES = "Pass a data frame: frame.iloc[[0]] is one row of it, frame[['name']] one column"
OF_SOURCES = (
    "Read it to a table first: pyarrow.table(X), or X.to_table() where it is a dataset. What does "
    "not fit into memory is fitted as a dpforest.streams.BatchStream(open_it, target=...), whose "
    "function opens a reader anew for each pass"
)
OF_TURNS = (
    "Of rows that come one by one make list(X). Tables that do, such as "
    "pandas.read_csv(..., chunksize=...), are fitted as a dpforest.streams.BatchStream(lambda: "
    "pandas.read_csv(..., chunksize=...), target=...), which opens them anew for each pass, and "
    "predicted each by itself"
)
_OF_CUBES = "Pass one row a record, X.reshape(len(X), -1) where each cell is a feature"


def repair_of_row(kind: type) -> str:
    """Repair where what stands in a list is no row, by its type."""
    if is_mapping(kind):
        return _OF_MAPPINGS
    return OF_FRAMES if has_columns(kind) else OF_LISTS


def refuse_dimensions(n_dimensions: int, repair: str = "") -> NoReturn:
    """Refuse a table that has not two dimensions, in scikit-learn's words."""
    usual = (_IN_ROWS, _RESHAPED)[n_dimensions] if n_dimensions < 2 else _OF_CUBES
    raise ParameterError(
        "X",
        Described(f"a table with {n_dimensions} dimension(s)"),
        f"Expected 2D array, got {n_dimensions}D array instead",
        repair or usual,
    )
