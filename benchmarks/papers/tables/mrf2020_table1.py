"""MRF 2020, Table 1: accuracy of six forests, 10 × 10-fold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers.engine import Task
from papers.printed.mrf2020 import METHODS_1, TABLE_1, TABLE_2
from papers.sets import PaperSet, available, read
from papers.splits import folds
from papers.table1_page import table1_page
from papers.variants import with_identifier

NAME = "mrf2020_table1"
N_SPLITS = 10
#: CompRF is slow, and has fewer repeats.
_SLOW, _SLOW_REPEATS = "CompRF", 3
#: Every printed figure of hepatitis is far below the share of its larger class, and all are those
#: of its last column: see explain_mrf2020.
_READ: dict[str, dict[str, Any]] = {"hepatitis": {"target": "histology"}}
#: The paper counts five features, the public file four and the record's number: a number it is.
_NUMBERED = ("hayes_roth",)


def read_row(folder: Path, name: str) -> PaperSet:
    """The dataset of a row, with the target and the columns that the row's figures are of."""
    data = read(folder, name, **_READ.get(name, {}))
    return with_identifier(data) if name in _NUMBERED else data


def forest(method: str, data: PaperSet, seed: int) -> Any:
    """A forest as section 5.1 sets it: 100 trees, k = 5, Gini, B1 = B2 = 10, B3 infinite."""
    from sklearn.ensemble import RandomForestClassifier

    from dpforest import consistent
    from papers import comprf

    common: dict[str, Any] = {"n_estimators": 100, "random_state": seed}
    if method == "Breiman":
        return RandomForestClassifier(min_samples_leaf=5, **common)
    if method.startswith("CompRF"):
        return getattr(comprf, f"CompRF{method[-1]}Classifier")(**common)
    common |= {"leaf_size": 5, "categorical_features": list(data.categorical)}
    if method == "MRF":
        return consistent.MRFClassifier(B1=10, B2=10, **common)
    # Leaves that hold k points and features that are drawn once: nearer to the print.
    return getattr(consistent, f"{method}Classifier")(
        enforce_leaf_size=True, redraw=False, **common
    )


def tasks(folder: Path, repeats: int = 10) -> Iterator[Task]:
    """All folds; long datasets last within a repeat."""
    names = sorted(available(folder, list(TABLE_1)), key=lambda name: TABLE_2[name][0])
    for repeat in range(repeats):
        for name in names:
            for method in METHODS_1:
                if method.startswith(_SLOW) and repeat >= _SLOW_REPEATS:
                    continue
                for fold in range(N_SPLITS):
                    yield Task(name, method, repeat, fold)


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """Accuracy on one fold."""
    data = read_row(folder, task.dataset)
    train, test = folds(data.y, task.repeat, N_SPLITS)[task.fold]
    model = forest(task.method, data, task.seed).fit(data.X[train], data.y[train])
    return {"accuracy": float(np.mean(model.predict(data.X[test]) == data.y[test]))}


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    here = available(folder, list(TABLE_1))
    return table1_page(lines, f"python benchmarks/papers {NAME}", here)
