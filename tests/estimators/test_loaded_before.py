"""A fit loads all that it takes before anything is charged or read.

What could not be loaded afterwards, of a broken installation for instance, would cost a budget.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.estimators.charge import FitCharge
from dpforest.report.versions import library_versions
from dpforest.trees.strategies import ASKED

#: Packages whose modules no fit may load once it is charged.
OURS = ("dpforest", "llvmlite", "narwhals", "numba", "pydantic")

FIT = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from dpforest import (
    Domain, MultinomialForestClassifier, PrivateForestClassifier, PrivateForestRegressor,
)
from dpforest.estimators import fitting
from dpforest.estimators.charge import FitCharge

def noted(step):
    def opened(*given):
        before.update(sys.modules)
        return step(*given)
    return opened

before = {{}}
FitCharge.open_accountant = noted(FitCharge.open_accountant)
{changed}
rows = 600
X = np.random.default_rng(0).random((rows, 3))
kind, given, declared = {asked}
target = {{"target": (0, 1)}} if "Regressor" in kind else {{"classes": ["low", "high"]}}
y = X[:, 0] if "target" in target else np.where(X[:, 0] > 0.5, "high", "low")
domain = Domain(
    features={{name: (0, 1) for name in "abc"}}, **target,
    approximate_rows=rows if declared else None,
)
{table}
globals()[kind](epsilon=2, domain=domain, random_state=0, **given).fit(X, y)
late = sys.modules.keys() - before.keys()
assert before
print("\\n".join(sorted(name for name in late if name.split(".")[0] in {ours})))
"""
FRAME = """
import pandas as pd
X, y = pd.DataFrame(X, columns=list("abc")), pd.Series(y)
"""
STREAM = """
from dpforest.streams import BatchStream
X, y = BatchStream([(X[:300], y[:300]), (X[300:], y[300:])]), None
"""
CLASSES, MEANS = "PrivateForestClassifier", "PrivateForestRegressor"
CASES = {
    f"{kind}, {strategy}": (kind, {"strategy": strategy, "delta": delta}, True)
    for kind, delta in ((CLASSES, 0), (MEANS, 1e-6))
    for strategy in ASKED
} | {
    "multinomial, lattice": (
        "MultinomialForestClassifier", {"thresholds": "lattice", "partition_rate": 1}, True,
    ),
    "number of records bought": (CLASSES, {}, False),
    "number of records bought, for a strategy": (MEANS, {"strategy": "boosted"}, False),
}  # fmt: skip


def loaded_late(asked, table: str = "", changed: str = "") -> list[str]:
    """Modules that a fit in a fresh process loads after its charge."""
    code = FIT.format(asked=asked, table=table, changed=changed, ours=OURS)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_nothing_is_loaded_after_the_charge(asked):
    assert loaded_late(asked) == []


@pytest.mark.parametrize("table", [FRAME, STREAM], ids=["frame", "stream"])
def test_nor_for_other_tables(table):
    assert loaded_late((CLASSES, {"strategy": "refitted", "delta": 1e-6}, True), table) == []


def test_what_is_loaded_after_the_charge_is_found():
    unready = "fitting.load_for = lambda plan: None"
    late = loaded_late(CASES["number of records bought"], changed=unready)
    assert "dpforest.mechanisms.kernels.noise" in late
    assert any(name.endswith(".learner") for name in late)
    assert any(name.startswith("numba.") for name in late)


def test_versions_and_code_are_looked_up_before_the_charge(monkeypatch):
    known, charged = [], FitCharge.open_accountant

    def noted(charge):
        known.append(library_versions.cache_info().currsize)
        return charged(charge)

    monkeypatch.setattr(FitCharge, "open_accountant", noted)
    library_versions.cache_clear()
    domain = Domain(features={"age": (0, 99)}, classes=["no", "yes"], approximate_rows=400)
    forest = PrivateForestClassifier(epsilon=2, domain=domain, strategy="rules")
    forest.fit([[age] for age in range(100)] * 4, ["no", "yes"] * 200)
    assert known == [1]
