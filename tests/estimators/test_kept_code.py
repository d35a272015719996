"""Which code a first fit compiles, and keeps on disk for others to see, tells nothing of records.

A kernel that only some tables call would leave a file after fits to these alone: whether there are
4,096 records, or any. So the kernels that are asked for are compared, in processes that have none.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.trees.boosted import queries

pytest.importorskip("pyarrow")

FITS = """
import sys, warnings
from pathlib import Path
import numpy as np
from numba.core.dispatcher import Dispatcher

warnings.simplefilter("ignore")
asked, inside, compiled = set(), [], Dispatcher.compile


def noted(self, types):
    if not inside:  # else a kernel that another one calls, which is no file's alone
        asked.add(f"{self.py_func.__module__}.{self.py_func.__name__} {types}")
    inside.append(self)
    try:
        return compiled(self, types)
    finally:
        inside.pop()


Dispatcher.compile = noted
from dpforest import (
    Domain, MultinomialForestClassifier, PrivateForestClassifier, PrivateForestRegressor,
)
from dpforest.streams import CSVStream

n, path = int(sys.argv[1]), Path(sys.argv[2])
FEATURES = {"a": (0, 3), "b": (0.0, 10.0), "c": ["0", "1", "2"]}
generator = np.random.default_rng(0)
X = np.column_stack([generator.integers(0, 4, n), generator.random(n), generator.integers(0, 3, n)])
rows = "".join(f"{a:.0f},{b},{c:.0f},{int(a > 1)}\\n" for a, b, c in X)
path.write_text("a,b,c,y\\n" + rows)


def fit(kind, classes, X, y, **given):
    output = {"classes": list(range(classes))} if classes else {"target": (0.0, 1.0)}
    domain = Domain(features=FEATURES, approximate_rows=300, **output)
    kind(epsilon=5, domain=domain, random_state=3, **given).fit(X, y)


forest, lattice = PrivateForestClassifier, {"thresholds": "lattice", "partition_rate": 1}
fit(forest, 2, X, (X[:, 0] > 1).astype(int), strategy="additive")
fit(forest, 2, X, (X[:, 0] > 1).astype(int), strategy="one_shot")
fit(forest, 3, X, X[:, 2].astype(int), strategy="one_shot")
fit(forest, 3, X, X[:, 2].astype(int), strategy="rules")
fit(PrivateForestRegressor, 0, X, X[:, 1], strategy="one_shot")
small = {"n_estimators": 2, "max_depth": 2}
fit(MultinomialForestClassifier, 2, X, (X[:, 0] > 1).astype(int), **small, **lattice)
fit(forest, 2, CSVStream(path, "y"), None, strategy="one_shot")
print("\\n".join(sorted(asked)))
"""


def asked_for(n_records: int, folder) -> set[str]:
    """Kernels that fits to tables of so many records ask for in a fresh process, with types."""
    run = subprocess.run(
        [sys.executable, "-c", FITS, str(n_records), str(folder / "a.csv")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return set(run.stdout.splitlines())


@pytest.fixture(scope="module")
def of_some(tmp_path_factory) -> set[str]:
    folder = tmp_path_factory.mktemp("some")
    # Twice: of a kernel that was just compiled those that it calls are known, and else not.
    return [asked_for(40, folder) for _ in range(2)][-1]


@pytest.mark.parametrize("n_records", [0, 1, 5000], ids=["none", "one", "many"])
def test_no_kernel_is_compiled_for_some_tables_alone(n_records, of_some, tmp_path):
    assert len(of_some) > 30
    if asked_for(n_records, tmp_path) ^ of_some:
        # Two processes that keep code of one kernel at once lose what one of them kept, and what is
        # compiled anew asks for other kernels. Here none is: once more, both of them.
        again = [asked_for(n, tmp_path) for n in (40, n_records, 40, n_records)]
        assert again[-1] ^ again[-2] == set()


def test_leaves_that_are_not_kept_take_no_other_code(monkeypatch):
    """Whether a chunk keeps the leaves of its records goes by how many there are."""
    asked = []
    monkeypatch.setattr(queries, "compile_for", lambda function, *given: asked.append(function))
    domain = Domain(features={"a": (0, 1)}, classes=[0, 1], approximate_rows=400)
    forest = PrivateForestClassifier(epsilon=9, domain=domain, strategy="boosted")
    forest.fit([[0.2], [0.7]] * 200, [0, 1] * 200)
    assert queries.route_records in asked
