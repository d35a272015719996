"""DMRF, Tables 3 and 4: other readings of rows that ours miss, to see what was done in print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from papers import cells
from papers.dmrf_forests import forest
from papers.dmrf_report import VARIANTS
from papers.engine import Task
from papers.markdown import header, number, table, time_text
from papers.printed.dmrf import METHODS, TABLE_3, TABLE_4
from papers.problems import load, present
from papers.sets import PaperSet
from papers.splits import Fold, folds
from papers.tables import dmrf_table3, dmrf_table4

NAME = "dmrf_explain"
N_SPLITS = 10
ALL_CATEGORICAL, IN_ORDER, NO_CATEGORICAL = "all categorical", "in file order", "as numbers"
ROW_NUMBER, DRAWN_ONCE = "with row number", "drawn once"
AS_SET = "as in Table 3"
READINGS = {
    ALL_CATEGORICAL: "every feature is categorical, its values split one against the rest: what a "
    "program does that takes a table with text in it as a table of text",
    NO_CATEGORICAL: "no feature is categorical, codes are split as numbers",
    DRAWN_ONCE: "a node is a leaf if none of its √D drawn features has two values; elsewhere here "
    "others are drawn (MRF takes all features, so nothing changes for it)",
    ROW_NUMBER: "the row's number is a feature, as it is in the paper's count of features",
    IN_ORDER: "stratified folds of consecutive records, not shuffled "
    "(scikit-learn's `cross_val_score` with `cv=10`)",
}
#: Rows, readings, forests, and how many of the ten folds run.
CASES: tuple[tuple[str, str, tuple[str, ...], int], ...] = (
    ("obesity", ALL_CATEGORICAL, VARIANTS, 10),
    ("letter", ALL_CATEGORICAL, VARIANTS, 2),
    ("csm_movies", ALL_CATEGORICAL, VARIANTS, 10),
    ("algerian_forest_fires", ALL_CATEGORICAL, VARIANTS, 10),
    ("servo", ALL_CATEGORICAL, VARIANTS, 10),
    ("real_estate", ROW_NUMBER, VARIANTS, 10),
    ("solar_flare", DRAWN_ONCE, VARIANTS, 10),
    ("servo", DRAWN_ONCE, VARIANTS, 10),
    ("blogger", DRAWN_ONCE, VARIANTS, 10),
    ("house_votes", DRAWN_ONCE, VARIANTS, 10),
    ("tic_tac_toe", DRAWN_ONCE, VARIANTS, 10),
    ("mushroom", DRAWN_ONCE, VARIANTS, 5),
    ("mushroom", AS_SET, VARIANTS, 5),
    ("tic_tac_toe", NO_CATEGORICAL, VARIANTS, 10),
    ("house_votes", NO_CATEGORICAL, VARIANTS, 10),
    ("mushroom", NO_CATEGORICAL, VARIANTS, 3),
    ("mushroom", IN_ORDER, METHODS, 10),
    ("frogs_mfcc", IN_ORDER, ("DMRF", "BreimanRF"), 10),
    ("wine_quality_red", IN_ORDER, ("DMRF", "BreimanRF"), 10),
    ("spambase", IN_ORDER, ("DMRF", "BreimanRF"), 10),
    ("wdbc", IN_ORDER, ("DMRF", "BreimanRF"), 10),
)
PROBLEMS = dmrf_table3.PROBLEMS | dmrf_table4.PROBLEMS
PRINTED = TABLE_3 | {row: TABLE_4[row] for row in TABLE_4 if row not in TABLE_3}


def tasks(folder: Path, repeats: int = 1) -> Iterator[Task]:
    """The folds of every case."""
    here = present(folder, PROBLEMS)
    for repeat in range(repeats):
        for row, reading, methods, n_folds in CASES:
            for method in methods if row in here else ():
                for fold in range(n_folds):
                    yield Task(row, f"{method}; {reading}", repeat, fold)


def evaluate(task: Task, folder: Path) -> dict[str, float]:
    """Accuracy in percent or mean squared error on one fold."""
    data = load(folder, PROBLEMS[task.dataset])
    method, _, reading = task.method.partition("; ")
    if reading == DRAWN_ONCE:
        method += f", {DRAWN_ONCE}"
    if reading == ALL_CATEGORICAL:
        data = replace(data, categorical=tuple(range(data.X.shape[1])))
    if reading == NO_CATEGORICAL:
        data = replace(data, categorical=())
    if reading == ROW_NUMBER:
        numbers = np.arange(len(data.X), dtype=float)
        shifted = tuple(place + 1 for place in data.categorical)
        data = replace(data, X=np.column_stack([numbers, data.X]), categorical=shifted)
    train, test = _splits(data, task.repeat, reading)[task.fold]
    model = forest(method, data, task.seed).fit(data.X[train], data.y[train])
    predicted = model.predict(data.X[test])
    if data.classes:
        return {"value": 100 * float(np.mean(predicted == data.y[test]))}
    return {"value": float(np.mean((predicted - data.y[test]) ** 2))}


def _splits(data: PaperSet, repeat: int, reading: str) -> list[Fold]:
    if reading == IN_ORDER:
        from sklearn.model_selection import StratifiedKFold

        return list(StratifiedKFold(N_SPLITS).split(data.X, data.y))
    return folds(data.y, repeat, N_SPLITS, stratified=bool(data.classes))


def report(lines: list[dict[str, Any]], folder: Path) -> str:
    """The page."""
    rows = []
    for row, reading, methods, n_folds in CASES:
        found = cells.gather(lines, "value", n_folds).get(row, {})
        ours = [found.get(f"{method}; {reading}") for method in METHODS]
        if any(values is not None for values in ours):
            digits = 2 if row in TABLE_3 else 4
            printed = [
                number(PRINTED[row].get(m) if m in methods else None, digits) for m in METHODS
            ]
            mine = [number(None if v is None else float(v.mean()), digits) for v in ours]
            rows.append([row, "printed", "", *printed])
            rows.append([row, reading, f"{n_folds} of {N_SPLITS}", *mine])
    return "\n\n".join(
        [
            header(
                "DMRF, Tables 3 and 4: other readings of some rows",
                f"python benchmarks/papers {NAME}",
                f"One repeat, 100 trees, k = 5. {time_text(lines)}.",
            ),
            "\n".join(f"* *{reading}*: {text}." for reading, text in READINGS.items()),
            table(["dataset", "reading", "folds", *METHODS], rows, text_columns=3),
        ]
    )
