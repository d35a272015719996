"""The integer design of the linear start: what every code is in the linear model's columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import TableFacts
from dpforest.trees.random.bins import Bins

#: Steps of a column's value of 1.
LEVELS = 64


@dataclass(frozen=True, slots=True, eq=False)
class LinearDesign:
    """Columns of a linear model: a constant, one an ordered feature, one a category.

    Attributes
    ----------
    column : ndarray of int64, shape (total codes,)
    is_ordered : ndarray of bool, shape (total codes,)
    n_columns : int
    n_features : int
    """

    column: NDArray[np.int64]
    is_ordered: NDArray[np.bool_]
    n_columns: int
    n_features: int

    @classmethod
    def of(cls, facts: TableFacts) -> LinearDesign:
        """Lay out the columns of a table."""
        column, n = [], 1
        for feature in range(facts.n_features):
            n_codes = int(facts.n_codes[feature])
            if facts.ordered[feature]:
                column.append(np.full(n_codes, n))
                n += 1
            else:
                column.append(np.arange(n, n + n_codes))
                n += n_codes
        is_ordered = np.repeat(facts.ordered, facts.n_codes)
        return cls(np.concatenate(column).astype(np.int64), is_ordered, n, facts.n_features)

    def values(self, bins: Bins) -> NDArray[np.int64]:
        """Value of every code: 1 for a category, from -1 to 1 by place for an ordered feature.

        In steps of 1 / LEVELS, rounded toward zero, so never larger than LEVELS in size,
        whatever the released bins are.
        """
        centred = np.clip(2.0 * bins.place - 1.0, -1.0, 1.0)
        return np.where(self.is_ordered, np.trunc(centred * LEVELS), LEVELS).astype(np.int64)


def n_columns(facts: TableFacts) -> int:
    """Columns of the linear model: the constant, ordered features and categories."""
    return 1 + int(np.where(facts.ordered, 1, facts.n_codes).sum())
