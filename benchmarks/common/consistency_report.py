"""Tables and plots of the consistency benchmark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from common import smooth
from common.pages import between
from common.plotting import file_plots
from common.results import Line

BEGIN, END = "<!-- results: written by the benchmark -->", "<!-- end of results -->"
#: Excess of each seed by n, for one forest.
Curve = dict[int, list[float]]
TITLES = {
    ("classes", "√n·ln n"): "Classification, k = √n·ln n: excess risk in percentage points",
    ("classes", "√n"): "Classification, k = √n: excess risk in percentage points",
    ("classes", "own"): "Not claimed to be consistent: excess risk in percentage points",
    ("targets", "√n·ln n"): "Regression, k = √n·ln n: mean squared error above 0.25",
    ("targets", "√n"): "Regression, k = √n: mean squared error above 0.25",
}
#: Factor and decimals of a table's figures.
_SCALES = {"classes": (100.0, 2), "targets": (1.0, 4)}


def curves(lines: Iterable[Line], task: str, rule: str) -> dict[str, Curve]:
    """Excesses by forest and n."""
    found: dict[str, Curve] = {}
    for line in lines:
        if (line["task"], line["k"]) == (task, rule):
            forest = found.setdefault(line["forest"], defaultdict(list))
            forest[line["n"]].append(line["excess"])
    return found


def slope(curve: Curve) -> float:
    """Least-squares slope of ln excess over ln n, of the last four sizes."""
    sizes = sorted(curve)[-4:]
    means = [float(np.mean(curve[n])) for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(means), 1)[0])


def table(found: dict[str, Curve], scale: float, decimals: int) -> list[str]:
    """Markdown rows: mean over seeds and its standard error where more than one ran."""
    sizes = sorted({n for curve in found.values() for n in curve})
    rows = ["| forest | " + " | ".join(f"{n:,}" for n in sizes) + " | slope |"]
    rows.append("| --- |" + " --- |" * (len(sizes) + 1))
    for name, curve in found.items():
        cells = [_cell(curve.get(n, []), scale, decimals) for n in sizes]
        rows.append(
            f"| {name} | " + " | ".join(cells) + f" | {slope(curve):.2f} |".replace("| -", "| −")
        )
    return rows


def _cell(values: list[float], scale: float, decimals: int) -> str:
    if not values:
        return ""
    mean = f"{scale * np.mean(values):.{decimals}f}"
    if len(values) == 1:
        return mean
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean} ± {scale * error:.{decimals}f}"


def write_tables(lines: list[Line], page: Path) -> None:
    """Put the tables between the page's marks."""
    text = page.read_text(encoding="utf-8") if page.exists() else f"{BEGIN}\n{END}\n"
    parts = []
    for (task, rule), title in TITLES.items():
        found = curves(lines, task, rule)
        if found:
            parts.append("\n".join([f"**{title}**", "", *table(found, *_SCALES[task])]))
    body = "\n\n".join(parts)
    page.write_text(between(text, (BEGIN, END), body), encoding="utf-8")


def write_plots(lines: list[Line], folder: Path) -> None:
    """Write a plot of the classifiers and one of the regressors; say so without matplotlib."""
    if file_plots(hashsalt="consistency") is None:
        return
    constants = {
        "classes": smooth.EXCESS_OF_A_CONSTANT,
        "targets": smooth.EXCESS_OF_THE_MEAN,
    }
    for task, constant in constants.items():
        panels = {rule: curves(lines, task, rule) for rule in ("√n·ln n", "√n")}
        own = curves(lines, task, "own")
        if any(panels.values()):
            _plot(folder / f"consistency_{task}.svg", panels, own, task, constant)


def _plot(
    path: Path,
    panels: dict[str, dict[str, Curve]],
    own: dict[str, Curve],
    task: str,
    constant: float,
) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 6), layout="constrained", sharey=True)
    for axis, (rule, found) in zip(axes, panels.items(), strict=True):
        for name, curve in found.items():
            _draw(axis, name, curve, **_look(name, list(found)))
        for style, (name, curve) in zip(("-", "--", ":"), own.items(), strict=False):
            _draw(axis, f"not claimed: {name}", curve, color="grey", linestyle=style, linewidth=1)
        axis.axhline(constant, color="lightgrey", label="the best constant")
        axis.set(title=f"k = {rule}", xlabel="n", xscale="log", yscale="log")
        axis.grid(alpha=0.3)
    least = "Bayes risk" if task == "classes" else "noise variance"
    axes[0].set_ylabel(f"error above the {least}")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _look(name: str, names: list[str]) -> dict[str, Any]:
    """One colour a forest; variants dashed."""
    family, _, variant = name.partition(", ")
    families = list(dict.fromkeys(other.partition(", ")[0] for other in names))
    return {
        "color": f"C{families.index(family)}",
        "linestyle": "--" if variant else "-",
        "linewidth": 1 if variant else 1.8,
    }


def _draw(axis: Any, name: str, curve: Curve, **look: Any) -> None:
    sizes = sorted(curve)
    means = np.array([np.mean(curve[n]) for n in sizes])
    spread = np.array(
        [[m - min(curve[n]), max(curve[n]) - m] for n, m in zip(sizes, means, strict=True)]
    ).T
    axis.errorbar(sizes, means, yerr=np.maximum(spread, 0), label=name, elinewidth=0.7, **look)
