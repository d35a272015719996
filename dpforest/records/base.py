"""Exact sums over records, wherever these lie: the queries that learners ask.

A learner does not loop over records. It says what a chunk of records adds (a `Query`), and
`Records` adds chunks up. The sums are integers, so neither the chunks nor their order nor the
number of threads can be told from a total.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, NewType, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import PlanError
from dpforest.observation import observer
from dpforest.records.table import Table
from dpforest.threads import thread_pool

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Records that make a thread worth starting.
RECORDS_A_THREAD = 2**14

#: Integers that came out of a mechanism under a grant; made by the bridge alone.
Released = NewType("Released", NDArray[np.int64])


class Secret(Generic[T]):
    """Something that was made of records: opaque to everybody but the bridge.

    It has no number operations, no length, no items and no bytes, so nothing can be computed from
    it by mistake.
    """

    __slots__ = ("__held",)

    def __init__(self, held: T) -> None:
        self.__held = held

    def __reduce__(self) -> NoReturn:
        raise TypeError("what was made of records cannot be pickled or copied")

    def __getstate__(self) -> NoReturn:
        raise TypeError("what was made of records cannot be pickled or copied")

    def __repr__(self) -> str:
        return "<secret>"

    def __bool__(self) -> NoReturn:
        raise TypeError("what was made of records decides nothing")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("what was made of records is compared with nothing")

    __hash__ = None  # type: ignore[assignment]


def reveal(secret: Secret[T]) -> T:
    """Open a secret; for the bridge, which hands it to one mechanism under one grant."""
    held: T = secret._Secret__held  # type: ignore[attr-defined]
    return held


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Largest change of a query's sum by adding or removing one record, in the summed integers.

    Attributes
    ----------
    l1, l2_squared : Fraction
        Of the whole array; of one of the alternatives where there are several.
    zero_sum : int
        So many leading columns of every row add up to nothing for each record; 0 where nobody
        says so.
    """

    l1: Fraction
    l2_squared: Fraction
    zero_sum: int = 0


@dataclass(slots=True, eq=False, weakref_slot=True)
class Chunk:
    """Some of the records; secret.

    Attributes
    ----------
    table : Table
    first : int
        Records before these in the whole.
    kept : dict
        Results that queries computed from these records and may need again. Each can be computed
        anew from the records and released values, so a chunk may be lost.
    room : int or None
        Bytes for what queries could do without and keep to save time; None where nobody has to
        count them.
    """

    table: Table
    first: int = 0
    kept: dict[str, Any] = field(default_factory=dict)
    room: int | None = None

    def __repr__(self) -> str:
        """Nothing of the records: it may stand in a log."""
        return "<records>"

    def __reduce__(self) -> tuple[type[Chunk], tuple[Table, int]]:
        """A copy for elsewhere leaves out what is kept, which may be changing just now."""
        return Chunk, (self.table, self.first)

    def __sizeof__(self) -> int:
        """Size of the table, so that nobody thinks it cheap to move."""
        return self.table.__sizeof__()


class Query(Protocol):
    """A sum over records that knows how far one of them moves it: pure, and can be sent.

    ``count`` has the final shape: with two axes a cell a row; with three and more the first is of
    alternatives, of which one is released, and ``sensitivity`` is of one of them.

    A query that carries released steps which earlier ones carried too may list them as ``history``,
    from the first on; then each step is sent once. One of records on sides lists these as
    ``sides``, a tree each; so does such a view.
    """

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Integers of one shape for every chunk, the empty one included; secret."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of the sum by one record; the docstring has relation, proof and tests."""


class View(Protocol[T_co]):
    """A look at all records at once, for results that are no sum over chunks.

    One that counts may have a ``sensitivity`` as a query has; then its counts can be noised.
    """

    def look(self, table: Table) -> T_co:
        """Something made of the records; secret. May be functions that read them when called."""


class Records(Protocol):
    """All records of a fit; secret."""

    def sealed_total(self, query: Query) -> Secret[NDArray[np.int64]]:
        """Sum of what all chunks add, for the bridge."""

    def look(self, view: View[T]) -> Secret[T]:
        """Apply a view to all records, where they are one table; for the bridge."""

    @property
    def schema(self) -> Table:
        """A table of the same columns without records; public."""

    @property
    def in_memory(self) -> bool:
        """True if they are one table."""

    @property
    def n_threads(self) -> int:
        """Number of threads that a learner may use."""

    def threads(self) -> AbstractContextManager[Any]:
        """Count in threads until the end of the context."""


class Mapping(Protocol):
    """Change of a chunk's records, each on its own: a pure function that can be sent."""

    def table(self, chunk: Chunk) -> Table:
        """As many records, changed; secret."""


def each_mapped(mapping: Mapping, chunk: Chunk) -> Table:
    """A chunk's records, changed: as many as there were, else one would move several."""
    mapped = mapping.table(chunk)
    if mapped.n_records != chunk.table.n_records:
        raise PlanError("a mapping changes each record, and leaves their number")
    return mapped


@dataclass(frozen=True, slots=True)
class MappedQuery:
    """A query of records as a mapping makes them: each record is changed on its own."""

    mapping: Mapping
    query: Query

    @property
    def sensitivity(self) -> Sensitivity:
        """The query's: one record more is one changed record more."""
        return self.query.sensitivity

    @property
    def history(self) -> tuple[Any, ...]:
        """Released steps that the query shares with those before it."""
        history: tuple[Any, ...] = getattr(self.query, "history", ())
        return history

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Counts of a chunk."""
        mapped = chunk.kept.get("mapped")
        if mapped is None or mapped[0] != self.mapping:
            table = each_mapped(self.mapping, chunk)
            mapped = self.mapping, Chunk(table, chunk.first, room=chunk.room)
            chunk.kept["mapped"] = mapped
        mapped[1].room = chunk.room  # which may be another one by now
        return self.query.count(mapped[1])


@dataclass(frozen=True, slots=True)
class MappedView(Generic[T]):
    """A look at records as a mapping makes them."""

    records: MappedRecords
    view: View[T]

    def look(self, table: Table) -> T:
        """Apply the view to the changed table, which is kept."""
        with self.records.lock:
            kept = self.records.kept
            if not kept:
                kept.append(each_mapped(self.records.mapping, Chunk(table)))
        return self.view.look(kept[0])


@dataclass(frozen=True, slots=True)
class RecordsAround:
    """Base of records that hold others and answer as those do."""

    records: Records

    @property
    def schema(self) -> Table:
        """The table without its records."""
        return self.records.schema

    @property
    def in_memory(self) -> bool:
        """As the records are."""
        return self.records.in_memory

    def look(self, view: View[T]) -> Secret[T]:
        """Apply a view to the table, for the bridge."""
        return self.records.look(view)

    @property
    def n_threads(self) -> int:
        """As the records."""
        return self.records.n_threads

    def threads(self) -> AbstractContextManager[Any]:
        """As the records."""
        return self.records.threads()


@dataclass(frozen=True, slots=True)
class WatchedRecords(RecordsAround):
    """Records that report each further pass over them."""

    pass_done: Callable[[], None]

    def sealed_total(self, query: Query) -> Secret[NDArray[np.int64]]:
        """Sum of what all chunks add, for the bridge."""
        total = self.records.sealed_total(query)
        self.pass_done()
        return total


@dataclass(frozen=True, slots=True)
class MappedRecords(RecordsAround):
    """Records, each changed by a mapping when it is counted."""

    mapping: Mapping
    #: The changed table, once somebody looked at all of it; trees may look in several threads.
    kept: list[Table] = field(default_factory=list, repr=False, compare=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def sealed_total(self, query: Query) -> Secret[NDArray[np.int64]]:
        """Sum of what all changed chunks add, for the bridge."""
        return self.records.sealed_total(MappedQuery(self.mapping, query))

    def look(self, view: View[T]) -> Secret[T]:
        """Apply a view to the changed table, for the bridge."""
        return self.records.look(MappedView(self, view))

    @property
    def schema(self) -> Table:
        """The table without its records."""
        return self.mapping.table(Chunk(self.records.schema))


class MemoryRecords:
    """Records that lie in memory, cut into one chunk a thread.

    Parameters
    ----------
    table : Table
    n_threads : int
        At most so many, of at least ``RECORDS_A_THREAD`` records each: handing fewer over takes
        longer than counting them. No total depends on it.
    """

    def __init__(self, table: Table, n_threads: int = 1) -> None:
        onlooker = observer()
        table = table if onlooker is None else onlooker.table(table)
        n_threads = max(1, min(n_threads, table.n_records // RECORDS_A_THREAD))
        self._table, self._n_threads = table, n_threads
        self._pool: ThreadPoolExecutor | None = None
        self._chunks = slices(table, n_threads)

    def sealed_total(self, query: Query) -> Secret[NDArray[np.int64]]:
        """Sum of what all chunks add, for the bridge."""
        return Secret(self._sum(query))

    def look(self, view: View[T]) -> Secret[T]:
        """Apply a view to the table, for the bridge."""
        return Secret(view.look(self._table))

    def _sum(self, query: Query) -> NDArray[np.int64]:
        if self._pool is None:
            return sum_of(map(query.count, self._chunks))
        return sum_of(self._pool.map(query.count, self._chunks))

    @property
    def schema(self) -> Table:
        """The table without its records."""
        return rows_of(self._table, 0, 0)

    @property
    def in_memory(self) -> bool:
        """They are."""
        return True

    @property
    def n_threads(self) -> int:
        """Number of threads that a learner may use."""
        return self._n_threads

    @contextmanager
    def threads(self) -> Iterator[MemoryRecords]:
        """Count in as many threads as there are chunks, until the end of the context."""
        if len(self._chunks) == 1:
            yield self
            return
        with thread_pool(len(self._chunks)) as pool:
            self._pool = pool
            try:
                yield self
            finally:
                self._pool = None


def slices(table: Table, n_slices: int) -> list[Chunk]:
    """Cut a table into chunks of about equal size; one on a lattice, whose order is of all."""
    if n_slices == 1 or table.lattice is not None:
        return [Chunk(table)]
    ends = [table.n_records * (i + 1) // n_slices for i in range(n_slices)]
    starts = [0, *ends[:-1]]
    return [Chunk(rows_of(table, a, b), a) for a, b in zip(starts, ends, strict=True)]


def rows_of(table: Table, first: int, last: int) -> Table:
    """Some rows of a table, in place; in no order of a lattice, which is one of all rows."""
    targets = None if table.targets is None else table.targets[first:last]
    codes, labels = table.codes[first:last], table.labels[first:last]
    return replace(table, codes=codes, labels=labels, targets=targets, lattice=None)


def sum_of(parts: Iterator[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Add up; there is at least one part."""
    total = next(parts)
    for part in parts:
        total = total + part
    return total
