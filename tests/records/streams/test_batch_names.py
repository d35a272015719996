"""Columns of pairs by their names: each batch as a fit reads one frame, and all of them alike."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    ColumnsByPositionWarning,
    Domain,
    PrivateForestClassifier,
    StreamError,
)
from dpforest.domain import DomainEncoder
from dpforest.records.streams.base import ReadBy
from dpforest.records.streams.passes import StreamedRecords
from dpforest.streams import BatchStream

pd = pytest.importorskip("pandas")
pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")

NAMES = ("age", "bp")
DOMAIN = Domain(
    features={"age": (0, 9), "bp": (0, 90)}, classes=["no", "yes"], approximate_rows=400
)
X = np.random.default_rng(0).uniform(0, 9, (400, 2)) * (1, 10)
LABELS = np.where(X[:, 0] > 4.5, "yes", "no")


class Unknown:
    """A table of a library that nobody knows here."""

    def __init__(self, frame) -> None:
        self.columns, self._values = list(frame.columns), frame.to_numpy()

    def __array__(self, dtype=None, copy=None):
        return self._values


MAKERS = {
    "pandas": lambda frame: frame,
    "pandas of Arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "Arrow table": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "Arrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "unknown": Unknown,
    "rows with names": lambda frame: frame.to_dict("records"),
}
KINDS = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
FRAMES = pytest.mark.parametrize("make", list(MAKERS.values())[:-1], ids=list(MAKERS)[:-1])


def frame(*names, rows=slice(None)):
    """The table with its columns under names; those of the domain in any order, others in turn."""
    columns = [X[rows, NAMES.index(name) if name in NAMES else k] for k, name in enumerate(names)]
    return pd.DataFrame(np.column_stack(columns), columns=list(names))


def pairs(make, first, second):
    """Two batches with their own names."""
    halves = (slice(0, 150), first), (slice(150, None), second)
    return [(make(frame(*names, rows=rows)), LABELS[rows]) for rows, names in halves]


def forest_of(batches, accountant=None):
    forest = PrivateForestClassifier(
        epsilon=1, domain=DOMAIN, strategy="one_shot", random_state=1, accountant=accountant
    )
    return forest.fit(BatchStream(batches))


def codes_of(batches):
    records = StreamedRecords(BatchStream(batches), DomainEncoder(DOMAIN))
    return np.concatenate([chunk.table.codes for chunk in records._chunks()])


@KINDS
@pytest.mark.parametrize("there", [True, False], ids=["list", "callable"])
def test_columns_are_found_by_name_in_every_batch(make, there):
    batches = pairs(make, ("bp", "age"), ("age", "bp"))
    given = batches if there else lambda: batches
    assert np.array_equal(codes_of(given), DomainEncoder(DOMAIN).encode(X, LABELS).matrix.codes)
    expected = forest_of([(X[:150], LABELS[:150]), (X[150:], LABELS[150:])])
    shares = forest_of(given).predict_proba(frame("bp", "age"))
    assert np.array_equal(shares, expected.predict_proba(X))


@FRAMES
def test_names_of_batches_that_are_there_are_kept_as_those_of_one_frame(make):
    kept = forest_of(pairs(make, ("bp", "age"), ("age", "bp")))
    alone = PrivateForestClassifier(epsilon=1, domain=DOMAIN, random_state=1)
    alone.fit(frame("bp", "age"), LABELS)
    assert kept.feature_names_in_.tolist() == alone.feature_names_in_.tolist()
    shares = kept.predict_proba(frame("age", "bp"))
    assert np.array_equal(shares, kept.predict_proba(frame("bp", "age")))
    for forest in (kept, alone):
        with pytest.raises(ValueError, match="feature names"):
            forest.predict(frame("p", "q"))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            forest.predict(X)


def test_names_are_kept_where_all_batches_have_them():
    named = (frame("bp", "age", rows=slice(0, 150)), LABELS[:150])
    plain = (X[150:], LABELS[150:])
    for batches in ([named, plain], [plain], [], lambda: [named]):
        stream = BatchStream(batches)
        assert stream.check(NAMES) == ReadBy(names=False, places=False)
        assert not hasattr(forest_of(batches), "feature_names_in_")
    assert BatchStream([named]).check(NAMES) == ReadBy(names=True)


@FRAMES
@pytest.mark.parametrize("there", [True, False], ids=["list", "callable"])
def test_names_of_which_none_is_declared_are_told_once_a_fit(make, there):
    batches = pairs(make, ("BP", "Age"), ("BP", "Age"))
    accountant = BudgetAccountant(1)
    with pytest.warns(ColumnsByPositionWarning, match="the first one as 'age'") as told:
        forest = forest_of(batches if there else lambda: batches, accountant)
    assert len(told) == 1 and told[0].filename == __file__
    assert "BP" not in str(told[0].message) and not hasattr(forest, "feature_names_in_")
    # As an error it ends a fit at the door, or one that is whole.
    accountant = BudgetAccountant(1)
    with warnings.catch_warnings(), pytest.raises(ColumnsByPositionWarning):
        warnings.simplefilter("error", ColumnsByPositionWarning)
        forest_of(batches if there else lambda: batches, accountant)
    assert accountant.spent.exact.epsilon == (0 if there else 1)


@FRAMES
@pytest.mark.parametrize("there", [True, False], ids=["list", "callable"])
@pytest.mark.parametrize(
    ("first", "second"),
    [(("p", "q"), ("q", "p")), (("p", "q"), ("p", "r")), (NAMES, ("p", "q")), (("p", "q"), NAMES)],
    ids=["other order", "another name", "after declared ones", "before declared ones"],
)
def test_frames_that_are_read_by_place_have_the_same_names(make, there, first, second):
    """What one batch had in its first place the next one had in its second, without a word."""
    batches, accountant = pairs(make, first, second), BudgetAccountant(1)
    with pytest.raises(StreamError, match="batch 1: its columns have other names") as refused:
        forest_of(batches if there else lambda: batches, accountant)
    assert accountant.spent.exact.epsilon == (0 if there else 1)
    assert not {"p", "q", "r"} & set(str(refused.value).replace(",", " ").split())


def test_frames_without_names_are_read_as_arrays_beside_others():
    unnamed = pl.from_numpy(X[150:])  # column_0, column_1
    whole = DomainEncoder(DOMAIN).encode(X, LABELS).matrix.codes
    for first in (X[:150], frame("bp", "age", rows=slice(0, 150)), pd.DataFrame(X[:150])):
        batches = [(first, LABELS[:150]), (unnamed, LABELS[150:])]
        assert BatchStream(batches).check(NAMES) == ReadBy()
        assert np.array_equal(codes_of(batches), whole)


@FRAMES
@pytest.mark.parametrize("there", [True, False], ids=["list", "callable"])
def test_a_part_of_the_declared_names_is_refused(make, there):
    batches, accountant = pairs(make, NAMES, ("age", "other")), BudgetAccountant(1)
    with pytest.raises(StreamError, match="batch 1: .*'bp': declared, but the table has no column"):
        forest_of(batches if there else lambda: batches, accountant)
    assert accountant.spent.exact.epsilon == (0 if there else 1)


@pytest.mark.parametrize("there", [True, False], ids=["list", "callable"])
def test_labels_that_are_a_feature_are_refused_in_later_batches_too(there):
    """All would be learnt from the answer."""
    first, (table, labels) = pairs(MAKERS["pandas"], NAMES, NAMES)
    for answers in (pd.Series(labels, name="bp"), pl.Series("bp", labels)):
        batches, accountant = [first, (table, answers)], BudgetAccountant(1)
        with pytest.raises(StreamError, match="batch 1: .*the column bp: is named as a feature"):
            forest_of(batches if there else lambda batches=batches: batches, accountant)
        assert accountant.spent.exact.epsilon == (0 if there else 1)
