"""DMRF, Figures 1 to 6: DMRF over p and q, over B1 and B2, over M and over k."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers.dmrf_forests import forest
from papers.engine import Task
from papers.markdown import header, number, table, time_text
from papers.problems import load, present
from papers.splits import folds
from papers.tables import dmrf_table3, dmrf_table4

NAME = "dmrf_figures"
N_SPLITS = 10
PROBLEMS = dmrf_table3.PROBLEMS | dmrf_table4.PROBLEMS

_PQ = tuple(round(0.05 + 0.1 * step, 2) for step in range(10))
_B = tuple(range(1, 11))
#: The text does not name the datasets of Figures 1 to 4: one each below 500 records, up to 1000 and
#: above, as it sorts them.
_CLASSIFICATION = ("vertebral", "tic_tac_toe", "wireless")
_REGRESSION = ("servo", "istanbul_stock", "concrete")
#: Figures over two parameters: datasets, and the parameters with their values.
GRIDS: dict[int, tuple[tuple[str, ...], dict[str, tuple[float, ...]]]] = {
    1: (_CLASSIFICATION, {"p": _PQ, "q": _PQ}),
    2: (_REGRESSION, {"p": _PQ, "q": _PQ}),
    3: (_CLASSIFICATION, {"B1": _B, "B2": _B}),
    4: (_REGRESSION, {"B1": _B, "B2": _B}),
}
#: Figure 5's datasets, but for Combined, which we do not have: Servo instead.
TREES = (5, 10, 20, 50, 100, 150, 200)
_TREES_SETS = ("blogger", "tic_tac_toe", "wine_quality_white", "servo", "real_estate", "concrete")
#: Figure 6: k from the number of training records, at shares r of them. Letter and Cbm are named.
RULES: dict[str, Callable[[int], float]] = {
    "√n": lambda n: math.sqrt(n),
    "(log n)²": lambda n: math.log(n) ** 2,
}
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_SHARES_SETS = ("wireless", "wine_quality_white", "letter", "real_estate", "concrete", "naval_cbm")


def _points() -> Iterator[tuple[str, str, dict[str, float]]]:
    for figure, (names, grid) in GRIDS.items():
        (first, rows), (second, columns) = grid.items()
        for name in names:
            for a in rows:
                for b in columns:
                    yield (
                        name,
                        f"figure {figure} {first}={a:g} {second}={b:g}",
                        {first: a, second: b},
                    )
    for name in _TREES_SETS:
        for trees in TREES:
            yield name, f"figure 5 M={trees}", {"M": trees}
    for name in _SHARES_SETS:
        for rule in RULES:
            for share in SHARES:
                yield name, f"figure 6 {rule} r={share:g}", {"r": share}


_SETTINGS = {(name, text): setting for name, text, setting in _points()}


def tasks(folder: Path, repeats: int = 1) -> Iterator[Task]:
    """A task is all folds of one point. Figures 5 and 6 first, since they are short."""
    here = present(folder, PROBLEMS)
    points = sorted(_SETTINGS, key=lambda point: point[1][:8] not in ("figure 5", "figure 6"))
    for repeat in range(repeats):
        for name, text in points:
            if name in here:
                yield Task(name, text, repeat, -1)


def evaluate(task: Task, folder: Path) -> dict[str, list[float]]:
    """Accuracy in percent, or mean squared error, on each fold."""
    data = load(folder, PROBLEMS[task.dataset])
    setting = dict(_SETTINGS[task.dataset, task.method])
    share = setting.pop("r", 1.0)
    values = []
    for train, test in folds(data.y, task.repeat, N_SPLITS, stratified=bool(data.classes)):
        if share < 1:
            generator = np.random.RandomState(task.repeat)
            train = generator.permutation(train)[: max(2, round(share * len(data.y)))]
            rule = RULES[task.method.split()[2] if "log" not in task.method else "(log n)²"]
            setting["k"] = max(1, round(rule(len(train))))
        model = forest("DMRF", data, task.seed, **setting).fit(data.X[train], data.y[train])
        predicted = model.predict(data.X[test])
        if data.classes:
            values.append(100 * float(np.mean(predicted == data.y[test])))
        else:
            values.append(float(np.mean((predicted - data.y[test]) ** 2)))
    return {"values": values}


def _found(lines: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    values: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        values.setdefault((line["dataset"], line["method"]), []).extend(line["values"])
    return {key: float(np.mean(found)) for key, found in values.items()}


def _grid(figure: int, name: str, found: dict[tuple[str, str], float]) -> np.ndarray:
    (first, rows), (second, columns) = GRIDS[figure][1].items()
    return np.array(
        [
            [found.get((name, f"figure {figure} {first}={a:g} {second}={b:g}"), np.nan)
             for b in columns]
            for a in rows
        ]
    )  # fmt: skip


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    found = _found(lines)
    repeats = max(line["repeat"] for line in lines) + 1
    parts = [
        header(
            "DMRF, Figures 1 to 6: what its parameters do",
            f"python benchmarks/papers {NAME}",
            f"{repeats} × 10-fold (the paper: not said), 100 trees, k = 5 where nothing else is "
            f"said. {time_text(lines)}. The paper prints pictures only, and its text does not name "
            "the datasets of Figures 1 to 4: ours are one each of its three sizes.",
        )
    ]
    for figure, (names, grid) in GRIDS.items():
        if any(np.isfinite(_grid(figure, name, found)).any() for name in names):
            first, second = grid
            parts += [
                f"## Figure {figure}: over {first} and {second}",
                f"![Figure {figure}](dmrf_figure{figure}.png)",
                _summary(figure, found),
            ]
    parts += ["## Figure 5: over the number of trees", "![Figure 5](dmrf_figure5.png)"]
    rows = [
        [name, *(number(found.get((name, f"figure 5 M={trees}"))) for trees in TREES)]
        for name in _TREES_SETS
    ]
    parts += [table(["dataset", *(f"M = {trees}" for trees in TREES)], rows)]
    parts += ["## Figure 6: over k, at shares r of the records", "![Figure 6](dmrf_figure6.png)"]
    rows = [
        [name, rule, *(_small(found.get((name, f"figure 6 {rule} r={r:g}"))) for r in SHARES)]
        for name in _SHARES_SETS
        for rule in RULES
    ]
    parts += [table(["dataset", "k", *(f"r = {r:g}" for r in SHARES)], rows, text_columns=2)]
    return "\n\n".join(parts)


def _small(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _summary(figure: int, found: dict[tuple[str, str], float]) -> str:
    """Best point, the paper's own point, and how much either parameter moves the mean."""
    names, grid = GRIDS[figure]
    (first, rows), (second, columns) = grid.items()
    own = (0.55, 0.65) if first == "p" else (5, 5)
    better = np.nanargmax if names is _CLASSIFICATION else np.nanargmin
    lines = []
    for name in names:
        values = _grid(figure, name, found)
        if not np.isfinite(values).any():
            continue
        a, b = np.unravel_index(better(values), values.shape)
        here = values[rows.index(own[0]), columns.index(own[1])]
        spans = [np.ptp(np.nanmean(values, axis=axis)) for axis in (1, 0)]
        lines.append(
            [name, f"{values[a, b]:.4g}", f"{rows[a]:g}, {columns[b]:g}", f"{here:.4g}",
             *(f"{span:.2g}" for span in spans)]
        )  # fmt: skip
    columns_text = ["dataset", "best", f"at {first}, {second}", f"at {own[0]:g}, {own[1]:g}"]
    return table([*columns_text, f"range over {first}", f"range over {second}"], lines)


def plot(lines: list[dict[str, Any]], folder: Path) -> None:
    """A picture for each figure."""
    found = _found(lines)
    for figure, (names, _) in GRIDS.items():
        if any(np.isfinite(_grid(figure, name, found)).any() for name in names):
            _plot_grid(figure, found, folder)
    points = [(f"figure 5 M={trees}", trees) for trees in TREES]
    _plot_lines(5, _TREES_SETS, {"DMRF": points}, "trees", found, folder)
    curves = {f"k = {rule}": [(f"figure 6 {rule} r={r:g}", r) for r in SHARES] for rule in RULES}
    _plot_lines(6, _SHARES_SETS, curves, "r", found, folder)


def _plot_grid(figure: int, found: dict[tuple[str, str], float], folder: Path) -> None:
    from matplotlib.figure import Figure

    names, grid = GRIDS[figure]
    (first, rows), (second, columns) = grid.items()
    picture = Figure(figsize=(10, 3.2), layout="constrained")
    for axes, name in zip(picture.subplots(1, 3), names, strict=True):
        values = _grid(figure, name, found) * (1 if names is _CLASSIFICATION else -1)
        edges = (columns[0], columns[-1], rows[0], rows[-1])
        drawn = axes.imshow(values, origin="lower", extent=edges, aspect="auto")
        axes.set(title=name, xlabel=second, ylabel=first)
        picture.colorbar(drawn, ax=axes)
    picture.savefig(folder / f"dmrf_figure{figure}.png", dpi=90)


def _plot_lines(
    figure: int,
    names: tuple[str, ...],
    curves: dict[str, list[tuple[str, float]]],
    label: str,
    found: dict[tuple[str, str], float],
    folder: Path,
) -> None:
    from matplotlib.figure import Figure

    picture = Figure(figsize=(9, 5), layout="constrained")
    for axes, name in zip(picture.subplots(2, 3).ravel(), names, strict=True):
        for curve, points in curves.items():
            values = [found.get((name, text), np.nan) for text, _ in points]
            axes.plot([place for _, place in points], values, marker=".", label=curve)
        kind = "accuracy (%)" if name in dmrf_table3.PROBLEMS else "MSE"
        axes.set(title=name, xlabel=label, ylabel=kind)
        if len(curves) > 1:
            axes.legend(fontsize="x-small")
    picture.savefig(folder / f"dmrf_figure{figure}.png", dpi=90)
