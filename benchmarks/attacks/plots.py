"""Plots of the attacks: reconstruction error and membership rates over epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from common.plotting import file_plots
from common.results import Line

from attacks.bounds import largest_auc, largest_true_positive_rate
from attacks.membership import FALSE_POSITIVE_RATE

_FORESTS = {
    "random trees, noisy counts, 10 trees": "C3",
    "MultinomialForestClassifier, 10 trees": "C0",
    "PrivateForestClassifier": "C2",
}
_PLAIN = "scikit-learn, no bagging, 10 trees"


def likeliest(line: Line) -> Line:
    """The solver's table where it is likelier than its start; of equals the start.

    Where a forest says nothing of a value, the solver leaves it at whatever is easiest. Less than
    its own whole steps and chords tell apart is no difference.
    """
    better = line["solved"]["log_likelihood"] > line["start"]["log_likelihood"] + 0.05
    return line["solved"] if better else line["start"]


def write_plots(found: list[Line], members: list[Line], folder: Path) -> None:
    """Write both plots; only say so without matplotlib."""
    # Letters as text take a third of the size; with a salt the same lines make the same file.
    if file_plots(fonttype="none", hashsalt="attacks") is None:
        return
    if found:
        _plot_reconstruction(found, folder / "attacks_reconstruction.svg")
    if members:
        _plot_membership(members, folder / "attacks_membership.svg")


def _sets(lines: list[Line]) -> list[str]:
    return list(dict.fromkeys(line["dataset"] for line in lines))


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path)


def _plot_reconstruction(lines: list[Line], path: Path) -> None:
    from matplotlib import pyplot as plt

    sets = _sets(lines)
    figure, axes = plt.subplots(
        1, len(sets), figsize=(5.5 * len(sets), 4.8), layout="constrained", squeeze=False
    )
    for axis, name in zip(axes[0], sets, strict=True):
        own = [line for line in lines if line["dataset"] == name]
        fresh = np.concatenate([line["fresh"] for line in own])
        low, high = np.quantile(fresh, [0.025, 0.975])
        axis.axhspan(low, high, color="0.8", label="fresh sample of the population (95 %)")
        plain = [likeliest(line)["error"] for line in own if line["model"] == _PLAIN]
        if plain:
            axis.axhline(np.mean(plain), color="k", ls=":", label="scikit-learn, no bagging")
        for model, colour in _FORESTS.items():
            _draw_errors(axis, own, model, colour)
        axis.set(title=name, xlabel="ε", xscale="log", ylim=(0, None))
        axis.set_ylabel("reconstruction error")
        axis.grid(alpha=0.3)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    _save(figure, path)


def _draw_errors(axis: Any, lines: list[Line], model: str, colour: str) -> None:
    epsilons = sorted({line["epsilon"] for line in lines if line["model"] == model})
    short = model.removesuffix(", 10 trees").replace(", noisy counts", "")
    tables = (
        ("most likely", "-", likeliest),
        ("posterior", "--", lambda line: line["sampled"]),
    )
    for shown, style, table in tables:
        means = [
            np.mean([table(line)["error"] for line in lines
                     if line["model"] == model and line["epsilon"] == epsilon])
            for epsilon in epsilons
        ]  # fmt: skip
        axis.plot(epsilons, means, style, marker="o", ms=4, color=colour, label=f"{short}: {shown}")


def _plot_membership(lines: list[Line], path: Path) -> None:
    from matplotlib import pyplot as plt

    sets = _sets(lines)
    figure, axes = plt.subplots(
        2, len(sets), figsize=(5.5 * len(sets), 8), layout="constrained", squeeze=False, sharex=True
    )
    grid = np.logspace(-1.1, 1.6, 200)
    bounds = {
        "auc": [largest_auc(epsilon, 0.0) for epsilon in grid],
        "tpr": [largest_true_positive_rate(e, 0.0, FALSE_POSITIVE_RATE) for e in grid],
    }
    for column, name in enumerate(sets):
        own = [line for line in lines if line["dataset"] == name]
        for axis, rate in zip(axes[:, column], ("auc", "tpr"), strict=True):
            axis.plot(grid, bounds[rate], color="C3", label="bound of ε (δ = 0)")
            chance = 0.5 if rate == "auc" else FALSE_POSITIVE_RATE
            axis.axhline(chance, color="0.6", lw=1, label="chance")
            _draw_rates(axis, own, rate)
            axis.grid(alpha=0.3)
        axes[0, column].set(title=name, xscale="log", ylabel="AUC")
        axes[1, column].set(xlabel="ε", yscale="log", ylabel="true positives at 0.1 % false ones")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    _save(figure, path)


def _draw_rates(axis: Any, lines: list[Line], rate: str) -> None:
    plain = [line for line in lines if line["epsilon"] is None]
    for line in plain:
        axis.axhline(line["online"][rate], color="k", ls=":", label="scikit-learn forest, online")
    for number, model in enumerate(dict.fromkeys(m["model"] for m in lines if m not in plain)):
        own = sorted((m for m in lines if m["model"] == model), key=lambda m: m["epsilon"])
        for way, style in (("online", "o-"), ("offline", "s--")):
            # Beside each other, so that intervals can be told apart.
            shift = 1.0 + 0.06 * (2 * number + (way == "offline") - 1.5)
            middle = np.array([line[way][rate] for line in own])
            ends = np.array([line[way][f"{rate}_interval"] for line in own]).T
            axis.errorbar(
                [line["epsilon"] * shift for line in own], middle,
                yerr=np.maximum([middle - ends[0], ends[1] - middle], 0.0), fmt=style, ms=4,
                color=f"C{2 * number}", capsize=2,
                label=f"{model.removeprefix('PrivateForestClassifier, ').replace('delta', 'δ =')}, "
                f"{way}",
            )  # fmt: skip
