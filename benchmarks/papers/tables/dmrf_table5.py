"""DMRF, Table 5: standard deviation over repeats of the cross-validation, from Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers import cells
from papers.engine import Task
from papers.markdown import header, table, time_text
from papers.printed import Figures
from papers.printed.dmrf import METHODS, TABLE_5_CLASSIFICATION, TABLE_5_REGRESSION
from papers.tables import dmrf_table3, dmrf_table4

NAME = "dmrf_table5"
RESULTS, MADE_BY = dmrf_table3.RESULTS, dmrf_table3.MADE_BY
_REGRESSION: Figures = {dmrf_table4.KEYS.get(row, row): v for row, v in TABLE_5_REGRESSION.items()}
#: Fewer repeats say nothing of a standard deviation.
_LEAST_REPEATS = 3


def tasks(folder: Path, repeats: int = 3) -> Iterator[Task]:
    """The fits of Tables 3 and 4 on the rows of this one; what ran there is not run again."""
    wanted = {**TABLE_5_CLASSIFICATION, **_REGRESSION}
    for source in (dmrf_table3, dmrf_table4):
        for task in source.tasks(folder, repeats):
            if task.dataset in wanted and task.method in METHODS:
                yield task


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """As in Table 3 or Table 4."""
    is_regression = task.dataset in _REGRESSION
    return (dmrf_table4.evaluate if is_regression else dmrf_table3.evaluate)(task, folder)


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    parts = [
        header(
            "DMRF, Table 5: standard deviation over repeated cross-validations",
            f"python benchmarks/papers {NAME}",
            f"The lines of Tables 3 and 4, at least {_LEAST_REPEATS} repeats (the paper: 10). "
            f"{time_text(_of_this_table(lines))}.",
        ),
        "In each cell: printed / ours. Between 10 repeats, a standard deviation is known to about "
        "a quarter of itself; between 3, to about a half.",
    ]
    for title, value, printed, scale in (
        ("Accuracy (%)", "accuracy", TABLE_5_CLASSIFICATION, 100.0),
        ("Mean squared error", "mse", _REGRESSION, 1.0),
    ):
        found = cells.gather([line for line in lines if value in line], value)
        parts += [f"## {title}", _table(found, printed, scale), _counts(found, printed)]
    return "\n\n".join(parts)


def _of_this_table(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = {**TABLE_5_CLASSIFICATION, **_REGRESSION}
    return [line for line in lines if line["dataset"] in rows and line["method"] in METHODS]


def deviations(found: cells.Cells) -> Figures:
    """Standard deviation of the repeats' means, where there are enough repeats."""
    return {
        row: {
            method: float(values.mean(axis=1).std(ddof=1))
            for method, values in methods.items()
            if len(values) >= _LEAST_REPEATS
        }
        for row, methods in found.items()
    }


def _table(found: cells.Cells, printed: Figures, scale: float) -> str:
    ours = deviations(found)
    rows = []
    for row, figures in printed.items():
        if any(method in ours.get(row, {}) for method in METHODS):
            texts = [
                f"{figures[method]:.3g} / {scale * ours[row].get(method, np.nan):.3g}"
                for method in METHODS
            ]
            rows.append([row, cells.repeats_text(found[row], METHODS), *texts])
    return table(["dataset", "folds", *METHODS], rows, text_columns=2)


def _counts(found: cells.Cells, printed: Figures) -> str:
    """The claim that (b) varies more than (SE), as counts."""
    ours = deviations(found)
    texts = []
    for name in ("MRF", "BRF", "Denil14"):
        b, se = f"{name}(b)", f"{name}(SE)"
        rows = [row for row in printed if {b, se} <= set(ours.get(row, {}))]
        theirs = sum(printed[row][b] > printed[row][se] for row in rows)
        mine = sum(ours[row][b] > ours[row][se] for row in rows)
        texts.append(f"{b} over {se}: printed {theirs}, ours {mine} of {len(rows)}")
    return "Larger deviation: " + "; ".join(texts) + "."
