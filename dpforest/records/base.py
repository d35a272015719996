"""Exact sums over records, wherever those lie: what learners ask of a table.

A learner does not loop over records. It says what a block of records adds (a `Counting`), and
`Records` adds blocks up. The sums are integers, so neither the blocks nor their order nor the
number of threads can be told from a total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.observation import observe_count, observe_table
from dpforest.records.kernels.histogram import add_code_counts
from dpforest.records.table import TrainingTable

#: Records that make a thread worth starting.
RECORDS_A_THREAD = 2**14


@dataclass(slots=True, eq=False)
class Block:
    """Some of the records; secret.

    Attributes
    ----------
    table : TrainingTable
    first : int
        Records before these in the whole.
    kept : dict
        What countings made of these records and may need again. Each of them can be made anew
        from the records and released values, so that a block may be lost.
    """

    table: TrainingTable
    first: int = 0
    kept: dict[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Block], tuple[TrainingTable, int]]:
        """A copy for elsewhere has to make again what is kept: it may be changing just now."""
        return Block, (self.table, self.first)

    def __sizeof__(self) -> int:
        """As the table, so that nobody takes it for cheap to move."""
        return self.table.__sizeof__()


class Counting(Protocol):
    """What a block of records adds to a total: a pure function, and one that can be sent.

    One that carries released parts that earlier countings carried too may list them, as
    ``parts``, from the first on: whoever sends countings then sends each part once.
    """

    def count(self, block: Block) -> NDArray[np.int64]:
        """Integers of one shape for every block, the empty one included; secret."""


class Records(Protocol):
    """All records of a fit; secret."""

    def total(self, counting: Counting) -> NDArray[np.int64]:
        """Sum of what all blocks add; secret."""

    @property
    def schema(self) -> TrainingTable:
        """A table of the same columns without records; public."""

    @property
    def in_memory(self) -> bool:
        """Whether they are one table."""

    def whole(self) -> TrainingTable:
        """All records as one table, where they are one."""

    @property
    def n_threads(self) -> int:
        """How many threads a learner may use."""

    def threads(self) -> AbstractContextManager[Any]:
        """Count in threads until the end of the context."""


class Mapping(Protocol):
    """What becomes of a block's records, each on its own: a pure function that can be sent."""

    def table(self, block: Block) -> TrainingTable:
        """As many records, changed; secret."""


@dataclass(frozen=True, slots=True)
class MappedCounting:
    """A counting of records as a mapping makes them."""

    mapping: Mapping
    counting: Counting

    @property
    def parts(self) -> tuple[Any, ...]:
        """What the counting shares with those before it."""
        parts: tuple[Any, ...] = getattr(self.counting, "parts", ())
        return parts

    def count(self, block: Block) -> NDArray[np.int64]:
        """Counts of a block."""
        mapped = block.kept.get("mapped")
        if mapped is None or mapped[0] != self.mapping:
            mapped = self.mapping, Block(self.mapping.table(block), block.first)
            block.kept["mapped"] = mapped
        return self.counting.count(mapped[1])


@dataclass(frozen=True, slots=True)
class RecordsAround:
    """What records around others answer as those do; base of such."""

    records: Records

    @property
    def schema(self) -> TrainingTable:
        """The table without its records."""
        return self.records.schema

    @property
    def in_memory(self) -> bool:
        """As the records are."""
        return self.records.in_memory

    def whole(self) -> TrainingTable:
        """The table."""
        return self.records.whole()

    @property
    def n_threads(self) -> int:
        """As the records."""
        return self.records.n_threads

    def threads(self) -> AbstractContextManager[Any]:
        """As the records."""
        return self.records.threads()


@dataclass(frozen=True, slots=True)
class WatchedRecords(RecordsAround):
    """Records of which somebody is told when they have been gone through once more."""

    pass_done: Callable[[], None]

    def total(self, counting: Counting) -> NDArray[np.int64]:
        """Sum of what all blocks add; secret."""
        total = self.records.total(counting)
        self.pass_done()
        return total


@dataclass(frozen=True, slots=True)
class MappedRecords(RecordsAround):
    """Records, each changed by a mapping when it is counted."""

    mapping: Mapping

    def total(self, counting: Counting) -> NDArray[np.int64]:
        """Sum of what all changed blocks add; secret."""
        return self.records.total(MappedCounting(self.mapping, counting))

    @property
    def schema(self) -> TrainingTable:
        """The table without its records."""
        return self.mapping.table(Block(self.records.schema))

    def whole(self) -> TrainingTable:
        """The changed table."""
        return self.mapping.table(Block(self.records.whole()))


class MemoryRecords:
    """Records that lie in memory, cut into one block a thread.

    Parameters
    ----------
    table : TrainingTable
    n_threads : int
        At most so many, of at least ``RECORDS_A_THREAD`` records each: handing fewer over takes
        longer than counting them. No total depends on it.
    """

    def __init__(self, table: TrainingTable, n_threads: int = 1) -> None:
        table = observe_table(table)
        n_threads = max(1, min(n_threads, table.n_records // RECORDS_A_THREAD))
        self._table, self._n_threads = table, n_threads
        self._pool: ThreadPoolExecutor | None = None
        self._blocks = slices(table, n_threads)

    def total(self, counting: Counting) -> NDArray[np.int64]:
        """Sum of what all blocks add; secret."""
        observe_count(counting)
        if self._pool is None:
            return sum_of(map(counting.count, self._blocks))
        return sum_of(self._pool.map(counting.count, self._blocks))

    @property
    def schema(self) -> TrainingTable:
        """The table without its records."""
        return rows_of(self._table, 0, 0)

    @property
    def in_memory(self) -> bool:
        """They are."""
        return True

    def whole(self) -> TrainingTable:
        """The table."""
        return self._table

    @property
    def n_threads(self) -> int:
        """How many threads a learner may use."""
        return self._n_threads

    @contextmanager
    def threads(self) -> Iterator[MemoryRecords]:
        """Count in as many threads as there are blocks, until the end of the context."""
        if len(self._blocks) == 1:
            yield self
            return
        with ThreadPoolExecutor(len(self._blocks)) as pool:
            self._pool = pool
            try:
                yield self
            finally:
                self._pool = None


def slices(table: TrainingTable, n_slices: int) -> list[Block]:
    """Cut a table into blocks of about equal size; one on a lattice, whose order is of all."""
    if n_slices == 1 or table.lattice is not None:
        return [Block(table)]
    ends = [table.n_records * (i + 1) // n_slices for i in range(n_slices)]
    starts = [0, *ends[:-1]]
    return [Block(rows_of(table, a, b), a) for a, b in zip(starts, ends, strict=True)]


def rows_of(table: TrainingTable, first: int, last: int) -> TrainingTable:
    """Some rows of a table, in place."""
    targets = None if table.targets is None else table.targets[first:last]
    codes, labels = table.codes[first:last], table.labels[first:last]
    return replace(table, codes=codes, labels=labels, targets=targets)


def sum_of(parts: Iterator[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Add up; there is at least one part."""
    total = next(parts)
    for part in parts:
        total = total + part
    return total


@dataclass(frozen=True, slots=True)
class RecordCount:
    """How many records there are, shape (1,)."""

    def count(self, block: Block) -> NDArray[np.int64]:
        """Number of a block's records."""
        return np.array([block.table.n_records], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Records of each class, shape (K,): a record adds 1 to one of them.

    With targets a record adds parts to both, ``TARGET_STEPS`` in all.
    """

    def count(self, block: Block) -> NDArray[np.int64]:
        """Class counts of a block."""
        table = block.table
        if table.targets is not None:
            ones = int(table.targets.sum(dtype=np.int64))
            return np.array([table.unit * table.n_records - ones, ones], dtype=np.int64)
        return np.bincount(table.labels, minlength=table.n_classes).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CodeCounts:
    """Records of each code of some features, one after the other; a record adds 1 to one each.

    Attributes
    ----------
    features : ndarray of int64
    """

    features: NDArray[np.int64]

    def count(self, block: Block) -> NDArray[np.int64]:
        """Code counts of a block."""
        sizes = np.asarray(block.table.n_codes, dtype=np.int64)[self.features]
        counts = np.zeros(int(sizes.sum()), dtype=np.int64)
        features = np.asarray(self.features, dtype=np.int64)
        add_code_counts(block.table.codes, features, np.cumsum(sizes) - sizes, counts)
        return counts
