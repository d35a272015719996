"""Safe-Bayesian forest (2015), Figure 5: accuracy over the splitting probability and the trees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.engine import Task
from papers.markdown import header, table, time_text
from papers.plots import figure, save
from papers.printed.safe_bayesian import TABLE_1
from papers.sets import available
from papers.tables.safe_bayesian import fold_of, records, transformed

NAME = "safe_bayesian_figure5"
LAMBDAS = (0.1, 0.2, 0.3, 0.4, 0.475, 0.495)
TREES = (10, 30, 100, 300, 1000)


def tasks(folder: Path, repeats: int = 5) -> Iterator[Task]:
    """The splits of Table 1, every point of the grid."""
    for repeat in range(repeats):
        for name in available(folder, tuple(TABLE_1)):
            for probability in LAMBDAS:
                for trees in TREES:
                    yield Task(name, f"λ = {probability:g}, {trees} trees", repeat, -1)


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """Accuracy at m = 5 on the test records."""
    import dpforest

    probability, trees = task.method.removeprefix("λ = ").removesuffix(" trees").split(", ")
    X, y = records(folder, task.dataset)
    train, test = fold_of(y, task.dataset, "printed", task.repeat)
    X_train, X_test = transformed(X[train], X[test])
    forest = dpforest.SafeBayesianForestClassifier(
        n_estimators=int(trees), split_probability=float(probability), random_state=task.repeat
    ).fit(X_train, y[train])
    return {"accuracy": float(np.mean(forest.predict(X_test) == y[test]))}


def grid(lines: list[dict[str, Any]], name: str) -> NDArray[np.float64]:
    """Mean accuracy in percent, a row a splitting probability, a column a number of trees."""
    found = {
        method: 100 * np.mean([x["accuracy"] for x in lines
                               if x["dataset"] == name and x["method"] == method])
        for method in {x["method"] for x in lines if x["dataset"] == name}
    }  # fmt: skip
    return np.array([[found.get(f"λ = {p:g}, {t} trees", np.nan) for t in TREES] for p in LAMBDAS])


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    names = [name for name in TABLE_1 if any(line["dataset"] == name for line in lines)]
    grids = {name: grid(lines, name) for name in names}
    splits = 1 + max(line["repeat"] for line in lines)
    mean = np.mean(list(grids.values()), axis=0)
    by_point = [
        [f"{p:g}", *(f"{value:.2f}" for value in row)] for p, row in zip(LAMBDAS, mean, strict=True)
    ]
    rows = []
    for name, values in grids.items():
        best = np.unravel_index(np.argmax(values), values.shape)
        at = f"{LAMBDAS[best[0]]:g}, {TREES[best[1]]}"
        own = values[LAMBDAS.index(0.475), -1]
        rows.append([name, f"{own:.2f}", f"{values.max():.2f}", at, f"{np.ptp(values[:, -1]):.2f}",
                     f"{np.ptp(values[LAMBDAS.index(0.475)]):.2f}"])  # fmt: skip
    return "\n\n".join(
        [
            header(
                "A very simple safe-Bayesian random forest: Figure 5",
                f"python benchmarks/papers {NAME}",
                f"Accuracy in percent at m = 5 over {splits} splits, draw `printed` of "
                f"[Table 1](safe_bayesian.md). {time_text(lines)}. The paper prints surfaces "
                "without numbers, so there is nothing to subtract.",
            ),
            f"![accuracy over λ and trees]({NAME}.png)",
            "Mean over the sets, by λ (rows) and number of trees:",
            table(["λ", *(str(trees) for trees in TREES)], by_point),
            "By set: at the paper's λ = 0.475 and 1000 trees; the best point of the grid; how much "
            "λ moves 1000 trees, and how much the number of trees moves λ = 0.475.",
            table(["set", "0.475, 1000", "best", "at λ, trees", "range over λ",
                   "range over trees"], rows),
        ]
    )  # fmt: skip


def plot(lines: list[dict[str, Any]], folder: Path) -> None:
    """A curve over the number of trees for each λ, a panel a set."""
    names = [name for name in TABLE_1 if any(line["dataset"] == name for line in lines)]
    drawing, panels = figure(len(names))
    for axes, name in zip(panels, names, strict=True):
        for probability, row in zip(LAMBDAS, grid(lines, name), strict=True):
            axes.plot(TREES, row, marker=".", label=f"λ = {probability:g}")
        axes.set(title=name, xscale="log", xlabel="trees", ylabel="accuracy (%)")
    panels[0].legend(fontsize="x-small")
    save(drawing, folder / f"{NAME}.png")
