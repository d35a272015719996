"""MRF 2020, Figure 7: distribution of the accuracy of single trees, MRF and Breiman."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers.engine import Task
from papers.markdown import difference, header, number, table
from papers.plots import figure, save
from papers.sets import available
from papers.splits import folds
from papers.tables.mrf2020_table1 import N_SPLITS, forest, read_row

NAME = "mrf2020_figure7"
#: Car is named in the text of the figure; the others are ours.
_SETS = ("wdbc", "vehicle", "cmc", "car", "chess_kr_vs_kp", "connect_4")
_METHODS = ("MRF", "Breiman")


def tasks(folder: Path, repeats: int = 1) -> Iterator[Task]:
    """All folds; connect-4 has one repeat."""
    for repeat in range(repeats):
        for name in available(folder, _SETS):
            for method in _METHODS:
                for fold in range(N_SPLITS if not repeat or name != "connect_4" else 0):
                    yield Task(name, method, repeat, fold)


def evaluate(task: Task, folder: Path) -> dict[str, Any]:
    """Accuracy of the forest and of each of its trees, on one fold."""
    data = read_row(folder, task.dataset)
    train, test = folds(data.y, task.repeat, N_SPLITS)[task.fold]
    model = forest(task.method, data, task.seed).fit(data.X[train], data.y[train])
    right = tree_answers(model, data.X[test]) == data.y[test][:, None]
    return {
        "accuracy": float(np.mean(model.predict(data.X[test]) == data.y[test])),
        "trees": [round(float(share), 4) for share in right.mean(axis=0)],
    }


def tree_answers(model: Any, X: np.ndarray) -> np.ndarray:
    """Class of each tree, shape (n, n_trees)."""
    if hasattr(model, "estimators_"):
        codes = np.column_stack([tree.predict(X) for tree in model.estimators_])
    else:
        codes = model.forest_.value[model.apply(X) + model.forest_.roots[:-1]]
    return np.asarray(model.classes_[codes.astype(int)])


def _trees(lines: list[dict[str, Any]], name: str, method: str) -> np.ndarray:
    parts = [x["trees"] for x in lines if x["dataset"] == name and x["method"] == method]
    return 100 * np.array(parts).ravel()


def plot(lines: list[dict[str, Any]], folder: Path) -> None:
    """Two histograms a dataset."""
    names = [name for name in _SETS if any(line["dataset"] == name for line in lines)]
    drawing, panels = figure(len(names))
    for axes, name in zip(panels, names, strict=True):
        both = [_trees(lines, name, method) for method in _METHODS]
        low = min(np.quantile(values, 0.002) for values in both if values.size)
        bins = np.linspace(low, max(values.max() for values in both if values.size), 31)
        for values, method in zip(both, _METHODS, strict=True):
            axes.hist(values, bins, density=True, alpha=0.55, label=method)
        axes.set(title=name, xlabel="accuracy of a tree (%)", yticks=[])
    panels[0].legend()
    save(drawing, folder / f"{NAME}.png")


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page: the plot, and mean accuracies of trees and forests."""
    names = [name for name in _SETS if any(line["dataset"] == name for line in lines)]
    text = header(
        "MRF 2020, Figure 7: single trees",
        f"python benchmarks/papers {NAME}",
        "100 trees a fold, settings of Table 1.",
    )
    columns = ["set", "trees a method", "tree: MRF", "Breiman", "difference",
               "forest: MRF", "Breiman", "difference"]  # fmt: skip
    return "\n\n".join(
        [
            text.strip(),
            f"![accuracy of single trees]({NAME}.png)",
            table(columns, [_row(lines, name) for name in names]),
            _FINDINGS,
        ]
    )


def _row(lines: list[dict[str, Any]], name: str) -> list[str]:
    trees = [_trees(lines, name, method) for method in _METHODS]
    means = [float(values.mean()) for values in trees]
    forests = [
        100 * float(np.mean([x["accuracy"] for x in lines
                             if x["dataset"] == name and x["method"] == method]))
        for method in _METHODS
    ]  # fmt: skip
    return [name, str(min(values.size for values in trees)), *map(number, means),
            difference(*means), *map(number, forests), difference(*forests)]  # fmt: skip


_FINDINGS = """## What this says

As in the paper, single trees of MRF are better than Breiman's: by several points where features are
categories (MRF splits one against the rest, and looks at all features), by one or two elsewhere.
The forests differ far less, so MRF's trees are the more alike."""
