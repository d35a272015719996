"""Scores of records as released values have made them, and sums over what is left to explain.

A record's scores follow from what was released and its own codes, so they need not be kept: a
chunk that has lost them makes them again, bit for bit, by the same additions in the same order.

Residuals are summed on a public lattice. Each is rounded toward zero to it, so that no bound on a
record's residuals grows; that loses half a step a record, far below the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk, Sensitivity
from dpforest.records.rows import Rows
from dpforest.trees.random.kernels.slots import code_sizes, slot_tables
from dpforest.trees.random.trees import RandomTrees
from dpforest.trees.refitted.design import LEVELS
from dpforest.trees.refitted.kernels.linear import add_code_values, gradient_sums, gram_sums
from dpforest.trees.refitted.kernels.residuals import lattice_residuals, target_residuals
from dpforest.trees.refitted.kernels.rounds import (
    add_steps,
    chosen_leaves,
    leaf_sums,
)

#: Steps of a residual of 1.
STEPS = 2**16
#: What a record counts for in the column of sizes: a fifth of the largest residual.
SIZE_STEPS = STEPS // 5

_SCORES, _RESIDUALS, _LAYOUT = "scores", "residuals", "layout"


class Move(Protocol):
    """One released step of all records."""

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add the step to the scores of a chunk, shape (n, C)."""


@dataclass(frozen=True, slots=True, eq=False)
class CodeMove:
    """Every code adds something.

    Attributes
    ----------
    offsets : ndarray of int64, shape (D + 1,)
    values : ndarray of float64, shape (total codes, C)
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.float64]

    def move(self, chunk: Chunk, scores: NDArray[np.float64]) -> None:
        """Add what the codes are worth."""
        add_code_values(chunk.table.codes, self.offsets, self.values, scores)


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


def layout_of(chunk: Chunk) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Codes (n, D), the same a feature a row, and a number above each feature's codes; secret.

    Made once: what every round reads should lie as it is read.
    """
    layout = chunk.kept.get(_LAYOUT)
    if layout is None:
        codes = np.ascontiguousarray(chunk.table.codes)
        layout = chunk.kept[_LAYOUT] = codes, np.ascontiguousarray(codes.T), code_sizes(codes)
    found: tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]] = layout
    return found


@dataclass(frozen=True, slots=True, eq=False)
class ScoreHistory:
    """Released values from which every record's scores follow.

    Attributes
    ----------
    base : ndarray of float64, shape (C,)
    moves : tuple of Move
    """

    base: NDArray[np.float64]
    moves: tuple[Move, ...] = ()

    def then(self, move: Move) -> ScoreHistory:
        """The history with one more step."""
        return replace(self, moves=(*self.moves, move))

    def scores(self, chunk: Chunk) -> NDArray[np.float64]:
        """Scores of a chunk's records, shape (n, C); secret, and kept for the next step."""
        n_done, scores = chunk.kept.get(_SCORES, (0, None))
        if scores is None or n_done > len(self.moves):
            n_done, scores = 0, np.tile(self.base, (chunk.table.n_records, 1))
        for number in range(n_done, len(self.moves)):
            self.moves[number].move(chunk, scores)
        chunk.kept[_SCORES] = len(self.moves), scores
        return scores

    def residuals(self, chunk: Chunk) -> NDArray[np.int32]:
        """Rest that the scores leave unexplained, on the lattice, shape (n, C); secret."""
        n_done, residuals = chunk.kept.get(_RESIDUALS, (-1, None))
        if n_done == len(self.moves):
            found: NDArray[np.int32] = residuals
            return found
        scores = self.scores(chunk)
        if residuals is None:
            residuals = np.empty(scores.shape, dtype=np.int32)
        table = chunk.table
        if table.targets is None:
            lattice_residuals(scores, table.labels, STEPS, residuals)
        else:
            target_residuals(scores, table.targets, table.unit, STEPS, residuals)
        chunk.kept[_RESIDUALS] = len(self.moves), residuals
        return residuals


def residual_sensitivity(n_columns: int, most: int = STEPS) -> Sensitivity:
    """Largest sizes of one record's residuals, in steps and in steps squared.

    One column: ``|r| <= most``. More: the others' sizes add up to at most ``most``, so their
    squares add up to at most ``most**2``, and the label's own is their sum: twice as much
    together.
    """
    times = 1 if n_columns == 1 else 2
    return Sensitivity(Fraction(times * most), Fraction(times * most**2))


def sums_sensitivity(n_columns: int) -> Sensitivity:
    """`LeafSums.sensitivity`, from public facts."""
    residuals = residual_sensitivity(n_columns)
    return Sensitivity(residuals.l1 + SIZE_STEPS, residuals.l2_squared + SIZE_STEPS**2)


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums:
    """Residuals and, last, records summed over leaves of trees, shape (m, n_leaves, C + 1).

    A record is ``SIZE_STEPS`` in the last column. Records are counted for all candidates, though
    only the picked one's are released: that takes next to nothing, and a second pass for them
    would take a round twice.
    """

    scored: ScoreHistory
    trees: RandomTrees

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.scored.moves

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the sums of one of the trees.

        **Relation**: add or remove one record. **Sensitivity**: that of its residuals, with
        ``SIZE_STEPS`` more in L1 and the square of that in L2 squared. **Proof**: its scores
        follow from released values and its own codes, so it changes no other record's residuals;
        it lies in one leaf of a tree, and adds its residuals and its size there. **Tests**:
        tests/trees/refitted/test_lattice.py.
        """
        return sums_sensitivity(self.scored.base.size)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        residuals, trees = self.scored.residuals(chunk), self.trees
        sums = np.empty((trees.n_trees, trees.n_leaves, residuals.shape[1] + 1), dtype=np.int64)
        codes, columns, sizes = layout_of(chunk)
        shape = trees.feature, trees.mask, trees.depth
        tables = slot_tables(*shape, sizes, residuals.shape[0])
        leaf_sums(codes, columns, residuals, *shape, tables, sums)
        sums[:, :, -1] *= SIZE_STEPS
        return sums


@dataclass(frozen=True, slots=True)
class LeanOfTrees:
    """Lean of the residuals in the leaves of each tree, as `LeafSums` has them.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 2. **Proof**: a tree's score is the sum over
    its leaves of ``|G|``, or of half the L1 of G over classes. One record has ``|r| <= 1``, or half
    the L1 of r at most 1, *after* rounding toward zero, and lies in one leaf of every tree. So
    every score moves by something in [-1, 1]. **Tests**: tests/trees/refitted/test_lattice.py.
    """

    unit: ClassVar[Fraction] = Fraction(1, STEPS)
    score_range: ClassVar[Fraction] = Fraction(2)

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


def gradient_sensitivity(n_features: int, n_columns: int) -> Sensitivity:
    """`GradientSums.sensitivity`, from public facts."""
    residuals, largest = residual_sensitivity(n_columns), 1 + n_features
    return Sensitivity(LEVELS * largest * residuals.l1, LEVELS**2 * largest * residuals.l2_squared)


@dataclass(frozen=True, slots=True, eq=False)
class GradientSums:
    """Sum of x r' over records, shape (p C,), a column's classes together."""

    scored: ScoreHistory
    columns: DesignedColumns

    @property
    def history(self) -> tuple[Move, ...]:
        """Steps that it shares with queries before it."""
        return self.scored.moves

    @property
    def sensitivity(self) -> Sensitivity:
        """The product of what x and r may be, in L1 and in L2 squared.

        **Relation**: add or remove one record. **Proof**: values and residuals are integers within
        their bounds for every record, whatever was released before, and the L1 and L2 of x r' are
        the products of those of x and r. **Tests**: tests/trees/refitted/test_lattice.py.
        """
        return gradient_sensitivity(self.columns.n_features, self.scored.base.size)

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Sums of a chunk."""
        residuals, c = self.scored.residuals(chunk), self.columns
        sums = np.empty((c.n_columns, residuals.shape[1]), dtype=np.int64)
        codes = chunk.table.codes
        gradient_sums(codes, c.offsets, c.column, c.values, LEVELS, residuals, sums)
        return sums.ravel()
