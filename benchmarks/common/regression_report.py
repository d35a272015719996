"""Tables and the plot of the regression benchmark."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from common.pages import between
from common.plotting import file_plots
from common.results import Line

BEGIN, END = "<!-- results: written by the benchmark -->", "<!-- end of results -->"
Cells = dict[tuple[str, float | None], list[float]]
#: R2 below this counts as this in means over tables: one lost fit must not hide all others.
FLOOR = -1.0


def _models(lines: list[Line]) -> list[str]:
    return list(dict.fromkeys(line["model"] for line in lines))


def _epsilons(lines: list[Line]) -> list[float]:
    return sorted({line["epsilon"] for line in lines if line["epsilon"] is not None})


def _cells(lines: list[Line], metric: str) -> Cells:
    """Values by model and epsilon."""
    found: Cells = defaultdict(list)
    for line in lines:
        value = line[metric]
        found[line["model"], line["epsilon"]].append(max(value, FLOOR) if metric == "r2" else value)
    return found


def _table(lines: list[Line], metric: str, decimals: int) -> list[str]:
    epsilons, cells = _epsilons(lines), _cells(lines, metric)
    rows = ["| | " + " | ".join(f"ε {epsilon:g}" for epsilon in epsilons) + " |"]
    rows.append("| --- |" + " --- |" * len(epsilons))
    for model in _models(lines):
        values = [cells.get((model, e)) or cells.get((model, None)) for e in epsilons]
        shown = [_number(np.mean(v), decimals) if v else "" for v in values]
        rows.append(f"| {model} | " + " | ".join(shown) + " |")
    return rows


def _by_table(lines: list[Line], epsilon: float) -> list[str]:
    models = _models(lines)
    rows = [f"| R² at ε = {epsilon:g} | records | " + " | ".join(models) + " |"]
    rows.append("| --- |" + " --- |" * (len(models) + 1))
    for name in dict.fromkeys(line["dataset"] for line in lines):
        own = [line for line in lines if line["dataset"] == name]
        found: dict[str, list[float]] = defaultdict(list)
        for line in own:
            if line["epsilon"] in (None, epsilon):
                found[line["model"]].append(line["r2"])
        shown = [_number(np.mean(found[m]), 2) if found[m] else "" for m in models]
        rows.append(f"| {name} | {own[0]['n_train']:,} | " + " | ".join(shown) + " |")
    return rows


def _number(value: Any, decimals: int) -> str:
    return f"{value:.{decimals}f}".replace("-", "−")


def write_tables(lines: list[Line], page: Path) -> None:
    """Put the tables between the page's marks."""
    text = page.read_text(encoding="utf-8") if page.exists() else f"{BEGIN}\n{END}\n"
    n_tables = len({line["dataset"] for line in lines})
    n_seeds = len({line["seed"] for line in lines})
    floor = _number(FLOOR, 0)
    title = f"**Mean R² over {n_tables} tables, {n_seeds} seeds** (below {floor} counts as {floor})"
    parts = [
        [title, "", *_table(lines, "r2", 2)],
        ["**Mean RMSE, in parts of the declared range**", "", *_table(lines, "rmse", 3)],
        *(_by_table(lines, epsilon) for epsilon in _epsilons(lines)),
    ]  # fmt: skip
    body = "\n\n".join("\n".join(part) for part in parts)
    page.write_text(between(text, (BEGIN, END), body), encoding="utf-8")


def write_plot(lines: list[Line], path: Path) -> None:
    """Mean R2 over epsilon; says so where matplotlib is absent."""
    plt = file_plots(hashsalt="regression")
    if plt is None:
        return
    epsilons, cells = _epsilons(lines), _cells(lines, "r2")
    figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for model in _models(lines):
        if (model, None) in cells:
            axis.axhline(np.mean(cells[model, None]), color="grey", linestyle="--", label=model)
            continue
        means = [float(np.mean(cells[model, e])) if cells[model, e] else np.nan for e in epsilons]
        axis.plot(epsilons, means, "o-", label=model)
    axis.axhline(0, color="lightgrey", label="the mean")
    axis.set(xscale="log", xlabel="ε", ylabel=f"mean R² (at least {FLOOR:g} each)")
    axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
