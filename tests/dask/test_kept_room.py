"""What chunks keep on a worker shares one room, however many of them lie there."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.domain.encoder import DomainEncoder
from dpforest.records.base import Chunk, MappedQuery
from dpforest.records.counts import ClassCounts, RecordCount
from dpforest.records.streams.passes import empty_table

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from dpforest import dask as dpforest_dask  # noqa: E402
from dpforest.dask import kept_room  # noqa: E402
from dpforest.dask.kept_room import ROOM_A_THREAD, SharedRoom, threads_here  # noqa: E402
from dpforest.dask.questions import Questions  # noqa: E402
from dpforest.dask.workers import DaskRecords, count_chunks  # noqa: E402
from tests.dask.clusters import QUIET, workers_here  # noqa: E402

pytestmark = QUIET

N, ROWS = 900, 30
DOMAIN = Domain(
    features={"size": (0, 10), "age": (0, 100)}, classes=["a", "b", "c"], approximate_rows=N
)


def chunks_of(n: int) -> list[Chunk]:
    return [Chunk(empty_table(DomainEncoder(DOMAIN))) for _ in range(n)]


def test_chunks_have_equal_parts_and_give_them_back():
    room, first, later = SharedRoom(), chunks_of(3), chunks_of(2)
    room.share(first, 1)
    assert {chunk.room for chunk in first} == {ROOM_A_THREAD // 3}
    room.share(later, 4)
    assert {chunk.room for chunk in later} == {4 * ROOM_A_THREAD // 5}
    room.share(first, 1)  # as before every sum
    assert {chunk.room for chunk in first} == {ROOM_A_THREAD // 5}
    del later
    gc.collect()
    room.share(first[:1], 1)
    assert first[0].room == ROOM_A_THREAD // 3
    room.share([], 1)


class Same:
    """A mapping that leaves records as they are."""

    def table(self, chunk):
        return chunk.table


def test_a_mapped_chunk_has_the_room_that_its_own_has_now():
    (chunk,) = chunks_of(1)
    query = MappedQuery(Same(), ClassCounts())
    for room in (None, 100, 7):
        chunk.room = room
        query.count(chunk)
        assert chunk.kept["mapped"][1].room == room


class Sent:
    """A client that runs tasks at once."""

    def submit(self, function, *given, pure):
        return function(*given)


def test_a_task_shares_the_room_before_it_counts(monkeypatch):
    monkeypatch.setattr(kept_room.HERE, "share", lambda *given: asked.append(given))
    asked, chunks = [], chunks_of(2)
    count_chunks(*Questions(Sent()).sent(RecordCount()), chunks)
    assert asked == [(chunks, 1)] and threads_here() == 1


@pytest.fixture(scope="module")
def cluster():
    with workers_here(1) as client:
        yield client


def kept_of_leaves(room: int | None = None) -> tuple[int, int]:
    """Set a worker's room; bytes of leaves that chunks of this worker keep, and their number."""
    from dpforest.dask import kept_room

    if room is not None:
        kept_room.ROOM_A_THREAD = room
    kept = [chunk.kept.get("leaves", {}) for chunk in list(kept_room.HERE._chunks)]
    size = sum(len(key) + part.nbytes for own in kept for key, part in own.items())
    return size, sum(map(len, kept))


# Sent as it is written: workers cannot import tests.
kept_of_leaves.__module__ = "__main__"


@pytest.fixture(scope="module")
def whole():
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.uniform(0, 10, N), generator.integers(0, 101, N)])
    y = np.array(["a", "b", "c"])[(X[:, 0] // 3.4).astype(int)]
    given = {
        "epsilon": 4, "delta": 1e-6, "strategy": "boosted", "domain": DOMAIN, "random_state": 1
    }  # fmt: skip
    return X, y, given, PrivateForestClassifier(**given).fit(X, y)


def fitted_and_kept(cluster, whole, room, monkeypatch):
    """Most bytes of leaves on the worker after any sum of a fit whose forest is that in memory."""
    X, y, given, in_memory = whole
    cluster.run(kept_of_leaves, room)
    held, total = [], DaskRecords._sum

    def counted(self, query):
        sums = total(self, query)
        held.extend(cluster.run(kept_of_leaves).values())
        return sums

    monkeypatch.setattr(DaskRecords, "_sum", counted)
    forest = dpforest_dask.DaskPrivateForestClassifier(**given)
    forest.fit(da.from_array(X, chunks=(ROWS, 2)), da.from_array(y, chunks=ROWS))
    monkeypatch.undo()
    assert np.array_equal(forest.predict_proba(X), in_memory.predict_proba(X))
    return max(held)


def test_all_chunks_of_a_worker_keep_no_more_than_its_room(cluster, whole, monkeypatch):
    unbounded, trees = fitted_and_kept(cluster, whole, 2**28, monkeypatch)
    assert trees > 3 * (N // ROWS)  # leaves of several trees in each of 30 chunks
    for room in (unbounded // 2, unbounded // 20, 0):
        most, _ = fitted_and_kept(cluster, whole, room, monkeypatch)
        assert room / 4 <= most <= room
