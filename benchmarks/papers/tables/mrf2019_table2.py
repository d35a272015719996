"""MRF 2019, Table 2: accuracy of four forests, with leaves as in Algorithm 1 and of k points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers import cells, marks
from papers.cells import Cells
from papers.engine import Task
from papers.markdown import header, table, time_text, triple
from papers.printed.mrf2019 import BULLETS, METHODS, ROWS, TABLE_2
from papers.sets import PaperSet, available, read
from papers.splits import folds

NAME = "mrf2019_table2"
N_SPLITS = 10
#: The same forests where a split may not leave a child fewer than k estimation points.
LEAVES_OF_K = {method: f"{method}, leaves of k" for method in METHODS if method != "Breiman"}
#: scikit-learn's forest by Algorithm 1's rule; plain Breiman has leaves of at least k records.
BY_NODE = {"Breiman": "Breiman, nodes above k"}


def forest(method: str, data: PaperSet, seed: int, **changes: Any) -> Any:
    """A forest as section 7.2 sets it: 100 trees, √D features, k = 5, Gini."""
    from sklearn.ensemble import RandomForestClassifier

    from dpforest import consistent

    common: dict[str, Any] = {"n_estimators": 100, "random_state": seed} | changes
    name, _, leaves = method.partition(", ")
    if name == "Breiman":
        stop = {"min_samples_split": 6} if leaves else {"min_samples_leaf": 5}
        return RandomForestClassifier(**stop, **common)
    common |= {"leaf_size": 5, "categorical_features": list(data.categorical)}
    common |= {"enforce_leaf_size": leaves == "leaves of k"}
    classes = {"MRF": "MRF2019Classifier", "BRF": "BRFClassifier", "Denil14": "Denil14Classifier"}
    return getattr(consistent, classes[name])(**common)


def tasks(folder: Path, repeats: int = 3) -> Iterator[Task]:
    """All folds; long datasets last within a repeat."""
    for repeat in range(repeats):
        for name in sorted(available(folder, list(TABLE_2)), key=ROWS.__getitem__):
            for method in (*METHODS, *LEAVES_OF_K.values(), *BY_NODE.values()):
                for fold in range(N_SPLITS):
                    yield Task(name, method, repeat, fold)


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """Accuracy on one fold."""
    data = read(folder, task.dataset)
    train, test = folds(data.y, task.repeat, N_SPLITS)[task.fold]
    model = forest(task.method, data, task.seed).fit(data.X[train], data.y[train])
    return {"accuracy": float(np.mean(model.predict(data.X[test]) == data.y[test]))}


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    found = cells.gather(lines)
    return "\n\n".join(
        [
            header(
                "MRF 2019, Table 2: accuracy (%)",
                f"python benchmarks/papers {NAME}",
                "100 trees, k = 5, stratified folds; repeats are in the tables. "
                + time_text(lines)
                + ".",
            ),
            "As Algorithm 1 says it: a node with more than k estimation points is split, and a "
            "child may have fewer (scikit-learn: `min_samples_split=6`). " + legend("MRF"),
            comparison(found, TABLE_2, METHODS, names=BY_NODE, scale=100),
            "As the text says it: at least k estimation points in every leaf (a split that would "
            "leave fewer is given up; scikit-learn: `min_samples_leaf=5`).",
            comparison(found, TABLE_2, METHODS, names=LEAVES_OF_K, scale=100),
        ]
    )


def legend(first: str) -> str:
    """What the signs mean."""
    return (
        f"• {first} is better by Wilcoxon's signed-rank test on the paired folds, level 0.05, "
        f"◦ {first} is worse; printed figures carry the paper's own marks."
    )


def comparison(
    found: Cells,
    printed: dict[str, dict[str, float]],
    methods: tuple[str, ...],
    *,
    names: dict[str, str] | None = None,
    scale: float = 1.0,
    digits: int = 2,
    higher: bool = True,
) -> str:
    """Printed, ours and difference of each method, with marks against MRF."""
    names = names or {}
    rows = []
    for dataset, figures in printed.items():
        row = found.get(dataset)
        if row is None:
            continue
        first = row.get(names.get("MRF", "MRF"))
        line = [dataset, cells.repeats_text(row, [names.get(m, m) for m in methods])]
        for method in methods:
            values = row.get(names.get(method, method))
            ours = None if values is None else scale * float(values.mean())
            three = triple(ours, figures.get(method), digits)
            if method != "MRF" and dataset in BULLETS[method]:
                three[0] += "•"
            if method != "MRF" and first is not None and values is not None:
                pairs = cells.paired(first, values)
                three[1] += marks.mark(*pairs, ("•", "◦"), higher=higher)
            line += three
        rows.append(line)
    columns = ["dataset", "folds"]
    columns += [f"{m} {part}" for m in methods for part in ("printed", "ours", "diff.")]
    return table(columns, rows, text_columns=2)
