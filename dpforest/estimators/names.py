"""Names of columns, as scikit-learn keeps them and speaks of them; words on types of columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dpforest.call_stack import callers_stacklevel
from dpforest.checks import warn_of_lacking_names
from dpforest.display import short_list
from dpforest.domain.column_names import table_names
from dpforest.domain.domain import Domain
from dpforest.domain.label_types import told_of_label_type
from dpforest.domain.rows import are_read_by_name
from dpforest.exceptions import (
    ColumnsByPositionWarning,
    ColumnsOfTimesWarning,
    Described,
    ParameterError,
    ParameterTypeError,
    UndeclaredLabelsWarning,
    UnreadableColumnsWarning,
    kind_of,
)
from dpforest.records.streams.base import Source
from dpforest.searches import running_search, warn_in_search


def features_in(domain: Domain, by_name: bool) -> dict[str, Any]:
    """Width and, where columns are read by name, the names that the domain declares."""
    found: dict[str, Any] = {"n_features_in_": domain.n_features}
    return found | declared_names(domain) if by_name else found


def declared_names(domain: Domain) -> dict[str, Any]:
    """The attribute that scikit-learn keeps names of columns in."""
    return {"feature_names_in_": np.array(domain.feature_names, dtype=object)}


def check_feature_names(estimator: Any, X: Any) -> None:
    """Say in scikit-learn's words where a table's names are not those of the fit.

    Where a domain was declared and a part of its names is there, the encoder says it, in the words
    of a fit: scikit-learn would count columns that nobody declared among those that were not seen.

    Columns are read by name, so their order and further columns do not matter. After a fit without
    names a frame of other names is read by position, which is told: names of the fit are not kept,
    since they may be cells of a record (`warn_of_positions`). A frame whose names scikit-learn does
    not know how to read is refused here; a stream is refused always.
    """
    if isinstance(X, Source):
        raise ParameterTypeError(
            "X", kind_of(X), "a stream is for fits",
            "Read its records to a table, or predict files by `dpforest predict`",
        )  # fmt: skip
    names = table_names(X)
    if not hasattr(estimator, "feature_names_in_"):
        if names is not None and estimator._encoder_.reads_by_position(X):
            warn_of_positions(estimator.domain_, running_search(None))
    elif names is None:
        if _are_read_by_name(X, estimator.domain_):
            return
        warn_of_lacking_names(estimator)
    elif missing := sorted(set(estimator.feature_names_in_) - set(names)):
        if estimator.domain is not None and len(missing) < estimator.n_features_in_:
            return  # the encoder says which declared column is not there, as in a fit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            validate_data(estimator, X, skip_check_array=True, reset=False)
        # Of some frames it reads no names, and takes their columns by place.
        raise ParameterError(
            "X", Described("a table with other columns"),
            f"lacks columns that the domain declares: {short_list(missing)}",
            "Name its columns as they were at the fit",
        )  # fmt: skip


def _are_read_by_name(X: Any, domain: Domain) -> bool:
    """Say if a table is a list of rows that are all read by names."""
    return isinstance(X, (list, tuple)) and are_read_by_name(X, domain.feature_names)


def warn_of_positions(domain: Domain, search: str | None) -> None:
    """Warn of a frame whose columns are read by their places; by declared names alone.

    Of a file without a header the first record stands where a reader looks for names.
    """
    text = (
        "no column has a declared name, so columns are read by position, the first one as "
        f"{domain.feature_names[0]!r}. Rename the columns, or pass an array to say that this is "
        "meant; Domain.check shows which column is read as which"
    )
    warn_in_search(text, ColumnsByPositionWarning, search, stacklevel=callers_stacklevel())


def warn_of_times(features: tuple[str, ...]) -> None:
    """Warn of columns to predict that are of dates or times; by the features' names alone.

    A fit takes them without a word: one record may give a column its type.
    """
    _warn_of_columns(
        features,
        ColumnsOfTimesWarning,
        "a column of dates or times means nothing in a domain, so {columns} is predicted as if it "
        "were not known. Turn it into what the fit was given, such as days since a public date",
    )


def warn_of_no_numbers(features: tuple[str, ...]) -> None:
    """Warn of columns to predict that are to hold numbers and hold none; no value is told.

    What is predicted is the caller's own. A fit reads such columns without a word.
    """
    _warn_of_columns(
        features,
        UnreadableColumnsWarning,
        "no value of {columns} is a number, so each is predicted as the middle of the declared "
        "bounds. Write numbers with a decimal point and nothing else beside the digits, as "
        "pandas.read_csv(..., decimal=',', thousands='.') reads others; dates as days since a "
        "public date",
    )


def _warn_of_columns(features: tuple[str, ...], kind: type[Warning], text: str) -> None:
    """Warn of columns to predict, where there are some; the text names them as ``{columns}``."""
    if not features:
        return
    listed = short_list([*map(repr, features)])
    told, level = text.format(columns=listed), callers_stacklevel()
    warn_in_search(told, kind, running_search(None), key=listed, stacklevel=level)


def warn_of_label_type(y: Any, search: str | None) -> None:
    """Warn of labels of a type that means nothing, before a fit that drops their records."""
    text = told_of_label_type(y)
    if text:
        level = callers_stacklevel()
        warn_in_search(text, UndeclaredLabelsWarning, search, key=text, stacklevel=level)
