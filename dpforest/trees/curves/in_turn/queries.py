"""Sums over the bins of features: records of all of them, and residuals of one at a time.

A record's residuals follow from what was released before and its own codes and label, so one
record changes no other's. They are clipped, and rounded toward zero to a public lattice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.trees.answering import AnsweringQuery
from dpforest.trees.curves.in_turn.kernels.features import bin_sums
from dpforest.trees.random.bins import Bins
from dpforest.trees.scored.gradients import Gradients
from dpforest.trees.scored.kernels.bin_counts import count_bins
from dpforest.trees.scored.kernels.code_values import add_code_values
from dpforest.trees.scored.queries import Move, layout_of


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMove:
    """Every code of one feature adds something.

    Attributes
    ----------
    feature : int
    values : ndarray of float64, shape (codes of the feature, C)
    """

    feature: int
    values: NDArray[np.float64]

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add what the codes are worth."""
        codes = layout_of(chunk)[1][self.feature][:, None]
        add_code_values(codes, np.array([0, self.values.shape[0]]), self.values, scores)


@dataclass(frozen=True, slots=True, eq=False)
class BinCounts:
    """Records in each bin of each feature, one feature after the other, shape (total bins,)."""

    bins: Bins

    @property
    def sensitivity(self) -> Sensitivity:
        """L1, and L2 squared: the number of features.

        **Relation**: add or remove one record. **Proof**: it lies in one bin of each feature, and
        the bins are public. **Tests**:
        tests/trees/curves/in_turn/test_in_turn_queries.py.
        """
        return counts_sensitivity(self.bins.starts.size - 1)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Counts of a chunk."""
        table, bins = chunk.table, self.bins
        return count_bins(table.codes, table.offsets, bins.of_code, bins.starts)


def counts_sensitivity(n_features: int) -> Sensitivity:
    """`BinCounts.sensitivity`, from public facts."""
    return Sensitivity(Fraction(n_features), Fraction(n_features))


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSums(AnsweringQuery):
    """Residuals summed over the bins of one feature, shape (n_bins, C).

    Attributes
    ----------
    gradients : Gradients
    bins : Bins
    offsets : ndarray of int64, shape (D + 1,)
        Of codes.
    feature : int
    """

    gradients: Gradients
    bins: Bins
    offsets: NDArray[np.int64]
    feature: int

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.gradients.history

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change by one record, in steps and in steps squared.

        **Relation**: add or remove one record. **Proof**: its scores follow from released values
        and its own codes, so it changes no other's residuals; it lies in one bin, and adds its
        residuals there. Their sizes (`residual_sensitivity`) hold after clipping and
        rounding, which ``scored.kernels.gradients`` does. **Tests**:
        tests/trees/curves/in_turn/test_in_turn_queries.py.
        """
        return self.gradients.lattice.residuals

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        feature, starts = self.feature, self.bins.starts
        n_bins = int(starts[feature + 1] - starts[feature])
        sums = np.empty((n_bins, self.gradients.lattice.n_columns), dtype=np.int64)
        of_code = self.bins.of_code[self.offsets[feature] : self.offsets[feature + 1]]
        bin_sums(layout_of(chunk)[1][feature], of_code, self.gradients.rows(chunk), sums)
        return sums
