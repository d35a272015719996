"""Forests on Dask: those of one machine, whatever the partitions, workers and deaths."""

from __future__ import annotations

import itertools
import operator
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    Domain,
    MultinomialForestClassifier,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    StreamError,
    verify_report,
)

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

import dask  # noqa: E402

from dpforest import dask as dpforest_dask  # noqa: E402
from dpforest.dask.collections import DaskTable  # noqa: E402
from dpforest.dask.workers import (  # noqa: E402
    DaskRecords,
    add_up,
    chunk_of,
    count_chunks,
    encode_part,
    narrow,
    size_of,
)
from dpforest.domain.encoder import DomainEncoder  # noqa: E402
from dpforest.exceptions import ParameterTypeError  # noqa: E402
from dpforest.records.base import Chunk, reveal  # noqa: E402
from dpforest.records.counts import ClassCounts, RecordCount  # noqa: E402
from dpforest.records.streams.passes import empty_table, new_key  # noqa: E402
from tests.dask.clusters import QUIET, workers_here  # noqa: E402

pytestmark = QUIET

LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"
ROOT = Path(__file__).resolve().parents[2]
N = 900
DOMAIN = Domain(
    features={"age": (0, 100), "income": (0.0, 9000.0), "kind": ["0", "1", "2"]},
    classes=["ill", "well"],
    approximate_rows=N,
)


def table() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(5)
    columns = generator.integers(0, 101, N), generator.exponential(2000.0, N)
    X = np.column_stack([*columns, generator.integers(0, 3, N)]).astype(float)
    X[::90, 1] = np.nan  # not allowed: the record is dropped
    return X, np.where((X[:, 0] > 50) ^ (generator.random(N) < 0.2), "ill", "well")


def frame(X: np.ndarray) -> pd.DataFrame:
    made = pd.DataFrame(X, columns=list(DOMAIN.feature_names))
    made["kind"] = made["kind"].astype(int).astype(str)
    return made


@pytest.fixture(scope="module")
def cluster():
    with workers_here(2) as client:
        yield client


@pytest.fixture
def fresh_cluster():
    """One on which no worker was killed before."""
    with workers_here(2) as client:
        yield client


STRATEGIES = [("one_shot", 0), ("one_shot", 1e-6), ("refitted", 1e-6), ("refitted", 0),
              ("boosted", 1e-6), ("boosted", 0), ("additive", 1e-6)]  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "delta", "chunks"), [(*kind, 250) for kind in STRATEGIES] + [("one_shot", 0, 64)]
)
def test_a_classifier_is_that_of_one_machine(cluster, strategy, delta, chunks):
    X, y = table()
    parameters = {
        "epsilon": 3, "delta": delta, "strategy": strategy, "domain": DOMAIN, "random_state": 1
    }  # fmt: skip
    whole = PrivateForestClassifier(**parameters).fit(X, y)
    spread = dpforest_dask.DaskPrivateForestClassifier(**parameters)
    spread.fit(da.from_array(X, chunks=(chunks, 2)), da.from_array(y, chunks=chunks))
    assert np.array_equal(spread.predict_proba(X), whole.predict_proba(X))
    parts = da.from_array(X, chunks=(chunks, 2)), da.from_array(y, chunks=chunks)
    assert spread.score(*parts) == spread.score(X, y) == whole.score(X, y)
    bounds = [forest.privacy_report().guarantee.bounds for forest in (spread, whole)]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("strategy", ["refitted", "boosted", "additive"])
def test_three_classes_are_looked_at_last_as_on_one_machine(cluster, strategy, delta):
    X, y = table()
    y = np.where(X[:, 1] < 800.0, "away", y)
    domain = Domain(**{**DOMAIN.model_dump(), "classes": ["away", "ill", "well"]})
    parameters = {
        "epsilon": 6, "delta": delta, "strategy": strategy, "domain": domain, "random_state": 1
    }  # fmt: skip
    whole = PrivateForestClassifier(**parameters).fit(X, y)
    spread = dpforest_dask.DaskPrivateForestClassifier(**parameters)
    spread.fit(da.from_array(X, chunks=(250, 2)), da.from_array(y, chunks=250))
    assert spread.accountant_.ledger[-1].role == "right answers less claimed ones"
    assert np.array_equal(spread.predict_proba(X), whole.predict_proba(X))


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_hopeless_table_releases_the_class_shares_that_one_machine_would(cluster, delta):
    X, y = table()
    parameters = {"epsilon": 0.003, "delta": delta, "domain": DOMAIN, "random_state": 1}
    whole = PrivateForestClassifier(**parameters).fit(X, y)
    spread = dpforest_dask.DaskPrivateForestClassifier(**parameters)
    spread.fit(da.from_array(X, chunks=(250, 2)), da.from_array(y, chunks=250))
    assert [entry.role for entry in spread.accountant_.ledger] == ["prior"]
    assert np.array_equal(spread.predict_proba(X), whole.predict_proba(X))


def test_frames_are_read_by_name_and_predictions_are_lazy(cluster):
    X, y = table()
    parameters = {"epsilon": 3, "strategy": "one_shot", "domain": DOMAIN, "random_state": 1}
    whole = PrivateForestClassifier(**parameters).fit(frame(X), y)
    records = frame(X)[["kind", "income", "age"]].assign(outcome=y)
    spread = dpforest_dask.DaskPrivateForestClassifier(**parameters)
    parts = dd.from_pandas(records, npartitions=3, sort=False)
    spread.fit(parts, "outcome")
    assert spread.feature_names_in_.tolist() == list(DOMAIN.feature_names)
    predicted = spread.predict_proba(parts.drop(columns="outcome"))
    assert np.array_equal(predicted.compute(), whole.predict_proba(frame(X)))
    labels = spread.predict(parts.drop(columns="outcome")).compute()
    assert np.array_equal(labels, whole.predict(frame(X)))


def test_columns_of_the_same_files_are_cut_alike(cluster, tmp_path):
    X, y = table()
    written = dd.from_pandas(frame(X).assign(outcome=y), npartitions=3, sort=False)
    written.to_parquet(tmp_path)
    records = dd.read_parquet(tmp_path)
    # What has to be so for this to test anything: Dask reads one column in fewer parts.
    assert len(records["outcome"].to_delayed()) < records.npartitions == 3
    parameters = {"epsilon": 3, "strategy": "one_shot", "domain": DOMAIN, "random_state": 1}
    whole = PrivateForestClassifier(**parameters).fit(frame(X), y)
    spread = dpforest_dask.DaskPrivateForestClassifier(**parameters)
    spread.fit(records.drop(columns="outcome"), records["outcome"])
    assert np.array_equal(spread.predict_proba(frame(X)), whole.predict_proba(frame(X)))


def test_without_a_cluster_it_says_so_and_spends_nothing():
    """In a process of its own, where no other test's client is open."""
    code = """
import dask.array as da
from dpforest import BudgetAccountant, Domain, StreamError
from dpforest.dask import DaskPrivateForestClassifier
accountant = BudgetAccountant(1)
domain = Domain(features={"age": (0, 100)}, classes=["ill", "well"])
forest = DaskPrivateForestClassifier(epsilon=1, domain=domain, accountant=accountant)
try:
    forest.fit(da.zeros((4, 1), chunks=2), da.zeros(4, chunks=2))
except StreamError as error:
    print(error)
assert accountant.spent.exact.epsilon == 0
assert accountant.composition().children == ()  # a ledger would be charged with the first
"""
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("the cluster: no client of one is open. Open a ")


def test_the_published_forest_and_a_regressor(cluster):
    X, y = table()
    kind = dpforest_dask.DaskMultinomialForestClassifier
    parameters = {
        "epsilon": 50, "n_estimators": 3, "max_depth": 3, "domain": DOMAIN, "random_state": 2
    }  # fmt: skip
    chunks = da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=200)
    in_memory = MultinomialForestClassifier
    for on_dask, alone in ((kind.as_published, in_memory.as_published), (kind, in_memory)):
        spread, whole = on_dask(**parameters).fit(*chunks), alone(**parameters).fit(X, y)
        assert np.array_equal(spread.predict_proba(X), whole.predict_proba(X))
        assert spread.score(*chunks) == whole.score(X, y)
        bounds = [forest.privacy_report().guarantee.bounds for forest in (spread, whole)]
        assert bounds[0] == bounds[1]
    bounded = DOMAIN.model_copy(update={"classes": None})
    bounded = Domain(**{**bounded.model_dump(), "target": (0, 500)})
    for strategy, delta in (("one_shot", 0), ("refitted", 1e-6)):
        parameters = {
            "epsilon": 20, "delta": delta, "strategy": strategy, "domain": bounded,
            "random_state": 2,
        }  # fmt: skip
        target = X[:, 0]
        spread = dpforest_dask.DaskPrivateForestRegressor(**parameters)
        spread.fit(chunks[0], da.from_array(target, chunks=200))
        whole = PrivateForestRegressor(**parameters).fit(X, target)
        assert np.array_equal(spread.predict(X), whole.predict(X))
        assert np.array_equal(spread.predict(chunks[0]).compute(), whole.predict(X))
        if strategy == "refitted":
            begins = [entry.role for entry in spread.accountant_.ledger]
            assert "residual sums of a feature" in begins, "it begins with curves"


def test_reports_of_fits_that_share_an_accountant_are_verified(cluster):
    X, y = table()
    accountant = BudgetAccountant(9, delta=1e-5)
    chunks = da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=200)
    forests = [
        dpforest_dask.DaskPrivateForestClassifier(
            epsilon=1, delta=1e-6, strategy="one_shot", domain=DOMAIN, accountant=accountant
        ).fit(*chunks)
        for _ in range(2)
    ]
    for forest in forests:
        assert (forest.guarantee_.epsilon, forest.guarantee_.delta) == (1, 1e-6)
        for model in (forest, forest.to_json()):
            assert "plan and settings" in verify_report(forest.privacy_report(), model).held
    assert accountant.loss.delta == 0


def kill_meanwhile(cluster, monkeypatch, begins: int = 20, ends: int = 40) -> threading.Event:
    """Kill a worker between two of a fit's sums, at whatever it does; later ones wait for that."""
    killed, sums, total = threading.Event(), itertools.count(1), DaskRecords._sum

    def kill():
        os.kill(next(iter(cluster.run(os.getpid).values())), signal.SIGKILL)
        killed.set()

    def counted(self, query):
        number = next(sums)
        if number == begins:
            threading.Thread(target=kill, daemon=True).start()
        if number == ends:
            assert killed.wait(60)
        return total(self, query)

    monkeypatch.setattr(DaskRecords, "_sum", counted)
    return killed


def test_a_worker_killed_in_the_middle_changes_nothing(cluster, monkeypatch):
    X, y = table()
    parameters = {
        "epsilon": 3, "delta": 1e-6, "strategy": "refitted", "domain": DOMAIN, "random_state": 1
    }  # fmt: skip
    whole = PrivateForestClassifier(**parameters).fit(X, y)
    accountant = BudgetAccountant(4, delta=1e-5)
    alone = PrivateForestClassifier(**parameters, accountant=BudgetAccountant(4, delta=1e-5)).fit(
        X, y
    )
    spread = dpforest_dask.DaskPrivateForestClassifier(**parameters, accountant=accountant)
    killed = kill_meanwhile(cluster, monkeypatch)
    spread.fit(da.from_array(X, chunks=(150, 3)), da.from_array(y, chunks=150))
    assert killed.is_set()
    assert np.array_equal(spread.predict_proba(X), alone.predict_proba(X))
    assert accountant.spent.exact == alone.accountant_.spent.exact
    assert whole.spent_.delta == spread.spent_.delta
    cluster.wait_for_workers(2, timeout=300)


def of_two_columns(array):
    """The first two columns, which is not known before they are there."""
    return array.map_blocks(operator.getitem, (slice(None), slice(2)), meta=array._meta)


def test_what_does_not_fit_is_refused(cluster):
    X, y = table()
    chunks = da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=200)
    accountant = BudgetAccountant(9)
    make = dpforest_dask.DaskPrivateForestClassifier
    with pytest.raises(ParameterTypeError, match="Dask array or data frame"):
        make(epsilon=1, domain=DOMAIN).fit(X, y)
    with pytest.raises(ParameterError, match="looks at all records at once"):
        make(epsilon=1, domain=DOMAIN, strategy="rules", accountant=accountant).fit(*chunks)
    with pytest.raises(StreamError, match="another number of partitions"):
        make(epsilon=1, domain=DOMAIN, accountant=accountant).fit(
            chunks[0], da.from_array(y, chunks=300)
        )
    lacking = dd.from_pandas(frame(X).drop(columns="age").assign(y=y), npartitions=2, sort=False)
    with pytest.raises(StreamError, match="no column 'age'"):
        make(epsilon=1, domain=DOMAIN, accountant=accountant).fit(lacking, "y")
    assert accountant.spent.exact.epsilon == 0


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("rows", [N, None])
@pytest.mark.parametrize("broken", ["a type", "a record"])
def test_what_a_partition_ends_stays_spent(cluster, broken, rows, delta):
    """Whether one can be read is a fact about its records, so no second answer is free."""
    X, y = table()
    domain = DOMAIN.model_copy(update={"approximate_rows": rows})
    accountant = BudgetAccountant(1, delta)
    forest = dpforest_dask.DaskPrivateForestClassifier(
        epsilon=1, delta=delta, domain=domain, strategy="auto" if delta else "one_shot",
        accountant=accountant, invalid="drop" if broken == "a type" else "raise",
    )  # fmt: skip
    chunks = da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=200)
    if broken == "a type":
        chunks = of_two_columns(chunks[0]), chunks[1]
    with pytest.raises(StreamError, match="partition 0: "):
        forest.fit(*chunks)
    assert accountant.spent.exact.epsilon > 0 and accountant.composition().children[0].failed
    with pytest.raises(NotFittedError, match="the last fit failed after something was granted"):
        forest.privacy_report()
    with pytest.raises(BudgetExceeded):
        forest.fit(*chunks)


def test_frames_in_memory_say_nothing_of_their_size(cluster):
    """Dask warns of a large graph, which holds such a frame, from so many records on."""
    X, y = table()
    large = pd.concat([frame(X).assign(y=y)] * 400, ignore_index=True)
    assert large[["age", "income"]].to_numpy().nbytes > 5e6
    forest = dpforest_dask.DaskPrivateForestClassifier(
        epsilon=1, domain=DOMAIN, strategy="one_shot"
    )
    records = dd.from_pandas(large, npartitions=2, sort=False)
    with dask.config.set({LARGE_GRAPH: "1MB"}), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        cluster.compute(records.to_delayed())
        assert any("large graph" in str(one.message) for one in said)
        said.clear()
        forest.fit(records, "y")
        assert not any("large graph" in str(one.message) for one in said)


def test_what_reading_a_partition_says_is_not_passed_on(cluster):
    good = frame(table()[0][:50]).assign(y="ill")

    def read(number: int) -> pd.DataFrame:
        return good if number == 0 else good.assign(age=float("the value of a record"))

    records = dd.from_map(read, [0, 1], meta=good)
    forest = dpforest_dask.DaskPrivateForestClassifier(
        epsilon=1, domain=DOMAIN, strategy="one_shot"
    )
    with pytest.raises(StreamError, match="cannot be read") as refused:
        forest.fit(records, "y")
    assert "the value of a record" not in str(refused.value)
    assert refused.value.__cause__ is None and refused.value.__context__ is None


def test_only_counts_travel(cluster):
    """What reaches the client of a level does not grow with the records."""
    received = []
    for n in (100, N):
        records = records_of(n, 50)
        reveal(records.sealed_total(ClassCounts()))
        received.append(records.bytes_received)
    assert received[0] == received[1] == 8


def records_of(n: int, chunks: int):
    X, y = (part[:n] for part in table())
    source = DaskTable(da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=chunks))
    return source.records(DomainEncoder(DOMAIN), 1)


def test_blocks_of_a_worker_are_counted_by_one_task(cluster):
    records = records_of(N, 50)
    bundles = records._bundles()
    assert len(bundles) <= 4 and sorted(len(b) for b in bundles)[-1] <= 9
    assert {b.key for own in bundles for b in own} == {b.key for b in records._chunks}
    places = cluster.who_has(records._chunks)
    assert all(len({places[b.key][0] for b in own}) == 1 for own in bundles)
    assert reveal(records.sealed_total(RecordCount())).sum() == N - 10  # ten have no income


@dataclass(frozen=True)
class LargeSums:
    """More than four bytes hold, from one chunk in nine."""

    def count(self, chunk: Chunk) -> np.ndarray:
        return np.array([chunk.table.n_records, 2**40 if chunk.first == 0 else 0])


def test_integers_that_need_eight_bytes_have_them():
    nobody = Chunk(empty_table(DomainEncoder(DOMAIN)))
    large, count = pickle.dumps(LargeSums()), pickle.dumps(RecordCount())
    assert count_chunks(large, [], [nobody, nobody]).tolist() == [0, 2**41]
    assert count_chunks(count, [], [nobody]).dtype == np.int32
    small, large = np.array([1, 2**31 - 1]), np.array([1, 1])
    assert narrow(small).dtype == np.int32 and add_up([narrow(small), large]).dtype == np.int64
    assert add_up([narrow(small), large]).tolist() == [2, 2**31]


def test_a_partition_that_is_made_again_must_be_the_same():
    X, y = table()
    encoder, key = DomainEncoder(DOMAIN), new_key()
    first, again, shorter, other = (
        encode_part((features, y[: len(features)]), encoder, "partition 0")
        for features in (X[:90], X[:90].copy(), X[:60], X[:90][::-1])
    )
    size, mark = size_of(first, key)
    assert size == 89 and chunk_of(again, 0, mark, key).table.n_records == 89
    unreadable = StreamError("partition 0", "it cannot be read", "Mend it")
    for changed in (shorter, other, unreadable):
        with pytest.raises(StreamError, match="it came out differently when made again") as refused:
            chunk_of(changed, 0, mark, key)
        assert not any(sign.isdigit() for sign in str(refused.value))


def left_on_worker() -> list[str]:
    """Names of our objects that a worker still holds: records, keys, questions."""
    import gc

    gc.collect()
    ours = ("Chunk", "Table", "RowWords", "Side", "LevelCounts", "ScoreHistory")
    kinds = [type(thing) for thing in gc.get_objects()]
    own = [k for k in kinds if str(k.__module__).startswith("dpforest")]
    return [k.__name__ for k in own if k.__name__ in ours]


# Sent as it is written: workers cannot import tests.
left_on_worker.__module__ = "__main__"


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_workers_forget_records_and_keys_with_the_fit(fresh_cluster, monkeypatch):
    records = records_of(N, 200)
    reveal(records.sealed_total(RecordCount()))
    assert "Chunk" in sum(fresh_cluster.run(left_on_worker).values(), [])
    del records
    X, y = table()
    chunks = da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=200)
    forest = dpforest_dask.DaskMultinomialForestClassifier.as_published(
        epsilon=50, n_estimators=3, max_depth=3, domain=DOMAIN
    )
    forest.fit(*chunks)  # each tree draws sides, so workers had its key
    broken = dpforest_dask.DaskPrivateForestClassifier(
        epsilon=1, domain=DOMAIN, delta=1e-6, strategy="refitted",
        accountant=BudgetAccountant(9, 1e-5),
    )  # fmt: skip
    # Whoever keeps an error keeps the frames that it came through.
    with pytest.raises(StreamError) as unread:
        broken.fit(of_two_columns(chunks[0]), chunks[1])
    fine = np.nan_to_num(X)
    fine[0, 1] = np.nan  # the other partitions are encoded by then
    with pytest.raises(StreamError) as partly_read:
        broken.set_params(invalid="raise").fit(da.from_array(fine, chunks=(200, 3)), chunks[1])
    broken.set_params(invalid="drop")
    monkeypatch.setattr("distributed.wait", interrupted)
    with pytest.raises(KeyboardInterrupt) as kept:
        broken.fit(*chunks)
    monkeypatch.undo()
    monkeypatch.setattr("dpforest.estimators.charge.register_fit", interrupted)
    with pytest.raises(KeyboardInterrupt) as kept_too:
        broken.fit(*chunks)
    assert unread and partly_read and kept and kept_too
    until = time.monotonic() + 120
    while time.monotonic() < until:
        held = fresh_cluster.run(left_on_worker)
        if not any(held.values()):
            return
        time.sleep(0.1)
    pytest.fail(f"workers still hold {held}")


EXAMPLES = [("dask_covertype.py", 20_000), ("dask_worker_killed.py", 6000)]


@pytest.mark.parametrize(("name", "rows"), EXAMPLES)
def test_an_example_runs_and_says_nothing_else(name, rows):
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), "--rows", str(rows)],
        capture_output=True, text=True, check=True, timeout=900,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "warning" not in run.stderr.lower()
    assert ("was killed on the way" in run.stdout) == ("killed" in name)
    assert run.stdout.splitlines()[-1] == "the same forest, bit for bit"


def test_every_example_on_dask_is_run():
    found = {path.name for path in (ROOT / "examples").glob("dask_*.py")}
    assert found == {name for name, _ in EXAMPLES}
