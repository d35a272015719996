"""Names of columns in tables to predict: scikit-learn's warnings, at the line of the caller."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np

from dpforest.call_stack import callers_stacklevel
from dpforest.checks import warn_of_lacking_names


def named_alike(estimator: Any, X: Any) -> Any:
    """The estimator as scikit-learn is to compare a table with it.

    Where the fit or the table alone has names, that is told here: scikit-learn's warning would name
    a line of its own. It gets a copy that agrees with the table, and finds all else itself.
    """
    fitted, names = hasattr(estimator, "feature_names_in_"), _names(X)
    if fitted == bool(names):
        return estimator
    alike = copy(estimator)
    if fitted:
        warn_of_lacking_names(estimator)
        del alike.feature_names_in_
    else:
        _warn_of_names(estimator)
        alike.feature_names_in_ = np.array(names, dtype=object)
    return alike


def _warn_of_names(estimator: Any) -> None:
    warnings.warn(
        f"X has feature names, but {type(estimator).__name__} was fitted without feature names",
        UserWarning,
        stacklevel=callers_stacklevel(),
    )


def _names(X: Any) -> list[str]:
    """Names of a frame's columns, where any is text: scikit-learn refuses others beside it."""
    # Arrow's tables hold data under "columns".
    found = getattr(X, "column_names" if hasattr(X, "column_names") else "columns", None)
    names = [] if found is None or callable(found) else list(found)
    return names if any(isinstance(name, str) for name in names) else []
