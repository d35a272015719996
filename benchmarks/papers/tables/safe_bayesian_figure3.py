"""Safe-Bayesian forest (2015), Figure 3: trees of iris with the highest and the lowest weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers.engine import Task
from papers.markdown import header, number, table
from papers.plots import figure, save
from papers.sets import available
from papers.tables.safe_bayesian import fold_of, records, transformed

NAME = "safe_bayesian_figure3"
SHOWN = 4
_SET = "iris"


def tasks(folder: Path, repeats: int = 1) -> Iterator[Task]:
    """A forest a split; the picture is of the first."""
    for repeat in range(repeats):
        for name in available(folder, (_SET,)):
            yield Task(name, "trees", repeat, -1)


def evaluate(task: Task, folder: Path) -> dict[str, Any]:
    """Logarithms of the weights, and the trees: second children and class counts, node by node."""
    import dpforest

    X, y = records(folder, task.dataset)
    train, test = fold_of(y, task.dataset, "printed", task.repeat)
    X_train, _ = transformed(X[train], X[test])
    forest = dpforest.SafeBayesianForestClassifier(random_state=task.repeat).fit(X_train, y[train])
    order = np.argsort(-forest.log_evidence_, kind="stable")
    chosen = [*order[:SHOWN], *order[-SHOWN:]]
    return {
        "log_evidence": [float(forest.log_evidence_[tree]) for tree in chosen],
        "weight": [float(forest.weights_[tree]) for tree in chosen],
        "trees": [tree_of(forest, int(tree), X_train, y[train]) for tree in chosen],
    }


def tree_of(forest: Any, tree: int, X: Any, y: Any) -> dict[str, Any]:
    """Second child of each inner node (-1 in leaves), in depth-first order, and class counts."""
    trees = forest.trees_
    first, last = trees.roots[tree : tree + 2]
    second = trees.second[first:last]
    labels = np.searchsorted(forest.classes_, y)
    counts = np.zeros((last - first, forest.classes_.size), dtype=int)
    reached = {first: np.arange(len(y))}
    codes = np.stack([np.searchsorted(np.sort(column), column, side="right") for column in X.T], 1)
    cuts = trees.cuts(len(y))
    for node in range(first, last):
        own = reached.pop(node)
        counts[node - first] = np.bincount(labels[own], minlength=forest.classes_.size)
        if trees.feature[node] >= 0:
            goes_first = codes[own, trees.feature[node]] <= cuts[node]
            reached[node + 1], reached[trees.second[node]] = own[goes_first], own[~goes_first]
    return {
        "second": np.where(second >= 0, second - first, -1).tolist(),
        "counts": counts.tolist(),
    }


def places(second: list[int]) -> list[tuple[float, int]]:
    """Where each node is drawn: leaves side by side, parents amid their children; and its depth."""
    across, depth = [0.0] * len(second), [0] * len(second)
    for node, other in enumerate(second):
        if other >= 0:
            depth[node + 1] = depth[other] = depth[node] + 1
    leaves = [node for node, other in enumerate(second) if other < 0]
    for place, node in enumerate(leaves):
        across[node] = float(place)
    for node in reversed(range(len(second))):
        if second[node] >= 0:
            across[node] = (across[node + 1] + across[second[node]]) / 2
    return list(zip(across, depth, strict=True))


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page: the picture, and what of it can be counted."""
    line = lines[0]
    rows = []
    for place, (evidence, weight, tree) in enumerate(
        zip(line["log_evidence"], line["weight"], line["trees"], strict=True)
    ):
        counts = np.array([own for own, other in zip(tree["counts"], tree["second"], strict=True)
                           if other < 0])  # fmt: skip
        purity = counts.max(axis=1).sum() / counts.sum()
        name = f"highest {place + 1}" if place < SHOWN else f"lowest {2 * SHOWN - place}"
        empty = int(np.sum(counts.sum(axis=1) == 0))
        rows.append([name, number(evidence), f"{weight:.2g}", len(counts), empty,
                     number(100 * float(purity), 1)])  # fmt: skip
    return "\n\n".join(
        [
            header(
                "A very simple safe-Bayesian random forest: Figure 3",
                f"python benchmarks/papers {NAME}",
                "iris, first split of [Table 1](safe_bayesian.md), 1000 trees, λ = 0.475, m = 5. "
                "The paper prints trees without numbers, so there is nothing to subtract.",
            ),
            f"![trees with the highest and the lowest weights]({NAME}.png)",
            "Top row: the four highest weights. Bottom row: the four lowest. A leaf's colour is "
            "its shares of the three classes, as red, green and blue; leaves without a record "
            "are black. These count nothing in a weight.",
            table(["tree", "log evidence", "weight", "leaves", "empty leaves",
                   "records of their leaf's largest class (%)"], rows),
        ]
    )  # fmt: skip


def plot(lines: list[dict[str, Any]], folder: Path) -> None:
    """Two rows of trees."""
    drawing, panels = figure(2 * SHOWN, columns=SHOWN, width=2.6, height=2.2)
    for axes, tree in zip(panels, lines[0]["trees"], strict=True):
        _draw(axes, tree)
    save(drawing, folder / f"{NAME}.png")


def _draw(axes: Any, tree: dict[str, Any]) -> None:
    at = places(tree["second"])
    for node, other in enumerate(tree["second"]):
        for child in (node + 1, other) if other >= 0 else ():
            axes.plot([at[node][0], at[child][0]], [-at[node][1], -at[child][1]],
                      color="0.6", linewidth=0.8, zorder=1)  # fmt: skip
        counts = np.array(tree["counts"][node], dtype=float)
        colour = tuple(counts / counts.sum()) if counts.sum() else (0.0, 0.0, 0.0)
        if other < 0:
            axes.scatter(at[node][0], -at[node][1], marker="s", s=14, color=[colour], zorder=2)
    axes.set_axis_off()
