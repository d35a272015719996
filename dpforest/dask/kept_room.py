"""Room on a worker for what its chunks keep to save time, shared by all chunks that are there.

Each chunk by itself has a bound, but nobody knows how many of them a worker will hold: more lie
there after another one died, and those of several fits at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from weakref import WeakSet

from dpforest.records.base import Chunk

#: Bytes for each thread of a worker, as for one in memory.
ROOM_A_THREAD = 2**28


class SharedRoom:
    """Room of one process, in equal parts for the chunks that were counted in it and are there.

    Chunks that leave, to a disk or another worker, or with the end of a fit, give their part back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._chunks: WeakSet[Chunk] = WeakSet()

    def share(self, chunks: Sequence[Chunk], n_threads: int) -> None:
        """Give its part to each of some chunks that are about to be counted.

        One that keeps more than that by now lets go of it when it is next asked for its leaves.
        """
        with self._lock:
            self._chunks.update(chunks)
            n_chunks = len(self._chunks)
        for chunk in chunks:
            chunk.room = ROOM_A_THREAD * n_threads // n_chunks


#: That of this worker.
HERE = SharedRoom()


def threads_here() -> int:
    """Threads of the worker that runs this; 1 elsewhere."""
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return 1
