"""Labels of a type that has no meaning are told of before anything is charged; no value is."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from dpforest import (
    BudgetAccountant,
    Domain,
    PrivateForestClassifier,
    PrivateForestRegressor,
    UndeclaredLabelsWarning,
)

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.RepeatedFitWarning")
N = 300
AGES = np.random.default_rng(0).uniform(0, 9, N)
TABLE = pd.DataFrame({"age": AGES})
DOMAIN = Domain(features={"age": (0, 9)}, classes=["no", "yes"], target=(0, 9), approximate_rows=N)
LISTS, FIELDS = [["no", "yes"]] * N, [{"secret": "yes"}] * N
BREAKS = pd.date_range("2020-01-31", periods=N + 1)
MEANINGLESS = {
    "intervals": pd.cut(pd.Series(AGES), 3),
    "plain intervals": pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(N + 1))),
    "intervals of days": pd.Series(pd.arrays.IntervalArray.from_breaks(BREAKS)),
    "an index of intervals": pd.IntervalIndex.from_breaks(np.arange(N + 1)),
    "lists of Arrow in pandas": pd.Series(LISTS, dtype=pd.ArrowDtype(pa.list_(pa.string()))),
    "structs of Arrow in pandas": pd.Series(
        FIELDS, dtype=pd.ArrowDtype(pa.struct([("secret", pa.string())]))
    ),
    "structs of polars": pl.Series(FIELDS),
    "pairs of polars": pl.Series(LISTS, dtype=pl.Array(pl.String, 2)),
    "a frame of structs": pl.DataFrame({"y": FIELDS}),
}


@pytest.mark.parametrize("kind", [PrivateForestClassifier, PrivateForestRegressor])
@pytest.mark.parametrize("name", MEANINGLESS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_labels_of_a_type_without_meaning_are_told_before_the_charge(name, kind):
    accountant = BudgetAccountant(epsilon=1)
    forest = kind(epsilon=1, domain=DOMAIN, accountant=accountant)
    with pytest.raises(UndeclaredLabelsWarning, match="so every record is dropped. ") as told:
        forest.fit(TABLE, MEANINGLESS[name])  # warnings are errors here
    said = str(told.value)
    assert said.startswith("labels of a type of ")
    assert not any(word in said for word in ("2020", "secret", "yes", str(N)))
    assert accountant.ledger == () and accountant.composition().children == ()


def test_no_type_ends_a_fit():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    with pytest.warns(UndeclaredLabelsWarning) as told:
        assert forest.fit(TABLE, MEANINGLESS["intervals"]).guarantee_.status == "holds"
    assert [one.filename for one in told][0] == __file__


def test_lists_of_polars_are_read_and_told_before_the_charge():
    labels = pl.Series([["yes"], ["no"]] * (N // 2))
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, random_state=0)
    expected = clone(forest).fit(TABLE, ["yes", "no"] * (N // 2)).predict_proba(TABLE)
    for given in (labels, labels.cast(pl.Array(pl.String, 1))):
        with pytest.warns(UndeclaredLabelsWarning, match="in a column of lists: a list of one"):
            found = clone(forest).fit(TABLE, given).predict_proba(TABLE)
        assert (found == expected).all()


@pytest.mark.parametrize("odd", [["no", "yes"], {"secret": 1}, datetime.date(2020, 1, 31)])
def test_one_odd_label_among_others_is_dropped_without_a_word(odd):
    """What one record can bring about is neither refused nor told."""
    plain = ["yes", "no"] * (N // 2)
    forests = [
        PrivateForestClassifier(epsilon=1, domain=DOMAIN, random_state=0).fit(table, labels)
        for table, labels in [
            (TABLE[1:], plain[1:]),
            (TABLE, [odd, *plain[1:]]),
            (TABLE, pd.Series([odd, *plain[1:]])),
        ]
    ]
    assert len({forest.predict_proba(TABLE).tobytes() for forest in forests}) == 1
