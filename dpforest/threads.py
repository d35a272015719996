"""Threads that count, where the system gives them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def thread_pool(n_threads: int) -> Iterator[ThreadPoolExecutor | None]:
    """Threads, all of them started; None where the system does not give so many.

    A fit that needs them is paid for, and can as well do without.
    """
    with ThreadPoolExecutor(n_threads) as pool:
        yield pool if _all_start(pool, n_threads) else None


def _all_start(pool: ThreadPoolExecutor, n_threads: int) -> bool:
    """Keep threads waiting for each other, since a pool starts one only where all are busy."""
    are_there = threading.Event()
    try:
        for _ in range(n_threads):
            pool.submit(are_there.wait)
    except RuntimeError:  # a limit of the system on threads, or on memory for their stacks
        return False
    finally:
        are_there.set()
    return True
