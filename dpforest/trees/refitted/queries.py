"""Sums over what the scores of records leave to explain.

Residuals are clipped, and summed on a public lattice. Each is rounded toward zero to it, so that no
bound on a record's residuals grows; that loses half a step a record, far below the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.rows import Rows
from dpforest.trees.answering import AnsweringQuery
from dpforest.trees.random.kernels.slots import slot_tables
from dpforest.trees.random.trees import RandomTrees
from dpforest.trees.refitted.design import LEVELS
from dpforest.trees.refitted.kernels.linear import gradient_sums, gram_sums
from dpforest.trees.refitted.kernels.rounds import (
    add_steps,
    chosen_leaves,
    leaf_sums,
)
from dpforest.trees.scored.kernels.residuals import lattice_residuals, target_residuals
from dpforest.trees.scored.queries import ClippedResiduals, Move, ScoreHistory, layout_of, square_of

#: Steps of a residual of 1.
STEPS = 2**16
#: A record counts for so small a part of the largest residual in the column of sizes.
_SIZE_PART = 5

_RESIDUALS = "residuals"


@dataclass(frozen=True, slots=True)
class ResidualLattice(ClippedResiduals):
    """Sizes of what a record may add, in whole steps: its residuals, and a part of them for it."""

    @classmethod
    def of(cls, n_columns: int, clip: Fraction, norm: Fraction | None = None) -> ResidualLattice:
        """Round down a clip that is given in residuals of 1, and a norm that is given in clips."""
        most = max(_SIZE_PART, math.floor(clip * STEPS))
        return cls(n_columns, most, square_of(most, norm))

    @property
    def size(self) -> int:
        """Worth of a record in the column of sizes."""
        return self.most // _SIZE_PART

    @property
    def row(self) -> Sensitivity:
        """The same with its size beside them."""
        alone = self.residuals
        moved = alone.l1 + self.size, alone.l2_squared + self.size**2
        return Sensitivity(*moved, alone.zero_sum)

    @property
    def score_range(self) -> Fraction:
        """Range of `TreeScore`, in residuals of 1: twice the largest residual."""
        return Fraction(2 * self.most, STEPS)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Clipped rest that released scores leave unexplained.

    Attributes
    ----------
    scored : ScoreHistory
    lattice : ResidualLattice
    """

    scored: ScoreHistory
    lattice: ResidualLattice

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that the scores are made of."""
        return self.scored.moves

    def rows(self, chunk: Chunk) -> NDArray[np.int32]:
        """Residuals of a chunk's records on the lattice, shape (n, C); secret, and kept."""
        now = len(self.scored.moves), self.lattice
        known, residuals = chunk.kept.get(_RESIDUALS, (None, None))
        if known == now:
            found: NDArray[np.int32] = residuals
            return found
        scores, table = self.scored.scores(chunk), chunk.table
        most, square = self.lattice.most, self.lattice.square
        if residuals is None:
            residuals = np.empty(scores.shape, dtype=np.int32)
        if table.targets is None:
            lattice_residuals(scores, table.labels, STEPS, most, square, residuals)
        else:
            target_residuals(scores, table.targets, table.unit, STEPS, most, residuals)
        chunk.kept[_RESIDUALS] = now, residuals
        return residuals


@dataclass(frozen=True, slots=True, eq=False)
class TreeMove:
    """Every leaf of a tree adds something.

    Attributes
    ----------
    tree : RandomTrees
        One.
    steps : ndarray of float64, shape (n_leaves, C)
    """

    tree: RandomTrees
    steps: NDArray[np.float64]

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add the leaves' steps."""
        leaves = np.empty(chunk.table.n_records, dtype=np.int32)
        tree = self.tree
        codes, columns, sizes = layout_of(chunk)
        shape = tree.feature, tree.mask, tree.depth
        chosen_leaves(codes, columns, *shape, slot_tables(*shape, sizes, leaves.size), leaves)
        add_steps(leaves, self.steps, scores)


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums(AnsweringQuery):
    """Residuals and, last, records summed over leaves of trees, shape (m, n_leaves, C + 1).

    A record is ``lattice.size`` in the last column. Records are counted for all candidates, though
    only the picked one's are released: that takes next to nothing, and a second pass for them
    would take a round twice.
    """

    residuals: Residuals
    trees: RandomTrees

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.residuals.history

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the sums of one of the trees.

        **Relation**: add or remove one record. **Sensitivity**: that of its residuals, with its
        size more in L1 and the square of that in L2 squared (`ResidualLattice.row`). **Proof**:
        its scores follow from released values and its own codes, so it changes no other record's
        residuals; it lies in one leaf of a tree, and adds its residuals and its size there. The
        bounds hold after clipping and rounding. **Tests**: tests/trees/refitted/test_lattice.py.
        """
        return self.residuals.lattice.row

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        residuals, trees = self.residuals.rows(chunk), self.trees
        sums = np.empty((trees.n_trees, trees.n_leaves, residuals.shape[1] + 1), dtype=np.int64)
        codes, columns, sizes = layout_of(chunk)
        shape = trees.feature, trees.mask, trees.depth
        tables = slot_tables(*shape, sizes, residuals.shape[0])
        leaf_sums(codes, columns, residuals, *shape, tables, sums)
        sums[:, :, -1] *= self.residuals.lattice.size
        return sums

    def recount(self, chunk: Chunk, place: int | None) -> NDArray[np.int64]:
        """Sums of the tree that was picked, where one was, and not of the other candidates."""
        if place is None:
            return self.count(chunk)
        picked = replace(self, trees=self.trees.take([place]))
        sums: NDArray[np.int64] = picked.count(chunk)[0]
        return sums


def trees_sensitivity(row: Sensitivity, n_trees: int) -> Sensitivity:
    """`LeafSumsOfAll.sensitivity`, from public facts: L1 and L2 squared add up over trees."""
    return Sensitivity(n_trees * row.l1, n_trees * row.l2_squared, row.zero_sum)


@dataclass(frozen=True, slots=True, eq=False)
class LeafSumsOfAll(LeafSums):
    """`LeafSums` that are all released, shape (m n_leaves, C + 1)."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the sums of all trees.

        **Relation**: add or remove one record. **Sensitivity**: that of one tree's sums, as many
        times as there are trees, in L1 and in L2 squared. **Proof**: a record lies in one leaf of
        each tree, and adds the same residuals and size in each, since all are of the same scores;
        squares of different places add up. **Tests**: tests/trees/refitted/test_lattice.py.
        """
        return trees_sensitivity(self.residuals.lattice.row, self.trees.n_trees)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        sums = LeafSums.count(self, chunk)
        return sums.reshape(-1, sums.shape[2])


@dataclass(frozen=True, slots=True)
class TreeScore:
    """Score of each tree of a question: how large the sums of residuals in its leaves are.

    Attributes
    ----------
    query : LeafSums

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 2 c, where residuals are clipped to c.
    **Proof**: a tree's score is the sum over its leaves of ``|G|``, or of half the L1 of G over
    classes. One record has ``|r| <= c``, or half the L1 of r at most c, *after* clipping and
    rounding toward zero, and lies in one leaf of every tree. So every score moves by something in
    [-c, c]. **Tests**: tests/trees/refitted/test_lattice.py.
    """

    query: LeafSums
    unit: ClassVar[Fraction] = Fraction(1, STEPS)

    @property
    def score_range(self) -> Fraction:
        """`ResidualLattice.score_range` of the question's residuals."""
        return self.query.residuals.lattice.score_range

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """One row of all trees; secret."""
        return Rows.of_one(candidate_scores(counted[:, :, :-1]))


def candidate_scores(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scores of candidates in steps: the sum over leaves of |G|, or half its L1, shape (m,).

    Half the L1 is a whole number, since over classes the sums, shape (m, n_leaves, C), add up to
    nothing.
    """
    if sums.shape[2] == 1:
        return np.abs(sums).sum(axis=(1, 2)).astype(np.float64)
    return np.maximum(sums, 0).sum(axis=(1, 2)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class DesignedColumns:
    """Values of every code in the columns of a linear model; see ``design``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (D + 1,)
    column, values : ndarray of int64, shape (total codes,)
    n_columns : int
    """

    offsets: NDArray[np.int64]
    column: NDArray[np.int64]
    values: NDArray[np.int64]
    n_columns: int

    @property
    def n_features(self) -> int:
        """D."""
        return int(self.offsets.size) - 1


def gram_sensitivity(n_features: int) -> Sensitivity:
    """`GramSums.sensitivity`, from public facts."""
    largest = 1 + n_features
    fourth = LEVELS**4 * (largest**2 + largest)
    return Sensitivity(Fraction(LEVELS**2 * (largest**2 + largest), 2), Fraction(fourth, 2))


@dataclass(frozen=True, slots=True, eq=False)
class GramSums:
    """Sum of x x' over records: its upper triangle with the diagonal, shape (p (p + 1) / 2,)."""

    columns: DesignedColumns

    @property
    def sensitivity(self) -> Sensitivity:
        """Half of |x|^4 plus the sum of x_a^4 in L2 squared, and the same of |x|_1 in L1.

        **Relation**: add or remove one record. **Proof**: its row x has the constant and one
        column a feature, 1 + D values within ``LEVELS``. The sum over a < b of x_a^2 x_b^2 is half
        of |x|^4 less the sum of x_a^4; with the diagonal it is half of |x|^4 plus that sum, and
        both are largest where every value is. The L1 is the same of values in place of squares.
        **Tests**: tests/trees/refitted/test_lattice.py.
        """
        return gram_sensitivity(self.columns.n_features)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        c = self.columns
        sums = np.empty((c.n_columns, c.n_columns), dtype=np.int64)
        gram_sums(chunk.table.codes, c.offsets, c.column, c.values, LEVELS, sums)
        return sums[np.triu_indices(c.n_columns)]


def gradient_sensitivity(n_features: int, lattice: ResidualLattice) -> Sensitivity:
    """`GradientSums.sensitivity`, from public facts."""
    residuals, largest = lattice.residuals, 1 + n_features
    return Sensitivity(LEVELS * largest * residuals.l1, LEVELS**2 * largest * residuals.l2_squared)


@dataclass(frozen=True, slots=True, eq=False)
class GradientSums(AnsweringQuery):
    """Sum of x r' over records, shape (p C,), a column's classes together."""

    residuals: Residuals
    columns: DesignedColumns

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.residuals.history

    @property
    def sensitivity(self) -> Sensitivity:
        """The product of what x and r may be, in L1 and in L2 squared.

        **Relation**: add or remove one record. **Proof**: values and residuals are integers within
        their bounds for every record, whatever was released before, and the L1 and L2 of x r' are
        the products of those of x and r. **Tests**: tests/trees/refitted/test_lattice.py.
        """
        return gradient_sensitivity(self.columns.n_features, self.residuals.lattice)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        residuals, c = self.residuals.rows(chunk), self.columns
        sums = np.empty((c.n_columns, residuals.shape[1]), dtype=np.int64)
        codes = chunk.table.codes
        gradient_sums(codes, c.offsets, c.column, c.values, LEVELS, residuals, sums)
        return sums.ravel()
