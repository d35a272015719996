"""A few cells of every page, kept beside the pages, and fresh runs of them."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common.tables import REPOSITORY

from papers.engine import Task, task_of
from papers.evaluators import evaluator
from papers.pixels import TILES, present
from papers.sets import available

PAGES = REPOSITORY / "docs" / "papers"
FILE = PAGES / "cells.json"
#: Cells of a page that are kept: those that cost at most so many seconds, and so many of them.
_SECONDS, _KEPT = 4.0, 8
#: Methods of other packages, and ours that are slow: their cells are not kept.
_OTHERS = ("Breiman", "CompRF", "kNN", "SVM", "RF-", "ExtraTrees")
#: Fields of a line that are no figures.
_NO_FIGURES = {"dataset", "method", "repeat", "fold", "seconds", "wall", "sources", "n_train",
               "n_test"}  # fmt: skip

#: A dataset and a method.
Cell = tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """A cell whose fresh run is another than the page's."""

    page: str
    cell: Cell
    kept: float
    fresh: float


def figure(lines: Iterable[dict[str, Any]]) -> float:
    """Mean of the first figure of a cell's lines, to ten digits."""
    values = [next(v for key, v in line.items() if key not in _NO_FIGURES) for line in lines]
    return float(f"{np.mean([np.mean(value) for value in values]):.10g}")


def by_cell(lines: Iterable[dict[str, Any]]) -> dict[Cell, list[dict[str, Any]]]:
    """Lines of each cell, by repeat and fold."""
    found: dict[Cell, list[dict[str, Any]]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: (line["repeat"], line["fold"])):
        found[line["dataset"], line["method"]].append(line)
    return dict(found)


def kept(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """What is kept of every page."""
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def keep(page: str, lines: list[dict[str, Any]], text: str, file: Path = FILE) -> None:
    """Keep what a page was made of: sets, number of tasks, a digest of its tables, a few cells.

    ``first`` is how many tasks of a cell its figure is of.
    """
    cells = by_cell(lines)
    seconds = {cell: sum(line["seconds"] for line in own) for cell, own in cells.items()}
    ours = sorted((c for c in cells if not c[1].startswith(_OTHERS)), key=seconds.__getitem__)
    cheap = [cell for cell in ours if seconds[cell] <= _SECONDS] or ours[:2]
    # Where whole cells take long, the first task of each stands for it.
    most = max(map(len, cells.values())) if seconds[cheap[0]] <= _SECONDS else 1
    chosen = sorted({cheap[int(place)] for place in np.linspace(0, len(cheap) - 1, _KEPT)})
    figures: dict[str, dict[str, float]] = defaultdict(dict)
    for dataset, method in chosen:
        figures[dataset][method] = figure(cells[dataset, method][:most])
    every = kept(file) | {
        page: {
            "sets": sorted({dataset for dataset, _ in cells}),
            "tasks": len(set(map(task_of, lines))),
            "tables": digest(text),
            "first": most,
            "cells": dict(figures),
        }
    }
    made = json.dumps(dict(sorted(every.items())), indent=1)
    file.write_text(made + "\n", encoding="utf-8")


def digest(text: str) -> str:
    """Of a page's rows of figures: words may be mended by hand, figures are not."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def lost_sets(page: str, folder: Path, files: dict[str, str], file: Path = FILE) -> list[str]:
    """Sets that the committed page has and the folder does not; ``files`` by a row's name."""
    sets = kept(file).get(page, {}).get("sets", [])
    if set(sets) == {*TILES}:
        return [] if present(folder) else sets
    return [name for name in sets if not available(folder, (files.get(name, name),))]


def chosen_cells(page: str, n: int, seed: int, file: Path = FILE) -> list[tuple[Cell, float]]:
    """So many of a page's kept cells."""
    cells = kept(file)[page]["cells"]
    every = [
        ((name, method), value) for name, row in cells.items() for method, value in row.items()
    ]
    order = np.random.RandomState(seed).permutation(len(every))
    return [every[place] for place in order[:n]]


def differences(
    page: str, table: Any, folder: Path, n: int = 2, seed: int = 0, file: Path = FILE
) -> Iterator[Difference | Cell]:
    """Run some cells of a page anew: each cell, or how it differs.

    A cell of a set that is not in the folder has no tasks, and is not given.
    """
    tasks: dict[Cell, list[Task]] = defaultdict(list)
    for task in table.tasks(folder):
        tasks[task.dataset, task.method].append(task)
    for cell, value in chosen_cells(page, n, seed, file):
        if cell in tasks:
            in_order = sorted(tasks[cell], key=lambda task: (task.repeat, task.fold))
            first = in_order[: kept(file)[page]["first"]]
            fresh = figure(evaluator(table)(task, folder) for task in first)
            yield cell if fresh == value else Difference(page, cell, value, fresh)
