"""Columns of curves at once: what every code is in them, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import TableFacts

#: Columns up to which Newton's method is quick: trees take longer.
QUICK_COLUMNS = 1000
#: Knots of an ordered feature, at most.
MOST_KNOTS = 10
#: Values of columns are multiples of one part in so many, so that their sums are exact.
STEPS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class CurveColumns:
    """Columns of all features, one block a feature, and the constant as the last block.

    A category is a column; two are the two sides of one. An ordered feature with two knots is one
    column from -1 to 1; with more, a code lies between two knots and is in both columns by how near
    they are. A missing value is a column. What nobody declared is in none: no record need have it,
    and noise alone would tell of it. So sizes of a code add up to at most 1.

    Attributes
    ----------
    widths : tuple of int
        Columns of each block.
    columns : ndarray of int64, shape (total codes, 2)
    values : ndarray of float64, shape (total codes, 2)
        Multiples of 1 / STEPS.
    """

    widths: tuple[int, ...]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, facts: TableFacts, n_knots: int) -> CurveColumns:
        """Lay out the columns of a table."""
        widths, columns, values, first = list[int](), [], [], 0
        for feature in range(facts.n_features):
            width, places, parts = _block(facts, feature, n_knots)
            columns.append(first + places)
            values.append(parts)
            widths.append(width)
            first += width
        return cls((*widths, 1), np.concatenate(columns), np.concatenate(values))

    @property
    def n_columns(self) -> int:
        """Columns of all blocks."""
        return sum(self.widths)

    def of_codes(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Worth of every code, shape (total codes,)."""
        worth: NDArray[np.float64] = (weights[self.columns] * self.values).sum(axis=1)
        return worth


def are_quick(facts: TableFacts, most: int = QUICK_COLUMNS, n_knots: int = MOST_KNOTS) -> bool:
    """True if curves at once have so few columns, with so many knots of an ordered feature."""
    knots = np.minimum(facts.n_codes, n_knots)
    return int(np.where(facts.ordered, knots, facts.n_codes).sum()) <= most


def _block(
    facts: TableFacts, feature: int, n_knots: int
) -> tuple[int, NDArray[np.int64], NDArray[np.float64]]:
    """Width of a feature's block, and columns and values of its codes."""
    n_codes = int(facts.n_codes[feature])
    if not facts.ordered[feature]:
        return _categories(n_codes, facts.unknown_code(feature))
    missing = bool(facts.has_missing_code[feature])
    width, columns, values = _curve(n_codes - missing, n_knots)
    if missing:
        columns = np.concatenate([columns, [[width, width]]])
        values = np.concatenate([values, [[1.0, 0.0]]])
    return width + missing, columns, values


def _categories(n_codes: int, unknown: int) -> tuple[int, NDArray[np.int64], NDArray[np.float64]]:
    columns, values = np.zeros((n_codes, 2), dtype=np.int64), np.zeros((n_codes, 2))
    declared = np.flatnonzero(np.arange(n_codes) != unknown)
    if declared.size == 2:
        values[declared, 0] = -1.0, 1.0
        return 1, columns, values
    columns[declared] = np.arange(declared.size)[:, None]
    values[declared, 0] = 1.0
    return max(declared.size, 1), columns, values


def _curve(n_codes: int, n_knots: int) -> tuple[int, NDArray[np.int64], NDArray[np.float64]]:
    """An ordered feature's codes between knots that lie the same way apart."""
    n_knots = min(n_knots, n_codes)
    if n_knots < 2:
        return 1, np.zeros((n_codes, 2), dtype=np.int64), np.zeros((n_codes, 2))
    place = np.arange(n_codes) * (n_knots - 1)
    left = np.minimum(place // (n_codes - 1), n_knots - 2)
    part = np.trunc((place / (n_codes - 1) - left) * STEPS) / STEPS
    if n_knots == 2:
        line = np.column_stack([2.0 * part - 1.0, np.zeros(n_codes)])
        return 1, np.zeros((n_codes, 2), dtype=np.int64), line
    columns = np.column_stack([left, left + 1]).astype(np.int64)
    return n_knots, columns, np.column_stack([1.0 - part, part])
