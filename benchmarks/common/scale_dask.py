"""Cases on Dask: seconds, tasks and bytes of every pass, on one and two worker processes."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from common.scale_data import dask_arrays, domain
from common.tables import data_folder

ROWS = 5_000_000
SMALL = 20_000
#: Cells of a feature of covertype at most.
KINDS = ("one_shot", "multinomial", "refitted")


def cases() -> dict[str, Callable[[], dict[str, Any]]]:
    """Cases by name."""
    found: dict[str, Callable[[], dict[str, Any]]] = {"dask/tasks": tasks}
    for workers in (1, 2):
        for kind in KINDS[:2]:
            found[f"dask/synthetic/{kind}/{workers}"] = partial(fit, "synthetic", kind, workers)
        for kind in KINDS:
            found[f"dask/covertype/{kind}/{workers}"] = partial(fit, "covertype", kind, workers)
    for kind in KINDS:
        found[f"dask/small/{kind}/2"] = partial(fit, "small", kind, 2)
    return found


def estimator(kind: str, declared: Any) -> Any:
    """A forest on Dask."""
    from dpforest.dask import DaskMultinomialForestClassifier, DaskPrivateForestClassifier

    common = {"epsilon": 1, "domain": declared, "random_state": 0}
    if kind == "multinomial":
        return DaskMultinomialForestClassifier(n_estimators=10, max_depth=8, **common)
    delta = 1e-6 if kind == "refitted" else 0
    return DaskPrivateForestClassifier(strategy=kind, delta=delta, **common)


def covertype() -> tuple[np.ndarray, np.ndarray, Any]:
    """The whole table, its classes and its declared domain."""
    from dpforest import Domain

    folder = data_folder()
    with gzip.open(folder / "covertype.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float32)
    declared = Domain.from_json(folder / "covertype.json")
    declared = declared.model_copy(update={"approximate_rows": 600_000})
    return table[:, :-1], table[:, -1].astype(int).astype(str), declared


def source(table: str, workers: int) -> tuple[Any, Any, Any, int]:
    """Dask arrays that workers hold, the domain, and how many records."""
    import dask.array as da

    if table != "covertype":
        n = ROWS if table == "synthetic" else SMALL
        return *dask_arrays(n), domain(n), n
    X, y, declared = covertype()
    rows = -(-len(X) // 8)
    return da.from_array(X, (rows, -1)), da.from_array(y, rows), declared, len(X)


def fit(table: str, kind: str, workers: int) -> dict[str, Any]:
    """The second of two fits on records that workers hold already."""
    from distributed import Client, LocalCluster, wait

    from dpforest.dask.workers import DaskRecords

    watched = Watched()
    DaskRecords._sum, DaskRecords._bundles = watched.wrap(DaskRecords)
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        X, y, declared, n = source(table, workers)
        X, y = client.persist([X, y])
        wait([X, y])
        estimator(kind, declared.model_copy(update={"approximate_rows": SMALL})).fit(
            X[:5000].rechunk((5000, -1)), y[:5000].rechunk(5000)
        )
        watched.passes.clear()
        watched.client = client
        before = sum(client.run(sent_bytes).values())
        start = time.perf_counter()
        model = estimator(kind, declared).fit(X, y)
        seconds = time.perf_counter() - start
        between = sum(client.run(sent_bytes).values()) - before
        worked = sum(client.run(time.process_time).values()) - watched.worked
    done = sum(one["seconds"] for one in watched.passes)
    return {
        "seconds": seconds, "rows": n, "pass_seconds": done, "encoding_seconds": seconds - done,
        "pass_cpu_seconds": worked, "between_workers_bytes": between, "passes": watched.passes,
        "fingerprint": model.fingerprint_,
    }  # fmt: skip


def sent_bytes(dask_worker: Any) -> int:
    """What a worker has sent to others so far."""
    return int(dask_worker.transfer_outgoing_bytes_total)


class Watched:
    """Notes every pass of records on Dask, and what workers had worked when the first began."""

    def __init__(self) -> None:
        self.passes: list[dict[str, Any]] = []
        self.client: Any = None
        self.worked = 0.0
        self._tasks = 0

    def wrap(self, records: Any) -> tuple[Any, Any]:
        """The two methods of the records, with notes taken."""
        total, bundles = records._sum, records._bundles

        def noted_bundles(own: Any) -> Any:
            found = bundles(own)
            self._tasks = len(found)
            return found

        def noted_total(own: Any, query: Any) -> Any:
            if self.client is not None and not self.passes:
                self.worked = sum(self.client.run(time.process_time).values())
            sent, received, start = own.bytes_sent, own.bytes_received, time.perf_counter()
            result = total(own, query)
            self.passes.append(
                {
                    "counting": getattr(query, "counting", query).__class__.__name__,
                    "seconds": time.perf_counter() - start,
                    "sums": self._tasks,
                    "question_bytes": own.bytes_sent - sent,
                    "sum_bytes": own.bytes_received - received,
                }
            )
            return result

        return noted_total, noted_bundles


def tasks() -> dict[str, Any]:
    """What scheduler and client, in this process, take for a task that does nothing."""
    from distributed import Client, LocalCluster

    n = 2000
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(abs, range(100), pure=False))
        start, worked = time.perf_counter(), time.process_time()
        client.gather(client.map(abs, range(n), pure=False))
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "cpu_seconds": time.process_time() - worked, "tasks": n}
