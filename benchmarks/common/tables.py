"""Public tables with their declared domains, and the one split that all models share.

A table is ``<name>.csv.gz`` (header, raw values, an empty cell where a value is missing, column
``target``) beside ``<name>.json`` (see ``Domain.from_json``), in a folder that the command line
or ``DPFOREST_DATA`` names. Nothing of a model's domain is read off the records.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpforest import Domain
from dpforest.domain.schema import CategoricalFeature, NumericFeature

REPOSITORY = Path(__file__).resolve().parents[2]
#: Longer tables are cut to this many records, drawn once for all seeds.
MOST_ROWS = 50_000
#: The draw that the stored results of the other packages were made with.
_CUT_SEED = 20240501
_TEST_SHARE = 0.25

#: The small sets over which the plans for small budgets are judged.
SMALL_SETS = (
    "wdbc", "mammographic_masses", "heart_statlog", "australian", "breast_original",
    "diabetes_pima", "ionosphere", "iris", "wine", "house_votes", "vertebral", "transfusion",
    "car", "cmc", "tic_tac_toe", "zoo", "hayes_roth",
)  # fmt: skip


def data_folder() -> Path:
    """Folder of the tables: ``DPFOREST_DATA``, or ``../shared/data`` beside the repository."""
    return Path(os.environ.get("DPFOREST_DATA", REPOSITORY.parent / "shared" / "data"))


@dataclass(frozen=True)
class Facts:
    """What a table's metadata say, read without its records."""

    name: str
    n_rows: int
    n_classes: int

    @property
    def is_cut(self) -> bool:
        """Whether only a part of the table is used."""
        return self.n_rows > MOST_ROWS


def classification_tables(folder: Path) -> dict[str, Facts]:
    """The classification tables of a folder by name, short ones first."""
    found = []
    for path in sorted(folder.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.get("task") == "classification" and path.with_suffix(".csv.gz").exists():
            found.append(Facts(path.stem, facts["n_rows"], len(facts["classes"])))
    return {facts.name: facts for facts in sorted(found, key=lambda f: (f.n_rows, f.name))}


@dataclass(frozen=True)
class Ordinal:
    """A table as finite numbers within public bounds, for packages that know no domains."""

    X: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class Table:
    """Records as numbers.

    Attributes
    ----------
    X : ndarray of float64, shape (n, D)
        A categorical value is the position of its category; NaN where a value is missing.
    y : ndarray of int64, shape (n,)
        Positions of the classes.
    domain : Domain
        Declared, with categories and classes renamed to positions.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    domain: Domain

    @property
    def n_classes(self) -> int:
        """Number of declared classes."""
        return len(self.domain.classes.labels)

    @cached_property
    def ordinal(self) -> Ordinal:
        """Positions of categories, clipped numbers, public midpoints for missing values."""
        pairs = zip(self.domain.features, self.X.T, strict=True)
        columns, upper = zip(*(_ordinal_column(feature, column) for feature, column in pairs),
                             strict=True)  # fmt: skip
        lower = [getattr(feature, "lower", 0.0) for feature in self.domain.features]
        return Ordinal(np.column_stack(columns), np.array(lower, float), np.array(upper, float))


@lru_cache(maxsize=1)
def load_table(folder: Path, name: str) -> Table:
    """Read one table; a long one is cut to `MOST_ROWS` records."""
    facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    header, rows = _read_rows(folder / f"{name}.csv.gz")
    columns = dict(zip(header, map(np.array, zip(*rows, strict=True)), strict=True))
    places = {str(label): place for place, label in enumerate(facts["classes"])}
    labels = np.array([places[text.strip()] for text in columns.pop("target").tolist()])
    X = np.column_stack([_numbers(column, columns[column["name"]]) for column in facts["columns"]])
    return Table(name, X, labels, positions_domain(facts))


def _read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        lines = file.readlines()
    header, body = lines[0], lines[1:]
    if len(body) > MOST_ROWS:
        order = np.random.RandomState(_CUT_SEED).permutation(len(body))
        body = [body[place] for place in np.sort(order[:MOST_ROWS])]
    return next(csv.reader([header])), list(csv.reader(body))


def positions_domain(facts: dict[str, Any]) -> Domain:
    """The declared domain; categories and classes go by their positions.

    A category of its own name could read as a number, and then a number would not be a position.
    """
    columns = [dict(column) for column in facts["columns"]]
    for column in columns:
        if column["kind"] == "categorical":
            column["categories"] = [f"c{place}" for place in range(len(column["categories"]))]
    classes = list(range(len(facts["classes"])))
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


@dataclass(frozen=True)
class Split:
    """Places of the training and test records, and a print of the test part."""

    train: np.ndarray
    test: np.ndarray

    @property
    def fingerprint(self) -> str:
        """The same for the same split, also among the stored results of other packages."""
        return hashlib.sha1(np.sort(self.test).tobytes()).hexdigest()[:10]


def stratified_split(table: Table, seed: int) -> Split:
    """A quarter of every class for testing.

    Drawn from numpy's legacy generator class after class, which never changes between releases
    and is how the stored results of other packages were split.
    """
    generator = np.random.RandomState(seed)
    is_test = np.zeros(table.y.size, dtype=bool)
    for label in range(table.n_classes):
        members = np.flatnonzero(table.y == label)
        generator.shuffle(members)
        is_test[members[: round(_TEST_SHARE * members.size)]] = True
    train = np.flatnonzero(~is_test)
    generator.shuffle(train)
    return Split(train, np.flatnonzero(is_test))
