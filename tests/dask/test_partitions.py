"""Partitions whose types differ, read without a cluster: the codes are those of one table."""

from __future__ import annotations

import logging
import math
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    ColumnsByPositionWarning,
    Domain,
    DomainError,
    MultinomialForestClassifier,
    ParameterError,
    StreamError,
)
from dpforest.domain import DomainEncoder
from dpforest.exceptions import ParameterTypeError

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

import dask  # noqa: E402
from dask.delayed import delayed  # noqa: E402

from dpforest import dask as dpforest_dask  # noqa: E402
from dpforest.dask.collections import DaskTable, is_collection  # noqa: E402
from dpforest.dask.workers import (  # noqa: E402
    DaskRecords,
    add_up,
    chunk_of,
    count_chunks,
    encode_part,
    reading_partitions,
    size_of,
)
from dpforest.domain import values  # noqa: E402
from dpforest.records.table import Table  # noqa: E402

DOMAIN = Domain(
    features={"x": (0, 9), "kind": {"categories": ["1", "2", "3"], "missing": True}},
    classes=["1", "2"],
    target=(0, 9),
)
#: The same column as partitions have it, whatever the meta data says.
PARTS = [
    pd.Series([1, 2, 3]), pd.Series([1.0, math.nan, 3]), pd.Series([1 + 0j, 2j, 3]),
    pd.Series(["1", "x", "3.0"]), pd.Series([1, "2", None, b"1", [1]], dtype=object),
    pd.Series([1, None], dtype="Int8"), pd.Series([True, None], dtype="boolean"),
    pd.Series([1, 2.5], dtype="double[pyarrow]"), pd.Series(["1", None], dtype="category"),
    pd.Series([Decimal("1.0"), Decimal("2")]), pd.Series(pd.to_datetime(["2020-01-01", None])),
    pd.Series([], dtype=float), pd.Series([2.0], dtype="Sparse"),
]  # fmt: skip


def read(source: DaskTable, encoder: DomainEncoder, **parameters) -> list[Table]:
    pairs = dask.compute(*source._pairs(), scheduler="synchronous")
    return [
        encode_part(part, encoder, f"partition {k}", **parameters) for k, part in enumerate(pairs)
    ]


def rows_of(table) -> list:
    outputs = table.labels if table.targets is None else table.targets
    return [*zip(table.codes.tolist(), outputs.tolist(), strict=True)]


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("named", [True, False])
def test_the_codes_are_those_of_one_table(task, named):
    encoder = DomainEncoder(DOMAIN, task=task)
    frames = [pd.DataFrame({"x": part, "kind": part, "y": part}) for part in PARTS]
    meta = frames[0].iloc[:0]
    X = dd.from_delayed([delayed(frame) for frame in frames], meta=meta, verify_meta=False)
    source = DaskTable(X, "y") if named else DaskTable(X[["x", "kind"]], X["y"])
    source.check(DOMAIN.feature_names)
    cells = [cell for part in PARTS for cell in part]
    whole = Table.of(encoder.encode([[cell, cell] for cell in cells], cells))
    assert sum(map(rows_of, read(source, encoder)), []) == rows_of(whole)
    assert 8 < whole.n_records < len(cells)


@pytest.mark.parametrize("y", ["y", None], ids=["a name", "a series"])
def test_what_dask_says_of_values_while_it_plans_is_told_without_any_and_spends_nothing(y):
    frame = pd.DataFrame({"x": [1, 2], "kind": [b"1", b"secret\xff"], "y": ["1", "2"]})
    accountant = BudgetAccountant(1)
    forest = dpforest_dask.DaskPrivateForestClassifier(
        epsilon=1, domain=DOMAIN, accountant=accountant, strategy="one_shot"
    )
    with dask.config.set({"dataframe.convert-string": True}):
        X = dd.from_pandas(frame, npartitions=2)
        assert is_collection(X) and is_collection(X["y"])
        with pytest.raises(StreamError, match="it cannot be read .UnicodeDecodeError") as caught:
            forest.fit(X, X["y"] if y is None else y)
    assert "secret" not in str(caught.value)
    assert accountant.spent.exact.epsilon == 0


def test_what_is_no_array_or_frame_of_dask_is_refused_by_its_type():
    bag = pytest.importorskip("dask.bag").from_sequence([1, 2])
    for X, y in ((bag, "y"), (da.ones((2, 2)), bag), (np.ones((2, 2)), "y")):
        with pytest.raises(ParameterTypeError, match="must be a Dask array"):
            DaskTable(X, y)


@pytest.mark.parametrize("odd", [1j, 2 + 0j, "x", None, b"1", {"a": 1}, 2**70, 0.5])
def test_one_record_more_changes_no_other(odd):
    encoder = DomainEncoder(DOMAIN)
    base = [1, 2, 1, 2, 1, 2]
    for cells in (base, [*base, odd]):
        frame = pd.DataFrame(
            {"x": 1, "kind": pd.Series(cells), "y": [1, 2] * 3 + [1] * (len(cells) > 6)}
        )
        X = dd.from_pandas(frame, npartitions=2, sort=False)
        found = sum(map(rows_of, read(DaskTable(X, "y"), encoder)), [])
        assert [(codes[1], y) for codes, y in found][:6] == [(0, 0), (1, 1)] * 3
        assert len(found) == len(cells)
        array = np.array(cells) if odd not in ("x", b"1") else np.array(cells, dtype=object)
        X = da.from_array(np.stack([np.ones_like(array), array], axis=1), chunks=(4, 2))
        y = da.from_array(frame["y"].to_numpy(), chunks=4)
        assert sum(map(rows_of, read(DaskTable(X, y), encoder)), []) == found


@pytest.mark.parametrize("names", [["a", "b", "y"], [0, 1, "y"]], ids=str)
def test_a_partition_of_other_names_than_its_frame_is_not_read_by_its_places(names):
    frame = pd.DataFrame({"x": [1], "kind": "2", "y": "1"})
    other = frame[["kind", "x", "y"]].set_axis(names, axis=1)
    parts = [delayed(part) for part in (frame, frame[["y", "kind", "x"]], other)]
    X = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
    first, second, refused = read(DaskTable(X, "y"), DomainEncoder(DOMAIN), named=True)
    assert rows_of(first) == rows_of(second)
    assert isinstance(refused, StreamError)
    assert str(refused).startswith("partition 2: it has no column 'x'. Name the columns")


def test_masked_arrays():
    X = np.ma.array([[1.0, 1.0]] * 4, mask=[[False] * 2, [True, False]] * 2)
    source = DaskTable(da.from_array(X, chunks=(2, 2)), da.from_array(np.ones(4), chunks=2))
    assert [table.n_records for table in read(source, DomainEncoder(DOMAIN))] == [1, 1]


def test_shapes_and_names_are_refused_unspent():
    zeros, labels = da.zeros((6, 2), chunks=(3, 2)), da.zeros(6, chunks=3)
    frame = dd.from_pandas(pd.DataFrame({"x": [1.0] * 6, "kind": "1", "y": "1"}), npartitions=2)
    twice = dd.from_pandas(pd.DataFrame({"x": [1.0], "kind": "1"}), npartitions=1)
    twice.columns = ["x", "x"]
    accountant = BudgetAccountant(1)
    make = dpforest_dask.DaskPrivateForestClassifier(
        epsilon=1, domain=DOMAIN, strategy="one_shot", accountant=accountant
    )
    for X, y, said in (
        (da.zeros((6, 3), chunks=3), labels, "two dimensions and 2 columns"),
        (da.zeros(6, chunks=3), labels, "two dimensions and 2 columns"),
        (da.zeros(6, chunks=3, dtype="f8,f8"), labels, "structured arrays"),
        (zeros, da.zeros((6, 2), chunks=(3, 2)), "multi-output"),
        (frame[["x", "kind"]], frame[["x", "y"]], "multi-output"),
        (zeros, da.zeros(6, chunks=(2, 4)), "of records in one of them"),
        (zeros, da.zeros(7, chunks=4), "of records in one of them"),
        (twice, "x", "one name"),
        (frame[["x", "y"]], "y", "no column 'kind'"),
        (frame, "z", "no column 'z'"),
    ):
        with pytest.raises(StreamError, match=said):
            make.fit(X, y)
        assert accountant.ledger == () and accountant.composition().children == ()


class OddError(BaseException):
    """As what is written in Rust panics: no Exception."""


#: A value that no log holds by chance, as their UUIDs, ports and times hold any four digits.
SECRET = "Zanzibar"


class Refusing:
    """What cannot be read, for whatever reason, and quotes a value."""

    error = ValueError

    def refuse(self, *_):
        raise self.error(f"secret {SECRET}")

    n_records = property(refuse)
    __iter__ = __getitem__ = astype = refuse


@pytest.mark.parametrize("error", [ValueError, MemoryError, OddError])
def test_no_error_of_a_task_holds_a_value(error, monkeypatch):
    """A worker logs whatever a task raises."""
    monkeypatch.setattr(Refusing, "error", error)
    monkeypatch.setitem(values._READERS, id(Refusing), Refusing.refuse)
    refusing, encoder = Refusing(), DomainEncoder(DOMAIN)
    found = encode_part(([[refusing, "1"]], ["1"]), encoder, "partition 3")
    said = f"it cannot be read .{error.__name__}."
    assert str(found).startswith("partition 3: ") and SECRET not in str(found)
    assert type(found) is StreamError and found.__traceback__ is found.__context__ is None
    for task in (
        lambda: size_of(refusing, b""), lambda: chunk_of(refusing, 0, b"", b""),
        lambda: count_chunks(b"", [], refusing), lambda: add_up(refusing),
    ):  # fmt: skip
        with pytest.raises(StreamError, match="a partition: it cannot be read") as caught:
            task()
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is caught.value.__cause__ is None
    with pytest.raises(StreamError, match=said), reading_partitions():
        refusing.refuse()


@pytest.mark.parametrize("error", [ValueError, MemoryError])
def test_no_log_of_a_worker_holds_a_value(error, monkeypatch, caplog):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", True)
    monkeypatch.setattr(Refusing, "error", error)
    monkeypatch.setitem(values._READERS, id(Refusing), Refusing.refuse)
    cells = np.array([[Refusing(), "1"]] * 2, dtype=object)
    X, y = da.from_array(cells, chunks=(1, 2)), da.from_array(np.array(["1", "2"]), chunks=1)
    accountant = BudgetAccountant(1)
    forest = dpforest_dask.DaskPrivateForestClassifier(
        epsilon=1, domain=DOMAIN, accountant=accountant, strategy="one_shot"
    )
    said = pytest.raises(StreamError, match=f"partition 0: .*{error.__name__}")
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster),
        said as caught,
    ):
        forest.fit(X, y)
    assert SECRET not in str(caught.value) + caplog.text
    assert accountant.spent.exact.epsilon == 1


def test_labels_that_are_a_feature_are_refused():
    table = pd.DataFrame({"age": [40.0, 50.0], "ward": ["a", "b"]})
    frame = dd.from_pandas(table, npartitions=1)
    for y in ("ward", frame["ward"], frame[["ward"]]):
        with pytest.raises(ParameterError, match="the column ward: is named as a feature"):
            DaskTable(frame, y).check(("age", "ward"))
    # Names of other labels, and of arrays in a graph, are none of a feature.
    array = da.from_array(np.array(["a", "b"]), name="ward")
    for y in (frame["ward"].rename("outcome"), array):
        DaskTable(frame, y).check(("age", "ward"))


def test_records_on_workers_are_never_one_table_and_need_no_threads_here():
    client = SimpleNamespace(nthreads=lambda: {"first": 2, "second": 4})
    records = DaskRecords([], DomainEncoder(DOMAIN), client)
    assert records.n_threads == 1 and not records.in_memory
    assert records.schema.n_records == 0
    with pytest.raises(AssertionError, match="not one table"):
        records.look(None)


def test_a_frame_to_predict_is_looked_at_by_its_names_before_it_is_computed():
    """What a worker warns of stands in its log."""
    names = pd.DataFrame({"x": [1.0, 8.0] * 20, "kind": "1"})
    given = {"epsilon": 1, "domain": DOMAIN, "n_estimators": 2, "max_depth": 2}
    for fitted_on in (names, names.to_numpy()):
        forest = dpforest_dask.DaskMultinomialForestClassifier(**given)
        in_memory = MultinomialForestClassifier(**given, random_state=0)
        forest.__dict__.update(vars(in_memory.fit(fitted_on, ["1", "2"] * 20)))
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            answer = getattr(forest, method)
            turned = answer(dd.from_pandas(names[["kind", "x"]], npartitions=2))
            expected = getattr(in_memory, method)(names)
            assert np.array_equal(turned.compute(scheduler="synchronous"), expected)
            with pytest.raises(DomainError, match="'kind': declared, but the table has no"):
                answer(dd.from_pandas(names.rename(columns={"kind": "ward"}), npartitions=2))
            others = dd.from_pandas(names.rename(columns={"kind": "ward", "x": "z"}), npartitions=2)
            if fitted_on is names:
                with pytest.raises(ValueError, match="feature names"):
                    answer(others)
                continue
            with pytest.warns(ColumnsByPositionWarning, match="the first one as 'x'") as told:
                answer(others)
            assert len(told) == 1 and told[0].filename == __file__


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c"]])
def test_scores_of_a_collection_are_lazy_and_those_of_its_records(classes):
    X = np.arange(30.0).reshape(-1, 1) % 10
    domain = Domain(features={"x": (0, 9)}, classes=classes)
    given = {"epsilon": 1, "domain": domain, "n_estimators": 2, "max_depth": 2}
    forest = dpforest_dask.DaskMultinomialForestClassifier(**given)
    in_memory = MultinomialForestClassifier(**given, random_state=0)
    forest.__dict__.update(vars(in_memory.fit(X, (classes * 15)[:30])))
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(forest, method)(da.from_array(X, chunks=(12, 1)))
        found = getattr(in_memory, method)(X)
        assert is_collection(lazy) and lazy.shape == found.shape
        assert np.array_equal(lazy.compute(scheduler="synchronous"), found)
        assert np.array_equal(getattr(forest, method)(X), found)
