"""Cells that a library will not hand over: none ends a fit, whatever holds it, and no text tells.

A date near the ends of time, text that is no UTF-8, a place of a dictionary that is none: libraries
raise or panic where somebody asks for such a value. A record may bring each about.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier
from dpforest.domain import DomainEncoder
from dpforest.domain.series import pandas_column
from dpforest.exceptions import ParameterError, ParameterTypeError, StreamError
from dpforest.streams import BatchStream

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings(
    "ignore::dpforest.exceptions.WeakSignalWarning",
    "ignore::dpforest.exceptions.FewRecordsWarning",
)

#: Each column below has three cells: one that is refused somewhere, "x", and none.
DOMAIN = Domain(features={"word": {"categories": ["x", "y"], "missing": True}}, classes=["x", "y"])
ENCODER = DomainEncoder(DOMAIN)
NO_TEXT = pa.array([b"\xff secret", b"x", None], pa.binary()).view(pa.string())
#: Code of a cell of no meaning, of "x", and of none.
CODES = [2, 0, 3]


def pointing(values, places, kind="int32"):
    """A dictionary whose places nobody looked at."""
    indices = pa.array(places, getattr(pa, kind)())
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


def in_runs(values):
    """Runs of values that nobody looked at."""
    kind, ends = pa.run_end_encoded(pa.int32(), values.type), pa.array([1, 2, 3], pa.int32())
    return pa.Array.from_buffers(kind, 3, [None], children=[ends, values])


def arrow_arrays() -> Iterator[tuple[str, object]]:
    views = pa.array([b"\xff" * 20, b"x", None], pa.binary_view()).view(pa.string_view())
    words = pa.array(["x", "secret"])
    yield "text", NO_TEXT
    yield "text in views", views
    yield "runs of text", in_runs(NO_TEXT)
    yield "runs of views", in_runs(views)
    for values in (NO_TEXT, views, NO_TEXT.cast(pa.binary()).cast(pa.large_binary())):
        yield f"dictionary of {values.type}", pointing(values, [0, 1, None])
        yield f"runs of a dictionary of {values.type}", in_runs(pointing(values, [0, 1, 2]))
    for kind, odd in (("int32", 77), ("int8", -2), ("uint64", 2**64 - 1), ("uint8", 9)):
        yield f"no place in {kind}", pointing(words, [odd, 0, None], kind)
        yield f"runs of no place in {kind}", in_runs(pointing(words, [odd, 0, None], kind))


ARROW = dict(arrow_arrays())


def as_pandas(array):
    return pd.Series(array, dtype=pd.ArrowDtype(array.type), name="word")


def pandas_categories():
    """Codes that nobody looked at."""
    kind = pd.CategoricalDtype(["x", "secret"])
    codes = np.array([77, 0, -1], np.int8)
    return pd.Series(pd.Categorical._simple_new(codes, kind), name="word")


#: Half of a character, as Python makes of bytes that are no UTF-8: text that Arrow has not.
HALF = np.array(["\udcff secret", "x", None], dtype=object)


def halves() -> Iterator[tuple[str, object]]:
    yield "objects", pd.Series(HALF, dtype=object, name="word")
    kind = pd.CategoricalDtype(pd.Index(HALF[:2], dtype=object))
    yield "categories", pd.Series(pd.Categorical.from_codes([0, 1, -1], dtype=kind), name="word")
    yield "text", pd.Series(HALF, dtype="string[python]", name="word")


def polars_columns() -> Iterator[tuple[str, object]]:
    text = pl.from_arrow(pa.table({"word": NO_TEXT}))["word"]
    yield "text", text
    yield "categories", text.cast(pl.Categorical)
    yield "dictionary", pl.from_arrow(pa.table({"word": pointing(NO_TEXT, [0, 1, None])}))["word"]


SERIES = {
    **{f"pandas: {name}": as_pandas(array) for name, array in ARROW.items()},
    "pandas: text": pd.Series(pd.array(NO_TEXT, "string[pyarrow]"), name="word"),
    "pandas: categories": pandas_categories(),
    **{f"pandas: half a character in {name}": series for name, series in halves()},
    **{f"polars: {name}": series for name, series in polars_columns()},
}
COLUMNS = {**{f"Arrow: {name}": array for name, array in ARROW.items()}, **SERIES}


def table_of(column):
    return pa.table({"word": column}) if isinstance(column, pa.Array) else column.to_frame()


def codes_of(X) -> list[int]:
    return ENCODER.encode_features(X)[0].codes[:, 0].tolist()


def labels_of(column: Any) -> Any:
    """The same as labels, which may not be named as a feature."""
    return column.rename("label") if isinstance(column, pd.Series | pl.Series) else column


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_such_a_cell_means_nothing_in_a_feature_and_in_labels(column, capfd):
    table = table_of(column)
    ENCODER.check(table, labels_of(column))
    assert codes_of(table) == CODES
    assert ENCODER.encode_labels(column).tolist() == [-1, 0, -1]
    assert DOMAIN.check(table, column).dropped == 2
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_no_batch_with_such_a_cell_ends_a_fit(column):
    both = table_of(column)
    both = (
        both.append_column("label", column) if isinstance(both, pa.Table)
        else both.with_columns(label=column) if isinstance(both, pl.DataFrame)
        else both.assign(label=column)
    )  # fmt: skip
    for stream in (
        BatchStream([(table_of(column), labels_of(column)) for _ in range(2)]),
        BatchStream([both, both[:]], "label"),
        BatchStream(lambda: iter([(table_of(column), labels_of(column))])),
    ):  # fmt: skip
        forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="one_shot")
        assert forest.fit(stream).guarantee_.status == "holds"


@pytest.mark.parametrize("array", ARROW.values(), ids=ARROW)
def test_no_sequence_that_is_a_row_ends_a_reading(array):
    domain = Domain(features={n: ["x", "y"] for n in "abc"}, classes=["x", "y"])
    for row in (as_pandas(array), pandas_categories()):
        codes = DomainEncoder(domain).encode_features([["y"] * 3, row])[0].codes.tolist()
        assert codes == [[1, 1, 1], [2, 0, 2]]


@pytest.mark.parametrize("values", [[1, 2, None], [0.5, 2, None], [True, False, None]])
def test_numbers_in_dictionaries_and_runs_are_the_same_numbers(values):
    numbers = Domain(features={"n": {"lower": 0, "upper": 2, "missing": True}})
    plain = pa.array(values)
    expected = DomainEncoder(numbers).encode_features([[v] for v in values])[0].codes.tolist()
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.uint16()), plain)
    for array in (dictionary, in_runs(plain), in_runs(dictionary), plain.dictionary_encode()):
        for table in (pa.table({"n": array}), as_pandas(array).to_frame()):
            assert DomainEncoder(numbers).encode_features(table)[0].codes.tolist() == expected
    # A part of runs begins in the midst of one.
    runs = pa.RunEndEncodedArray.from_arrays([3, 5, 6], plain)
    part = pa.chunked_array([runs[2:4], runs[4:]])
    found = DomainEncoder(numbers).encode_features(pa.table({"n": part}))[0].codes[:, 0].tolist()
    first, second, third = (code for (code,) in expected)
    assert found == [first, second, second, third]


# -- ends of time ---------------------------------------------------------------------------------

ENDS = (pd.Timestamp.min.value + 12345, pd.Timestamp.max.value - 12345)


def times() -> Iterator[tuple[str, object]]:
    """Columns of dates and the like, with one near an end of time, one in its midst, and none."""
    for end in ENDS:
        plain = pd.DatetimeIndex([end, 0, pd.NaT])
        for zone in (
            "America/New_York",
            "Asia/Tokyo",
            datetime.timezone(datetime.timedelta(1, -1)),
        ):
            zoned = plain.tz_localize("UTC").tz_convert(zone)
            yield "zoned", pd.Series(zoned)
            yield "index", zoned
            yield "array", zoned.array
            yield "categories", pd.Series(zoned.astype("category"))
            right = zoned[[1, 1, 2]] if end < 0 else zoned
            left = zoned if end < 0 else zoned[[1, 1, 2]]
            yield "intervals", pd.Series(pd.arrays.IntervalArray.from_arrays(left, right))
        yield "plain", pd.Series(plain)
        yield "spans", pd.Series(pd.TimedeltaIndex(plain.asi8).where(plain.notna()))
        yield "arrow", plain.to_series().astype("timestamp[ns, America/New_York][pyarrow]")
    far = pd.arrays.PeriodArray(np.array([2**62, 0, pd.NaT.value]), dtype=pd.PeriodDtype("D"))
    yield "periods", pd.Series(far)
    yield "categories of periods", pd.Series(pd.Categorical.from_codes([0, 1, -1], far[:2]))


TIMES = list(times())
IDS = [f"{name} {number}" for number, (name, _) in enumerate(TIMES)]


@pytest.mark.parametrize("column", [column for _, column in TIMES], ids=IDS)
def test_a_time_near_the_ends_means_nothing(column):
    table = pd.DataFrame({"word": column})
    ENCODER.check(table, labels_of(column))
    assert codes_of(table) == [2, 2, 3]
    assert ENCODER.encode_labels(column).tolist() == [-1, -1, -1]
    assert DOMAIN.check(table, column).dropped == 3
    for stream in (BatchStream([(table, column)]), BatchStream([table.assign(y=column)], "y")):
        forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="one_shot")
        assert forest.fit(stream).guarantee_.status == "holds"


@pytest.mark.parametrize("column", [c for _, c in TIMES if isinstance(c, pd.Series)])
def test_a_row_of_times_means_nothing(column):
    domain = Domain(features={n: ["x", "y"] for n in "abc"}, classes=["x", "y"])
    encoder = DomainEncoder(domain)
    assert encoder.encode_features([["y"] * 3, column])[0].codes[1].tolist() == [2, 2, 2]
    assert encoder.encode_features([column])[1].tolist() == [False]  # one is missing


@pytest.mark.parametrize("n_levels", [1, 2])
def test_an_index_of_several_levels_is_refused_before_its_codes_are_looked_at(n_levels):
    index = pd.MultiIndex(
        levels=[["x", "y"]] * n_levels, codes=[[0, 47, 1]] * n_levels, verify_integrity=False
    )
    accountant = BudgetAccountant(1)
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, accountant=accountant)
    for X, y in ((index, ["x"] * 3), ([["x"]] * 3, index)):
        with pytest.raises(ParameterTypeError, match=r"an index of several levels: is no table"):
            forest.fit(X, y)
    assert accountant.spent.epsilon == 0


class Money(pd.api.extensions.ExtensionDtype):
    """A type of another library, whose values refuse to be asked for."""

    name, type, kind = "money", object, "f"

    @classmethod
    def construct_array_type(cls):
        return Amounts


class Amounts(pd.api.extensions.ExtensionArray):
    """Its columns."""

    dtype = Money()

    def __len__(self):
        return 3

    def isna(self):
        return np.array([False, False, True])

    def __getitem__(self, place):
        if isinstance(place, slice):
            return self
        raise RuntimeError("secret")

    def copy(self):
        return self


def test_a_type_that_pandas_does_not_have_means_nothing():
    table = pd.DataFrame({"word": Amounts()})
    assert codes_of(table) == [2, 2, 3]
    assert ENCODER.encode_labels(Amounts()).tolist() == [-1, -1, -1]


def amounts_that_say(gaps):
    """A column that answers so when it is asked what is missing."""

    class Strange(Amounts):
        def isna(self):
            if isinstance(gaps, BaseException):
                raise type(gaps)(*gaps.args)  # one that is kept would keep frames, and records
            return gaps

    return Strange()


class Secret(BaseException):
    """What a library may raise that is no Exception."""


#: What a library may say of the gaps of three cells, none of which helps.
NONSENSE = [
    RuntimeError("secret"), Secret("secret"), None, "secret", ["secret"] * 3,
    np.array(["secret"] * 3), np.zeros(2, bool), np.zeros((3, 2), bool), np.array([0.5, 1.0, 4711]),
]  # fmt: skip
ROW_DOMAIN = Domain(features={n: ["x", "y"] for n in "abc"}, classes=["x", "y"])


@pytest.mark.parametrize("gaps", NONSENSE, ids=repr)
def test_a_library_that_does_not_say_what_is_missing_is_refused_without_a_value(gaps):
    column = amounts_that_say(gaps)
    table = pd.DataFrame({"word": column})
    for read in (
        lambda: ENCODER.encode_to_predict(table),
        lambda: ENCODER.encode_labels(pd.Series(column)),
        lambda: pandas_column(pd.Series(column)),
    ):
        with pytest.raises(StreamError, match="a column of another library's type: ") as caught:
            read()
        assert not {"secret", "4711"} & set(re.findall(r"\w+", str(caught.value)))
        assert caught.value.__context__ is caught.value.__cause__ is None
        assert "series.astype(str)" in str(caught.value)


@pytest.mark.parametrize("gaps", NONSENSE, ids=repr)
def test_a_row_of_such_a_type_is_no_row(gaps):
    """It is one record: it is dropped, and ends no fit; in prediction it is refused."""
    row = pd.Series(amounts_that_say(gaps), index=list("abc"))
    encoder = DomainEncoder(ROW_DOMAIN)
    _, kept = encoder.encode_features([["y"] * 3, row, ["x"] * 3])
    assert kept.tolist() == [True, False, True]
    with pytest.raises(ParameterError) as caught:
        encoder.encode_to_predict([["y"] * 3, row])
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None
    assert "a pandas Series whose type another library made" in str(caught.value)
    accountant = BudgetAccountant(1)
    forest = PrivateForestClassifier(
        epsilon=1, domain=ROW_DOMAIN, strategy="one_shot", accountant=accountant
    )
    forest.fit([["y"] * 3, row, ["x"] * 3], ["x", "y", "y"])
    assert forest.guarantee_.status == "holds" and accountant.spent.epsilon == 1


def test_names_of_a_row_are_not_asked_of_such_a_type():
    class Names(Amounts):
        asked = False

        def copy(self):
            Names.asked = True
            return self

        def isna(self):
            Names.asked = True
            return np.zeros(3, bool)

    row = pd.Series(["x", "y", "x"], index=pd.Index(Names()))
    Names.asked = False
    codes, _ = DomainEncoder(ROW_DOMAIN).encode_to_predict([row])
    assert codes.tolist() == [[0, 1, 0]] and not Names.asked


def test_half_a_character_among_names_of_a_row_or_in_an_array_of_pandas_means_nothing():
    names = pd.Index(["a", "b", "c", "\udcff secret"], dtype=object)
    rows = [["y"] * 3, pd.Series(["x"] * 4, index=names), ["x"] * 3]
    _, kept = DomainEncoder(ROW_DOMAIN).encode_features(rows)
    assert kept.tolist() == [True, True, True]
    for labels in (pd.Series(HALF, dtype=object).array, pd.Index(HALF, dtype=object)):
        ENCODER.check(pd.DataFrame({"word": ["x", "y", "x"]}), labels)
        assert ENCODER.encode_labels(labels).tolist() == [-1, 0, -1]


def test_neither_does_a_fit_s_check_look_at_labels():
    """It comes before anything is paid for."""

    class Unread(Amounts):
        def isna(self):
            raise RuntimeError("secret")

    X, y = pd.DataFrame({"word": ["x", "y", "x"]}), pd.Series(Unread())
    ENCODER.check(X, y)
    BatchStream([(X, y)]).check(DOMAIN.feature_names)


# Types of labels that hold nothing are told of before a fit is charged.
@pytest.mark.filterwarnings("ignore::dpforest.exceptions.UndeclaredLabelsWarning")
def test_whole_fits_with_each_of_them_are_charged_once():
    accountant = BudgetAccountant(10_000)
    columns = [*COLUMNS.values(), *(column for _, column in TIMES)]
    for column in columns:
        table = table_of(column) if isinstance(column, pa.Array | pl.Series) else None
        table = pd.DataFrame({"word": column}) if table is None else table
        forest = PrivateForestClassifier(
            epsilon=1, domain=DOMAIN, strategy="one_shot", accountant=accountant
        )
        assert forest.fit(table, labels_of(column)).guarantee_.status == "holds"
    assert accountant.spent.epsilon == len(columns)
