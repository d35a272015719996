"""A private forest on Dask: partitioned Parquet, a cluster of processes, one report.

Run with ``python examples/dask_covertype.py [--data FOLDER] [--workers 2]`` after
``pip install 'dpforest[dask,frames]'``. FOLDER holds covertype.csv.gz and covertype.json; without
it a table is made up.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from dpforest import Domain, PrivateForestClassifier
from dpforest.dask import DaskPrivateForestClassifier


def covertype(folder: Path | None) -> tuple[pd.DataFrame, Domain]:
    """The table and its declared domain, or one of its shape."""
    if folder is not None and (folder / "covertype.csv.gz").exists():
        table = pd.read_csv(folder / "covertype.csv.gz", dtype={"target": str})
        return table, Domain.from_json(folder / "covertype.json")
    generator = np.random.default_rng(0)
    features = {f"x{f}": (0, 255) for f in range(10)}
    table = pd.DataFrame({name: generator.integers(0, 256, 100_000) for name in features})
    table["target"] = np.where(table["x0"] + table["x1"] > 255, "1", "2")
    return table, Domain(features=features, classes=["1", "2"], approximate_rows=100_000)


def main() -> None:
    """Write partitions, train on workers, compare with one machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, help="of the table, from its beginning")
    arguments = parser.parse_args()
    table, domain = covertype(arguments.data)
    table = table.iloc[: arguments.rows]
    domain = domain.model_copy(update={"approximate_rows": arguments.rows or 600_000})
    # A seed only so that the two can be compared: leave it out for a release.
    parameters = {"epsilon": 1, "strategy": "one_shot", "domain": domain, "random_state": 0}
    with tempfile.TemporaryDirectory() as folder:
        parts = dd.from_pandas(table, npartitions=4 * arguments.workers, sort=False)
        parts.to_parquet(folder)
        with (
            LocalCluster(
                n_workers=arguments.workers,
                threads_per_worker=1,
                dashboard_address=":0",  # any port that is free
                silence_logs=logging.ERROR,  # a slow machine's workers are killed at the end
            ) as cluster,
            Client(cluster),
        ):
            records = dd.read_parquet(folder)
            start = time.perf_counter()
            forest = DaskPrivateForestClassifier(**parameters).fit(records, "target")
            print(f"{arguments.workers} workers: {time.perf_counter() - start:.1f} s")
            print(forest.privacy_report().guarantee.sentence)
    start = time.perf_counter()
    features = table.drop(columns="target")
    alone = PrivateForestClassifier(**parameters).fit(features, table["target"])
    print(f"one process: {time.perf_counter() - start:.1f} s")
    some = features.iloc[:1000]
    same = np.array_equal(forest.predict_proba(some), alone.predict_proba(some))
    print("the same forest, bit for bit" if same else "another forest")


if __name__ == "__main__":
    main()
