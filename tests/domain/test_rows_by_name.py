"""Rows that have names are read by the names of the features, each by itself."""

from __future__ import annotations

import sqlite3
import warnings
from collections import OrderedDict, namedtuple
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.domain.encoder import DomainEncoder
from dpforest.streams import BatchStream

DOMAIN = Domain(
    features={"age": (0, 110), "ward": ["a", "b"]}, classes=["no", "yes"], approximate_rows=200
)
TABLE = pd.DataFrame({"age": np.arange(200) % 90, "ward": ["a", "b"] * 100})
LABELS = np.where(TABLE["age"] > 40, "yes", "no")


class Unhappy:
    """A key that looks like a feature's name until somebody compares it."""

    def __hash__(self):
        return hash("age")

    def __eq__(self, other):
        raise RuntimeError("asked")


def encoded(X, y=LABELS):
    return DomainEncoder(DOMAIN, invalid="drop", estimator_name="x").encode(X, y)


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_dictionaries_read_as_the_frame_of_them(kind):
    rows = [kind(row) for row in TABLE.to_dict("records")]
    shuffled = [kind(reversed(row.items())) for row in rows]
    more = [kind({**row, "id": 7}) for row in rows]
    expected = encoded(TABLE)
    for X in (rows, tuple(rows), shuffled, more):
        found = encoded(X)
        np.testing.assert_array_equal(found.matrix.codes, expected.matrix.codes)
        np.testing.assert_array_equal(found.labels, expected.labels)


def test_a_fit_and_its_predictions_are_those_of_the_frame():
    rows = TABLE.to_dict("records")
    fits = [
        PrivateForestClassifier(epsilon=5, domain=DOMAIN, random_state=0).fit(X, LABELS)
        for X in (TABLE, rows)
    ]
    np.testing.assert_array_equal(fits[0].predict_proba(TABLE), fits[1].predict_proba(rows))
    stream = BatchStream([(rows[:90], LABELS[:90]), (rows[90:], LABELS[90:])])
    stream.check(("age", "ward"))


def test_predictions_of_dictionaries_do_not_warn_of_names():
    """They are read by names; of rows without them a fit with names warns, as scikit-learn does."""
    forest = PrivateForestClassifier(epsilon=5, domain=DOMAIN).fit(TABLE, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest.predict([{"ward": "a", "age": 3}])
    for rows in ([], [[3, "a"]]):
        with pytest.warns(UserWarning, match="valid feature names"):
            forest.predict(rows)


def test_each_row_is_read_by_itself():
    """A name that is missing is a missing value, and a row without any is no row."""
    rows = [{"age": 4, "ward": "a"}, {"ward": "b"}, {"years": 3}, {}, [5, "b"], {Unhappy(): 1}]
    domain = Domain(
        features={"age": (0, 110), "ward": ["a", "b"]}, classes=["no", "yes"],
    )  # fmt: skip
    encoder = DomainEncoder(domain, invalid="drop", estimator_name="x")
    alone = [encoder.encode([row], ["no"]).labels.size for row in rows]
    found = encoder.encode(rows, ["no"] * len(rows))
    assert found.labels.size == sum(alone)
    assert alone[0] == alone[4] == 1 and alone[2] == alone[3] == alone[5] == 0


class Name(str):
    """A text that takes itself for no other."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        raise RuntimeError("asked")


@pytest.mark.parametrize("kind", [Name, np.str_])
def test_names_of_any_class_of_texts(kind):
    rows = [{kind(name): cell for name, cell in row.items()} for row in TABLE.to_dict("records")]
    np.testing.assert_array_equal(encoded(rows).matrix.codes, encoded(TABLE).matrix.codes)


def rows_of_sqlite(frame):
    """The rows that a database hands over, with names."""
    with closing(sqlite3.connect(":memory:")) as base:
        frame.to_sql("t", base, index=False)
        base.row_factory = sqlite3.Row
        return base.execute("select * from t").fetchall()


ROWS_WITH_NAMES = {
    "pandas series": lambda frame: [row for _, row in frame.iterrows()],
    "named tuples": lambda frame: list(frame.itertuples(index=False)),
    "named tuples with their index": lambda frame: list(frame.itertuples()),
    "rows of SQLite": rows_of_sqlite,
}


@pytest.mark.parametrize("rows_of", ROWS_WITH_NAMES.values(), ids=ROWS_WITH_NAMES)
def test_rows_with_all_names_are_read_by_them(rows_of):
    expected = encoded(TABLE)
    for frame in (TABLE[["ward", "age"]], TABLE.assign(id=7)[["id", "ward", "age"]]):
        found = encoded(rows_of(frame))
        np.testing.assert_array_equal(found.matrix.codes, expected.matrix.codes)
        np.testing.assert_array_equal(found.labels, expected.labels)


@pytest.mark.parametrize("rows_of", [ROWS_WITH_NAMES["pandas series"], rows_of_sqlite])
def test_rows_with_other_names_are_read_by_place(rows_of):
    rows = rows_of(TABLE.set_axis(["years", "ward"], axis=1))
    np.testing.assert_array_equal(encoded(rows).matrix.codes, encoded(TABLE).matrix.codes)


def test_names_that_are_none_are_not_looked_at():
    """What a class calls its fields, and labels of any type, end no fit."""
    odd = type("Odd", (tuple,), {"_fields": ("ward", "age", "more")})
    none = type("None_", (tuple,), {"_fields": 3})
    labels = pd.Series([5, "b"], index=pd.period_range("2020", periods=2, freq="Y"))
    rows = [odd((5, "b")), none((5, "b")), labels, pd.Series([5, "b"], index=[Unhappy(), None])]
    twice = namedtuple("twice", ["ward", "age"])("b", 5)
    codes = encoded([*rows, twice], ["no"] * 5).matrix.codes
    np.testing.assert_array_equal(
        codes, np.broadcast_to(encoded([[5, "b"]], ["no"]).matrix.codes, (5, 2))
    )
