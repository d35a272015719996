"""Labels and weights of records: opened without a look at any, then read as a column.

No message of this module holds a value or a number of records.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpforest.call_stack import callers_stacklevel
from dpforest.domain.column_names import refuse_feature
from dpforest.domain.opening import (
    as_array,
    in_narwhals,
    is_sparse,
    refuse_lazy,
    refuse_levels,
    without_its_words,
)
from dpforest.domain.rows import sole_cells
from dpforest.domain.series import (
    Column,
    is_of_lists_of_polars,
    series_column,
    sole_cells_of_polars,
)
from dpforest.domain.shapes import OF_FRAMES
from dpforest.domain.table import ListTable, Table, array_column, check_series
from dpforest.exceptions import Described, ParameterError, ParameterTypeError, kind_of, raise_alone


def read_labels(
    y: Any, estimator_name: str, check: bool = False, features: Sequence[str] = ()
) -> Column:
    """Labels as a one-dimensional column; see `open_labels`."""
    opened = open_labels(y, estimator_name, check, features)
    column = opened if isinstance(opened, list) else _column_of_labels(opened)
    # In a series of objects too.
    return sole_cells(column) if isinstance(column, list) else column


def _column_of_labels(opened: Any) -> Column:
    if isinstance(opened, np.ndarray):
        return array_column(opened)
    return sole_cells_of_polars(opened) if is_of_lists_of_polars(opened) else series_column(opened)


@without_its_words("y")
def open_labels(
    y: Any, estimator_name: str, check: bool = False, features: Sequence[str] = ()
) -> Any:
    """Open labels without a look at any, as a list, an array or a narwhals series.

    Parameters
    ----------
    y : array, list, series or frame of one column
        In a list, each label is read by itself.
    estimator_name : str
    check : bool
        Whether to refuse what `Table.check_column` does, and to warn of labels in a column. That is
        once a table: for each batch it would tell how many there are.
    features : sequence of str
        Names that the table's features are read by: see `read_by_name`.

    Raises
    ------
    ParameterError
        If there are none, or several a record, or they are one of the features.
    ParameterTypeError
        For types that are no labels.
    """
    _refuse_no_labels(y, estimator_name)
    if not isinstance(y, (np.ndarray, list, tuple)):
        series = label_series(y, check)
        if series is not None:
            if check:
                check_series(series, "y")
            refuse_feature(series.name, features)
            return series
    read = as_array(y, "y")
    return read if isinstance(read, list) else _one_dimension(read, check)


def _refuse_no_labels(y: Any, estimator_name: str) -> None:
    """Refuse what holds no labels, by its type."""
    if y is None:
        raise ParameterError(
            "y",
            None,
            f"{estimator_name} requires y to be passed, but the target y is None",
            "Pass the labels",
        )
    refuse_levels(y, "y")
    if is_sparse(y):
        raise ParameterTypeError(
            "y", Described("a sparse matrix"), "sparse labels are not supported", "Use an array"
        )
    if isinstance(y, str):
        raise ParameterTypeError(
            "y", kind_of(y), "must be the labels themselves, not the name of their column",
            "Give table[name]",
        )  # fmt: skip


def label_series(y: Any, check: bool = False) -> Any:
    """Labels as a series, also from a frame with one column; None for anything else."""
    import narwhals as nw

    native = in_narwhals(y, _refuse_outputs)
    refuse_lazy(native, "y")
    if isinstance(native, nw.DataFrame):
        if native.shape[1] != 1:
            _refuse_outputs()
        if check:
            _warn_column_vector()
        native = next(native.iter_columns())
    return native if isinstance(native, nw.Series) else None


def _one_dimension(array: NDArray[Any], check: bool) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        if check:
            _warn_column_vector()
        return array[:, 0]
    if array.ndim == 0:
        raise ParameterError(
            "y", Described("labels without an order"), "y should be a 1d array, one label a record",
            "Give a list of them, in the order of the records",
        )  # fmt: skip
    if array.ndim != 1:
        _refuse_outputs()
    return array


def _refuse_outputs() -> NoReturn:
    raise ParameterError(
        "y",
        Described("labels of another shape"),
        "y should be a 1d array, one label a record; multi-output is not supported",
        "Fit one estimator for each output",
    )


def _warn_column_vector() -> None:
    import warnings

    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. "
        "Please change the shape of y to (n_samples, ), for example using ravel().",
        DataConversionWarning,
        stacklevel=callers_stacklevel(),
    )


def check_lengths(table: Table, labels: Sized) -> None:
    """Refuse a table and labels of different lengths, without saying which."""
    one_by_one = isinstance(table, ListTable)
    check_numbers(table.n_rows, labels, _ONE_EACH_IN_LISTS if one_by_one else _ONE_EACH)


_ONE_EACH = "Pass one label for each record"
_ONE_EACH_IN_LISTS = f"{_ONE_EACH}, which is what each place of a list holds. {OF_FRAMES}"


def check_numbers(n_records: int, labels: Sized, repair: str = _ONE_EACH) -> None:
    """Refuse another number of labels than of records, without saying which."""
    if n_records != len(labels):
        rule = "X and y have inconsistent numbers of samples"
        raise ParameterError("y", Described("labels"), rule, repair)


def check_scored(n_records: int, labels: Sized) -> None:
    """Refuse to score no records: earlier releases of scikit-learn warn, and answer nan."""
    check_numbers(n_records, labels)
    if not n_records:
        rule = "must have records, since a score of none is no number"
        raise ParameterError("X", Described("a table"), rule, "Give the records to score")


def read_weights(n_records: int, weights: Any) -> NDArray[np.float64] | None:
    """Weights of a score, one for each record; None for none.

    Raises
    ------
    ParameterError
        They are not one finite number of at least 0 for each record, some above 0.
    """
    if weights is None:
        return None
    with np.errstate(all="ignore"):
        read = _as_doubles(weights)
        sound = read.shape == (n_records,) and np.isfinite(read.sum()) and (read >= 0).all()
    if not (sound and (read.any() or not n_records)):
        rule = "must be one finite number of at least 0 for each record, some of them above 0"
        raise_alone(ParameterError("sample_weight", Described("weights"), rule, _NO_WEIGHTS))
    return read


def _as_doubles(given: Any) -> NDArray[np.float64]:
    """Numbers as doubles; none where it holds anything else, whose own error may tell a value.

    A masked one is no number, whatever stands below the mask.
    """
    try:
        if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
            return np.empty(0)
        array = np.asarray(given)
        return np.asarray(array if array.dtype.kind in "biufO" else [], dtype=np.float64)
    except Exception:
        return np.empty(0)


_NO_WEIGHTS = "Pass an array of shape (n,), or leave it out"
