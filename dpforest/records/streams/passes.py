"""Records that are counted pass by pass; those of a stream are encoded batch by batch."""

from __future__ import annotations

import hashlib
import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.domain.reading import CHECK_REPAIR, read_in_turn, reading_records
from dpforest.exceptions import (
    DomainError,
    InvalidRecordError,
    InvalidStreamRecordError,
    ParameterError,
    ParameterTypeError,
    StreamError,
    raise_alone,
)
from dpforest.records.base import Chunk, Query, Secret, View
from dpforest.records.table import Table
from dpforest.threads import thread_pool

#: Records of a chunk that is kept, at most. What is added up for all nodes of a level is as large
#: for few records as for many.
MOST_JOINED = 2**20


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of a table.

    Attributes
    ----------
    X : array or data frame
    y : array or series
    place : str
        Where it came from, for errors: a file and a row group, never a value.
    by_places : bool
        True if its columns have names of which none is declared, so that their places count.
    """

    # Records are in no repr.
    X: Any = field(repr=False)
    y: Any = field(repr=False)
    place: str
    by_places: bool = False


class Batches(Protocol):
    """A table in parts, as :class:`dpforest.records.streams.base.Stream` gives it."""

    #: Bytes.
    memory_limit: int

    def batches_of(self, feature_names: Sequence[str]) -> Iterator[Batch]:
        """Read the table from its beginning, in an order that is always the same."""


class RecordsInPasses(ABC):
    """Base of records that are never one table: every sum over them is a pass.

    Parameters
    ----------
    encoder : DomainEncoder
        On public cells.
    """

    #: Whether some part had names of columns of which none is declared: nothing of its records.
    read_by_places = False

    def __init__(self, encoder: DomainEncoder) -> None:
        self._encoder = encoder

    @property
    def schema(self) -> Table:
        """A table of the same columns without records."""
        return empty_table(self._encoder)

    @property
    def in_memory(self) -> bool:
        """They are not one table, even where all of them are kept."""
        return False

    def sealed_total(self, query: Query) -> Secret[NDArray[np.int64]]:
        """Sum of what all chunks add, for the bridge."""
        return Secret(self._sum(query))

    def look(self, view: View[Any]) -> Secret[Any]:
        """Refused: nothing that needs all records at once gets this far."""
        raise AssertionError("records that are read in passes are not one table")

    @abstractmethod
    def _sum(self, query: Query) -> NDArray[np.int64]:
        """Sum of what all chunks add; secret."""


class StreamedRecords(RecordsInPasses):
    """Records of a stream.

    Chunks from the beginning are kept as codes while they fit in the stream's memory limit,
    with what countings keep of them; others are read and encoded again in every pass.

    Parameters
    ----------
    stream : Batches
        A stream.
    encoder : DomainEncoder
        On public cells.
    n_threads : int
        Chunks that are counted at a time.
    """

    def __init__(self, stream: Batches, encoder: DomainEncoder, n_threads: int = 1) -> None:
        super().__init__(encoder)
        self._stream, self._n_threads = stream, n_threads
        self._kept: list[Chunk] = []
        self._room = stream.memory_limit
        self._n_batches: int | None = None
        self._marks = Marks()

    @property
    def n_threads(self) -> int:
        """Number of threads that count."""
        return self._n_threads

    def _sum(self, query: Query) -> NDArray[np.int64]:
        total = query.count(Chunk(self.schema))
        with thread_pool(self._n_threads) as pool:
            hand_over = _count_here if pool is None else pool.submit
            pending: deque[Future[NDArray[np.int64]]] = deque()
            for chunk in self._chunks():
                pending.append(hand_over(query.count, chunk))
                # Read on while others count, but no further than there are threads.
                if len(pending) > self._n_threads:
                    total += pending.popleft().result()
            while pending:
                total += pending.popleft().result()
        return total

    @contextmanager
    def threads(self) -> Iterator[StreamedRecords]:
        """Threads are made for each pass."""
        yield self

    def _chunks(self) -> Iterator[Chunk]:
        if self._n_batches == len(self._kept):
            yield from self._kept
            return
        first, number = 0, -1
        for number, batch in enumerate(self._batches()):
            self.read_by_places |= batch.by_places
            if number < len(self._kept):
                chunk = self._kept[number]
            else:
                chunk = Chunk(self._encoded(batch), first, room=0)
                if self._n_batches is None:  # what was kept in the first pass stays, and no more
                    self._keep(chunk, number)
                # What is not kept has to be the same in every pass.
                if number >= len(self._kept) and not self._marks.agree(number, chunk.table):
                    raise _changed()
            first += chunk.table.n_records
            yield chunk
        if self._n_batches not in (None, number + 1):
            raise _changed()
        self._n_batches = number + 1
        if self._n_batches == len(self._kept):
            self._join()

    def _join(self) -> None:
        """Make fewer chunks of those that are kept, which are all; no file is read any more."""
        waiting, self._kept = deque(self._kept), []
        n_records = sum(chunk.table.n_records for chunk in waiting)
        most = min(MOST_JOINED, n_records // (2 * self._n_threads))
        while waiting:
            taken = [waiting.popleft()]
            size = taken[0].table.n_records
            while waiting and size + waiting[0].table.n_records <= most:
                taken.append(waiting.popleft())
                size += taken[-1].table.n_records
            self._kept.append(taken[0] if len(taken) == 1 else _joined(taken))
        self._n_batches = len(self._kept)
        for chunk in self._kept:
            chunk.room = self._room // self._n_batches

    def _batches(self) -> Iterator[Batch]:
        """Batches of a pass; what reads them may quote a value where it fails."""
        names = self._encoder.domain.feature_names
        return read_in_turn(lambda: self._stream.batches_of(names), "the stream", CHECK_REPAIR)

    def _encoded(self, batch: Batch) -> Table:
        try:
            with reading_records(batch.place, CHECK_REPAIR):
                return Table.of(self._encoder.encode(batch.X, batch.y))
        except InvalidRecordError as error:
            raise_alone(InvalidStreamRecordError(batch.place, error.column, error.rule))
        except (ParameterError, ParameterTypeError, DomainError) as error:
            raise_alone(StreamError(batch.place, str(error), "Write it as the domain says"))

    def _keep(self, chunk: Chunk, number: int) -> None:
        """Keep a chunk if all before it are kept and it fits with what countings keep of it."""
        table = chunk.table
        # Codes once more, a feature a row, and their sizes, or the bins of each record; scores in
        # doubles and residuals.
        a_bin = 2 if table.offsets[-1] <= 2**16 else 4
        size = table.__sizeof__() + table.codes.size * a_bin + table.n_codes.nbytes
        size += 24 * table.n_records * table.n_classes
        if number == len(self._kept) and size <= self._room:
            self._room -= size
            self._kept.append(chunk)


def _count_here(
    count: Callable[[Chunk], NDArray[np.int64]], chunk: Chunk
) -> Future[NDArray[np.int64]]:
    """Count a chunk in the thread that reads."""
    done: Future[NDArray[np.int64]] = Future()
    done.set_result(count(chunk))
    return done


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    """One chunk of several that follow one another; what countings kept of them is made anew."""
    return Chunk(Table.joined([chunk.table for chunk in chunks]), chunks[0].first)


class Marks:
    """By what the records of each batch are known again."""

    def __init__(self) -> None:
        self._key = new_key()
        self._seen: dict[int, bytes] = {}

    def agree(self, number: int, table: Table) -> bool:
        """Say if a batch is what it was when it was first seen."""
        found = mark_of(table, self._key)
        return self._seen.setdefault(number, found) == found


def new_key() -> bytes:
    """A key for the marks of one fit, with which it ends."""
    return secrets.token_bytes(32)


def mark_of(table: Table, key: bytes) -> bytes:
    """By what records are known again; without the key it tells nothing of them."""
    digest = hashlib.blake2b(key=key, digest_size=16)
    for column in (table.codes, table.labels, table.targets):
        if column is not None:
            digest.update(f"{column.shape}".encode())
            digest.update(np.ascontiguousarray(column).data)
    return digest.digest()


def _changed() -> StreamError:
    """Says neither where nor how: that is known to the records alone."""
    return StreamError("the stream", "it changed between two passes", "Write it once")


def empty_table(encoder: DomainEncoder) -> Table:
    """A table of an encoder's columns without records."""
    codes = np.empty((0, encoder.n_codes.size), dtype=encoder.dtype)
    matrix = EncodedMatrix(codes, encoder.n_codes, encoder.ordered, encoder.unknown)
    nobody = np.empty(0, dtype=np.int32)
    if encoder.task == "regression":
        return Table.of(EncodedTable(matrix, nobody, 2, nobody))
    classes = encoder.domain.classes
    n_classes = len(classes.labels) if classes is not None else 1
    return Table.of(EncodedTable(matrix, nobody, n_classes))
