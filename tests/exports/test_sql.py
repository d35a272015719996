"""A forest as SQL predicts in databases as the forest does, whatever its names and texts."""

from __future__ import annotations

import functools
import json
import pickle
import sqlite3
from contextlib import closing
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dpforest import (
    Domain,
    ExportSizeError,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    read_plain,
)
from dpforest.exceptions import ParameterError
from dpforest.exports.sql_model import sql_model
from dpforest.exports.sql_words import exact
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize
from dpforest.trees.rules.learner import RulesLearner
from dpforest.trees.rules.settings import RulesSettings
from dpforest.trees.strategies import ASKED, Strategy

CLOSE = 1e-12
LONG = "a long name " * 5
FEATURES = [
    {"name": 'a"ge\'; --', "kind": "numeric", "lower": 0, "upper": 100, "integer": True},
    {"name": "income", "kind": "numeric", "lower": 0, "upper": 1e5, "missing": True},
    {"name": "sélect 色", "kind": "categorical", "categories": ["it's", 'gr"een', "bl\\ue\\"]},
    {"name": "case", "kind": "categorical", "categories": ["a", "b", "z"], "other": "z",
     "missing": True},
    {"name": LONG, "kind": "categorical", "categories": ["1", "2", "4"], "missing": True},
    {"name": "?1 :x %s $1", "kind": "categorical", "categories": ["True", "False"]},
]  # fmt: skip
NUMERIC = 2
SMALL = {
    "RulesLearner": RulesLearner(RulesSettings(n_sums=6, n_cuts=5)),
    "RefittedForest": RefittedForest(
        RefittedSettings(fixed_size=RefittedSize(3, 4, 12), start_signal=1e-9)
    ),
    "BoostedForest": BoostedForest(BoostedSettings(fixed_size=BoostedSize(3, 6))),
}
N = 400
TEXTS = [
    None,
    "",
    "nan",
    "it's",
    'gr"een',
    "bl\\ue\\",
    "IT'S",
    "a",
    "b",
    "z",
    "Z",
    "1",
    "1.0",
    "2",
    "4",
    "4.0",
    "True",
    "true",
    "False",
    "0",
    "3",
    "très",
    "a\tb",
    "'; DROP TABLE records; --",
]
NUMBERS = [None, np.nan, np.inf, -np.inf, -0.0, 0.0, 50.0, np.nextafter(50.0, 0), 100.0, 1e308,
           -7.5, 5e-324, 2.0**53]  # fmt: skip


# -- databases -----------------------------------------------------------------------------------


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def filled(execute: Any, mark: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> None:
    """A new table ``records``, its key first."""
    execute("DROP TABLE IF EXISTS records", [])
    listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
    execute(f"CREATE TABLE records (number INTEGER, {listed})", [])
    marks = ", ".join([mark] * (1 + len(columns)))
    for start in range(0, len(rows), 50):
        some = [(start + k, *row) for k, row in enumerate(rows[start : start + 50])]
        values = ", ".join([f"({marks})"] * len(some))
        execute(f"INSERT INTO records VALUES {values}", [value for row in some for value in row])


def in_sqlite(statement: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as database:
        filled(database.execute, "?", columns, rows)
        return sorted(database.execute(statement).fetchall())


def in_duckdb(statement: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> list[Any]:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as database:
        database.execute("PRAGMA disable_optimizer")
        filled(database.execute, "?", columns, rows)
        return sorted(database.execute(statement).fetchall())


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def answers(request):
    """What a database makes of records: rows by their key."""
    if request.param != "postgresql":
        return {"sqlite": in_sqlite, "duckdb": in_duckdb}[request.param]
    cluster = request.getfixturevalue("cluster")
    import psycopg

    def in_postgresql(statement: str, columns: Any, rows: Any) -> list[Any]:
        with psycopg.connect(cluster.url()) as database:
            database.execute("SET client_min_messages = error")  # long names are cut

            def execute(text: str, values: list[Any]) -> None:
                # Names may hold what psycopg takes for a place of a value.
                marked = text.replace("%", "%%").replace("\x01", "%s") if values else text
                database.execute(marked, values or None)

            filled(execute, "\x01", columns, rows)
            return sorted(database.execute(statement).fetchall())

    return in_postgresql


def columns_of() -> list[tuple[str, str]]:
    kinds = ["DOUBLE PRECISION"] * NUMERIC + ["VARCHAR"] * (len(FEATURES) - NUMERIC)
    return [(str(feature["name"]), kind) for feature, kind in zip(FEATURES, kinds, strict=True)]


# -- forests -------------------------------------------------------------------------------------


def table() -> tuple[list[list[Any]], np.ndarray]:
    generator = np.random.default_rng(0)
    age, income = generator.integers(0, 101, N), generator.exponential(2e4, N)
    income[generator.random(N) < 0.1] = np.nan
    columns = [
        generator.choice(feature["categories"], N)
        for feature in FEATURES[NUMERIC:]  # type: ignore[call-overload]
    ]
    score = (age > 50) + (columns[0] == "it's") + 0.5 * (columns[1] == "a")
    score = score + 0.4 * (columns[2] == "4") + generator.normal(0, 0.3, N)
    rows = zip(age.tolist(), income.tolist(), *(column.tolist() for column in columns), strict=True)
    return [list(row) for row in rows], score


@functools.cache
def records() -> list[list[Any]]:
    """Records of the table, and odd ones: every number and every text in turn."""
    generator = np.random.default_rng(1)
    odd = []
    for _ in range(150):
        numbers = [NUMBERS[k] for k in generator.integers(0, len(NUMBERS), NUMERIC)]
        odd.append([*numbers, *(TEXTS[k] for k in generator.integers(0, len(TEXTS), 4))])
    odd += [[number, number, *["a"] * 4] for number in NUMBERS]
    odd += [[50.0, 1.0, *[text] * 4] for text in TEXTS]
    return [[float(row[0]), *row[1:]] for row in table()[0][:40]] + odd


def trained(forest: Any, X: Any, y: Any) -> Any:
    real = Strategy.make
    small = mock.patch.object(Strategy, "make", lambda e: SMALL.get(e.learner) or real(e))
    with small:
        return forest.fit(X, y)


@functools.cache
def fitted(strategy: str, n_classes: int, labels: tuple[Any, ...] | None = None) -> Any:
    """A classifier, or with no class a regressor."""
    X, score = table()
    delta = "1e-6" if strategy == "refitted" else 0  # its starts are linear
    if not n_classes:
        own = Domain(features=FEATURES, target={"lower": -1, "upper": 3}, approximate_rows=N)
        regressor = PrivateForestRegressor(
            epsilon=20, delta=delta, domain=own, strategy=strategy, random_state=0
        )
        return trained(regressor, X, np.clip(score, -1, 3))
    names = list(labels or [f"c'{k}" for k in range(n_classes)])
    own = Domain(features=FEATURES, classes=names, approximate_rows=N)
    y = np.array(names, dtype=object)[np.searchsorted([0.9, 1.6][: n_classes - 1], score)]
    forest = PrivateForestClassifier(
        epsilon=20, delta=delta, domain=own, strategy=strategy, random_state=0
    )
    return trained(forest, X, y.tolist())


def check_classes(forest: Any, answers: Any) -> None:
    expected = np.array(read_plain(forest.to_plain()).predict_proba(records()))
    rows = answers(forest.to_sql(keep=["number"]), columns_of(), records())
    found = np.array([row[2:] for row in rows])
    assert found.dtype == np.float64
    assert np.abs(found - expected).max() < CLOSE
    top = np.sort(expected, axis=1)
    told = top[:, -1] - top[:, -2] > CLOSE
    labels = np.array([row[1] for row in rows], dtype=object)
    assert (labels == np.array(forest.classes_)[expected.argmax(axis=1)])[told].all()
    assert np.ptp(expected, axis=0).max() > 0.05, "all records alike: nothing was compared"
    assert np.abs(found[:40] - forest.predict_proba(table()[0][:40])).max() < CLOSE


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strategy", ASKED)
def test_classes_are_as_probable_as_the_forest_says(strategy, n_classes, answers):
    check_classes(fitted(strategy, n_classes), answers)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("thresholds", ["cells", "lattice"])
def test_the_multinomial_forest_is_written_too(thresholds, n_classes, answers):
    check_classes(multinomial(thresholds, n_classes), answers)


@functools.cache
def multinomial(thresholds: str, n_classes: int) -> Any:
    X, score = table()
    names = [f"c{k}" for k in range(n_classes)]
    own = Domain(features=FEATURES, classes=names, approximate_rows=N)
    forest = MultinomialForestClassifier(
        epsilon=20, n_estimators=4, max_depth=4, domain=own, thresholds=thresholds, random_state=0
    )
    labels = np.searchsorted([0.9, 1.6][: n_classes - 1], score)
    return forest.fit(X, [names[label] for label in labels])


@pytest.mark.parametrize("strategy", ASKED)
def test_means_are_the_forests(strategy, answers):
    forest = fitted(strategy, 0)
    rows = answers(forest.to_sql(keep=["number"]), columns_of(), records())
    expected = np.array(read_plain(forest.to_plain()).predict(records()))
    assert np.abs(np.array([row[1] for row in rows]) - expected).max() < 4 * CLOSE
    assert np.ptp(expected) > 0.1


@pytest.mark.parametrize("labels", [
    (0, 1), (-1, 5, 7), (False, True), (0.5, 1.5), ("no", "y'e\"s\\"),
])  # fmt: skip
def test_labels_keep_their_type(labels, answers):
    forest = fitted("boosted", len(labels), labels)
    found = {row[1] for row in answers(forest.to_sql(keep=["number"]), columns_of(), records())}
    assert found <= set(labels) and len(found) > 1
    assert {type(one) for one in found} <= {type(labels[0]), int}


@pytest.mark.parametrize("labels", [(2**53 + 1, 0.5), (2**63, -1), (5, 2**63)])
def test_numbers_that_no_column_holds_are_texts(labels, answers):
    statement = fitted("boosted", 2, labels).to_sql(keep=["number"])
    found = {row[1] for row in answers(statement, columns_of(), records())}
    assert found == set(map(str, labels))


# -- what is in a table --------------------------------------------------------------------------


def test_a_number_in_a_column_of_texts_of_sqlite_is_read_and_another_text_is_missing():
    forest, whole = fitted("one_shot", 2), records()[:40]
    kinds = [(name, "VARCHAR") for name, _ in columns_of()]
    statement = forest.to_sql(keep=["number"])
    for written, read in (("", None), ("abc", None), ("12abc", None), ("nan", None), ("64", 64.0)):
        rows = in_sqlite(statement, kinds, [[written, *row[1:]] for row in whole])
        expected = read_plain(forest.to_plain()).predict_proba([[read, *row[1:]] for row in whole])
        assert np.abs(np.array([row[2:] for row in rows]) - np.array(expected)).max() < CLOSE


def test_whole_numbers_and_texts_without_case_are_read_letter_by_letter():
    forest, whole = fitted("one_shot", 2), records()[:40]
    kinds = [(name, "TEXT COLLATE NOCASE" if k >= NUMERIC else "INTEGER")
             for k, (name, _) in enumerate(columns_of())]  # fmt: skip
    sent = [[int(row[0]), 2**63 - 1, "it's", "A", 4, 1] for row in whole]
    plain = [[row[0], 2.0**63, "it's", "A", 4, True] for row in whole]
    rows = in_sqlite(forest.to_sql(keep=["number"]), kinds, sent)
    expected = read_plain(forest.to_plain()).predict_proba(plain)
    assert np.abs(np.array([row[2:] for row in rows]) - np.array(expected)).max() < CLOSE


def test_the_zero_below_zero_is_the_category_of_zero(answers):
    """A column of doubles may hold it, after a product for instance; a database writes its sign."""
    domain = Domain(features={"code": ["0", "1", "2"]}, classes=["a", "b"], approximate_rows=1000)
    codes = np.arange(1000) % 3
    forest = PrivateForestClassifier(epsilon=50, domain=domain, strategy="one_shot", random_state=1)
    forest.fit(codes.reshape(-1, 1).astype(float), np.where(codes == 0, "a", "b"))
    sent = [[-0.0], [0.0], [1.0], [7.0]]
    expected = forest.predict_proba(np.array(sent))
    assert abs(expected[0] - expected[3]).max() > 0.1
    rows = answers(forest.to_sql(keep=["number"]), [("code", "DOUBLE PRECISION")], sent)
    assert np.abs(np.array([row[2:] for row in rows]) - expected).max() < CLOSE
    plain = read_plain(forest.to_plain()).predict_proba(sent)
    assert np.abs(np.array(plain) - expected).max() < CLOSE


def test_a_column_that_is_not_there_is_an_error_and_no_text():
    """SQLite takes a quoted name that it does not know for a text, unless it says whose it is."""
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        in_sqlite(fitted("one_shot", 2).to_sql(), [("other", "TEXT")], [["x"]])


@settings(max_examples=40)
@given(
    names=st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=2),
    categories=st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=4, unique=True),
    classes=st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=2, unique=True),
)
@example(['x"); DROP TABLE records; --', "'y"], ["'); DROP TABLE records; --", "''"], ["'", '"'])
@example(['"', '""'], ["\\", "\\'"], ["-- '", "/* '"])
def test_no_text_is_more_than_a_text(names, categories, classes):
    assume("\0" not in "".join([*names, *categories, *classes]))
    folded = {name.casefold() for name in (*names, "number")}
    assume(len(folded) == 3 and len({label.casefold() for label in classes}) == 2)
    plain = hand_written(names, categories, classes)
    reader = read_plain_or_none(plain)
    assume(reader is not None)
    rows = [
        [number, text] for number in (1.0, 2.0, None) for text in (*categories, "neither", None)
    ]
    columns = [(names[0], "DOUBLE PRECISION"), (names[1], "VARCHAR")]
    statement = sql_model(plain, keep=["number"], outputs=["l", "p", "q"])
    found = in_sqlite(statement, columns, rows)
    expected = np.array(reader.predict_proba(rows))
    assert np.abs(np.array([row[2:] for row in found]) - expected).max() < CLOSE
    assert [row[1] for row in found] == reader.predict(rows)


def read_plain_or_none(plain: str) -> Any:
    """A reader, where categories mean different things and none is missing."""
    try:
        reader = read_plain(plain)
    except ValueError:
        return None
    meanings = [reader.meaning(text) for text in json.loads(plain)["features"][1]["categories"]]
    plainly = all(isinstance(text, str) and text for text in meanings)
    return reader if plainly and len(set(meanings)) == len(meanings) else None


def hand_written(names: list[str], categories: list[str], classes: list[str]) -> str:
    tree = [
        {"feature": 0, "threshold": 1.5, "missing": "left", "unknown": "left", "left": 1,
         "right": 2},
        {"values": [-0.7]},
        {"feature": 1, "categories": [0], "missing": "right", "unknown": "left", "left": 3,
         "right": 4},
        {"values": [0.1]}, {"values": [0.8]},
    ]  # fmt: skip
    second = [
        {"feature": 1, "categories": [1], "missing": "left", "unknown": "right", "left": 1,
         "right": 2},
        {"values": [2.5]}, {"values": [-1.25]},
    ]  # fmt: skip
    return json.dumps({
        "format": "dpforest-plain", "version": 2, "digits": "0",
        "features": [
            {"name": names[0], "kind": "numeric", "numbers": "values"},
            {"name": names[1], "kind": "categorical", "numbers": "values",
             "categories": categories},
        ],
        "score": {"kind": "trees", "columns": [1], "base": [0.3], "start": None,
                  "trees": [tree, second]},
        "link": {"kind": "softmax", "classes": classes},
    })  # fmt: skip


# -- limits of databases -------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.1)
@example(5e-324)
@example(-1.7976931348623157e308)
@example(38.5)
@example(2.0**53 + 2)
def test_a_limit_is_the_same_double_in_the_database(value):
    with closing(sqlite3.connect(":memory:")) as database:
        assert database.execute(f"SELECT {exact(value)} = ?", [value]).fetchone() == (1,)


def test_limits_are_the_same_doubles_in_other_databases(answers):
    generator = np.random.default_rng(0)
    values = [*generator.normal(size=60).tolist(), *(10.0 ** np.arange(-300, 300, 20)).tolist(),
              5e-324, 1e308, 0.1, -0.0]  # fmt: skip
    tests = ", ".join(f"v{k} = {exact(value)}" for k, value in enumerate(values))
    columns = [(f"v{k}", "DOUBLE PRECISION") for k in range(len(values))]
    (row,) = answers(f"SELECT {tests} FROM records", columns, [values])
    assert all(row)


def test_only_decimals_that_are_the_double_itself_are_written_as_decimals():
    assert exact(38.5) == "38.5e0" and exact(-0.0) == "-0.0e0" and exact(3.0) == "3.0e0"
    assert exact(0.1).startswith("CAST(3602879701896397 AS DOUBLE PRECISION) / ")
    assert all("CAST" in exact(value) for value in (1 / 3, 5e-324, 1e22, 1e-5))


def test_shares_of_rules_are_right_far_from_the_threshold_too(answers):
    """Beyond 40 steps a share is 0 or 1, and products of small shares are taken."""
    table = {"feature": 1, "places": [0, 500], "missing": 251, "unknown": -900}
    nodes = [
        {"sum": [table], "threshold": 250, "width": 1, "left": 1, "right": 2},
        {"probabilities": [0.9, 0.1]},
        {"sum": [table], "threshold": 250, "width": 20, "left": 3, "right": 4},
        {"probabilities": [0.2, 0.8]}, {"probabilities": [0.6, 0.4]},
    ]  # fmt: skip
    plain = json.loads(hand_written(["n", "c"], ["a", "b"], ["no", "yes"]))
    plain["score"] = {"kind": "rules", "steepness": 2.0, "hard_weight": 3.0, "nodes": nodes}
    rows = [[1.0, text] for text in ("a", "b", None, "neither")]
    columns = [("n", "DOUBLE PRECISION"), ("c", "VARCHAR")]
    expected = np.array(read_plain(json.dumps(plain)).predict_proba(rows))
    found = answers(sql_model(json.dumps(plain), keep=["number"]), columns, rows)
    assert np.abs(np.array([row[2:] for row in found]) - expected).max() < CLOSE
    assert len({row[2] for row in found}) == 3
    plain["link"] = {"kind": "mean", "range": [-1.0, 3.0]}
    means = answers(sql_model(json.dumps(plain), keep=["number"]), columns, rows)
    expected = np.array(read_plain(json.dumps(plain)).predict(rows))
    assert np.abs(np.array([row[1] for row in means]) - expected).max() < 4 * CLOSE


def chain(depth: int) -> list[dict[str, Any]]:
    """A tree that goes on to one side alone, and turns."""
    nodes: list[dict[str, Any]] = []
    for level in range(depth):
        sides = (len(nodes) + 1, len(nodes) + 2)
        left, right = sides if level % 2 else sides[::-1]
        split = {"feature": 0, "threshold": level + 0.5, "missing": "left", "unknown": "left"}
        nodes += [{**split, "left": left, "right": right}, {"values": [float(level)]}]
    return [*nodes, {"values": [-1.0]}]


def bushy(first: int, last: int, nodes: list[dict[str, Any]]) -> int:
    """A tree with a leaf for every number in a range."""
    place = len(nodes)
    nodes.append({"values": [float(first % 7)]})
    if last - first > 1:
        middle = (first + last) // 2
        nodes[place] = {"feature": 0, "threshold": middle - 0.5, "missing": "left",
                        "unknown": "left", "left": bushy(first, middle, nodes),
                        "right": bushy(middle, last, nodes)}  # fmt: skip
    return place


def with_trees(trees: list[Any]) -> str:
    plain = json.loads(hand_written(["n", "c"], ["a", "b"], ["no", "yes"]))
    plain["score"]["trees"] = trees
    return json.dumps(plain)


def test_deep_trees_and_many_trees_are_no_trouble(answers):
    nodes: list[dict[str, Any]] = []
    bushy(0, 512, nodes)
    small = [{**split} for split in chain(1)]
    plain = with_trees([chain(300), nodes, *[small] * 1500])
    rows = [[float(k), "a"] for k in range(0, 600, 7)] + [[None, "b"]]
    found = answers(
        sql_model(plain, keep=["number"]), [("n", "DOUBLE PRECISION"), ("c", "VARCHAR")], rows
    )
    expected = np.array(read_plain(plain).predict_proba(rows))
    assert np.abs(np.array([row[2:] for row in found]) - expected).max() < CLOSE


def test_scores_that_are_far_apart_are_no_trouble(answers):
    """PostgreSQL refuses exponentials that are too small."""
    plain = json.loads(with_trees([]))
    plain["score"]["base"] = [2000.0]
    columns, rows = [("n", "DOUBLE PRECISION"), ("c", "VARCHAR")], [[1.0, "a"]]
    (row,) = answers(sql_model(json.dumps(plain), keep=["number"]), columns, rows)
    assert row[1] == "yes" and row[2] < CLOSE and row[3] == 1
    plain["link"] = {"kind": "mean", "range": [1e-30, 1.0]}
    for score, mean in ((2000.0, 1.0), (-2000.0, 1e-30)):
        plain["score"]["base"] = [score]
        (row,) = answers(sql_model(json.dumps(plain), keep=["number"]), columns, rows)
        assert abs(row[1] - mean) < CLOSE


def test_a_long_statement_is_refused_with_its_size():
    forest = fitted("one_shot", 2)
    size = len(forest.to_sql().encode())
    assert forest.to_sql(max_bytes=size) == forest.to_sql()
    with pytest.raises(ExportSizeError, match=f"max_bytes={size - 1}.*{size}") as caught:
        forest.to_sql(max_bytes=size - 1)
    own = caught.value
    assert isinstance(own, ValueError) and (own.size, own.limit) == (size, size - 1)
    again = pickle.loads(pickle.dumps(own))
    assert (again.parameter, again.size, str(again)) == ("max_bytes", size, str(own))


def test_more_columns_than_databases_take_are_refused():
    plain = json.loads(with_trees([]))
    plain["link"]["classes"] = [f"c{k}" for k in range(1700)]
    plain["score"] |= {"columns": list(range(1700)), "base": [0.0] * 1700}
    with pytest.raises(ExportSizeError, match="1600") as caught:
        sql_model(json.dumps(plain))
    assert caught.value.limit == 1600 and caught.value.size > 1600


# -- options -------------------------------------------------------------------------------------


def test_names_are_the_callers(tmp_path):
    forest, path = fitted("boosted", 2), tmp_path / "score.sql"
    statement = forest.to_sql(
        path, table=("main", "records"), keep=["number", "income"], outputs=["x", 'y"', "income 2"]
    )
    assert path.read_text(encoding="utf-8") == statement
    assert "no privacy guarantee" in statement
    with closing(sqlite3.connect(":memory:")) as database:
        filled(database.execute, "?", columns_of(), records())
        names = [column[0] for column in database.execute(statement).description]
        default = [column[0] for column in database.execute(forest.to_sql()).description]
    assert names == ["number", "income", "x", 'y"', "income 2"]
    assert default == ["label", "probability_c'0", "probability_c'1"]


@pytest.mark.parametrize("table", ["clinic.stays", "a.b.c", ".b", "."])
def test_a_point_in_a_table_is_asked_for(table):
    with pytest.raises(ParameterError, match=r"^table=.*a point in it.*Write table=\('") as told:
        fitted("boosted", 2).to_sql(table=table)
    assert f"table={(table,)}" in str(told.value)
    parts = ("clinic", "records") if table.startswith(".") else tuple(table.split("."))
    assert f"Write table={parts} for a table of a schema" in str(told.value)


def test_names_in_turn_are_a_schema_and_a_table_and_one_is_a_name_with_a_point():
    forest = fitted("boosted", 2)
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with closing(sqlite3.connect(":memory:")) as lite, duckdb.connect() as duck:
        lite.execute("ATTACH ':memory:' AS clinic")
        duck.execute("CREATE SCHEMA clinic")
        for database in (lite, duck):
            filled(database.execute, "?", columns_of(), records()[:5])
            database.execute('CREATE TABLE "clinic.stays" AS SELECT * FROM records')
            database.execute("CREATE TABLE clinic.stays AS SELECT * FROM records LIMIT 3")
            for table, n in ((("clinic", "stays"), 3), (["clinic.stays"], 5)):
                assert len(database.execute(forest.to_sql(table=table)).fetchall()) == n


def test_a_table_may_be_called_like_a_stage():
    forest = fitted("boosted", 2)
    with closing(sqlite3.connect(":memory:")) as database:
        filled(database.execute, "?", columns_of(), records()[:5])
        database.execute("ALTER TABLE records RENAME TO Stage1")
        assert len(database.execute(forest.to_sql(table="Stage1")).fetchall()) == 5


@pytest.mark.parametrize(("parameter", "value"), [
    ("table", ""), ("table", 3), ("table", ()), ("table", ("a", "")), ("table", "a\0"),
    ("keep", "number"), ("keep", [1]), ("keep", [""]), ("outputs", ["one"]),
    ("outputs", ["a", "A", "b"]), ("outputs", "abc"), ("max_bytes", 0), ("max_bytes", 1.5),
    ("max_bytes", True), ("keep", ["\ud800"]),
])  # fmt: skip
def test_what_is_no_name_is_refused(parameter, value):
    with pytest.raises(ParameterError) as caught:
        fitted("boosted", 2).to_sql(**{parameter: value})
    assert caught.value.parameter == parameter


def test_a_column_that_is_kept_and_made_is_refused():
    with pytest.raises(ParameterError, match="differ"):
        fitted("boosted", 2).to_sql(keep=["LABEL"])


@pytest.mark.parametrize("names", [["Age", "AGE"], ["é" * 31 + "on", "é" * 31 + "off"]])
def test_features_that_databases_take_for_one_column_are_refused(names):
    plain = hand_written(names, ["a", "b"], ["no", "yes"])
    with pytest.raises(ParameterError, match="one column to a database"):
        sql_model(plain)
    sql_model(hand_written(["é" * 30 + "on", "é" * 30 + "off"], ["a", "b"], ["no", "yes"]))


def test_a_text_that_no_statement_holds_is_refused():
    for place in ("name", "categories"):
        plain = json.loads(hand_written(["n", "c"], ["a", "b"], ["no", "yes"]))
        plain["features"][1][place] = "a\0" if place == "name" else ["a\0b", "b"]
        with pytest.raises(ParameterError, match="U\\+0000"):
            sql_model(json.dumps(plain))
    # Names of columns are made of the classes: the text is named, not them.
    with pytest.raises(ParameterError, match="^domain='classes': has a text with U\\+0000"):
        sql_model(hand_written(["n", "c"], ["a", "b"], ["no\0", "yes"]))


def test_leaves_that_are_off_by_a_billionth_are_seen():
    """The comparison tells a statement that differs from the forest by one number."""
    forest = fitted("one_shot", 2)
    plain = json.loads(forest.to_plain())
    for node in plain["score"]["trees"][0]:
        if "values" in node:
            node["values"] = [value + 1e-9 for value in node["values"]]
    expected = np.array(read_plain(forest.to_plain()).predict_proba(records()))
    rows = in_sqlite(sql_model(json.dumps(plain), keep=["number"]), columns_of(), records())
    assert np.abs(np.array([row[2:] for row in rows]) - expected).max() > CLOSE
