"""DMRF, Table 3: accuracy of eight forests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers import cells
from papers.dmrf_forests import forest
from papers.dmrf_report import claims, joint_table, ranks_table
from papers.engine import Task
from papers.markdown import header, time_text
from papers.printed.dmrf import METHODS, STARS_BREIMAN_3, TABLE_3
from papers.problems import Problem, left_out, load, present
from papers.sets import facts
from papers.splits import folds

NAME = "dmrf_table3"
#: Tables 3, 4 and 5 keep their lines in one file, since Table 5 is about the same fits.
RESULTS = "dmrf"
MADE_BY = "papers.tables.dmrf_table5:evaluate"
N_SPLITS = 10
#: Readings that run beside the paper's columns, once.
BESIDE = ("BreimanRF, leaves of k",)

PROBLEMS = {
    row: Problem(row)
    for row in TABLE_3
    if row not in ("cvr", "internet_ads", "mushroom", "ai4i2020")
} | {
    "internet_ads": Problem("internet_ads_subset", note="the first 998 of 3279 rows"),
    "mushroom": Problem("mushroom", "habitat", note="habitat is predicted: 22 features, 7 classes"),
    "ai4i2020": Problem("ai4i2020", "Type", note="Type (L, M, H) is predicted: 3 classes"),
}
#: Rows that are the same dataset: Cvr and House-votes are the congressional votes both.
SAME = {"cvr": "house_votes"}


def tasks(folder: Path, repeats: int = 3) -> Iterator[Task]:
    """All folds; long datasets last within a repeat."""
    rows = sorted(present(folder, PROBLEMS).items(), key=lambda row: _rows(folder, row[1]))
    for repeat in range(repeats):
        for row, _ in rows:
            for method in (*METHODS, *(BESIDE if repeat == 0 else ())):
                for fold in range(N_SPLITS):
                    yield Task(row, method, repeat, fold)


def _rows(folder: Path, problem: Problem) -> int:
    return int(facts(folder, problem.file)["n_rows"])


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """Accuracy on one fold."""
    data = load(folder, PROBLEMS[task.dataset])
    train, test = folds(data.y, task.repeat, N_SPLITS)[task.fold]
    model = forest(task.method, data, task.seed).fit(data.X[train], data.y[train])
    return {"accuracy": float(np.mean(model.predict(data.X[test]) == data.y[test]))}


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    lines = [line for line in lines if "accuracy" in line]
    found = cells.gather(lines)
    found |= {row: found[same] for row, same in SAME.items() if same in found}
    skipped = left_out(PROBLEMS, found, folder)
    return "\n\n".join(
        [
            header(
                "DMRF, Table 3: accuracy (%)",
                f"python benchmarks/papers {NAME}",
                "100 trees, k = 5, stratified folds; repeats are in the table. "
                + time_text(lines)
                + ".",
                skipped=skipped,
            ),
            "In each cell: printed, ours, and ours less printed. * marks the better of DMRF and "
            "BreimanRF, printed and ours; bold is our best but for BreimanRF. BreimanRF is "
            "scikit-learn's with `min_samples_split=5` on the category codes; the last column is "
            "the same with `min_samples_leaf=5`.",
            joint_table(found, TABLE_3, (*METHODS, *BESIDE), STARS_BREIMAN_3, scale=100),
            "Guessed: " + "; ".join(f"{r}: {p.note}" for r, p in PROBLEMS.items() if p.note) + ".",
            "## Over the sets that are here",
            ranks_table(found, TABLE_3, METHODS, scale=100),
            claims(found, TABLE_3),
        ]
    )
