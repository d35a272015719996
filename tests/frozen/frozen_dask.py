"""A cluster within this process, for the few cases that are read on Dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cluster() -> Iterator[Any]:
    """One worker in a thread; what is released goes by no cluster."""
    from distributed import Client, LocalCluster

    sizes: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1}
    with (
        LocalCluster(**sizes, processes=False, dashboard_address=":0") as running,
        Client(running) as client,
    ):
        yield client
