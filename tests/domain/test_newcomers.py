"""What newcomers hand over at first is refused with what helps."""

from __future__ import annotations

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier
from dpforest.exceptions import DomainError, DPForestError, ParameterError
from dpforest.streams import BatchStream

DOMAIN = Domain(features={"age": (0, 110), "ward": ["a", "b"]}, classes=["no", "yes"])
TABLE = pd.DataFrame({"age": [40, 50], "ward": ["a", "b"]})


def test_dates_are_refused_with_a_way_to_numbers():
    with pytest.raises(DomainError, match="days since a public date"):
        Domain(features={"day": ("2020-01-01", "2020-12-31")}, classes=["no", "yes"])
    days = pd.DataFrame({"day": ["2020-01-01", "2020-01-02"]})
    with pytest.raises(DPForestError, match=r"--drop.*pandas\.to_datetime"):
        Domain.draft(days, ["no", "yes"])


def test_one_text_is_no_list_of_classes():
    with pytest.raises(DomainError, match="must be a list of labels"):
        Domain(features={"age": (0, 110)}, classes="yes")


@pytest.mark.parametrize("path", ["patients.csv", __file__])
def test_a_path_is_no_table(path):
    with pytest.raises(DPForestError, match=r"pandas\.read_csv") as refused:
        PrivateForestClassifier(epsilon=1, domain=DOMAIN).fit(path, ["no", "yes"])
    assert path not in str(refused.value)


def test_a_missing_column_is_named_in_a_fit():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    with pytest.raises(ParameterError, match="1 features.*'ward' is not among them"):
        forest.fit(TABLE.drop(columns="ward"), ["no", "yes"])


def test_labels_that_are_a_feature_are_refused_in_batches():
    for labels in (TABLE["ward"], TABLE[["ward"]]):
        with pytest.raises(DPForestError, match="the column ward: is named as a feature"):
            BatchStream([(TABLE, labels)]).check(("age", "ward"))
    BatchStream([(TABLE, TABLE["ward"].rename("outcome"))]).check(("age", "ward"))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "frame of one column", "text dtype"])
def test_labels_that_are_a_feature_are_refused_before_anything_is_spent(kind):
    """All would be learnt from the answer, at the whole price."""
    table = pd.DataFrame({"age": [40.0, 50.0], "ward": ["a", "b"]})
    domain = Domain(features={"age": (0, 110), "ward": ["a", "b"]}, classes=["a", "b"])
    made = {
        "pandas": lambda: (table, table["ward"]),
        "polars": lambda: (pl.from_pandas(table), pl.from_pandas(table)["ward"]),
        "arrow": lambda: (pa.Table.from_pandas(table), pa.table({"ward": table["ward"]})),
        "frame of one column": lambda: (table, table[["ward"]]),
        "text dtype": lambda: (table, table["ward"].astype("string")),
    }
    X, y = made[kind]()
    books = BudgetAccountant(1)
    forest = PrivateForestClassifier(epsilon=1, domain=domain, accountant=books)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column vector, and few records
        with pytest.raises(ParameterError, match="the column ward: is named as a feature"):
            forest.fit(X, y)
        assert books.spent.epsilon == 0
        other = pd.Series(["a", "b"], name="outcome")
        assert forest.fit(table, other).score(table, other) >= 0
