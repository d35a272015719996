"""
A table on a Dask cluster
=========================

Workers add up integers, so the forest is the same on one machine or many. A cluster of processes is
in ``examples/dask_covertype.py``; here the workers are threads.
"""

# %%
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client

from dpforest import Domain
from dpforest.dask import DaskPrivateForestClassifier

generator = np.random.default_rng(0)
table = pd.DataFrame({"a": generator.uniform(0, 10, 20_000), "b": generator.uniform(0, 10, 20_000)})
table["label"] = np.where(table["a"] > table["b"], "more", "less")
domain = Domain(
    features={"a": (0, 10), "b": (0, 10)}, classes=["less", "more"], approximate_rows=20_000
)

# %%
with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
    parts = dd.from_pandas(table, npartitions=4, sort=False)
    forest = DaskPrivateForestClassifier(epsilon=1, delta=1e-6, domain=domain)
    forest.fit(parts[["a", "b"]], parts["label"])
print(forest.strategy_)
print(forest.guarantee_)
