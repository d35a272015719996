"""Folds of a repeated cross-validation, the same for every method."""

from __future__ import annotations

import numpy as np

Fold = tuple[np.ndarray, np.ndarray]


def folds(y: np.ndarray, repeat: int, n_splits: int = 10, stratified: bool = True) -> list[Fold]:
    """Train and test places of each fold.

    Parameters
    ----------
    y : ndarray, shape (n,)
        Classes, or numbers where ``stratified`` is False.
    repeat : int
        Seed of the order; numpy's legacy generator, whose stream never changes.
    n_splits : int
    stratified : bool
        Whether each class is dealt out evenly. Classes of fewer than ``n_splits`` records are
        too, so some folds have none of them.
    """
    order = np.random.RandomState(repeat).permutation(len(y))
    if stratified:
        order = order[np.argsort(y[order], kind="stable")]
    place = np.empty(len(y), dtype=np.int64)
    place[order] = np.arange(len(y)) % n_splits
    return [(np.flatnonzero(place != k), np.flatnonzero(place == k)) for k in range(n_splits)]
