"""The page and the plot of the Safe-Bayesian tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common.plotting import file_plots

from papers.markdown import header, table, why_left_out
from papers.printed.safe_bayesian import TABLE_1, TABLE_1_SIZES, TABLE_2, TABLE_3, Cell

Line = dict[str, Any]
_BASELINES = ("kNN", "SVM", "RF-Gini", "RF-entropy")
_QUOTED = ("MCMC", "SMC-prior", "SMC-post.", "BART")
_WAYS = {"best-tree": "best_tree", "BMA": "bma", "S-Bayes": "accuracy"}
#: Repeats behind the printed figures.
_PRINTED_REPEATS = 5
_INTRODUCTION = """
Accuracy in percent on test records, mean ± standard deviation over the repeats. Cells are
*printed / ours (difference)*; an asterisk marks a difference of more than two standard errors, from
both spreads and both numbers of repeats. Columns marked *quoted* are as printed and were not run.
All methods see features transformed by the training records' ranks. Structures of the
Safe-Bayesian forest are the same for all sets of a repeat and new in each.
"""
_DRAWS = """
## Other draws of the records

`printed` is the draw of the tables above. `equal`: the whole set is cut to equal classes first,
then split into 80 and 20 %. `natural`: nothing is cut; only here do training records have the
classes' own shares. Ours, percent.
"""


def page(lines: list[Line], command: str, here: Container[str] = ()) -> str:
    """Markdown of Tables 1 to 3 and of the other draws, and what more splits give."""
    everything, lines = lines, [line for line in lines if line["repeat"] < _PRINTED_REPEATS]
    sets = [name for name in TABLE_1 if any(line["dataset"] == name for line in lines)]
    absent = {name: why_left_out(name in here) for name in TABLE_1 if name not in sets}
    repeats = 1 + max(line["repeat"] for line in lines)
    title = "A very simple safe-Bayesian random forest: Tables 1 to 3, Figure 4"
    text = f"{repeats} splits (the paper: {_PRINTED_REPEATS})."
    parts = [header(title, command, text, skipped=absent), _INTRODUCTION, *table_1(lines, sets)]
    parts += table_2(lines, sets) + table_3(lines, sets)
    n_curves = len({line["repeat"] for line in everything if line["method"] == "S-Bayes, printed"})
    curves = f"Mean ± standard error over {n_curves} splits, draw `printed`."
    parts += ["## Figure 4", curves, "![Operating curves](safe_bayesian_figure4.svg)"]
    parts += [_DRAWS, draws(lines, sets), *more_splits(everything, sets)]
    return "\n\n".join(part.strip() for part in parts)


def table_1(lines: list[Line], sets: Sequence[str]) -> list[str]:
    """Accuracy of the methods."""
    rows, quoted = [], []
    for name in sets:
        ours = {method: cell_of(lines, name, method) for method in (*_BASELINES, "S-Bayes")}
        cells = [compared(TABLE_1[name][method], ours[method]) for method in ours]
        extra = spread(cell_of(lines, name, "ExtraTrees"))
        rows.append([name, sizes(lines, name), TABLE_1_SIZES[name][1], *cells, extra])
        shown = [spread(TABLE_1[name].get(method)) for method in _QUOTED]
        quoted.append([name, *shown, spread(TABLE_1[name]["S-Bayes"]), spread(ours["S-Bayes"])])
    head = ["set", "train + test", "N printed", *_BASELINES, "S-Bayes", "ExtraTrees (ours only)"]
    quoted_head = ["set", *(f"{method} (quoted)" for method in _QUOTED), "S-Bayes printed", "ours"]
    return ["## Table 1", table(head, rows, 2), table(quoted_head, quoted)]


def table_2(lines: list[Line], sets: Sequence[str]) -> list[str]:
    """Best tree, BMA, m = 5."""
    rows = [
        [name]
        + [
            compared(TABLE_2[name][way], cell_of(lines, name, "S-Bayes", key))
            for way, key in _WAYS.items()
        ]
        for name in sets
    ]
    return ["## Table 2", table(["set", "best tree", "BMA", "S-Bayes, m = 5"], rows)]


def table_3(lines: list[Line], sets: Sequence[str]) -> list[str]:
    """Log probabilities."""
    rows = [
        [
            name,
            spread(TABLE_3[name]["MCMC"], 3),
            compared(
                TABLE_3[name]["S-Bayes"],
                cell_of(lines, name, "S-Bayes", "log_probability", scale=1),
                3,
            ),
            spread(cell_of(lines, name, "S-Bayes", "bma_log_probability", scale=1), 3),
        ]
        for name in sets
    ]
    head = ["set", "MCMC (quoted)", "S-Bayes, m = 5", "BMA (ours only)"]
    text = "Mean log probability of the true class, in nats."
    return ["## Table 3", text, table(head, rows)]


def draws(lines: list[Line], sets: Sequence[str]) -> str:
    """The Safe-Bayesian forest and the Gini forest under the three draws."""
    rows = []
    for name in sets:
        for draw in ("printed", "equal", "natural"):
            cells = [spread(cell_of(lines, name, "S-Bayes", key, draw)) for key in _WAYS.values()]
            log = cell_of(lines, name, "S-Bayes", "log_probability", draw, scale=1)
            forest = spread(cell_of(lines, name, "RF-Gini", draw=draw))
            counts = sizes(lines, name, draw)
            rows.append([name, draw, counts, *cells, forest, spread(log, 3)])
    head = ["set", "draw", "train + test", "best tree", "BMA", "S-Bayes, m = 5", "RF-Gini"]
    head.append("log probability, m = 5")
    return table(head, rows, 3)


def more_splits(lines: list[Line], sets: Sequence[str]) -> list[str]:
    """Table 1's figures where more splits ran than the paper's five."""
    rows = []
    for name in sets:
        for method in ("S-Bayes", *_BASELINES):
            ours = cell_of(lines, name, method)
            if ours is not None and ours[2] > _PRINTED_REPEATS:
                first = [line for line in lines if line["repeat"] < _PRINTED_REPEATS]
                cells = [compared(TABLE_1[name][method], cell_of(first, name, method))]
                cells += [str(ours[2]), compared(TABLE_1[name][method], ours)]
                rows.append([name, method, *cells])
    if not rows:
        return []
    head = ["set", "method", "five splits", "splits", "all splits"]
    return ["## More splits", "Draw `printed`, accuracy.", table(head, rows, 2)]


def values(lines: Iterable[Line], name: str, method: str, key: str, draw: str) -> list[Any]:
    """One figure over the repeats."""
    chosen = f"{method}, {draw}"
    return [
        line[key]
        for line in sorted(lines, key=lambda line: line["repeat"])
        if line["dataset"] == name and line["method"] == chosen
    ]


def cell_of(
    lines: Iterable[Line],
    name: str,
    method: str,
    key: str = "accuracy",
    draw: str = "printed",
    scale: float = 100,
) -> tuple[float, float, int] | None:
    """Mean, standard deviation and number of repeats."""
    found = scale * np.array(values(lines, name, method, key, draw))
    if not found.size:
        return None
    return float(found.mean()), float(found.std(ddof=1)) if found.size > 1 else np.nan, found.size


def sizes(lines: Iterable[Line], name: str, draw: str = "printed") -> str:
    """Training and test records of the first repeat."""
    train, test = (values(lines, name, "S-Bayes", key, draw) for key in ("n_train", "n_test"))
    return f"{train[0]} + {test[0]}" if train else "–"


def spread(cell: tuple[float, ...] | None, digits: int = 2) -> str:
    """Mean ± standard deviation."""
    return "–" if cell is None else f"{cell[0]:.{digits}f} ± {cell[1]:.{digits}f}".replace("-", "−")


def compared(printed: Cell, ours: tuple[float, float, int] | None, digits: int = 2) -> str:
    """Printed, ours, the difference, and whether it is more than two standard errors."""
    if ours is None:
        return f"{printed[0]:.{digits}f} / –"
    mark = "\\*" if is_far(printed, ours) else ""
    text = f"{printed[0]:.{digits}f} / {spread(ours, digits)} ({ours[0] - printed[0]:+.{digits}f})"
    return text.replace("-", "−") + mark


def is_far(printed: Cell, ours: tuple[float, float, int]) -> bool:
    """Whether means differ by more than two standard errors."""
    error = np.sqrt(printed[1] ** 2 / _PRINTED_REPEATS + ours[1] ** 2 / ours[2])
    return bool(abs(ours[0] - printed[0]) > 2 * error)


def plot_curves(lines: list[Line], fractions: Sequence[float], path: Path) -> None:
    """Figure 4: accuracy ± standard error over m / N, on training and on test records."""
    plt = file_plots(hashsalt=path.name, fonttype="none")
    if plt is None:
        return
    figure, axes = plt.subplots(3, 3, figsize=(11, 9), layout="constrained", sharex=True)
    for axis, name in zip(axes.flat, TABLE_1, strict=True):
        for key, label in (("train_curve", "training records"), ("test_curve", "test records")):
            found = np.array(values(lines, name, "S-Bayes", key, "printed"))
            if found.size:
                mean = found.mean(axis=0)
                error = found.std(axis=0) / np.sqrt(max(len(found) - 1, 1))
                axis.plot(fractions, mean, label=label)
                axis.fill_between(fractions, mean - error, mean + error, alpha=0.3, linewidth=0)
        n_train = values(lines, name, "S-Bayes", "n_train", "printed")
        if n_train:
            axis.axvline(5 / n_train[0], color="grey", linestyle=":", label="m = 5")
        axis.set(title=name.replace("_", " "), xscale="log")
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("m / N (1: Bayesian model averaging)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
