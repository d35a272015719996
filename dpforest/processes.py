"""This process: its identity, for what must not be used twice, and its locks."""

from __future__ import annotations

import os
import threading

_n_forks = 0


def this_process() -> tuple[int, int]:
    """Mark by which a process differs from those that it was forked from.

    Its number is not enough: a child in a PID namespace of its own may bear its parent's, and a
    grandchild may bear that of a process that has ended. So forks are counted beside it.
    """
    return os.getpid(), _n_forks


class ProcessLock:
    """A lock of a module that a forked child has for itself, and free.

    A thread of the parent may hold it at that moment, which does not exist in the child: who asked
    for a plain lock there would wait for ever. One thread may take it several times.
    """

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _count_fork() -> None:
    global _n_forks
    _n_forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)
