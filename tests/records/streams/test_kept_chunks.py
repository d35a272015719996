"""Chunks that are kept hold no more than the memory limit, with all that countings keep of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dpforest import Domain, PrivateForestClassifier, PrivateForestRegressor
from dpforest.domain.encoder import DomainEncoder
from dpforest.records.streams.passes import StreamedRecords
from dpforest.streams import BatchStream
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize

N, BATCH = 1200, 100


@dataclass(frozen=True)
class HeldBytes:
    """Bytes of all arrays that chunks hold on to, each once, where countings kept something."""

    def count(self, chunk):
        return np.array([sum(arrays_of(chunk).values()) if chunk.kept else 0], dtype=np.int64)


def arrays_of(held) -> dict[int, int]:
    """Bytes of every array in a chunk, by its address."""
    if isinstance(held, np.ndarray):
        return {held.ctypes.data: held.nbytes}
    if hasattr(held, "kept"):
        table = held.table
        held = [table.codes, table.labels, table.targets, *held.kept.values()]
    if isinstance(held, dict):
        held = list(held.values())
    parts = [arrays_of(part) for part in held] if isinstance(held, (list, tuple)) else []
    return {address: size for part in parts for address, size in part.items()}


def stream_of(n_features: int, n_classes: int, memory_limit: int) -> BatchStream:
    generator = np.random.default_rng(0)
    X = generator.integers(0, 10, (N, n_features)).astype(float)
    y = X[:, 0] % n_classes
    parts = [(X[a : a + BATCH], y[a : a + BATCH]) for a in range(0, N, BATCH)]
    return BatchStream(lambda: iter(parts), memory_limit=memory_limit)


@pytest.mark.parametrize("n_features", [2, 60])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("strategy", ["refitted", "boosted", "additive"])
def test_what_is_kept_stays_within_the_memory_limit(
    n_features, n_classes, strategy, monkeypatch, use_learners
):
    # A pass for each feature and cycle, or for each round: a few hold what all do.
    once = InTurnSettings(cycles=1)
    few = RefittedSettings(curves=once, fixed_size=RefittedSize(4, 8, 5))
    refitted = RefittedForest(few)
    use_learners({"additive": AdditiveForest(once), "refitted": refitted})
    held, total = [], StreamedRecords._sum

    def counted(self, counting):
        sums = total(self, counting)
        held.append(int(total(self, HeldBytes())[0]))
        return sums

    monkeypatch.setattr(StreamedRecords, "_sum", counted)
    features = {f"f{number}": (0, 9) for number in range(n_features)}
    limit = N // 2 * (2 * n_features + 24)
    kind, of = PrivateForestRegressor, {"target": (0, 4)}
    if n_classes:
        kind, of = PrivateForestClassifier, {"classes": list(map(float, range(n_classes)))}
    domain = Domain(features=features, approximate_rows=2000, **of)
    forest = kind(epsilon=2, delta=1e-6, strategy=strategy, domain=domain, random_state=0)
    forest.fit(stream_of(n_features, n_classes or 5, limit))
    assert limit / 5 < max(held) <= limit


@dataclass(frozen=True)
class Codes:
    """Every record's codes, at its place in the whole."""

    def count(self, chunk):
        found = np.zeros((N, 2), dtype=np.int64)
        place = slice(chunk.first, chunk.first + chunk.table.n_records)
        found[place] = chunk.table.codes.astype(np.int64) + 1
        return found


@pytest.mark.parametrize(("n_threads", "sizes"), [(1, [600, 600]), (2, [300] * 4), (8, [100] * 12)])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_chunks_that_are_all_kept_become_few_and_hold_the_same_records(n_threads, sizes, n_classes):
    of = {"classes": [0.0, 1.0, 2.0]} if n_classes else {"target": (0, 4)}
    domain = Domain(features={"a": (0, 9), "b": (0, 9)}, **of)
    encoder = DomainEncoder(domain, task="classification" if n_classes else "regression")
    records = StreamedRecords(stream_of(2, n_classes or 5, 2**20), encoder, n_threads)
    before = records._sum(Codes())
    assert [chunk.table.n_records for chunk in records._kept] == sizes
    assert np.array_equal(records._sum(Codes()), before) and before.all()
    assert N < sum(chunk.room for chunk in records._kept) < 2**20 - N * (2 * 2 + 24 * 2)
    labels = np.concatenate([chunk.table.labels for chunk in records._kept])
    assert labels.size == N and len(set(labels)) == (n_classes or 1)
    targets = [chunk.table.targets for chunk in records._kept]
    assert all(part is None for part in targets) if n_classes else np.concatenate(targets).any()


def test_chunks_of_which_one_is_not_kept_stay_as_they_are():
    encoder = DomainEncoder(Domain(features={"a": (0, 9), "b": (0, 9)}, classes=[0.0, 1.0, 2.0]))
    records = StreamedRecords(stream_of(2, 3, N * 40), encoder)
    before = records._sum(Codes())
    assert 1 < len(records._kept) < N // BATCH
    assert {chunk.table.n_records for chunk in records._kept} == {BATCH}
    assert {chunk.room for chunk in records._kept} == {0}, "all that there is may be others' by now"
    assert np.array_equal(records._sum(Codes()), before)
