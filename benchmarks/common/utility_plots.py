"""Plots of the utility benchmark: accuracy and AUC over epsilon, a file a set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.utility_report import OURS, REFERENCES, TUNED, Report, series


def write_plots(report: Report, folder: Path) -> None:
    """Write ``<set>.svg``; says so and does nothing where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed (extra dpforest[plots])")
        return
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    accuracy, area = series(report, "accuracy"), series(report, "auc")
    for name in report.sets:
        path = folder / f"{name}.svg"
        _plot_set(path, name, report.epsilons, {"accuracy": accuracy[name], "AUC": area[name]})
    if report.sets:
        print(f"{len(report.sets)} plots in {folder}")


def _plot_set(
    path: Path, name: str, epsilons: list[float], panels: dict[str, dict[str, list[float]]]
) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        for place, (model, means) in enumerate(lines.items()):
            axis.plot(epsilons, means, label=model, **_look(model, place))
        axis.set(title=f"{name}: {title}", xlabel="ε", xscale="log")
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(path)
    plt.close(figure)


def _look(model: str, place: int) -> dict[str, Any]:
    """Ours thick, references grey and dashed, others thin, their tuned ones dotted."""
    if model in REFERENCES:
        return {"color": "grey", "linestyle": "--" if model == "majority" else "-."}
    colour = f"C{place % 10}"
    if model.startswith(OURS):
        return {"color": colour, "linewidth": 2.5, "marker": "o"}
    return {"color": colour, "linewidth": 1.0, "linestyle": ":" if model.endswith(TUNED) else "-"}
