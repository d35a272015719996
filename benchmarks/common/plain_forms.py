"""One table's records in the four ways that somebody may write them for a plain model."""

from __future__ import annotations

import csv
import gzip
import json
import math
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dpforest import Domain
from dpforest.domain.schema import CategoricalFeature
from dpforest.domain.values import meaning_of

#: Lines of a file that are read, and records that are fitted and predicted.
MOST_LINES, MOST_FITTED, MOST_PREDICTED = 20_000, 2_000, 60
FORMS = ("matrix", "text", "missing", "unknown")
#: Share of the cells that are made missing or odd.
_SHARE = 0.3
_GAPS: list[Any] = [None, math.nan, "", " ", "nan", "-NaN", "\0"]
#: Numbers in other words, other scripts and other notations, and texts that are none.
_ODD: list[Any] = [
    "neither", "0x10", "1_0", "1__0", " 1 ", "01", "1.0", "1e0", "\u0661", "\uff11", "1e400",
    "-1e400", math.inf, -math.inf, "Infinity", "-inf", 10**400, 1e308, -1e308, 5e-324, -0.0, "-0",
    True, False, "TRUE", "fAlSe", "fal\u017fe", 0, 1, 2, 7, -1, 0.5, 1.5, "2", "nan(7)", "None",
    "\ufeff1", "1\0", "\u20031\u2003",
]  # fmt: skip


@dataclass(frozen=True)
class PlainTable:
    """Records of a table as they stand in its file.

    Attributes
    ----------
    name : str
    domain : Domain
        Declared, categories by their own names.
    cells : list of list of str
        An empty one is a missing value.
    labels : list
        Of classes as text, or targets.
    """

    name: str
    domain: Domain
    cells: list[list[str]]
    labels: list[Any]

    @property
    def n_fitted(self) -> int:
        """How many records are fitted."""
        return min(len(self.cells), MOST_FITTED)


def read_plain_table(folder: Path, name: str) -> PlainTable:
    """Records of a table in an order of their own, the first of a file that is long."""
    facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        header, *rows = islice(csv.reader(file), MOST_LINES)
    domain = Domain.from_json(json.dumps(facts))
    places = [header.index(feature) for feature in domain.feature_names]
    target = header.index("target")
    rows = [rows[k] for k in np.random.default_rng(0).permutation(len(rows)) if rows[k][target]]
    labels = [row[target] for row in rows]
    cells = [[row[place] for place in places] for row in rows]
    return PlainTable(name, domain, cells, labels if domain.classes else list(map(float, labels)))


def forms_of(table: PlainTable, seed: int) -> dict[str, list[list[Any]]]:
    """Records for a prediction by the name of their form, each some of the table's."""
    generator = np.random.default_rng(seed)
    cells = table.cells[-MOST_PREDICTED:]
    odd = [*_ODD, *_edges(table.domain)]
    unknown = _with_some(cells, odd, generator)
    # Each odd value once in all features at once.
    unknown += [[value] * table.domain.n_features for value in _ODD]
    return {
        "matrix": as_matrix(table.domain, cells).tolist(),
        "text": cells,
        "missing": _with_some(cells, _GAPS, generator),
        "unknown": unknown,
    }


def as_matrix(domain: Domain, cells: list[list[str]]) -> np.ndarray:
    """Numbers as they are, categories as positions, gaps as NaN.

    Where a feature has a category that reads as a number, its numbers are no positions, and
    those of its categories that are none have no place in a matrix: NaN too.
    """
    columns = [
        [_number(feature, text) for text in column]
        for feature, column in zip(domain.features, zip(*cells, strict=True), strict=True)
    ]
    return np.array(columns, dtype=np.float64).T


def _number(feature: Any, text: str) -> float:
    if not text.strip():
        return math.nan
    if isinstance(feature, CategoricalFeature) and not feature.holds_numbers:
        known = feature.categories
        return float(known.index(text)) if text in known else float(len(known))
    meaning = meaning_of(text)
    return meaning if isinstance(meaning, float) else math.nan


def _with_some(
    cells: list[list[str]], values: list[Any], generator: np.random.Generator
) -> list[list[Any]]:
    chosen = generator.random((len(cells), len(cells[0]))) < _SHARE
    drawn = generator.integers(0, len(values), chosen.shape)
    return [
        [values[drawn[i, j]] if chosen[i, j] else cell for j, cell in enumerate(row)]
        for i, row in enumerate(cells)
    ]


def _edges(domain: Domain) -> list[float]:
    """Bounds of a few features and the doubles beside them."""
    numeric = [feature for feature in domain.features if feature.kind == "numeric"]
    ends = [end for feature in numeric[:8] for end in (feature.lower, feature.upper)]
    return [float(np.nextafter(end, way)) for end in ends for way in (-np.inf, end, np.inf)]
