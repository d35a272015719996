"""MRF 2019, Figures 1 and 2: MRF over p at B = 10, and over B at p = 0.05."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers import cells
from papers.engine import Task
from papers.markdown import header, number, table, time_text
from papers.printed.mrf2019 import FIGURES_B, FIGURES_P, ROWS, TABLE_2, TABLE_3
from papers.sets import available, read
from papers.splits import folds
from papers.tables import mrf2019_table2, mrf2019_table3

NAME = "mrf2019_figures"
N_SPLITS = 10
#: Values of each parameter; the other stays at its default.
GRIDS = {"p": FIGURES_P, "B": FIGURES_B}


def tasks(folder: Path, repeats: int = 3) -> Iterator[Task]:
    """All folds of every value, long datasets last within a repeat."""
    names = sorted(available(folder, [*TABLE_2, *TABLE_3]), key=ROWS.__getitem__)
    for repeat in range(repeats):
        for name in names:
            for parameter, values in GRIDS.items():
                for value in values:
                    for fold in range(N_SPLITS):
                        yield Task(name, f"{parameter}={value:g}", repeat, fold)


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """Accuracy in percent or mean squared error on one fold; splits by eq. 15 as printed."""
    data = read(folder, task.dataset)
    parameter, _, value = task.method.partition("=")
    setting = {parameter: float(value)}
    train, test = folds(data.y, task.repeat, N_SPLITS, stratified=bool(data.classes))[task.fold]
    forest = mrf2019_table2.forest if data.classes else mrf2019_table3.forest
    model = forest("MRF", data, task.seed).set_params(**setting)
    predicted = model.fit(data.X[train], data.y[train]).predict(data.X[test])
    if data.classes:
        return {"value": 100 * float(np.mean(predicted == data.y[test]))}
    return {"value": float(np.mean((predicted - data.y[test]) ** 2))}


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    found = cells.means(cells.gather(lines, "value"))
    repeats = max(line["repeat"] for line in lines) + 1
    parts = [
        header(
            "MRF 2019, Figures 1 and 2: MRF over p and B",
            f"python benchmarks/papers {NAME}",
            f"{repeats} × 10-fold (the paper: 10 × 10), 100 trees, k = 5, regression by eq. 15 as "
            f"printed. {time_text(lines)}. The paper prints curves only, so there is nothing to "
            "subtract.",
        ),
        "![Figure 1](mrf2019_figure1.png)",
        "![Figure 2](mrf2019_figure2.png)",
    ]
    for title, printed in (("Accuracy (%)", TABLE_2), ("Mean squared error", TABLE_3)):
        for parameter, values in GRIDS.items():
            rows = [
                [name, *(number(found[name].get(f"{parameter}={v:g}")) for v in values)]
                for name in printed
                if name in found
            ]
            parts += [
                f"## {title} over {parameter}",
                table(["dataset", *(f"{parameter} = {v:g}" for v in values)], rows),
            ]
    return "\n\n".join(parts)


def plot(lines: list[dict[str, Any]], folder: Path) -> None:
    """One picture for each figure: (a) over p, (b) over B."""
    from matplotlib.figure import Figure

    found = cells.means(cells.gather(lines, "value"))
    for place, (printed, label) in enumerate(((TABLE_2, "accuracy (%)"), (TABLE_3, "MSE")), 1):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        for axes, (parameter, values) in zip(figure.subplots(1, 2), GRIDS.items(), strict=True):
            for name in (name for name in printed if name in found):
                row = [found[name].get(f"{parameter}={v:g}", np.nan) for v in values]
                axes.plot(values, row, marker=".", label=name)
            axes.set(xlabel=parameter, ylabel=label)
            if printed is TABLE_3:
                axes.set_yscale("log")
        axes.legend(fontsize="x-small")
        figure.savefig(folder / f"mrf2019_figure{place}.png", dpi=100)
