"""Plots of docs/growth_results.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common import law
from common.growth_cells import Curves
from common.plotting import file_plots

_COLOURS = {"auto": "C0", "boosted": "C1", "refitted": "C2", "one_shot": "C4"}
_GREY = {"random forest": "--", "histogram boosting": "-."}
_METRICS = {"accuracy": "accuracy", "auc": "AUC"}


def write_plots(over: dict[str, Curves], folder: Path) -> None:
    """A file of each kind of curve; only say so without matplotlib."""
    if file_plots(hashsalt="growth") is None:
        return
    for what, curves in over.items():
        names = [n for n in dict.fromkeys(name for name, _ in curves) if n != law.NAME]
        if names:
            _write(curves, names, what, folder / f"growth_{what}.svg")
    if any(name == law.NAME for name, _ in over["rows"]):
        _write(over["rows"], [law.NAME], "rows", folder / "growth_law.svg")


def _write(curves: Curves, names: list[str], what: str, path: Path) -> None:
    from matplotlib import pyplot as plt

    size = (4.2 * max(len(names), 2), 7.2) if len(names) > 1 else (9, 4.6)
    shape = (2, len(names)) if len(names) > 1 else (1, 2)
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", squeeze=False)
    for place, name in enumerate(names):
        for row, metric in enumerate(_METRICS):
            axis = axes[row][place] if len(names) > 1 else axes[0][row]
            _draw(axis, curves, name, metric, what)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _draw(axis: Any, curves: Curves, name: str, metric: str, what: str) -> None:
    for (dataset, model), curve in curves.items():
        if dataset != name:
            continue
        places = [x for x in curve if x]
        values = [getattr(curve[x], metric) for x in places]
        if places:
            axis.plot(places, values, label=model, **_look(model))
        else:
            level = getattr(curve[0.0], metric)
            axis.axhline(level, label=model, color="grey", linestyle=_GREY[model])
    if name == law.NAME:
        best = law.best_accuracy() if metric == "accuracy" else law.best_area()
        axis.axhline(best, label="best possible", color="black", linewidth=1)
    label = "ε" if what == "epsilon" else "training records"
    axis.set(title=f"{name}: {_METRICS[metric]}", xlabel=label, xscale="log")
    axis.grid(alpha=0.3)


def _look(model: str) -> dict[str, Any]:
    """Auto thick, pure epsilon dashed, others thin; grey without privacy."""
    if model in _GREY:
        return {"color": "grey", "linestyle": _GREY[model]}
    kind, _, guarantee = model.partition(", ")
    look = {"color": _COLOURS[kind], "linestyle": ":" if guarantee == "pure" else "-"}
    thick = kind == "auto"
    return {**look, "linewidth": 3.0 if thick else 1.2, "alpha": 0.55 if thick else 1.0,
            "marker": "o", "markersize": 3}  # fmt: skip
