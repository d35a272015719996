"""
A table that does not fit in memory
===================================

Files are read in passes. The forest is the same, bit for bit, as from the table in memory; seeds
are set here only to show that.
"""

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from dpforest import Domain, PrivateForestClassifier
from dpforest.streams import CSVStream

folder = Path(tempfile.mkdtemp())
generator = np.random.default_rng(0)
table = pd.DataFrame({"a": generator.uniform(0, 10, 20_000), "b": generator.uniform(0, 10, 20_000)})
table["label"] = np.where(table["a"] > table["b"], "more", "less")
for part in range(4):
    table.iloc[part::4].to_csv(folder / f"part{part}.csv", index=False)

# %%
# One stream for all files of the folder.
domain = Domain(
    features={"a": (0, 10), "b": (0, 10)}, classes=["less", "more"], approximate_rows=20_000
)
choice = {"epsilon": 1, "strategy": "one_shot", "domain": domain, "random_state": 0}
streamed = PrivateForestClassifier(**choice).fit(CSVStream(folder, target="label"))
print(streamed.guarantee_)

# %%
# The same table in memory, in the order of the files.
parts = pd.concat(
    [pd.read_csv(path, dtype=str) for path in sorted(folder.glob("*.csv"))], ignore_index=True
)
in_memory = PrivateForestClassifier(**choice).fit(parts[["a", "b"]], parts["label"])
X = table[["a", "b"]].iloc[:1000]
print(np.array_equal(streamed.predict_proba(X), in_memory.predict_proba(X)))
