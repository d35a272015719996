"""MRF 2019, Table 3: mean squared error of four forests, by what their splits and leaves mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers import cells
from papers.engine import Task
from papers.forests import Denil14Regressor
from papers.markdown import header, time_text
from papers.printed.mrf2019 import METHODS, ROWS, TABLE_3
from papers.sets import PaperSet, available, read
from papers.splits import folds
from papers.tables.mrf2019_table2 import comparison, legend

NAME = "mrf2019_table3"
N_SPLITS = 10
#: Readings: how the children's errors are added, and how small a leaf may be.
READINGS = {
    "": "eq. 15 as printed (children's errors added without weights); a node with more than k "
    "estimation points is split",
    ", leaves of k": "eq. 15 as printed; at least k estimation points in every leaf",
    ", weighted": "children's errors weighted by their shares of the records, as in CART; "
    "a node with more than k estimation points is split",
    ", weighted, leaves of k": "weighted; at least k estimation points in every leaf",
}


def forest(method: str, data: PaperSet, seed: int, **changes: Any) -> Any:
    """A forest as section 7.2 sets it: 100 trees, √D features, k = 5."""
    from sklearn.ensemble import RandomForestRegressor

    import dpforest

    common: dict[str, Any] = {"n_estimators": 100, "random_state": seed} | changes
    name, _, reading = method.partition(", ")
    if name == "Breiman":
        return RandomForestRegressor(min_samples_leaf=5, max_features="sqrt", **common)
    common |= {"leaf_size": 5, "categorical_features": list(data.categorical)}
    common["criterion"] = "weighted_mse" if "weighted" in reading else "mse"
    common["enforce_leaf_size"] = "leaves of k" in reading
    classes = {
        "MRF": dpforest.MRF2019Regressor,
        "BRF": dpforest.BRFRegressor,
        "Denil14": Denil14Regressor,
    }
    return classes[name](**common)


def tasks(folder: Path, repeats: int = 3) -> Iterator[Task]:
    """All folds; long datasets last within a repeat."""
    methods = [m + reading for reading in READINGS for m in METHODS if m != "Breiman"]
    for repeat in range(repeats):
        for name in sorted(available(folder, list(TABLE_3)), key=ROWS.__getitem__):
            for method in ("Breiman", *methods):
                for fold in range(N_SPLITS):
                    yield Task(name, method, repeat, fold)


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """Mean squared error on one fold, and that of the training mean."""
    data = read(folder, task.dataset)
    train, test = folds(data.y, task.repeat, N_SPLITS, stratified=False)[task.fold]
    model = forest(task.method, data, task.seed).fit(data.X[train], data.y[train])
    return {
        "mse": float(np.mean((model.predict(data.X[test]) - data.y[test]) ** 2)),
        "mse_of_mean": float(np.mean((data.y[train].mean() - data.y[test]) ** 2)),
    }


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    found = cells.gather(lines, "mse")
    parts = [
        header(
            "MRF 2019, Table 3: mean squared error",
            f"python benchmarks/papers {NAME}",
            "100 trees, k = 5, scikit-learn's forest with √D features and leaves of 5; repeats "
            "are in the tables. " + time_text(lines) + ".",
        ),
        legend("MRF") + " Printed MSEs have one digit.",
        f"The training mean, as a forest that learnt nothing, has: {baselines(lines)}.",
    ]
    for reading, text in READINGS.items():
        names = {m: m + reading for m in METHODS if m != "Breiman"}
        parts += [
            f"## {text[0].upper()}{text[1:]}",
            comparison(found, TABLE_3, METHODS, names=names, higher=False),
        ]
    return "\n\n".join(parts)


def baselines(lines: list[dict[str, Any]]) -> str:
    """Mean squared error of the training mean, by dataset."""
    found = cells.means(cells.gather(lines, "mse_of_mean"))
    return ", ".join(
        f"{name} {np.mean(list(row.values())):.3g}" for name, row in sorted(found.items())
    )
