"""What newcomers hand over at first is refused with what helps."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier, PrivateForestRegressor
from dpforest.domain.encoder import DomainEncoder
from dpforest.exceptions import DomainError, DPForestError, ParameterError, StreamError
from dpforest.streams import BatchStream, CSVStream

DOMAIN = Domain(features={"age": (0, 110), "ward": ["a", "b"]}, classes=["no", "yes"])
TABLE = pd.DataFrame({"age": [40, 50], "ward": ["a", "b"]})


def test_dates_are_refused_with_a_way_to_numbers():
    with pytest.raises(DomainError, match="days since a public date"):
        Domain(features={"day": ("2020-01-01", "2020-12-31")}, classes=["no", "yes"])
    days = pd.DataFrame({"day": ["2020-01-01", "2020-01-02"]})
    with pytest.raises(DPForestError, match=r"--drop.*pandas\.to_datetime"):
        Domain.draft(days.assign(day=pd.to_datetime(days["day"])), ["no", "yes"])
    # Texts of dates alone are drafted, with a doubt: one cell that is none would change a refusal.
    assert "dates" in Domain.draft(days, ["no", "yes"]).doubts["day"]


def test_one_text_is_no_list_of_classes():
    with pytest.raises(DomainError, match="must be a list of labels"):
        Domain(features={"age": (0, 110)}, classes="yes")


@pytest.mark.parametrize("path", ["patients.csv", __file__])
def test_a_path_is_no_table(path):
    with pytest.raises(DPForestError, match=r"pandas\.read_csv") as refused:
        PrivateForestClassifier(epsilon=1, domain=DOMAIN).fit(path, ["no", "yes"])
    assert path not in str(refused.value)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_reader_of_chunks_is_told_of_streams_and_costs_nothing(tmp_path):
    table = pd.concat([TABLE.assign(outcome=["no", "yes"])] * 50)
    table.to_csv(tmp_path / "stays.csv", index=False)

    def reader():
        return pd.read_csv(tmp_path / "stays.csv", chunksize=30)

    accountant = BudgetAccountant(epsilon=1)
    # Of declared records: a bought number is now and then so small that a fit warns.
    domain = DOMAIN.model_copy(update={"approximate_rows": 100})
    forest = PrivateForestClassifier(epsilon=1, domain=domain, accountant=accountant)
    with reader() as given:
        for one_by_one in (given, (chunk for chunk in given)):
            with pytest.raises(ParameterError, match=r"BatchStream\(lambda: pandas\.read_csv"):
                forest.fit(one_by_one, table["outcome"])
        with pytest.raises(ParameterError, match=r"such as lambda: pandas\.read_csv"):
            BatchStream(given, target="outcome")
    assert accountant.spent.epsilon == 0
    forest.fit(BatchStream(reader, target="outcome"))
    assert sum(len(forest.predict(chunk)) for chunk in reader()) == len(table)
    with reader() as given, pytest.raises(ParameterError, match="predicted each by itself"):
        forest.predict(given)


def test_a_missing_column_is_named_in_a_fit():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    for bad in (TABLE.drop(columns="ward"), TABLE.rename(columns={"ward": "Ward"}).assign(more=1)):
        with pytest.raises(DomainError, match="'ward': declared, but the table has no column"):
            forest.fit(bad, ["no", "yes"])


def test_a_missing_column_is_named_in_a_prediction_as_in_a_fit():
    """Columns that nobody declared were there in the fit, and are nothing that was not seen."""
    table = TABLE.assign(stay=[7, 8])
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(table, ["no", "yes"])
    with pytest.raises(DomainError, match="'ward': declared, but the table has no column") as lacks:
        forest.predict(table.drop(columns="ward"))
    assert "stay" not in str(lacks.value)
    with pytest.raises(DomainError, match="Its own is written 'Ward': case and blanks count"):
        forest.predict(table.rename(columns={"ward": "Ward"}))
    with pytest.raises(ValueError, match="feature names should match"):
        forest.predict(table.set_axis(["a", "b", "c"], axis=1)[["a", "b"]])


def test_a_column_whose_name_looks_the_same_is_told_apart(tmp_path):
    """An é of one sign and one of two are not one name, and nobody sees why."""
    encoder = DomainEncoder(Domain(features={"caf\xe9": (0, 9), "age": (0, 9)}, classes=[0, 1]))
    frame = pd.DataFrame({"cafe\u0301": [1, 2], "age": [1, 2]})
    said = r"Its own is written 'cafe\\u0301', with other signs of Unicode: write 'caf\\xe9'"
    with pytest.raises(DomainError, match=said):
        encoder.check(frame)
    with pytest.raises(DomainError, match=r"written 'Cafe\\u0301 ', with other signs"):
        encoder.check(frame.rename(columns={"cafe\u0301": "Cafe\u0301 "}))
    frame.assign(y=0).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(StreamError, match=said):
        CSVStream(tmp_path / "a.csv", "y").check(("caf\xe9", "age"))


def test_a_feature_that_is_the_index_of_a_frame_is_told_where_it_is():
    encoder = DomainEncoder(Domain(features={"age": (0, 9), "ward": ["a"]}, classes=[0, 1]))
    frame = pd.DataFrame({"age": [1, 2], "ward": ["a", "a"]})
    for name in ("age", "ward"):
        with pytest.raises(DomainError, match=rf"'{name}'.* pass X.reset_index\(\)"):
            encoder.check(frame.set_index(name))
        encoder.check(frame.set_index(name).reset_index())
    with pytest.raises(DomainError, match="Add or rename the column"):
        encoder.check(frame.rename_axis("row").drop(columns="age"))


def test_labels_that_are_a_feature_are_refused_in_batches():
    for labels in (TABLE["ward"], TABLE[["ward"]]):
        with pytest.raises(DPForestError, match="the column ward: is named as a feature"):
            BatchStream([(TABLE, labels)]).check(("age", "ward"))
    BatchStream([(TABLE, TABLE["ward"].rename("outcome"))]).check(("age", "ward"))


def test_labels_that_keep_the_name_of_what_they_were_worked_out_of_are_told_how_to_lose_it():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, random_state=0)
    y = (TABLE["age"] > 45).map({True: "yes", False: "no"})  # pandas keeps the name
    with pytest.raises(ParameterError, match=r"y\.rename\('outcome'\)"):
        forest.fit(TABLE, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(TABLE, y.rename("outcome"))


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


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"categorys": ["a", "b"]}, "Write 'categories'"),
        ({"categories": ["a", "b"], "othr": "a"}, "Write 'other'"),
        ({"bounds": (0, 1)}, "Write 'lower' and 'upper'"),
        ({"range": (0, 1)}, "Write 'lower' and 'upper'"),
        ({"lower": 0, "uper": 1}, "Write 'upper'"),
        ({"lower": 110, "upper": 0}, "Swap them"),
        ((110, 0), "Swap them"),
        ((5, 5), "Widen the bounds"),
    ],
)
def test_a_misspelt_field_and_bounds_in_the_wrong_order(fields, said):
    with pytest.raises(DomainError, match=said):
        Domain(features={"ward": fields})


def test_a_text_is_no_number_of_records():
    with pytest.raises(DomainError, match="a text is not a number of records"):
        Domain(features={"age": (0, 110)}, approximate_rows="4000")
    assert Domain(features={"age": (0, 110)}, approximate_rows=4000).approximate_rows == 4000


def test_declared_facts_do_not_change():
    for change in (lambda: setattr(DOMAIN, "features", ()), lambda: delattr(DOMAIN, "features")):
        with pytest.raises(DomainError, match="'features': declared facts do not change"):
            change()
    with pytest.raises(DomainError, match="Make a new NumericFeature"):
        DOMAIN.features[0].lower = 5


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, random_state=0)
    for path in (tmp_path / "none" / "domain.json", str(tmp_path / "none" / "domain.json")):
        with pytest.raises(ParameterError, match=r"domain\.json.*there is no such folder"):
            DOMAIN.to_json(path)
    with pytest.raises(ParameterError, match="it is a folder"):
        DOMAIN.to_json(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(TABLE, ["no", "yes"])
    with pytest.raises(ParameterError, match="no such folder"):
        forest.to_json(tmp_path / "none" / "model.json")


def test_a_file_of_an_editor_that_writes_a_mark_first_is_read(tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(DOMAIN.to_json(), encoding="utf-8-sig")
    assert Domain.from_json(path) == Domain.from_json("\ufeff" + DOMAIN.to_json()) == DOMAIN
    path.write_text(DOMAIN.to_json(), encoding="utf-16")
    with pytest.raises(DomainError, match="UTF-8"):
        Domain.from_json(path)


@pytest.fixture(scope="module")
def fitted():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return forest.fit(TABLE.to_numpy(dtype=object), ["no", "yes"])


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([{"years": 40, "room": "a"}], r"pandas\.DataFrame\(rows\)"),
        (TABLE.iloc[0], r"frame\.iloc\[\[0\]\]"),
        (None, "X=None.*Pass a data frame or an array"),
        (np.zeros((2, 2, 2)), r"X\.reshape\(len\(X\), -1\)"),
        ([40, "a"], r"\[X\] for a single record"),
        ([TABLE, TABLE], r"pandas\.concat\(X\)"),
        ([pl.from_pandas(TABLE)], r"pandas\.concat\(X\)"),
        ({"age": 40, "ward": "a"}, r"of a single record in a mapping \[X\]"),
    ],
)
def test_what_is_no_table_to_predict_is_refused_with_what_to_write(fitted, X, said):
    with pytest.raises(ParameterError, match=said):
        fitted.predict(X)


def test_a_draft_of_mappings_says_how_to_make_a_frame():
    with pytest.raises(ParameterError, match=r"pandas\.DataFrame\(rows\)"):
        Domain.draft(TABLE.to_dict("records"), ["no", "yes"])


def test_a_list_of_frames_is_told_to_be_made_one():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    for call in (Domain.draft, DOMAIN.check, forest.fit):
        with pytest.raises(ParameterError, match=r"pandas\.concat\(X\)"):
            call([TABLE, TABLE], ["no", "yes", "no", "yes"])


def test_attributes_of_a_fit_are_asked_for_before_it(fitted):
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    assert not hasattr(forest, "guarantee_") and hasattr(fitted, "guarantee_")
    for name in ("guarantee_", "spent_", "classes_", "target_range_"):
        with pytest.raises(NotFittedError, match="PrivateForestClassifier is not fitted yet"):
            getattr(forest, name)
    for name in ("typo", "typo_"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(fitted, name)
    with pytest.raises(AttributeError, match="no attribute 'typo'"):
        forest.typo  # noqa: B018


@pytest.mark.parametrize("y", [["secret", "1"], [None, 1], [float("inf"), 1]])
def test_a_score_of_a_regression_quotes_no_target(y):
    domain = Domain(features=DOMAIN.features, target=(0, 2))
    forest = PrivateForestRegressor(epsilon=1, domain=domain, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(TABLE, [1, 2])
    with pytest.raises(ParameterError, match="must all be finite numbers") as refused:
        forest.score(TABLE, y)
    assert "secret" not in str(refused.value) and refused.value.__context__ is None
    with pytest.raises(ParameterError, match="inconsistent numbers of samples"):
        forest.score(TABLE, [1.5])
    expected = r2_score([1.5, 3.0], forest.predict(TABLE))
    assert forest.score(TABLE, ["1.5", 3]) == expected
