"""Rows that have names are read by the names of the features, each by itself."""

from __future__ import annotations

import sqlite3
import warnings
from collections import OrderedDict, namedtuple
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpforest import Domain, PrivateForestClassifier, PrivateForestRegressor
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.labels import read_labels
from dpforest.domain.values import UNREADABLE, meaning_of
from dpforest.exceptions import ParameterError
from dpforest.streams import BatchStream

DOMAIN = Domain(
    features={"age": (0, 110), "ward": ["a", "b"]}, classes=["no", "yes"], approximate_rows=200
)
TABLE = pd.DataFrame({"age": np.arange(200) % 90, "ward": ["a", "b"] * 100})
LABELS = np.where(TABLE["age"] > 40, "yes", "no")


class Unhappy:
    """A key that looks like a feature's name until somebody compares it."""

    def __init__(self, name="age"):
        self.name = name

    def __hash__(self):
        return hash(self.name)

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


class Silent(type):
    """A class of classes that lets nobody ask them anything."""

    def __getattribute__(cls, name):
        raise RuntimeError("asked")

    __hash__ = __eq__ = __call__ = None


class Guarded(type):
    """The same by properties."""

    __mro__ = __dict__ = property(lambda cls: 1 / 0)


def unasked(made_by, fields):
    """A row whose class may not be asked for its names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a key that is no text, from Python 3.13
        return tuple.__new__(made_by("Unasked", (tuple,), fields), (5, "b"))


def assert_read_as(rows, expected):
    """Rows read, each, as a list of cells does."""
    codes = encoded(rows, ["no"] * len(rows)).matrix.codes
    np.testing.assert_array_equal(
        codes, np.broadcast_to(encoded([expected], ["no"]).matrix.codes, (len(rows), 2))
    )


def test_names_that_are_none_are_not_looked_at():
    """What a class calls its fields, and labels of any type, end no fit."""
    fields = {"more": ("ward", "age", "more"), "none": 3}
    odd = [unasked(type, {"_fields": names}) for names in fields.values()]
    keyed = unasked(type, {Unhappy("_fields"): ("ward", "age")})
    silent = [unasked(Silent, {}), unasked(Guarded, {"_fields": ("age", "ward")})]
    labels = pd.Series([5, "b"], index=pd.period_range("2020", periods=2, freq="Y"))
    unhappy = pd.Series([5, "b"], index=[Unhappy(), None])
    turned = namedtuple("turned", ["ward", "age"])("b", 5)
    assert_read_as([*odd, keyed, *silent, labels, unhappy, turned], [5, "b"])


def test_names_of_a_class_that_may_not_be_asked_are_read():
    named = Silent("Named", (namedtuple("turned", ["ward", "age"]),), {})
    assert_read_as([tuple.__new__(named, ("b", 5))], [5, "b"])


@pytest.mark.parametrize("metaclass", [Silent, Guarded])
def test_what_is_no_row_is_refused_without_asking_its_class(metaclass):
    odd = object.__new__(type.__call__(metaclass, "Odd", (), {}))
    for call in (
        lambda: DomainEncoder(DOMAIN).encode_to_predict([[5, "b"], odd]),
        lambda: Domain.draft([odd, odd], ["no", "yes"]),
    ):
        with pytest.raises(ParameterError, match=r"Pass a list of rows, \[X\] for a single record"):
            call()


def series_of(names):
    """A row of a frame, with these columns."""
    return pd.Series(["b", 5], index=names, dtype=object)


@pytest.mark.parametrize(
    "names",
    [
        pd.CategoricalIndex(["ward", "age"]), pd.Index(["ward", "age"], dtype="string"),
        pd.Index(["ward", "age"], dtype=object),
    ],
)  # fmt: skip
def test_names_of_a_series_in_any_index_of_texts(names):
    assert_read_as([series_of(names)], [5, "b"])


def test_an_index_of_a_code_that_is_no_category_ends_no_fit():
    codes = pd.Categorical.from_codes([0, -1], ["ward", "age"])
    assert_read_as([pd.Series([5, "b"], index=pd.CategoricalIndex(codes))], [5, "b"])


def sqlite_row(text):
    with closing(sqlite3.connect(":memory:")) as base:
        base.row_factory = sqlite3.Row
        return base.execute(f"select {text}").fetchone()


NAMED_TWICE = {
    "a row of SQLite": (
        sqlite_row("5 as age, 'b' as age"), sqlite_row("7 as age, 'b' as ward, 5 as age"),
        sqlite_row("5 as age, 1 as id, 2 as id, 'b' as ward"),
    ),
    "a series": (
        pd.Series([5, "b"], index=["age", "age"]),
        pd.Series([7, "b", 5], index=["age", "ward", "age"]),
        pd.Series([5, 1, 2, "b"], index=["age", "id", "id", "ward"]),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("narrow", "wide", "other"), NAMED_TWICE.values(), ids=NAMED_TWICE)
def test_a_feature_that_is_named_twice_is_read_by_no_name(narrow, wide, other):
    """By place, if the row is as wide as the domain; else it cannot be read, and is dropped."""
    assert_read_as([narrow, other], [5, "b"])
    assert encoded([wide, [5, "b"]], ["no", "no"]).labels.size == 1


class Apart(str):
    """A text that is equal to no other."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def test_a_dictionary_that_has_a_name_twice_is_dropped():
    row = {Apart("age"): 7, "ward": "b", "age": 5}
    assert len(row) == 3
    assert encoded([row, [5, "b"]], ["no", "no"]).labels.size == 1


# -- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rows_of", [
    *ROWS_WITH_NAMES.values(), lambda frame: frame.to_dict("records"),
], ids=[*ROWS_WITH_NAMES, "dictionaries"])  # fmt: skip
def test_predictions_of_rows_that_are_read_by_name_do_not_warn_of_names(rows_of):
    forest = PrivateForestClassifier(epsilon=5, domain=DOMAIN, random_state=0).fit(TABLE, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = forest.predict_proba(rows_of(TABLE[["ward", "age"]]))
    np.testing.assert_array_equal(found, forest.predict_proba(TABLE))


@pytest.mark.parametrize(
    "rows",
    [
        [], [[3, "a"]], [{"age": 3, "ward": "a"}, (3, "a")],
        [sqlite_row("3 as age, 'a' as age")], [pd.Series([3, "a"])],
        [namedtuple("others", ["years", "room"])(3, "a")],
    ],
)  # fmt: skip
def test_predictions_of_rows_that_are_read_by_place_warn_of_names(rows):
    """As scikit-learn does after a fit with names."""
    forest = PrivateForestClassifier(epsilon=5, domain=DOMAIN).fit(TABLE, LABELS)
    with pytest.warns(UserWarning, match="valid feature names"):
        forest.predict(rows)


def test_labels_in_rows_of_one_cell_are_those_cells():
    """So a database hands on one column; nothing says beforehand that such labels are none."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table stays (back text)")
        database.executemany("insert into stays values (?)", [(str(label),) for label in LABELS])
        fetched = database.execute("select back from stays order by rowid").fetchall()
        database.row_factory = sqlite3.Row
        named = database.execute("select back from stays order by rowid").fetchall()
    expected = encoded(TABLE)
    arrays, objects = [np.array([label]) for label in LABELS], np.empty(len(LABELS), dtype=object)
    objects[:] = fetched
    for labels in (fetched, named, list(map(list, fetched)), arrays, objects, pd.Series(fetched)):
        assert encoded(TABLE, labels).labels.tolist() == expected.labels.tolist()
        assert DOMAIN.check(TABLE, labels).dropped == 0
    assert Domain.draft(TABLE, fetched).classes.labels == ("no", "yes")
    # Polars makes a column of lists of them.
    whole = pl.Series(fetched)
    assert whole.dtype == pl.List
    for labels in (whole, pl.Series(fetched, dtype=pl.Array(pl.String, 1))):
        assert encoded(TABLE, labels).labels.tolist() == expected.labels.tolist()


def test_labels_in_lists_of_polars_are_read_one_by_one():
    lists = pl.Series([["yes"], ["yes", "no"], [], None, [None], ["no"]])
    alone = read_labels(lists, "a test")
    assert [alone[k] for k in (0, 3, 4, 5)] == ["yes", None, None, "no"]
    assert list(map(meaning_of, alone[1:3])) == [UNREADABLE] * 2
    nested = read_labels(pl.Series([[["yes"]], [["no"]]]), "a test")
    assert list(map(meaning_of, nested)) == [UNREADABLE] * 2
    said = str(DOMAIN.check(TABLE[:2], pl.Series([["yes", "no"]] * 2)))
    assert "a date, a list or the like (2)" in said


def test_a_label_is_taken_out_of_its_row_whatever_the_others_are():
    mixed = [[LABELS[0]], *LABELS[1:-3], [], [LABELS[-2]] * 2, [[LABELS[-1]]]]
    found = encoded(TABLE, mixed)
    assert found.labels.tolist() == encoded(TABLE[:-3], LABELS[:-3]).labels.tolist()


def test_targets_in_rows_of_one_cell_are_fitted_and_scored():
    domain = Domain(features=DOMAIN.features, target=(0, 90), approximate_rows=200)
    targets = TABLE["age"].tolist()
    forests = [
        PrivateForestRegressor(epsilon=5, domain=domain, random_state=0).fit(TABLE, y)
        for y in (targets, [(target,) for target in targets])
    ]
    np.testing.assert_array_equal(*(forest.predict(TABLE) for forest in forests))
    scores = {forest.score(TABLE, [[target] for target in targets]) for forest in forests}
    assert scores == {forests[0].score(TABLE, targets)}
