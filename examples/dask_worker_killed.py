"""A boosted forest on Dask, a worker killed on the way: the forest of one process, bit for bit.

Run with ``python examples/dask_worker_killed.py [--rows 48842] [--workers 2]`` after
``pip install 'dpforest[dask]'``. Adult comes with the package.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import threading
import time
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from dpforest import PrivateForestClassifier
from dpforest.dask import DaskPrivateForestClassifier
from dpforest.datasets import load_adult


class Killer(threading.Thread):
    """Kills one worker process once the cluster has done some of a fit's work."""

    def __init__(self, client: Client, after: int) -> None:
        super().__init__(daemon=True)
        self.client, self.after, self.killed = client, after, 0

    def run(self) -> None:
        """Wait until tasks have changed their state so often, then kill."""
        until = self.client.run_on_scheduler(changes) + self.after
        while self.client.run_on_scheduler(changes) < until:
            time.sleep(0.02)
        self.killed = next(iter(self.client.run(os.getpid).values()))
        os.kill(self.killed, signal.SIGKILL)


def changes(dask_scheduler: Any) -> int:
    """How often tasks have changed their state: waiting, processing, in memory, and so on."""
    return int(dask_scheduler.transition_counter)


def cluster_of(workers: int) -> LocalCluster:
    """Worker processes of one thread."""
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=":0",  # any port that is free
        silence_logs=logging.CRITICAL,  # a killed worker is what is wanted here
    )


def main() -> None:
    """Train on workers, kill one, compare with one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="of the table, from its beginning")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    adult = load_adult()
    X, y = adult.data[: arguments.rows], adult.target[: arguments.rows]
    domain = adult.domain.model_copy(update={"approximate_rows": len(y)})
    # A seed only so that the two can be compared: leave it out for a release.
    parameters = {"epsilon": 1, "delta": 1e-6, "strategy": "boosted", "domain": domain,
                  "random_state": 0}  # fmt: skip
    with cluster_of(arguments.workers) as cluster, Client(cluster) as client:
        part = -(-len(y) // (4 * arguments.workers))
        killer = Killer(client, after=1000)
        killer.start()
        start = time.perf_counter()
        spread = DaskPrivateForestClassifier(**parameters)
        spread.fit(da.from_array(X, chunks=(part, X.shape[1])), da.from_array(y, chunks=part))
        print(f"{arguments.workers} workers: {time.perf_counter() - start:.1f} s")
        if not killer.killed:
            raise SystemExit("the fit was over before a worker was killed: give more rows")
        print(f"worker process {killer.killed} was killed on the way")
    start = time.perf_counter()
    alone = PrivateForestClassifier(**parameters).fit(X, y)
    print(f"one process: {time.perf_counter() - start:.1f} s")
    print(spread.privacy_report().guarantee.sentence)
    # All splits and leaf values as text, and what they predict.
    same = spread.to_plain() == alone.to_plain()
    same = same and np.array_equal(spread.predict_proba(X), alone.predict_proba(X))
    print("the same forest, bit for bit" if same else "another forest")


if __name__ == "__main__":
    main()
