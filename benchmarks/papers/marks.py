"""Wilcoxon's signed-rank marks and average ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import rankdata, wilcoxon

#: Value of a method on a dataset, by dataset and method.
Values = Mapping[str, Mapping[str, float]]


def better(first: np.ndarray, second: np.ndarray, level: float = 0.05, higher: bool = True) -> int:
    """1 if the first is significantly better on pairs, -1 if the second is, else 0.

    Two-sided; pairs that are equal are left out, as Wilcoxon did. Folds of one dataset overlap
    in training records, so the level is nominal, here as in the papers.
    """
    difference = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    difference = np.round(difference, 12)  # equal shares that were computed differently are equal
    if not difference.any() or wilcoxon(difference).pvalue >= level:
        return 0
    ranks = rankdata(np.abs(difference[difference != 0]))
    gain = float(ranks @ np.sign(difference[difference != 0]))
    return int(np.sign(gain)) * (1 if higher else -1)


def mark(
    first: np.ndarray,
    second: np.ndarray,
    signs: tuple[str, str] = ("†", "•"),
    *,
    level: float = 0.05,
    higher: bool = True,
) -> str:
    """The paper's sign for what :func:`better` finds, empty if nothing."""
    return ("", *signs)[better(first, second, level, higher)]


def average_ranks(values: Values, methods: Sequence[str], higher: bool = True) -> dict[str, float]:
    """Mean rank of each method over the datasets; 1 is best, ties share their ranks."""
    table = np.array([[row[method] for method in methods] for row in values.values()])
    ranks = rankdata(-table if higher else table, axis=1)
    return dict(zip(methods, ranks.mean(axis=0).tolist(), strict=True))


def order(ranks: Mapping[str, float]) -> list[str]:
    """Methods from best to worst."""
    return sorted(ranks, key=lambda method: ranks[method])
