"""Names of columns, as scikit-learn keeps them and speaks of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dpforest.domain.domain import Domain
from dpforest.records.streams.base import Source


def features_in(domain: Domain, X: Any) -> dict[str, Any]:
    """Width and, where columns were read by name, the names that the domain declares."""
    found: dict[str, Any] = {"n_features_in_": domain.n_features}
    if X.named if isinstance(X, Source) else _names_fit(domain, X):
        found |= declared_names(domain)
    return found


def declared_names(domain: Domain) -> dict[str, Any]:
    """The attribute that scikit-learn keeps names of columns in."""
    return {"feature_names_in_": np.array(domain.feature_names, dtype=object)}


def check_feature_names(estimator: Any, X: Any, stacklevel: int = 3) -> None:
    """Say in scikit-learn's words where a table's names are not those of the fit.

    Columns are read by name, so their order and further columns do not matter.
    """
    if not hasattr(estimator, "feature_names_in_"):
        return
    names = table_names(X)
    if names is None:
        warnings.warn(
            f"X does not have valid feature names, but {type(estimator).__name__} was fitted with "
            "feature names",
            UserWarning,
            stacklevel=stacklevel,
        )
    elif not set(estimator.feature_names_in_) <= set(names):
        validate_data(estimator, X, skip_check_array=True, reset=False)


def _names_fit(domain: Domain, X: Any) -> bool:
    """Say if a table has all declared names."""
    return set(domain.feature_names) <= set(table_names(X) or ())


def table_names(X: Any) -> tuple[str, ...] | None:
    """Column names of a data frame of any library, where all of them are text."""
    # Asked of the type: pandas answers for columns and rows of a name too, with their values.
    # Arrow's tables hold data under "columns".
    place = "column_names" if hasattr(type(X), "column_names") else "columns"
    names = getattr(X, place, None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)
