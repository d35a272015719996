"""Plots of the utility benchmark: accuracy and AUC over epsilon, for each set and the mean."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.plotting import file_plots
from common.utility_report import OURS, REFERENCES, TUNED, Report, series


def write_plots(report: Report, folder: Path) -> None:
    """Write a file a set and one of the mean of the binary sets; only say so without matplotlib."""
    if file_plots() is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    plots = {name: [name] for name in report.sets}
    if len(report.binary_sets) > 1:
        plots[f"mean_of_{len(report.binary_sets)}_binary_sets"] = report.binary_sets
    for title, sets in plots.items():
        panels = {"accuracy": "accuracy", "AUC": "auc"}
        lines = {shown: series(report, sets, metric) for shown, metric in panels.items()}
        _plot_set(folder / f"{title}.svg", title.replace("_", " "), report.epsilons, lines)
    if plots:
        print(f"{len(plots)} plots in {folder}")


def _plot_set(
    path: Path, name: str, epsilons: list[float], panels: dict[str, dict[str, list[float]]]
) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 6), layout="constrained")
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        colours = _colours(lines)
        for model, means in lines.items():
            axis.plot(epsilons, means, label=model, **_look(model, colours))
        axis.set(title=f"{name}: {title}", xlabel="ε", xscale="log")
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(path)
    plt.close(figure)


def _colours(models: Iterable[str]) -> dict[str, str]:
    """One a model, the same for its tuned one."""
    names = dict.fromkeys(m.removesuffix(TUNED) for m in models if m not in REFERENCES)
    return {name: f"C{place % 10}" for place, name in enumerate(names)}


def _look(model: str, colours: dict[str, str]) -> dict[str, Any]:
    """Ours thick, references grey and dashed, others thin, their tuned ones dotted."""
    if model in REFERENCES:
        return {"color": "grey", "linestyle": "--" if model == "majority" else "-."}
    colour = colours[model.removesuffix(TUNED)]
    if model.startswith(OURS):
        return {"color": colour, "linewidth": 2.5, "marker": "o"}
    return {"color": colour, "linewidth": 1.0, "linestyle": ":" if model.endswith(TUNED) else "-"}
