"""DMRF, Table 4: mean squared error of eight forests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers import cells
from papers.dmrf_forests import forest
from papers.dmrf_report import VARIANTS, claims, joint_table, ranks_table
from papers.engine import Task
from papers.markdown import header, time_text
from papers.printed import Figures
from papers.printed.dmrf import METHODS, STARS_BREIMAN_4, TABLE_4
from papers.problems import Problem, left_out, load, present
from papers.sets import facts
from papers.splits import folds
from papers.tables.dmrf_table3 import MADE_BY as MADE_BY
from papers.tables.dmrf_table3 import RESULTS as RESULTS

NAME = "dmrf_table4"
N_SPLITS = 10
WEIGHTED = tuple(f"{method}, weighted" for method in VARIANTS)
#: Readings run once beside the paper's columns: they explain, and are not compared with print.
BESIDE = ("BreimanRF, leaves of k", *WEIGHTED)
#: Tables 3 and 4 both have white wine; lines of the two lie in one file.
KEYS = {"wine_quality_white": "wine_quality_white, score"}

_SPECIAL = {
    "wine_quality_white": Problem("wine_quality_white", task="regression"),
    "alcohol_qcm": Problem(
        "alcohol_qcm",
        drop=("sensor",),
        transform="is 1-Octanol",
        note="1 for 1-Octanol, else 0, of the ten channels",
    ),
    "csm_movies": Problem(
        "csm_movies", transform="log", note="logarithm of Ratings; 231 films, printed 217"
    ),
    "facebook_metrics": Problem(
        "facebook_metrics",
        transform="log1p",
        note="log(1 + total interactions); the likes, comments and shares that add up to it are "
        "not among our features",
    ),
    "forest_fires": Problem("forest_fires", transform="log1p", note="log(1 + area)"),
    "seoul_bike": Problem(
        "seoul_bike", transform="log1p", note="log(1 + count); the date is month and weekday here"
    ),
    "skillcraft": Problem(
        "skillcraft", "ComplexAbilitiesUsed", note="the last column, ComplexAbilitiesUsed"
    ),
    "parkinsons_updrs": Problem("parkinsons_updrs", "PPE", note="the last column, PPE"),
    "insurance_coil2000": Problem(
        "insurance_coil2000",
        task="regression",
        note="the class as 0 and 1; 9822 rows, printed 9000",
    ),
}
PROBLEMS = {KEYS.get(row, row): _SPECIAL.get(row, Problem(row)) for row in TABLE_4}
PRINTED: Figures = {KEYS.get(row, row): figures for row, figures in TABLE_4.items()}


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
    """Mean squared error on one fold, and that of the training mean."""
    data = load(folder, PROBLEMS[task.dataset])
    train, test = folds(data.y, task.repeat, N_SPLITS, stratified=False)[task.fold]
    model = forest(task.method, data, task.seed).fit(data.X[train], data.y[train])
    return {
        "mse": float(np.mean((model.predict(data.X[test]) - data.y[test]) ** 2)),
        "mse_of_mean": float(np.mean((data.y[train].mean() - data.y[test]) ** 2)),
    }


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    lines = [line for line in lines if "mse" in line]
    found = cells.gather(lines, "mse")
    skipped = left_out(PROBLEMS, found, folder)
    means = cells.means(cells.gather(lines, "mse_of_mean"))
    nothing = {row: {"mean": float(np.mean(list(v.values())))} for row, v in means.items()}
    weighted = {row: {m: v for m, v in c.items() if m in BESIDE} for row, c in found.items()}
    return "\n\n".join(
        [
            header(
                "DMRF, Table 4: mean squared error",
                f"python benchmarks/papers {NAME}",
                "100 trees, k = 5; repeats are in the table. " + time_text(lines) + ".",
                skipped=skipped,
            ),
            "In each cell: printed, ours, and how much ours is above print. * marks the better of "
            "DMRF and BreimanRF, printed and ours; bold is our best but for BreimanRF. Splits by "
            "eq. 5 as printed: the children's errors are added without weights. BreimanRF is "
            "scikit-learn's with √D features and `min_samples_split=5`.",
            joint_table(found, PRINTED, METHODS, STARS_BREIMAN_4, higher=False),
            "Guessed: " + "; ".join(f"{r}: {p.note}" for r, p in PROBLEMS.items() if p.note) + ".",
            "## Over the sets that are here",
            ranks_table(found, PRINTED, METHODS, higher=False),
            claims(found, PRINTED, higher=False),
            "## With weighted children",
            "The same forests where the children's errors weigh by their shares of the records "
            "(first repeat), scikit-learn's with leaves of 5, and the training mean.",
            _weighted_table(weighted, nothing),
        ]
    )


def _weighted_table(weighted: cells.Cells, nothing: Figures) -> str:
    from papers.markdown import table

    rows = []
    for row, found in cells.means(weighted).items():
        figures = [found.get(method) for method in BESIDE]
        texts = ["–" if value is None else f"{value:.3g}" for value in figures]
        rows.append([row, *texts, f"{nothing[row]['mean']:.3g}"])
    return table(["dataset", *BESIDE, "mean"], rows)
