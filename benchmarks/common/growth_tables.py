"""What curves over epsilon and rows are drawn of: nested training parts, and who judges fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from common import law
from common.scores import in_all_classes, scores
from common.tables import load_table, stratified_split
from dpforest import Domain

#: The one split that all models share.
SEED = 0
Array = np.ndarray


@dataclass(frozen=True)
class Part:
    """Training records, and what a fitted model is worth.

    Attributes
    ----------
    X, y : ndarray
        Features (NaN where a value is missing) and classes.
    plain : ndarray
        Features as finite numbers, for models that know no domain.
    judge : callable
        From a fitted model, and whether it takes ``plain``, to its accuracy and area under the
        curve on records that are in no part.
    """

    domain: Domain
    X: Array
    y: Array
    plain: Array
    judge: Callable[[Any, bool], dict[str, float]]


def part(folder: Path, dataset: str, rows: int) -> Part:
    """The first rows of a training part; smaller ones lie within larger ones."""
    if dataset == law.NAME:
        return _of_law(rows)
    whole = _whole(folder, dataset)
    X, y, plain = whole.X[:rows], whole.y[:rows], whole.plain[:rows]
    return Part(whole.domain, X, y, plain, whole.judge)


def rows_of(folder: Path, dataset: str) -> int:
    """Number of training records of a whole table."""
    return int(_whole(folder, dataset).y.size)


@lru_cache(maxsize=1)
def _of_law(rows: int) -> Part:
    X, y = law.records(rows)
    return Part(law.domain(rows), X, y, X, _judged_by_law)


def _judged_by_law(model: Any, plain: bool) -> dict[str, float]:
    shares = np.concatenate(
        [model.predict_proba(X)[:, 1] for X in np.array_split(law.held_out(), 5)]
    )
    return law.judged((shares > 0.5).astype(int), shares)


@lru_cache(maxsize=1)
def _whole(folder: Path, dataset: str) -> Part:
    table = load_table(folder, dataset)
    split = stratified_split(table, SEED)
    load_table.cache_clear()  # it is held here, in another order
    held_out = {False: table.X[split.test], True: table.ordinal.X[split.test]}
    labels = table.y[split.test]

    def judge(model: Any, plain: bool) -> dict[str, float]:
        seen = np.asarray(model.predict_proba(held_out[plain]), dtype=float)
        shares = in_all_classes(seen, model.classes_, table.n_classes)
        found = scores(labels, shares.argmax(axis=1), shares)
        return {metric: found[metric] for metric in ("accuracy", "auc")}

    train = split.train
    return Part(table.domain, table.X[train], table.y[train], table.ordinal.X[train], judge)
