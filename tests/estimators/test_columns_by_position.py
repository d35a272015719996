"""A frame none of whose columns has a declared name is read by position, which is told."""

from __future__ import annotations

import warnings
from collections import UserDict
from types import MappingProxyType

import numpy as np
import pytest

from dpforest import (
    ColumnsByPositionWarning,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.exceptions import DomainError, ParameterError, ParameterTypeError

pandas = pytest.importorskip("pandas")

DOMAIN = Domain(
    features={"age": (0, 9), "bp": (0, 9)}, classes=["no", "yes"], target=(0, 9),
    approximate_rows=400,
)  # fmt: skip
X = np.random.default_rng(0).uniform(0, 9, (400, 2))
LABELS = np.where(X[:, 0] > 4.5, "yes", "no")
FORESTS = [
    (PrivateForestClassifier, LABELS), (PrivateForestRegressor, X[:, 1]),
    (MultinomialForestClassifier, LABELS),
]  # fmt: skip


def frame(*names):
    return pandas.DataFrame(X, columns=list(names))


@pytest.mark.parametrize(("kind", "y"), FORESTS)
def test_it_is_told_once_a_fit_with_names_alone(kind, y):
    text = "no column has a declared name.* the first one as 'age'. Rename the columns"
    with pytest.warns(ColumnsByPositionWarning, match=text) as told:
        forest = kind(epsilon=1, domain=DOMAIN).fit(frame("BP", "Age"), y)
    assert len(told) == 1 and told[0].filename == __file__
    # Of a file without a header these would be cells of its first record.
    assert not {"BP", "Age"} & set(str(told[0].message).replace(",", " ").split())
    with pytest.warns(ColumnsByPositionWarning, match=text) as told:
        assert forest.predict(frame("Age", "BP")[:3]).shape == (3,)
    assert len(told) == 1
    assert not {"BP", "Age"} & set(str(told[0].message).replace(",", " ").split())
    for table in (X[:3], frame("bp", "age")[:3], frame(0, 1)[:3]):
        forest.predict(table)  # a warning would be an error


@pytest.mark.parametrize(
    "table",
    [
        X,
        X.tolist(),
        frame("age", "bp"),
        frame("bp", "age"),
        frame(0, 1),  # of no names
        frame("column_0", "column_1"),  # as polars calls them
    ],
)
def test_nothing_is_told_of_a_table_without_names_or_with_the_declared_ones(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnsByPositionWarning)
        PrivateForestClassifier(epsilon=1, domain=DOMAIN).fit(table, LABELS)
    assert not DOMAIN.check(table, LABELS, task="classification").by_position


def test_a_domain_of_an_array_has_no_names_either():
    fields = DOMAIN.model_dump(mode="json")
    for place, feature in enumerate(fields["features"]):
        feature["name"] = f"x{place}"
    unnamed = Domain.model_validate(fields)
    PrivateForestClassifier(epsilon=1, domain=unnamed).fit(frame("BP", "Age"), LABELS)


def test_the_curator_is_told_first():
    found = DOMAIN.check(frame("BP", "Age"), LABELS, task="classification")
    assert found.by_position.endswith("BP as age, Age as bp")
    text = " ".join(str(found).split())
    assert text.index("BP as age") < text.index("A fit would")
    assert found.to_dict()["by_position"] == found.by_position


@pytest.mark.parametrize(("kind", "y"), FORESTS)
@pytest.mark.parametrize("named", [True, False])
def test_a_lazy_frame_is_refused_in_our_words_alone(kind, y, named):
    """Polars warns where a lazy frame is asked for its columns; a warning would be an error."""
    polars, narwhals = pytest.importorskip("polars"), pytest.importorskip("narwhals")
    lazy = polars.from_dict(frame("age", "bp").to_dict("list")).lazy()
    forest = kind(epsilon=1, domain=DOMAIN).fit(frame("age", "bp") if named else X, y)
    for table in (lazy, narwhals.from_native(lazy)):
        with pytest.raises(ParameterTypeError, match="a lazy frame holds no values. Collect it"):
            forest.predict(table)


class Unknown:
    """A table of a library that nobody knows here: numpy makes an array of it."""

    columns: object = ("bp", "age")

    def __array__(self, dtype=None, copy=None):
        return X


class Wide(Unknown):
    columns = 2


class Longer(Unknown):
    columns = ("bp", "age", "name")


class Nameless(Unknown):
    @property
    def columns(self):
        raise ValueError("secret 4711")


@pytest.mark.parametrize(("kind", "y"), FORESTS)
def test_a_table_of_an_unknown_library_is_read_by_its_names(kind, y):
    forest = kind(epsilon=1, domain=DOMAIN, random_state=0).fit(Unknown(), y)
    alike = kind(epsilon=1, domain=DOMAIN, random_state=0).fit(frame("bp", "age"), y)
    assert list(forest.feature_names_in_) == ["age", "bp"]
    assert forest.fingerprint_ == alike.fingerprint_
    assert np.array_equal(forest.predict(Unknown()), alike.predict(frame("bp", "age")))


def test_other_names_of_an_unknown_library_are_told():
    class Other(Unknown):
        columns = ("BP", "Age")

    class Partly(Unknown):
        columns = ("bp", "Age")

    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    with pytest.warns(ColumnsByPositionWarning, match="the first one as 'age'"):
        forest.fit(Other(), LABELS)
    with pytest.raises(DomainError, match="'age': declared, but the table has no column"):
        forest.fit(Partly(), LABELS)


@pytest.mark.parametrize("table", [UserDict(age=[1], bp=[2]), MappingProxyType({"age": [1]})])
def test_a_mapping_is_no_table_whatever_its_class(table):
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    with pytest.raises(ParameterError, match=r"of columns in a mapping make pandas.DataFrame\(X\)"):
        forest.fit(table, ["yes"])


@pytest.mark.parametrize("table", [Longer(), Wide(), Nameless()])
@pytest.mark.parametrize(("kind", "y"), FORESTS)
def test_what_is_read_by_position_gives_no_names_and_ends_no_fit(kind, y, table):
    forest = kind(epsilon=1, domain=DOMAIN, random_state=0).fit(table, y)
    alike = kind(epsilon=1, domain=DOMAIN, random_state=0).fit(X, y)
    assert not hasattr(forest, "feature_names_in_") and forest.n_features_in_ == 2
    assert forest.fingerprint_ == alike.fingerprint_
    assert np.array_equal(forest.predict(table), alike.predict(X))
