"""Queries of a one-shot forest: leaf tables, bins and pairs of its scores, cells of a target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity, rows_of
from dpforest.records.counts import in_units
from dpforest.records.rows import Rows
from dpforest.records.table import Table
from dpforest.trees.answering import AnsweringQuery
from dpforest.trees.one_shot.kernels.leaf_tables import add_leaf_tables, add_target_tables
from dpforest.trees.one_shot.kernels.score_tables import (
    add_pair_scores,
    add_score_histogram,
    add_target_histogram,
)
from dpforest.trees.random.trees import RandomTrees

Floats = NDArray[np.float64]

#: Steps of the lattice on which log scores are summed; one record moves a sum by 0 to STEPS.
STEPS = 2**20
#: Candidates for a median: the middles of so many cells of equal width between the bounds.
N_MEDIAN_CELLS = 256
#: Records whose scores are held at a time.
_ROWS_AT_ONCE = 2**18


def tables_sensitivity(n_tables: int, unit: int) -> Sensitivity:
    """Largest change by a record of so many tables of class counts, from public facts.

    It adds ``a`` and ``b`` to two counts of each table, whole numbers that are not negative, with
    a + b = u, the unit; so a^2 + b^2 <= u^2. Without targets one of them is nothing, and u is 1.
    """
    return Sensitivity(Fraction(n_tables * unit), Fraction(n_tables * unit**2))


@dataclass(frozen=True, slots=True, eq=False)
class LeafTables:
    """Class counts of all leaves of all trees, shape (T L, K), a tree's leaves together.

    Attributes
    ----------
    trees : RandomTrees
    unit : int
        What a record adds in all: 1, or the steps of a regression's target.
    """

    trees: RandomTrees
    unit: int = 1

    @property
    def sensitivity(self) -> Sensitivity:
        """T u in L1, T u^2 in L2 squared.

        **Relation**: add or remove one record. **Proof**: it lies in one leaf of each tree, so
        `tables_sensitivity` holds with a table a tree. Trees follow from public facts and released
        bins. **Tests**: tests/trees/one_shot/test_learner.py,
        tests/trees/test_target_kernels.py.
        """
        return tables_sensitivity(self.trees.n_trees, self.unit)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Class counts of a chunk."""
        trees, table = self.trees, in_units(chunk.table, self.unit)
        counts = np.zeros((trees.n_trees, trees.n_leaves, table.n_classes), dtype=np.int64)
        shape = trees.feature, trees.mask, trees.depth
        if table.targets is None:
            add_leaf_tables(table.codes, table.labels, *shape, counts)
        else:
            add_target_tables(table.codes, table.targets, self.unit, *shape, counts)
        return counts.reshape(-1, table.n_classes)


class Scoring(Protocol):
    """Scores that released values make of a record, for calibration to bend."""

    def scores(self, codes: NDArray[Any]) -> Floats:
        """Scores of coded records, shape (n, C): C = 1 for two classes."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafScoring:
    """Sums of released values of leaves.

    Attributes
    ----------
    trees : RandomTrees
    values : ndarray of float64, shape (n_trees, n_leaves, C)
    """

    trees: RandomTrees
    values: Floats

    def scores(self, codes: NDArray[Any]) -> Floats:
        """Scores of coded records, shape (n, C)."""
        scores = np.zeros((codes.shape[0], self.values.shape[2]))
        self.trees.add_values(codes, self.values, scores)
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class ScoreHistogram(AnsweringQuery):
    """Class counts by bins of the score, shape (B, 2).

    Attributes
    ----------
    scoring : Scoring
    edges : ndarray of float64, shape (B - 1,)
        Released.
    unit : int
        What a record adds in all.
    """

    scoring: Scoring
    edges: Floats
    unit: int = 1

    @property
    def sensitivity(self) -> Sensitivity:
        """u in L1, u^2 in L2 squared.

        **Relation**: add or remove one record. **Proof**: its score follows from released values
        and its own codes, so it lies in one bin and moves no other record: `tables_sensitivity`
        of one table. **Tests**: tests/trees/one_shot/test_calibration.py.
        """
        return tables_sensitivity(1, self.unit)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Class counts of a chunk."""
        counts = np.zeros((self.edges.size + 1, 2), dtype=np.int64)
        for table in parts_of(in_units(chunk.table, self.unit)):
            scores = np.ascontiguousarray(self.scoring.scores(table.codes)[:, 0])
            if table.targets is None:
                add_score_histogram(scores, table.labels, self.edges, counts)
            else:
                add_target_histogram(scores, table.targets, self.unit, self.edges, counts)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class PairTotals:
    """Log scores of softmax pairs in steps of a lattice, shape (S P,), slopes slowest.

    The score of a pair is the sum over records of max(log p_y, -B) / B + 1, each part rounded down
    to a multiple of 1 / STEPS.
    """

    scoring: Scoring
    log_prior: Floats
    slopes: Floats
    powers: Floats
    bound: float
    #: Proved with the sensitivity.
    most_each: ClassVar[int] = STEPS

    @property
    def sensitivity(self) -> Sensitivity:
        """At most STEPS in each total; to a choice, a range of 1.

        **Relation**: add or remove one record. **Proof**: a part lies in [0, 1] after rounding and
        depends on its own record and on released values only, so one record more moves every
        pair's total by something in [0, STEPS]. **Tests**:
        tests/trees/one_shot/test_calibration.py.
        """
        n_pairs = Fraction(int(self.slopes.size * self.powers.size))
        return Sensitivity(n_pairs * STEPS, n_pairs * STEPS**2)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Totals of a chunk."""
        totals = np.zeros(self.slopes.size * self.powers.size, dtype=np.int64)
        for table in parts_of(chunk.table):
            add_pair_scores(
                self.scoring.scores(table.codes), table.labels, self.log_prior,
                self.slopes, self.powers, self.bound, STEPS, totals,
            )  # fmt: skip
        return totals


def parts_of(table: Table) -> Iterator[Table]:
    """The records in parts whose scores take little memory; each one's score is its own.

    A part at least, of nobody: what is called is compiled and kept, whatever records are.
    """
    for first in range(0, max(table.n_records, 1), _ROWS_AT_ONCE):
        yield rows_of(table, first, min(first + _ROWS_AT_ONCE, table.n_records))


@dataclass(frozen=True, slots=True)
class MedianRank:
    """Nearness of each cell of the target to the middle rank, from counts by cell.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 1. **Proof**: the score of a cell is less
    half of how many records more lie on one side of it than on the other. One record more changes
    the difference of the sides by -1, 0 or 1, so its size, which is a whole number, by at most 1:
    a score moves by something in [-1/2, 1/2]. **Tests**: tests/trees/one_shot/test_median.py.
    """

    unit: ClassVar[Fraction] = Fraction(1, 2)
    score_range: ClassVar[Fraction] = Fraction(1)

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """One row of all cells; secret."""
        return Rows.of_one(median_scores(counted))


def median_scores(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of every cell, in half units: less the more records lie on one side of it than the other."""
    sums = np.cumsum(counts)
    below, above = sums - counts, sums[-1] - sums
    return -np.abs(below - above).astype(np.float64)
