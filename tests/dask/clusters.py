"""Clusters of this machine for tests, and what their own code warns of."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

#: Marks of a module whose tests have a cluster: closing sockets, event loops, frames.
QUIET = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def workers_here(n_workers: int):
    """A client of workers in processes of their own: nothing is shared by accident."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as running,
        Client(running) as client,
    ):
        yield client
