"""Names of columns in tables to predict: scikit-learn's warnings, at the line of the caller."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from dpforest.call_stack import callers_stacklevel
from dpforest.checks import warn_of_lacking_names


def named_alike(estimator: Any, X: Any) -> Any:
    """The estimator as scikit-learn is to compare a table with it.

    Where the fit or the table alone has names, that is told here: scikit-learn's warning would name
    a line of its own. It gets a copy that agrees with the table, and finds all else itself.
    """
    fitted, names = hasattr(estimator, "feature_names_in_"), _names(X)
    if fitted == (names is not None):
        return estimator
    alike = copy(estimator)
    if fitted:
        warn_of_lacking_names(estimator)
        del alike.feature_names_in_
    else:
        _warn_of_names(estimator)
        alike.feature_names_in_ = names
    return alike


def _warn_of_names(estimator: Any) -> None:
    warnings.warn(
        f"X has feature names, but {type(estimator).__name__} was fitted without feature names",
        UserWarning,
        stacklevel=callers_stacklevel(),
    )


def _names(X: Any) -> NDArray[Any] | None:
    """Names that scikit-learn finds in a table, which knows some libraries' frames and not all."""
    if isinstance(X, (list, tuple)) and not X:
        return None  # scikit-learn looks at the first record; what reads the table refuses it
    asked = BaseEstimator()
    validate_data(asked, X, skip_check_array=True)
    return getattr(asked, "feature_names_in_", None)
