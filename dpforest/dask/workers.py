"""Records on workers: queries are sent out, and integer sums come back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.dask.kept_room import HERE, threads_here
from dpforest.dask.questions import Questions, opened
from dpforest.domain.cells import compile_search
from dpforest.domain.column_names import table_names
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.reading import PASSED, is_of_cluster, reading_records, unreadable
from dpforest.exceptions import (
    DPForestError,
    InvalidRecordError,
    InvalidStreamRecordError,
    StreamError,
    raise_alone,
)
from dpforest.records.base import Chunk, Query, sum_of
from dpforest.records.streams.base import EVERY_FRAME, check_columns
from dpforest.records.streams.passes import RecordsInPasses, mark_of, new_key
from dpforest.records.table import Table

P = ParamSpec("P")
R = TypeVar("R")

#: Repair where a partition cannot be read.
_ALONE = "Compute it by itself to see why"
#: Bytes of a graph from which Dask warns, with their number.
_SIZE_OF_WARNING = "distributed.admin.large-graph-warning-threshold"
#: Sums that a worker adds up at a time, on their way to the client.
FAN_IN = 8


class DaskRecords(RecordsInPasses):
    """Records that workers hold as codes, a chunk a partition.

    A chunk is the result of a task, so a worker that dies takes nothing with it that cannot be
    made again: the task is run anew on another one, from the partition and released values.

    Partitions are read when the first sum is asked for, which is paid for by then: that a fit ends
    because one cannot be read is a fact about records.

    Parameters
    ----------
    pairs : list of delayed (X, y)
    encoder : DomainEncoder
        On public cells.
    client : distributed.Client
    named : bool, optional
        Whether partitions are read by the declared names, which the frame has.

    Attributes
    ----------
    bytes_received : int
        Of sums that reached the client.
    """

    def __init__(
        self, pairs: list[Any], encoder: DomainEncoder, client: Any, named: bool = False
    ) -> None:
        super().__init__(encoder)
        self._pairs, self._client, self._named = pairs, client, named
        self._worker_threads = max(1, sum(client.nthreads().values()))
        self._questions = Questions(client)
        self.bytes_received = 0
        # What workers hold: an error keeps frames, and so it would keep records.
        self._held: list[Any] = []

    @cached_property
    def _chunks(self) -> list[Any]:
        """Chunks on workers, once partitions were read."""
        from distributed import wait

        encoded, key = self._encoded(), new_key()
        self._held = encoded
        firsts, marks = self._looked_at(encoded, key)
        chunks = [
            self._client.submit(chunk_of, table, first, mark, key, pure=False)
            for table, first, mark in zip(encoded, firsts, marks, strict=True)
        ]
        self._held = encoded + chunks
        # Where a chunk lies is known once it is there.
        wait(chunks)
        self._held = chunks
        return chunks

    def _encoded(self) -> list[Any]:
        """Codes of partitions."""
        import dask

        # A frame in memory travels with the graph: Dask warns by its size, which is the records'.
        with dask.config.set({_SIZE_OF_WARNING: str(sys.maxsize)}):
            self._held = self._client.compute(self._pairs)
        return [
            self._client.submit(
                encode_part, part, self._encoder, f"partition {k}", self._named, pure=False
            )
            for k, part in enumerate(self._held)
        ]

    def _looked_at(self, encoded: list[Any], key: bytes) -> tuple[list[int], list[bytes]]:
        """Count the records before each partition, and note a mark by which each is known again."""
        counted = [self._client.submit(size_of, table, key, pure=False) for table in encoded]
        with reading_partitions():
            found = self._client.gather(counted)
        for one in found:
            if isinstance(one, DPForestError):
                raise one
        sizes = [size for size, _ in found]
        return np.cumsum([0, *sizes]).tolist()[: len(sizes)], [mark for _, mark in found]

    @property
    def bytes_sent(self) -> int:
        """Of countings that left the client."""
        return self._questions.bytes_sent

    @property
    def n_threads(self) -> int:
        """Threads are the workers' affair."""
        return 1

    def _sum(self, query: Query) -> NDArray[np.int64]:
        asked = self._questions.sent(query)
        sums = [self._client.submit(count_chunks, *asked, b, pure=False) for b in self._bundles()]
        while len(sums) > 1:
            groups = [sums[i : i + FAN_IN] for i in range(0, len(sums), FAN_IN)]
            sums = [self._client.submit(add_up, group, pure=False) for group in groups]
        total = query.count(Chunk(self.schema))
        if sums:
            with reading_partitions():
                found: NDArray[np.integer] = sums[0].result()
            self.bytes_received += found.nbytes
            total = total + found
        return total

    def _bundles(self) -> list[list[Any]]:
        """Chunks that lie on one worker, to be counted by one task: a sum a thread, not a chunk.

        A chunk that is just being made again gets a task of its own. No worker gets more than its
        share in one task, so that others may help.
        """
        places = self._client.who_has(self._chunks) if self._chunks else {}
        held: dict[Any, list[Any]] = {}
        for chunk in self._chunks:
            held.setdefault(next(iter(places.get(chunk.key, ())), chunk.key), []).append(chunk)
        most = -(-len(self._chunks) // self._worker_threads)
        return [own[i : i + most] for own in held.values() for i in range(0, len(own), most)]

    @contextmanager
    def threads(self) -> Iterator[DaskRecords]:
        """Hold the chunks until the end of the context, then let workers forget them."""
        try:
            yield self
        finally:
            self._client.cancel(self._held)
            self._questions.forget()


@contextmanager
def reading_partitions() -> Iterator[None]:
    """Turn an error of reading a partition, which may quote a value, into one that quotes none.

    Errors of the cluster itself (a lost worker, a cancelled future) pass unchanged.
    """
    try:
        yield
    except PASSED:
        raise
    except BaseException as error:
        if is_of_cluster(error):
            raise
        raise_alone(unreadable("a partition", error, _ALONE))


def without_values_in_errors(task: Callable[P, R]) -> Callable[P, R]:
    """Decorate a task: a worker logs what it raises, and a library's error may quote a value."""

    @wraps(task)
    def run(*given: P.args, **named: P.kwargs) -> R:
        with reading_records("a partition", _ALONE):
            return task(*given, **named)

    return run


def encode_part(
    pair: tuple[Any, Any], encoder: DomainEncoder, place: str, named: bool = False
) -> Table | DPForestError:
    """Codes of a partition; on a worker. Its error is a result, so that it is not tried again."""
    X, y = pair
    try:
        with reading_records(place, _ALONE):
            compile_search()
            if named:  # a partition need not have the names that its frame says
                check_columns(
                    place, table_names(X) or (), encoder.domain.feature_names, EVERY_FRAME
                )
            return Table.of(encoder.encode(X, y))
    except InvalidRecordError as error:
        return InvalidStreamRecordError(place, error.column, error.rule)
    except StreamError as error:  # anew: the one that was raised keeps the records
        return StreamError(error.place, error.rule, error.repair)
    except DPForestError as error:
        return StreamError(place, str(error), "Write it as the domain says")


@without_values_in_errors
def size_of(table: Table | DPForestError, key: bytes) -> tuple[int, bytes] | DPForestError:
    """Read a partition: its records and a mark to know them again, or what is wrong with it."""
    if isinstance(table, DPForestError):
        return table
    return table.n_records, mark_of(table, key)


@without_values_in_errors
def chunk_of(table: Table | DPForestError, first: int, mark: bytes, key: bytes) -> Chunk:
    """A chunk that stays on a worker, with room for what countings keep.

    Raises
    ------
    StreamError
        A partition that had to be made again is another one.
    """
    if isinstance(table, DPForestError) or mark_of(table, key) != mark:
        raise StreamError(
            "a partition", "it came out differently when made again", "Write the table once"
        )
    return Chunk(table, first)


@without_values_in_errors
def count_chunks(question: bytes, packets: list[Any], chunks: list[Chunk]) -> NDArray[np.integer]:
    """Sum what some chunks add; runs on a worker."""
    HERE.share(chunks, threads_here())
    counting = opened(question, packets)
    return narrow(sum_of(map(counting.count, chunks)))


@without_values_in_errors
def add_up(parts: list[NDArray[np.integer]]) -> NDArray[np.integer]:
    """Sum of sums; on a worker."""
    total = parts[0].astype(np.int64)
    for part in parts[1:]:
        total += part
    return narrow(total)


def narrow(sums: NDArray[np.int64]) -> NDArray[np.integer]:
    """The same integers in four bytes each, where all fit, since they are to travel."""
    limits = np.iinfo(np.int32)
    if sums.size and (sums.min() < limits.min or sums.max() > limits.max):
        return sums
    return sums.astype(np.int32)
