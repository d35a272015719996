"""Public regression tables with declared target bounds, and one split for all models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from common.tables import Ordinal, Split, _numbers, _ordinal_column, _read_rows
from dpforest import Domain

_TEST_SHARE = 0.25


@dataclass(frozen=True)
class RegressionTable:
    """Records as numbers.

    Attributes
    ----------
    X : ndarray of float64, shape (n, D)
        A categorical value is the position of its category; NaN where a value is missing.
    y : ndarray of float64, shape (n,)
    domain : Domain
        Declared, with categories renamed to positions.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    domain: Domain

    @property
    def bounds(self) -> tuple[float, float]:
        """The declared bounds of the target."""
        return float(self.domain.target.lower), float(self.domain.target.upper)

    @cached_property
    def ordinal(self) -> Ordinal:
        """Positions of categories, clipped numbers, public midpoints for missing values."""
        pairs = zip(self.domain.features, self.X.T, strict=True)
        columns, upper = zip(*(_ordinal_column(f, column) for f, column in pairs), strict=True)
        lower = [getattr(feature, "lower", 0.0) for feature in self.domain.features]
        return Ordinal(np.column_stack(columns), np.array(lower, float), np.array(upper, float))


def regression_tables(folder: Path) -> dict[str, int]:
    """Rows of the regression tables of a folder by name, short ones first."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.get("task") == "regression" and path.with_suffix(".csv.gz").exists():
            found[path.stem] = int(facts["n_rows"])
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


@lru_cache(maxsize=1)
def load_regression_table(folder: Path, name: str) -> RegressionTable:
    """Read one table; records without a target are left out."""
    facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    header, rows = _read_rows(folder / f"{name}.csv.gz")
    columns = dict(zip(header, map(np.array, zip(*rows, strict=True)), strict=True))
    y = np.array([float(text or "nan") for text in columns.pop("target").tolist()])
    X = np.column_stack([_numbers(column, columns[column["name"]]) for column in facts["columns"]])
    known = np.isfinite(y)
    return RegressionTable(name, X[known], y[known], _positions_domain(facts))


def _positions_domain(facts: dict[str, Any]) -> Domain:
    columns = [dict(column) for column in facts["columns"]]
    for column in columns:
        if column["kind"] == "categorical":
            column["categories"] = [f"c{place}" for place in range(len(column["categories"]))]
    return Domain.from_json(json.dumps({**facts, "columns": columns}))


def random_split(table: RegressionTable, seed: int) -> Split:
    """A quarter of the records for testing."""
    order = np.random.RandomState(seed).permutation(table.y.size)
    n_test = round(_TEST_SHARE * table.y.size)
    return Split(order[n_test:], np.sort(order[:n_test]))
