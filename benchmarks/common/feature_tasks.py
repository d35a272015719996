"""Tasks whose classes are the categories of a feature: names that stand in no order.

Classes that are cut from a target stand in a row, and two of many are halves of something else. A
feature's categories are classes that somebody had in mind, and nobody made a rule on them. The
other features tell of them; the table's own target is left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from common.records import Records
from common.regression_tables import load_regression_table, regression_tables
from common.tables import classification_tables, load_table
from dpforest import Domain

#: Tasks of one table, at most; and features that it has at most, since each is tried.
MOST_OF_A_TABLE, MOST_FEATURES = 2, 100
#: Records of a task, at least and at most; share of the most frequent class, at most.
LEAST_RECORDS, MOST_RECORDS = 400, 20_000
MOST_SHARE = 0.85

Drawn = tuple[str, np.ndarray, np.ndarray, Domain]


def feature_tasks(folder: Path, least: int, most: int) -> Iterator[Drawn]:
    """Name, records, classes and domain of every task of so many classes, drawn once for all."""
    for name in sorted(classification_tables(folder)):
        if "@" not in name:
            yield from _of_table(load_table(folder, name), name, least, most)
    for name in sorted(regression_tables(folder)):
        yield from _of_table(load_regression_table(folder, name), name, least, most)


def _of_table(table: Records, name: str, least: int, most: int) -> Iterator[Drawn]:
    features = table.domain.features
    if not 2 < len(features) <= MOST_FEATURES:
        return
    sizes = [len(f.categories) if f.kind == "categorical" else 0 for f in features]
    fit = np.flatnonzero([least <= size <= most for size in sizes])
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    made = 0
    for place in generator.permutation(fit):
        kept = _kept(table.X[:, place], sizes[place], generator)
        if kept.size < LEAST_RECORDS or made == MOST_OF_A_TABLE:
            continue
        y = table.X[kept, place].astype(np.int64)
        if np.bincount(y).max() > MOST_SHARE * y.size:
            continue
        made += 1
        others = np.delete(np.arange(len(features)), place)
        domain = Domain(
            features=tuple(features[f] for f in others), classes=list(range(sizes[place]))
        )
        yield f"{name}.{features[place].name}", table.X[kept][:, others], y, domain


def _kept(values: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    """Places of records that have the feature, in any order, and not too many."""
    known = np.flatnonzero((values >= 0) & (values < size))  # no missing ones
    return generator.permutation(known)[:MOST_RECORDS]
