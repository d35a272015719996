"""This process: its identity, for what must not be used twice, and its locks."""

from __future__ import annotations

import os
import threading
import weakref

_n_forks = 0


def this_process() -> tuple[int, int]:
    """Mark by which a process differs from those that it was forked from.

    Its number is not enough: a child in a PID namespace of its own may bear its parent's, and a
    grandchild may bear that of a process that has ended. So forks are counted beside it.
    """
    return os.getpid(), _n_forks


class ProcessLock:
    """A lock that a forked child has for itself, and free.

    A thread of the parent may hold it at that moment, which does not exist in the child: who asked
    for a plain lock there would wait for ever.

    Attributes
    ----------
    here : RLock
        Lock of this process. It is the plain one that is taken, since an interrupt comes between
        lines of Python: a method that took it might not come to say so.
    """

    def __init__(self) -> None:
        self.here = threading.RLock()
        _locks.add(self)


#: All of this process: a hook of each could never be taken back.
_locks: weakref.WeakSet[ProcessLock] = weakref.WeakSet()


def _in_child() -> None:
    global _n_forks
    _n_forks += 1
    for lock in _locks:
        lock.here = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
