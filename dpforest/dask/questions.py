"""Queries on their way to workers: steps that were sent before are named, not sent again.

A refitted forest releases a step in each round, and every query carries all steps so far, because a
chunk that was lost computes its scores anew. So each step is sent once, in packets that workers
hold as results of tasks, and queries refer to them.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from dpforest.records.base import Query

#: Steps that are sent together; those after the last whole packet go with each question.
PACKET = 16


class Questions:
    """Memory of what was sent of the queries of one fit.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    bytes_sent : int
        That left the client.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.bytes_sent = 0
        self.forget()

    def forget(self) -> None:
        """Hold nothing on workers any more."""
        self._history: list[Any] = []
        self._packets: list[Any] = []

    def sent(self, query: Query) -> tuple[Any, list[Any]]:
        """A query as futures: its bytes, and the packets that it refers to."""
        history = query.history if hasattr(query, "history") else ()
        if any(new is not old for new, old in zip(history, self._history, strict=False)):
            self.forget()
        for first in range(len(self._history), len(history) - PACKET + 1, PACKET):
            packet = history[first : first + PACKET]
            self._packets.append(self._task(pickle.loads, pickle.dumps(packet)))
            self._history += packet
        known = {id(step): place for place, step in enumerate(self._history)}
        stream = io.BytesIO()
        _Pickler(stream, known).dump(query)
        return self._task(same, stream.getvalue()), self._packets[: len(history) // PACKET]

    def _task(self, make: Any, data: bytes) -> Any:
        """As a task's result it goes to each worker once, and can be made again."""
        self.bytes_sent += len(data)
        return self._client.submit(make, data, pure=False)


def same(data: bytes) -> bytes:
    """Hand on what was sent."""
    return data


def opened(question: bytes, packets: list[Any]) -> Query:
    """The query that was sent; on a worker."""
    query: Query = _Unpickler(io.BytesIO(question), packets).load()
    return query


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, known: dict[int, int]) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._known = known

    def persistent_id(self, step: Any) -> int | None:
        """Place of a step that was sent before."""
        return self._known.get(id(step))


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, packets: list[Any]) -> None:
        super().__init__(stream)
        self._packets = packets

    def persistent_load(self, place: int) -> Any:
        """The step at a place."""
        return self._packets[place // PACKET][place % PACKET]
