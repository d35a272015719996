"""What tables of classes and of targets share: records as numbers, their domain, a split.

A table is ``<name>.csv.gz`` (header, raw values, an empty cell where a value is missing, column
``target``) beside ``<name>.json`` (see ``Domain.from_json``). Nothing of a domain is read off the
records.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpforest import Domain
from dpforest.domain.schema import CategoricalFeature, NumericFeature

#: Records of a long table's part that is a table of its own, ``name@50000``, drawn once for all
#: seeds.
PART_ROWS = 50_000
TEST_SHARE = 0.25
#: The draw that the stored results of the other packages were made with.
_CUT_SEED = 20240501


@dataclass(frozen=True)
class Ordinal:
    """A table as finite numbers within public bounds, for packages that know no domains."""

    X: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class Records:
    """Records as numbers.

    Attributes
    ----------
    X : ndarray of float64, shape (n, D)
        A categorical value is the position of its category; NaN where a value is missing.
    y : ndarray, shape (n,)
        Classes or targets.
    domain : Domain
        Declared, with categories renamed to positions.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    domain: Domain

    @cached_property
    def ordinal(self) -> Ordinal:
        """Positions of categories, clipped numbers, public midpoints for missing values."""
        pairs = zip(self.domain.features, self.X.T, strict=True)
        columns, upper = zip(*(_ordinal_column(feature, column) for feature, column in pairs),
                             strict=True)  # fmt: skip
        lower = [getattr(feature, "lower", 0.0) for feature in self.domain.features]
        return Ordinal(np.column_stack(columns), np.array(lower, float), np.array(upper, float))


@dataclass(frozen=True)
class Split:
    """Places of the training and test records, and a print of the test part."""

    train: np.ndarray
    test: np.ndarray

    @property
    def fingerprint(self) -> str:
        """The same for the same split, also among the stored results of other packages."""
        return hashlib.sha1(np.sort(self.test).tobytes()).hexdigest()[:10]


def facts_of_tables(folder: Path, task: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and metadata of a folder's tables for a task, read without their records."""
    for path in sorted(folder.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.get("task") == task and path.with_suffix(".csv.gz").exists():
            yield path.stem, facts


def part_of(name: str) -> str:
    """Name of a long table's part."""
    return f"{name}@{PART_ROWS}"


def read_records(folder: Path, name: str) -> tuple[dict[str, Any], np.ndarray, list[str]]:
    """One table's metadata, features and targets as texts.

    It is whole, but where its name says how many records there are: ``covertype@50000``.
    """
    table, _, most = name.partition("@")
    facts = json.loads((folder / f"{table}.json").read_text(encoding="utf-8"))
    header, rows = _read_rows(folder / f"{table}.csv.gz", int(most) if most else None)
    columns = dict(zip(header, map(np.array, zip(*rows, strict=True)), strict=True))
    X = np.column_stack([_numbers(column, columns[column["name"]]) for column in facts["columns"]])
    return facts, X, columns["target"].tolist()


def _read_rows(path: Path, most: int | None) -> tuple[list[str], list[list[str]]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        lines = file.readlines()
    header, body = lines[0], lines[1:]
    if most is not None and len(body) > most:
        order = np.random.RandomState(_CUT_SEED).permutation(len(body))
        body = [body[place] for place in np.sort(order[:most])]
    return next(csv.reader([header])), list(csv.reader(body))


def positions_domain(facts: dict[str, Any]) -> Domain:
    """The declared domain; categories and classes go by their positions.

    A category of its own name could read as a number, and then a number would not be a position.
    """
    columns = [dict(column) for column in facts["columns"]]
    for column in columns:
        if column["kind"] == "categorical":
            column["categories"] = [f"c{place}" for place in range(len(column["categories"]))]
    classes = list(range(len(facts["classes"]))) if facts.get("classes") else None
    return Domain.from_json(json.dumps({**facts, "columns": columns, "classes": classes}))


def _numbers(column: dict[str, Any], texts: np.ndarray) -> list[float]:
    """The column's numbers; NaN where a value is missing or of no declared category."""
    if column["kind"] != "categorical":
        return [float(text) if text.strip() else math.nan for text in texts.tolist()]
    places = {str(category): place for place, category in enumerate(column["categories"])}
    return [places.get(text.strip(), math.nan) for text in texts.tolist()]


def _ordinal_column(
    feature: NumericFeature | CategoricalFeature, column: np.ndarray
) -> tuple[np.ndarray, float]:
    """The column without gaps, and its public upper bound; that below categories is 0."""
    missing = np.isnan(column)
    if isinstance(feature, NumericFeature):
        filled = np.where(missing, (feature.lower + feature.upper) / 2, column)
        return np.clip(filled, feature.lower, feature.upper), feature.upper
    n_categories = len(feature.categories)
    return np.where(missing, n_categories, column), float(n_categories)
