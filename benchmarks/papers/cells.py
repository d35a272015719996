"""Result lines gathered into the cells of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Cells = dict[str, dict[str, np.ndarray]]


def gather(lines: Iterable[dict[str, Any]], value: str = "accuracy", n_splits: int = 10) -> Cells:
    """Values by dataset and method, shape (repeats, n_splits); whole repeats only.

    Repeats are ordered, so the same places of two methods are the same folds as long as both have
    the same repeats: see :func:`paired`.
    """
    found: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for line in lines:
        repeats = found.setdefault((line["dataset"], line["method"]), {})
        repeats.setdefault(line["repeat"], {})[line["fold"]] = line[value]
    cells: Cells = {}
    for (dataset, method), repeats in found.items():
        whole = [
            [values[fold] for fold in sorted(values)]
            for _, values in sorted(repeats.items())
            if len(values) == n_splits
        ]
        if whole:
            cells.setdefault(dataset, {})[method] = np.array(whole)
    return cells


def means(cells: Cells, scale: float = 1.0) -> dict[str, dict[str, float]]:
    """Mean of every cell; ``scale=100`` for percent."""
    return {
        dataset: {method: scale * float(values.mean()) for method, values in row.items()}
        for dataset, row in cells.items()
    }


def paired(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two cells' values over the repeats that both have, flat."""
    repeats = min(len(first), len(second))
    return first[:repeats].ravel(), second[:repeats].ravel()


def repeats_text(row: dict[str, np.ndarray], methods: Iterable[str]) -> str:
    """How many repeats a row's cells have, as ``10 × 10`` or ``3–10 × 10``."""
    present = [row[method].shape for method in methods if method in row]
    least, most = min(n for n, _ in present), max(n for n, _ in present)
    return f"{least if least == most else f'{least}–{most}'} × {present[0][1]}"
