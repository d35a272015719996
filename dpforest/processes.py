"""Identity of this process; ask for it before using what must not be used twice."""

from __future__ import annotations

import os

_n_forks = 0


def this_process() -> tuple[int, int]:
    """Mark by which a process differs from those that it was forked from.

    Its number is not enough: a child in a PID namespace of its own may bear its parent's, and a
    grandchild may bear that of a process that has ended. So forks are counted beside it.
    """
    return os.getpid(), _n_forks


def _count_fork() -> None:
    global _n_forks
    _n_forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)
