"""Totals over records: no chunk, no thread and no lost memory shows in them."""

from __future__ import annotations

import itertools
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpforest.accounting.releases import PlanError
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.domain.targets import TARGET_STEPS
from dpforest.records import base as counting
from dpforest.records.base import (
    Chunk,
    MappedRecords,
    MemoryRecords,
    WatchedRecords,
    reveal,
    slices,
)
from dpforest.records.counts import ClassCounts, CodeCounts, RecordCount, TargetSpans
from dpforest.records.table import Table


def table_of(n: int) -> Table:
    generator = np.random.default_rng(n)
    codes = np.column_stack([generator.integers(0, 5, n), generator.integers(0, 9, n)])
    labels = generator.integers(0, 3, n).astype(np.uint8)
    n_codes, offsets = np.array([5, 9]), np.array([0, 5, 14])
    return Table(codes.astype(np.uint8), labels, n_codes, offsets, np.array([True, False]), 3)


@dataclass(frozen=True)
class Places:
    """Sum of record numbers, which knows where a chunk begins."""

    def count(self, chunk: Chunk) -> np.ndarray:
        return np.array([np.arange(chunk.first, chunk.first + chunk.table.n_records).sum()])


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_totals_do_not_depend_on_threads(n, n_threads):
    table = table_of(n)
    records = MemoryRecords(table, n_threads)
    with records.threads():
        assert reveal(records.sealed_total(RecordCount())).tolist() == [n]
        assert reveal(records.sealed_total(Places())).tolist() == [n * (n - 1) // 2]
        assert np.array_equal(
            reveal(records.sealed_total(ClassCounts())), np.bincount(table.labels, minlength=3)
        )
        codes = reveal(records.sealed_total(CodeCounts(np.array([1, 0]))))
    assert np.array_equal(codes[:9], np.bincount(table.codes[:, 1], minlength=9))
    assert np.array_equal(codes[9:], np.bincount(table.codes[:, 0], minlength=5))
    assert records._table is table


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("features", [[], [0], [2, 0], [0, 1, 2, 3]])
def test_code_counts_reach_the_last_code_of_every_feature(dtype, features):
    n_codes = np.array([min(np.iinfo(dtype).max + 1, 70_000), 1, 3, 2])
    codes = np.random.default_rng(3).integers(0, n_codes, (300, 4)).astype(dtype)
    codes[0], codes[-1] = n_codes - 1, 0
    offsets = np.concatenate([[0], np.cumsum(n_codes)])
    table = Table(codes, np.zeros(300, np.uint8), n_codes, offsets, np.ones(4, bool), 1)
    counts = CodeCounts(np.array(features, dtype=np.int64)).count(Chunk(table))
    twins = [np.bincount(codes[:, f], minlength=n_codes[f]) for f in features]
    assert counts.dtype == np.int64 and counts.tolist() == list(itertools.chain(*twins))


def test_a_copy_of_a_block_makes_anew_what_was_kept():
    chunk = Chunk(table_of(9), 4, {"scores": object()})
    copy = pickle.loads(pickle.dumps(chunk))
    assert copy.kept == {} and copy.first == 4
    assert np.array_equal(copy.table.codes, chunk.table.codes)


def test_a_block_is_as_large_as_its_records():
    for thing in (table_of(5000), Chunk(table_of(5000))):
        assert 15_000 <= sys.getsizeof(thing) <= 15_200


@dataclass(frozen=True)
class Relabelled:
    """All records in one class."""

    label: int

    def table(self, chunk: Chunk) -> Table:
        labels = np.full_like(chunk.table.labels, self.label)
        return replace(chunk.table, labels=labels)


def test_what_one_mapping_made_of_a_block_is_not_taken_for_anothers():
    records = MemoryRecords(table_of(20))
    for label in (0, 2, 2, 1):
        counts = reveal(MappedRecords(records, Relabelled(label)).sealed_total(ClassCounts()))
        assert counts.tolist() == [20 * (k == label) for k in range(3)]


class Whole:
    """A look that hands all records on."""

    def look(self, table: Table) -> Table:
        return table


def test_whoever_watches_is_told_of_passes():
    passes = []
    records = WatchedRecords(MemoryRecords(table_of(7)), lambda: passes.append(1))
    assert reveal(records.sealed_total(RecordCount())).tolist() == [7] and passes == [1]
    reveal(records.sealed_total(ClassCounts()))
    assert passes == [1, 1] and records.in_memory and records.n_threads == 1
    assert reveal(records.look(Whole())).n_records == 7 and records.schema.n_records == 0


def test_blocks_are_the_table_in_order():
    table = table_of(11)
    chunks = slices(table, 4)
    assert [chunk.first for chunk in chunks] == [0, 2, 5, 8]
    assert np.array_equal(np.concatenate([c.table.codes for c in chunks]), table.codes)
    assert np.array_equal(np.concatenate([c.table.labels for c in chunks]), table.labels)


def test_an_error_in_a_thread_is_raised_and_ends_the_threads():
    class Broken:
        def count(self, chunk):
            raise RuntimeError("broken")

    records = MemoryRecords(table_of(10), 2)
    with pytest.raises(RuntimeError, match="broken"), records.threads():
        reveal(records.sealed_total(Broken()))
    assert reveal(records.sealed_total(RecordCount())).tolist() == [10]


def test_few_records_are_not_handed_to_threads(monkeypatch):
    monkeypatch.setattr(counting, "RECORDS_A_THREAD", 40)
    assert [MemoryRecords(table_of(n), 4).n_threads for n in (0, 79, 80, 400)] == [1, 1, 2, 4]


def targets_of(n: int) -> Table:
    targets = (np.arange(n) % 17 * (TARGET_STEPS // 16)).astype(np.int32)
    return replace(table_of(n), targets=targets, n_classes=2)


@pytest.mark.parametrize(
    ("query", "of_targets"),
    [
        (RecordCount(), False),
        (ClassCounts(), False),
        (ClassCounts(TARGET_STEPS), True),
        (CodeCounts(np.array([0, 1])), False),
        (TargetSpans.equal(8), True),
        (TargetSpans((0, 3, 4096, TARGET_STEPS)), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_queries_say_what_a_record_moves(query, of_targets):
    table = targets_of(40) if of_targets else table_of(40)
    moved = [query.count(chunk) for chunk in slices(table, 40)]
    assert all(one.dtype == np.int64 and one.min() >= 0 for one in moved)
    assert max(one.sum() for one in moved) == query.sensitivity.l1, "reached"
    assert max((one**2).sum() for one in moved) == query.sensitivity.l2_squared, "reached"


def test_cells_of_a_target_are_equally_wide():
    counts = TargetSpans.equal(8).count(Chunk(targets_of(17 * 5)))
    # Of 17 values 0 and 1 lie in the first cell, 14 to 16 in the last.
    assert counts.tolist() == [10] * 7 + [15]


def test_threads_that_look_at_changed_records_change_them_once():
    made = []

    class Slow(Relabelled):
        def table(self, chunk: Chunk) -> Table:
            made.append(chunk.table.n_records)
            time.sleep(0.05)
            return super().table(chunk)

    records = MappedRecords(MemoryRecords(table_of(8)), Slow(2))
    with ThreadPoolExecutor(4) as pool:
        seen = [reveal(one) for one in pool.map(records.look, [Whole()] * 4)]
    assert made == [8] and all(table is seen[0] for table in seen)


def test_a_schema_holds_no_order_of_records():
    codes = np.array([[3], [1], [2]], dtype=np.uint32)
    matrix = EncodedMatrix(codes, np.array([2**32]), np.array([True]))
    table = Table.of(EncodedTable(matrix, np.zeros(3, dtype=np.int32), 2))
    assert table.lattice is not None and MemoryRecords(table).schema.lattice is None


class Doubled:
    """Each record twice."""

    def table(self, chunk):
        table = chunk.table
        both = np.concatenate([table.codes, table.codes]), np.concatenate([table.labels] * 2)
        return replace(table, codes=both[0], labels=both[1])


class Size:
    """Number of records, by a look."""

    def look(self, table):
        return table.n_records


def test_a_mapping_that_changes_the_number_of_records_is_refused():
    records = MappedRecords(MemoryRecords(table_of(20)), Doubled())
    with pytest.raises(PlanError, match="leaves their number"):
        records.sealed_total(RecordCount())
    with pytest.raises(PlanError, match="leaves their number"):
        records.look(Size())
