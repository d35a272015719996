"""Chunks in processes of their own: one that dies or hangs is a finding, not the end."""

from __future__ import annotations

import collections
import multiprocessing
import multiprocessing.connection
import os
import time
from collections.abc import Iterator
from typing import Any

from doorway.search import CHUNK, Line, run_chunk

#: Seconds after which a chunk is said to hang.
PATIENCE = 600
Task = tuple[str, int, int]


class _Worker:
    """A process that runs one chunk after another."""

    def __init__(self) -> None:
        # Not forked: libraries with threads of their own may hang in a copy of a process.
        context = multiprocessing.get_context("spawn")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=_work, args=(far,), daemon=True)
        self.process.start()
        far.close()
        self.task: Task | None = None
        self.started = 0.0

    def run(self, task: Task) -> None:
        """Begin a chunk."""
        self.task, self.started = task, time.monotonic()
        self.pipe.send(task)

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # polars writes its panics there
    while True:
        pipe.send(run_chunk(*pipe.recv()))


def run_all(tasks: list[Task], n_processes: int) -> Iterator[Line]:
    """Lines of chunks as they end."""
    waiting = collections.deque(tasks)
    workers = [_Worker() for _ in range(min(n_processes, len(tasks)))]
    try:
        for worker in workers:
            worker.run(waiting.popleft())
        while workers:
            busy = {worker.pipe: worker for worker in workers}
            for pipe in multiprocessing.connection.wait(list(busy), timeout=5):
                yield _line_of(busy[pipe])
                _go_on(busy[pipe], workers, waiting)
            for worker in list(workers):
                if time.monotonic() - worker.started > PATIENCE:
                    yield _lost(worker.task, "the process hung")
                    worker.process.kill()
                    _go_on(worker, workers, waiting)
    finally:
        for worker in workers:
            worker.end()


def _line_of(worker: _Worker) -> Line:
    try:
        line: Line = worker.pipe.recv()
    except EOFError:
        worker.process.join()
        return _lost(worker.task, "the process died")
    return line


def _go_on(worker: _Worker, workers: list[_Worker], waiting: collections.deque[Task]) -> None:
    """The next chunk, in another process where this one died; none where there is none."""
    if not waiting:
        workers.remove(worker)
        worker.end()
        return
    if not worker.process.is_alive():
        workers.remove(worker)
        worker.end()
        worker = _Worker()
        workers.append(worker)
    worker.run(waiting.popleft())


def _lost(task: Task | None, why: str) -> Line:
    assert task is not None
    family, number, seed = task
    fault = {"way": "", "signature": (why, "", "", "", ""), "count": 1, "kinds": {}, "examples": []}
    return {
        "family": family, "number": number, "seed": seed, "pairs": CHUNK, "ways": {}, "kinds": {},
        "outcomes": {why: 1}, "faults": [fault], "seconds": 0,
    }  # fmt: skip
