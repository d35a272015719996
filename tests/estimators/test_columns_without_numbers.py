"""Predictions tell of a column that holds no number where the domain declares numbers."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    UnreadableColumnsWarning,
)

DOMAIN = Domain(
    features={"age": (0, 9), "dose": {"lower": 0, "upper": 9, "missing": True}, "ward": ["a", "b"]},
    classes=["no", "yes"], target=(0, 9), approximate_rows=400,
)  # fmt: skip
AGES = np.random.default_rng(0).uniform(0, 9, 400)
TABLE = pd.DataFrame({"age": AGES, "dose": AGES[::-1], "ward": ["a", "b"] * 200})
LABELS = np.where(AGES > 4.5, "yes", "no")
KINDS = [
    (PrivateForestClassifier, LABELS), (PrivateForestRegressor, AGES),
    (MultinomialForestClassifier, LABELS),
]  # fmt: skip
COMMAS = [f"{age:.2f}".replace(".", ",") for age in AGES]
SAID = (
    "^no value of 'age' is a number, so each is .* the middle of the declared bounds.*decimal=','"
)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind[0].__name__)
def forest(request):
    kind, y = request.param
    return kind(epsilon=5, domain=DOMAIN, random_state=0).fit(TABLE, y)


def ways_to_ask(forest, y):
    yield from (forest.predict, lambda X: forest.score(X, y))
    yield from (
        getattr(forest, name)
        for name in ("predict_proba", "predict_log_proba")
        if hasattr(forest, name)
    )


def test_predictions_and_scores_tell_of_the_column_and_of_no_value(forest):
    y = AGES if isinstance(forest, PrivateForestRegressor) else LABELS
    table = TABLE.assign(age=COMMAS)
    for ask in ways_to_ask(forest, y):
        with pytest.warns(UnreadableColumnsWarning, match=SAID) as told:
            ask(table)
        assert len(told) == 1 and told[0].filename == __file__
        assert not any(text in str(told[0].message) for text in (COMMAS[0], "400"))


def test_what_is_predicted_is_as_it_was(forest):
    with pytest.warns(UnreadableColumnsWarning):
        found = forest.predict(TABLE.assign(age=COMMAS))
    assert (found == forest.predict(TABLE.assign(age=4.5))).all()


@pytest.mark.parametrize(
    "table",
    [
        pl.from_pandas(TABLE.assign(age=COMMAS)),
        TABLE.assign(age=pd.Series(COMMAS, dtype="category")),
        TABLE.assign(age=pd.Series(COMMAS).where(AGES > 1, None)),
        TABLE.assign(age=["1 mg"] * 400)[:1],
        TABLE.assign(age=[datetime.date(2020, 1, 31)] * 400),
        TABLE.assign(age=COMMAS)[:5].to_dict("records"),
    ],
    ids=["polars", "category", "some gaps", "one record", "objects", "rows"],
)
def test_columns_of_all_kinds_are_told(forest, table):
    with pytest.warns(UnreadableColumnsWarning, match="^no value of 'age' is a number"):
        forest.predict(table)


def test_several_columns_are_named(forest):
    with pytest.warns(UnreadableColumnsWarning, match="^no value of 'age', 'dose' is a number"):
        forest.predict(TABLE.assign(age=COMMAS, dose=[*["", None] * 199, "n/k", "n/k"]))


def test_one_number_is_enough_and_gaps_are_none_of_it(forest):
    for table in (
        TABLE, TABLE.assign(age=["3.5", *COMMAS[1:]]), TABLE.assign(age=AGES.astype(str)),
        TABLE.assign(dose=None), TABLE.assign(dose=np.nan), TABLE.assign(age=np.nan),
        TABLE.assign(ward="c"), TABLE.assign(other=COMMAS), TABLE[:0].assign(age=[]),
    ):  # fmt: skip
        forest.predict(table)  # a warning would be an error


def test_a_feature_that_no_answer_depends_on_is_not_told():
    wide = Domain(features={f"f{i}": (0, 9) for i in range(60)}, classes=["no", "yes"])
    X = pd.DataFrame({f"f{i}": AGES for i in range(60)})
    forest = PrivateForestClassifier(epsilon=5, domain=wide, strategy="rules", random_state=0)
    forest.fit(X, LABELS)
    read = {f"f{place}" for place in forest.model_.features_read()}
    assert len(read) <= 15
    unread = next(name for name in X.columns if name not in read)
    forest.predict(X.assign(**{unread: COMMAS}))
    with pytest.warns(UnreadableColumnsWarning):
        forest.predict(X.assign(**{min(read): COMMAS}))


@pytest.mark.parametrize(("kind", "y"), KINDS)
def test_a_fit_says_nothing(kind, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnreadableColumnsWarning)
        kind(epsilon=5, domain=DOMAIN, random_state=0).fit(TABLE.assign(dose=COMMAS), y)


def test_a_search_tells_it_once():
    forest = PrivateForestRegressor(epsilon=5, domain=DOMAIN, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cross_val_score(forest, TABLE.assign(dose=COMMAS), AGES, cv=3)
    assert sum(issubclass(one.category, UnreadableColumnsWarning) for one in told) == 1
