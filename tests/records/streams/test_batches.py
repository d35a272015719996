"""Batches of any kind: each is read by itself, and what can be told is told before spending."""

from __future__ import annotations

import datetime
import math
import pickle

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    InvalidRecordError,
    ParameterError,
    PrivateForestClassifier,
    StreamError,
)
from dpforest.domain import DomainEncoder, values
from dpforest.records.base import reveal
from dpforest.records.counts import ClassCounts
from dpforest.records.streams.base import Stream
from dpforest.records.streams.passes import Batch, StreamedRecords
from dpforest.streams import BatchStream

DOMAIN = Domain(features={"x": (0, 9), "kind": ["1", "2"]}, classes=["1", "2"], target=(0, 9))
COLUMNS = [
    [1, 2], [1.0, math.nan], [2 + 0j, 1j], ["1", "x"], [b"2", "1"], [None, 2], [True, False],
    [[1], 2], [2**70, 1], [datetime.date(2020, 1, 1)] * 2, [datetime.datetime(2020, 1, 1), None],
]  # fmt: skip


def frames():
    """The same columns by every library that takes them."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    makers = [
        pd.DataFrame,
        lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
        lambda data: pl.DataFrame({n: pl.Series(v, dtype=pl.Object) for n, v in data.items()}),
        pa.table,
        pa.RecordBatch.from_pydict,
    ]
    for column in COLUMNS:
        for make in makers:
            try:
                yield column, make({"x": column, "kind": column, "y": column})
            except Exception:  # Arrow takes no mixtures
                continue


def encoded(stream, task) -> list:
    records = StreamedRecords(stream, DomainEncoder(DOMAIN, task=task))
    tables = [chunk.table for chunk in records._chunks()]
    outputs = [t.labels if task == "classification" else t.targets for t in tables]
    return [
        (*codes, output)
        for table, values in zip(tables, outputs, strict=True)
        for codes, output in zip(table.codes.tolist(), values.tolist(), strict=True)
    ]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_batches_of_different_types_are_read_as_one_table(task):
    made = list(frames())
    assert len(made) > 30
    cells = [cell for column, _ in made for cell in column]
    rows = BatchStream([([[cell, cell] for cell in cells], cells)])
    stream = BatchStream([frame for _, frame in made], "y")
    stream.check(DOMAIN.feature_names)
    expected = encoded(rows, task)
    assert encoded(stream, task) == expected and len(expected) > 40


def test_no_row_of_a_batch_decides_whether_a_fit_succeeds():
    good = [[1, "1"], [2, "2"]]
    alone = encoded(BatchStream([(good, ["1", "2"])]), "classification")
    for odd in ([1], [1, "1", 1], 5, [[1], "1"], [1j, "1"], [datetime.date(2020, 1, 1), "1"]):
        stream = BatchStream([([*good, odd], ["1", "2", "1"]), ([odd], ["1"])])
        stream.check(DOMAIN.feature_names)
        assert encoded(stream, "classification") == alone
        assert (
            reveal(StreamedRecords(stream, DomainEncoder(DOMAIN)).sealed_total(ClassCounts())).sum()
            == 2
        )


def test_what_batches_tell_is_refused_unspent():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame({"x": [1.0], "kind": "1", "y": "1"})
    for parts, target, said in (
        ([frame, frame.drop(columns="y")], "y", "batch 1: it has no column 'y'"),
        ([frame, frame.drop(columns="x")], "y", "batch 1: "),
        ([frame, frame.set_axis(["x", "x", "y"], axis=1)], "y", "batch 1: .*names must differ"),
        ([frame, pl.LazyFrame({"x": [1], "y": [1]})], "y", "batch 1: .*Collect it first"),
        ([frame, 7], "y", "batch 1: it is neither a data frame nor"),
        # Not that a table is given twice, which is no reason to look for another.
        ([(frame, [1]), (frame, [1])], "y", "batch 0: it is neither a data frame nor"),
        ([(np.zeros((2, 2)), [1, 1]), (np.zeros((2, 3)), [1, 1])], None, "batch 1: .*3 features"),
        ([(np.zeros((2, 2)), [1, 1]), (np.zeros((2, 2)), [1])], None, "batch 1: .*inconsistent"),
        ([(np.zeros((2, 2)), None)], None, "batch 0: .*requires y"),
        ([(np.zeros(2), [1, 1])], None, "batch 0: .*Expected 2D array"),
        ([np.zeros((2, 3))], None, "batch 0: it is not a pair"),
    ):
        accountant = BudgetAccountant(1)
        forest = PrivateForestClassifier(
            epsilon=1, domain=DOMAIN, strategy="one_shot", accountant=accountant
        )
        with pytest.raises(StreamError, match=said) as refused:
            forest.fit(BatchStream(parts, target))
        assert refused.value.__cause__ is None
        assert accountant.ledger == () and accountant.composition().children == ()


@pytest.mark.parametrize("names", [("a", "b"), (0, 1)], ids=str)
def test_frames_of_other_names_are_not_read_by_their_places(names):
    """One batch was read by names, and the next one by places: columns were mixed up."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0], "kind": "2", "y": "1"})
    in_order = BatchStream([frame, frame[["y", "kind", "x"]]], "y")
    assert len(set(encoded(in_order, "classification"))) == 1
    other = pd.DataFrame([["2", 1.0, "1"]], columns=[*names, "y"])
    # Batches that are there are looked at before anything is spent.
    for batches, spent in (([frame, other], 0), (lambda: [frame, other], 1)):
        stream, accountant = BatchStream(batches, "y"), BudgetAccountant(1)
        forest = PrivateForestClassifier(
            epsilon=1, domain=DOMAIN, strategy="one_shot", accountant=accountant
        )
        with pytest.raises(StreamError, match="batch 1: it has no column 'x'. Name the columns"):
            forest.fit(stream)
        assert accountant.spent.exact.epsilon == spent


def test_a_batch_that_stands_in_the_list_twice_is_refused_unspent():
    """Its records would count twice."""
    frame = pytest.importorskip("pandas").DataFrame({"x": [1.0], "kind": "1", "y": "1"})
    X = np.zeros((2, 2))
    for parts, target in (([frame, frame], "y"), ([(X, [1, 1]), (X, [1, 2])], None)):
        accountant = BudgetAccountant(1)
        forest = PrivateForestClassifier(
            epsilon=1, domain=DOMAIN, strategy="one_shot", accountant=accountant
        )
        with pytest.raises(ParameterError, match="is given twice"):
            forest.fit(BatchStream(parts, target))
        assert accountant.ledger == () and accountant.composition().children == ()


def test_an_invalid_record_of_a_stream_is_named_by_its_place_and_stays_spent():
    domain = Domain(features={"a": (0, 10)}, classes=["no", "yes"])
    accountant = BudgetAccountant(epsilon=3)
    forest = PrivateForestClassifier(
        epsilon=1, domain=domain, strategy="one_shot", accountant=accountant, invalid="raise"
    )
    stream = BatchStream([([[1], [2]], ["no", "yes"]), ([[float("nan")]], ["no"])])
    with pytest.raises(InvalidRecordError) as caught:
        forest.fit(stream)
    assert isinstance(caught.value, StreamError)
    assert (caught.value.place, caught.value.column) == ("batch 1", "a")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert accountant.remaining.epsilon == 2


@pytest.mark.parametrize(("made", "named"), [(None, "None"), (3, "<int>")])
def test_a_callable_that_makes_no_batches_is_told_so(made, named):
    stream = BatchStream(lambda: made)
    with pytest.raises(StreamError, match=f"the callable returned {named}, which holds no batches"):
        PrivateForestClassifier(epsilon=1, domain=DOMAIN).fit(stream)


class Places:
    """Batches by their places alone."""

    def __getitem__(self, place):
        return [([[1], [2]], ["no", "yes"]), ([[3]], ["no"])][place]


def test_batches_that_have_places_alone_are_gone_through():
    assert [len(batch.y) for batch in BatchStream(Places).batches()] == [2, 1]


def test_no_repr_of_a_batch_holds_records():
    (batch,) = BatchStream([([["4711"]], ["secret"])]).batches()
    assert "4711" not in repr(batch) and "secret" not in repr(batch)


class OddError(BaseException):
    """As what is written in Rust panics: no Exception."""


def begun():
    raise ValueError("secret 4711")


def made_and_then(error):
    def batches():
        yield [[1], [2]], ["1", "2"]
        raise error("secret 4711")

    return batches


class Lazy(list):
    """Batches that are made when somebody asks for them."""

    def __iter__(self):
        yield from made_and_then(KeyError)()


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        (begun, "batches: it cannot be read .ValueError."),
        (made_and_then(ValueError), "batch 1: it cannot be read .ValueError."),
        (made_and_then(OddError), "batch 1: it cannot be read .OddError."),
        (lambda: Lazy(), "batch 1: it cannot be read .KeyError."),
    ],
)
def test_what_ends_the_making_of_batches_is_told_by_its_type_and_stays_spent(batches, said):
    accountant = BudgetAccountant(epsilon=3)
    forest = PrivateForestClassifier(
        epsilon=1, domain=Domain(features={"x": (0, 9)}, classes=["1", "2"]), strategy="one_shot",
        accountant=accountant,
    )  # fmt: skip
    with pytest.raises(StreamError, match=said) as caught:
        forest.fit(BatchStream(batches))
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None
    (fit,) = accountant.composition().children
    assert fit.failed and accountant.spent.exact.epsilon == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_passes(error):
    with pytest.raises(error):
        list(BatchStream(made_and_then(error)).batches())


class Ragged(Stream):
    """A reader of somebody's own."""

    named = False

    def columns(self):
        return ()

    def batches(self):
        yield Batch([[1], [2]], ["1", "2"], "part 0")
        raise LookupError("secret 4711")


class Refusing:
    """A cell that cannot be read, for whatever reason."""


@pytest.mark.parametrize("error", [ValueError, MemoryError, OddError])
def test_no_error_of_reading_a_stream_holds_a_value(error, monkeypatch):
    def refuse(cell):
        raise error("secret 4711")

    monkeypatch.setitem(values._READERS, id(Refusing), refuse)
    odd = BatchStream([([[1, "1"]], ["1"]), ([[Refusing(), "1"]], ["1"])])
    for stream, said in ((odd, f"batch 1: .*{error.__name__}"), (Ragged(), "the stream: .*Lookup")):
        records = StreamedRecords(stream, DomainEncoder(DOMAIN))
        with pytest.raises(StreamError, match=said) as caught:
            records.sealed_total(ClassCounts())
        assert "4711" not in str(caught.value)
        assert caught.value.__context__ is caught.value.__cause__ is None
