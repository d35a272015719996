"""DMRF, Table 6: the best of a grid of parameters by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from papers.dmrf_forests import forest
from papers.engine import Task
from papers.markdown import header, table, time_text
from papers.printed.dmrf import TABLE_6
from papers.problems import load, present
from papers.splits import folds
from papers.tables import dmrf_table3, dmrf_table4

NAME = "dmrf_table6"
N_SPLITS = 10
_Q = (0.2, 0.4, 1 - 1 / math.e, 0.8)
_B = (2, 5, 8, 10)
#: The grids of section "Cross-validation".
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "DMRF": {"B1": _B, "B2": _B, "p": (0.1, 0.3, 0.5, 0.8), "q": _Q},
    "MRF(b)": {"B1": _B, "B2": _B, "q": _Q},
    "BRF(b)": {"p1": (0.01, 0.05, 0.35, 0.65), "p2": (0.01, 0.05, 0.35, 0.65), "q": _Q},
    "Denil14(b)": {"λ": (1, 5, 10, 15), "m": (50, 100, 200, 500), "q": _Q},
}
PROBLEMS = {row: (dmrf_table3.PROBLEMS | dmrf_table4.PROBLEMS)[row] for row in TABLE_6}


def settings(method: str) -> Iterator[dict[str, float]]:
    """All points of a method's grid."""
    for values in product(*GRIDS[method].values()):
        yield dict(zip(GRIDS[method], values, strict=True))


def named(method: str, setting: dict[str, float]) -> str:
    """How a line calls a point of the grid."""
    return f"{method} " + " ".join(f"{key}={value:.4g}" for key, value in setting.items())


_COLUMNS = ("dataset", "forest", "printed", "ours", "fair", "spread", "printed at", "ours at")
_SETTINGS = {
    named(method, setting): (method, setting) for method in GRIDS for setting in settings(method)
}


def tasks(folder: Path, repeats: int = 1) -> Iterator[Task]:
    """A task is all folds of one point of a grid."""
    for repeat in range(repeats):
        for row in present(folder, PROBLEMS):
            for name in _SETTINGS:
                yield Task(row, name, repeat, -1)


def evaluate(task: Task, folder: Path) -> dict[str, list[float]]:
    """Accuracy in percent, or mean squared error, on each fold."""
    data = load(folder, PROBLEMS[task.dataset])
    method, setting = _SETTINGS[task.method]
    values = []
    for train, test in folds(data.y, task.repeat, N_SPLITS, stratified=bool(data.classes)):
        model = forest(method, data, task.seed, **setting)
        predicted = model.fit(data.X[train], data.y[train]).predict(data.X[test])
        if data.classes:
            values.append(100 * float(np.mean(predicted == data.y[test])))
        else:
            values.append(float(np.mean((predicted - data.y[test]) ** 2)))
    return {"values": values}


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for line in lines:
        method = _SETTINGS[line["method"]][0]
        row = found.setdefault((line["dataset"], method), {})
        row.setdefault(line["method"], []).extend(line["values"])
    repeats = max(line["repeat"] for line in lines) + 1
    rows = [_row(*key, values) for key, values in found.items()]
    return "\n\n".join(
        [
            header(
                "DMRF, Table 6: the best of a grid by cross-validation",
                f"python benchmarks/papers {NAME}",
                f"{repeats} × 10-fold, accuracy in percent or mean squared error. "
                f"{time_text(lines)}.",
            ),
            "The best of a grid, chosen and reported on the same folds, is better than what the "
            "chosen forest would do on new records: most so for the largest grid, which is DMRF's "
            "(256 points; the others have 64). *fair* is what the same choice gives when every "
            "fold is scored with the point that is best on the other nine.",
            table(_COLUMNS, rows, text_columns=2),
            "*spread* is from the worst to the best point of the grid.",
        ]
    )  # fmt: skip


def _row(dataset: str, method: str, values: dict[str, list[float]]) -> list[str]:
    higher = dataset in dmrf_table3.PROBLEMS
    sign = 1 if higher else -1
    names = list(values)
    scores = np.array([values[name] for name in names])  # points of the grid × folds
    means = scores.mean(axis=1)
    best = int(np.argmax(sign * means))
    others = (scores.sum(axis=1, keepdims=True) - scores) / (scores.shape[1] - 1)
    fair = scores[np.argmax(sign * others, axis=0), np.arange(scores.shape[1])].mean()
    printed, at = TABLE_6[dataset][method]
    digits = ".2f" if higher else ".4g"
    complete = "" if len(names) == _size(method) else f" ({len(names)} of {_size(method)})"
    return [
        dataset, method + complete, f"{printed:{digits}}", f"{means[best]:{digits}}",
        f"{fair:{digits}}", f"{means.min():{digits}}–{means.max():{digits}}",
        " ".join(f"{key}={value}" for key, value in at.items()), names[best].partition(" ")[2],
    ]  # fmt: skip


def _size(method: str) -> int:
    return math.prod(map(len, GRIDS[method].values()))
