"""From a user's table to numbers: which columns are categorical, and what their values become."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from dpforest.consistent.names import named_alike
from dpforest.exceptions import ParameterError

#: What a missing value of a categorical column becomes: a value of its own, below all others.
_MISSING = -(2**53)
_UNKNOWN = -1


#: Beside scikit-learn's own words, which other estimators of its kind use.
_TEXTS = (
    "Columns of texts are categories where they are named: categorical_features=[...], or "
    "X.astype({...: 'category'}) of a frame of pandas."
)


def _validated_numbers(estimator: Any, X: Any, y: Any) -> tuple[NDArray[np.float64], Any]:
    """A table and targets as scikit-learn checks them; an error of texts says how to go on."""
    try:
        return validate_data(estimator, X, y, dtype=np.float64)
    except ValueError as error:
        if "could not convert string" in str(error):
            error.add_note(_TEXTS)
        raise


class FeatureReader:
    """Reads tables for one fitted estimator.

    Numbers stay as they are, in categorical columns too. Categorical columns of text, or of a
    frame, become places in the sorted list of the categories met in the fit; there a missing value
    is a category, and a category not met before is none of those known.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like of bool, int or str, or None
    """

    def __init__(self, categorical_features: Any) -> None:
        self._declared = categorical_features
        self.categorical = np.zeros(0, dtype=np.bool_)
        self._encoder: OrdinalEncoder | None = None

    def fit(self, estimator: Any, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Learn the categories; returns the table and the targets, checked as scikit-learn does."""
        if not self._any_declared(X):
            X, y = _validated_numbers(estimator, X, y)
            self.categorical = np.zeros(X.shape[1], dtype=np.bool_)
            return X, y
        validate_data(estimator, X, y, skip_check_array=True)
        self.categorical = self._mask(estimator, X)
        y = column_or_1d(y, warn=True)
        X = self._read(estimator, X, fitting=True)
        check_consistent_length(X, y)
        return X, y

    def transform(self, estimator: Any, X: Any) -> NDArray[np.float64]:
        """Read a table to predict for."""
        alike = named_alike(estimator, X)
        if not self.categorical.any():
            return np.ascontiguousarray(
                validate_data(alike, X, dtype=np.float64, order="C", reset=False)
            )
        validate_data(alike, X, skip_check_array=True, reset=False)
        return self._read(estimator, X, fitting=False)

    def _any_declared(self, X: Any) -> bool:
        if self._declared is None:
            return False
        if isinstance(self._declared, str):
            if self._declared != "from_dtype":
                raise ParameterError(
                    "categorical_features", self._declared,
                    "must be 'from_dtype', None or a list of columns", "List the columns",
                )  # fmt: skip
            return bool(_categorical_dtypes(X).any())
        return np.size(self._declared) > 0

    def _mask(self, estimator: Any, X: Any) -> NDArray[np.bool_]:
        if isinstance(self._declared, str):
            return _categorical_dtypes(X)
        declared = np.asarray(self._declared)
        n_features = estimator.n_features_in_
        mask = np.zeros(n_features, dtype=np.bool_)
        if declared.dtype.kind == "b" and declared.shape == (n_features,):
            return declared
        if declared.dtype.kind in "OU":
            names = list(getattr(estimator, "feature_names_in_", []))
            absent = [name for name in declared if name not in names]
            if not absent:
                mask[[names.index(name) for name in declared]] = True
                return mask
        elif declared.dtype.kind in "iu" and ((declared >= 0) & (declared < n_features)).all():
            mask[declared] = True
            return mask
        raise ParameterError(
            "categorical_features", self._declared,
            f"must be a mask of {n_features} columns, or column numbers or names of the table",
            "Check it against the table",
        )  # fmt: skip

    def _read(self, estimator: Any, X: Any, fitting: bool) -> NDArray[np.float64]:
        """A table with categorical columns, some of which may be no numbers."""
        if not _is_frame(X):
            X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
        plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
        if plain:
            out = np.array(X, dtype=np.float64, order="C")
            missing = np.isnan(out) & self.categorical
            out[missing] = _MISSING
            check_array(out, estimator=estimator, input_name="X")
            return out
        numeric = np.flatnonzero(~self.categorical)
        out = np.empty(X.shape, dtype=np.float64)
        if numeric.size:
            out[:, numeric] = check_array(
                _take(X, numeric), dtype=np.float64, estimator=estimator, input_name="X"
            )
        categories = _texts(_take(X, np.flatnonzero(self.categorical)))
        check_array(categories, dtype=None, ensure_all_finite=False, estimator=estimator)
        if fitting:
            self._encoder = OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=_UNKNOWN,
                encoded_missing_value=_MISSING,
            ).fit(categories)  # fmt: skip
        assert self._encoder is not None
        out[:, self.categorical] = self._encoder.transform(categories)
        return out


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def _categorical_dtypes(X: Any) -> NDArray[np.bool_]:
    """Mask of a frame's columns of categorical type; empty for anything but a frame."""
    if not _is_frame(X):
        return np.zeros(0, dtype=np.bool_)
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return np.zeros(0, dtype=np.bool_)
    return np.array(
        [dtype in (nw.Categorical, nw.Enum) for dtype in frame.schema.values()], dtype=np.bool_
    )


def _take(X: Any, columns: NDArray[np.int64]) -> Any:
    if isinstance(X, np.ndarray):
        return X[:, columns]
    import narwhals as nw

    return nw.from_native(X)[:, columns.tolist()].to_native()


def _texts(X: Any) -> NDArray[Any]:
    """Categorical columns as objects, missing values as NaN; numbers stay numbers."""
    if not isinstance(X, np.ndarray):
        import narwhals as nw

        columns = [column.to_list() for column in nw.from_native(X).iter_columns()]
        X = np.empty((len(columns[0]), len(columns)), dtype=object)
        for f, column in enumerate(columns):
            X[:, f] = column
    out = np.array(X, dtype=object)
    # None, NaN, NaT and a frame's NA; anything else equals itself.
    out[np.array([[_is_missing(value) for value in row] for row in out], dtype=np.bool_)] = np.nan
    return out


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
