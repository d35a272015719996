"""A column of dates or times means nothing: predictions are told, and fits are not."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import cross_val_score

from dpforest import (
    ColumnsOfTimesWarning,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    UnreadableColumnsWarning,
)
from dpforest.exceptions import ParameterTypeError

DOMAIN = Domain(
    features={"age": (0, 9), "day": (0, 9), "ward": ["a", "b"]}, classes=["no", "yes"],
    target=(0, 9), approximate_rows=400,
)  # fmt: skip
AGES = np.random.default_rng(0).uniform(0, 9, 400)
TABLE = pd.DataFrame({"age": AGES, "day": AGES[::-1], "ward": ["a", "b"] * 200})
LABELS = np.where(AGES > 4.5, "yes", "no")
DATES = pd.Series(pd.date_range("2020-01-31", periods=400))
KINDS = [
    (PrivateForestClassifier, LABELS), (PrivateForestRegressor, AGES),
    (MultinomialForestClassifier, LABELS),
]  # fmt: skip
COLUMNS = [
    DATES,
    DATES.dt.tz_localize("Europe/Berlin"),
    DATES - DATES[0],
    DATES.dt.to_period("M"),
    DATES.astype("category"),
    DATES.astype("date32[pyarrow]"),
    DATES.astype("timestamp[us, UTC][pyarrow]"),
    pd.Series([pd.NaT] * 400),
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind[0].__name__)
def forest(request):
    kind, y = request.param
    return kind(epsilon=5, domain=DOMAIN, random_state=0).fit(TABLE, y)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.dtype))
def test_predictions_tell_of_the_feature_and_of_no_value(forest, column):
    text = "so 'day' is predicted as if it were not known.*days since a public date"
    with pytest.warns(ColumnsOfTimesWarning, match=text) as told:
        found = forest.predict(TABLE.assign(day=column))
    assert len(told) == 1 and "2020" not in str(told[0].message)
    with pytest.warns(ColumnsOfTimesWarning):
        few = forest.predict(TABLE.assign(day=column)[:3])
    assert (few == found[:3]).all()  # what is predicted is as it was


def test_frames_of_polars_and_arrays_are_told_too_and_arrow_is_refused(forest):
    table = pl.from_pandas(TABLE.assign(day=DATES, ward=DATES))
    with pytest.warns(ColumnsOfTimesWarning, match="so 'day', 'ward' is predicted"):
        forest.predict(table)
    with (
        pytest.warns(ColumnsOfTimesWarning, match="so 'age', 'day', 'ward' is"),
        pytest.warns(UserWarning, match="valid feature names"),
    ):
        forest.predict(np.array([["2020-01-31"] * 3], dtype="datetime64[D]"))
    with pytest.raises(ParameterTypeError, match="dates and times are not supported"):
        forest.predict(pa.Table.from_pandas(TABLE.assign(day=DATES)))


def test_what_has_no_type_of_its_own_is_told_as_what_is_no_number(forest):
    """Columns that are not declared are not read."""
    day = datetime.date(2020, 1, 31)
    for table in (TABLE, TABLE.assign(other=DATES), TABLE.to_dict("records")):
        forest.predict(table)  # a warning would be an error
    for table in (
        TABLE.assign(day=[day] * 400), TABLE.assign(day=DATES.astype(str)),
        [{"age": 1, "day": day, "ward": "a"}],
    ):  # fmt: skip
        with pytest.warns(UnreadableColumnsWarning, match="'day' is a number.*days since") as told:
            forest.predict(table)
        assert len(told) == 1 and "2020" not in str(told[0].message)


@pytest.mark.parametrize(("kind", "y"), KINDS)
def test_a_fit_says_nothing(kind, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnsOfTimesWarning)
        kind(epsilon=5, domain=DOMAIN, random_state=0).fit(TABLE.assign(day=DATES), y)


def test_a_search_tells_it_once():
    forest = PrivateForestRegressor(epsilon=5, domain=DOMAIN, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cross_val_score(forest, TABLE.assign(day=DATES), AGES, cv=3)
    assert sum(issubclass(one.category, ColumnsOfTimesWarning) for one in told) == 1
