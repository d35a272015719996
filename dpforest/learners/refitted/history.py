"""What released values have made of every record's scores, and sums over what is left to explain.

A record's scores follow from what was released and its own codes, so they need not be kept: a
block that has lost them makes them again, bit for bit, by the same additions in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.learners.kernels.cell_sums import code_sizes
from dpforest.learners.kernels.linear import add_code_values, gradient_sums, gram_sums
from dpforest.learners.kernels.rounds import (
    add_steps,
    candidate_sums,
    chosen_leaves,
    lattice_residuals,
    leaf_sums,
    target_residuals,
)
from dpforest.learners.random_trees import RandomTrees
from dpforest.learners.refitted.lattice import STEPS
from dpforest.trees.counting import Block

_SCORES, _RESIDUALS, _LEAVES, _SIZES = "scores", "residuals", "leaves", "sizes"


class Move(Protocol):
    """One released step of all records."""

    def move(self, block: Block, number: int, scores: NDArray[np.float64]) -> None:
        """Add the step to the scores of a block, shape (n, C); it is the step of this number."""


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

    def move(self, block: Block, number: int, scores: NDArray[np.float64]) -> None:
        """Add what the codes are worth."""
        add_code_values(block.table.codes, self.offsets, self.values, scores)


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

    def move(self, block: Block, number: int, scores: NDArray[np.float64]) -> None:
        """Add the leaves' steps."""
        add_steps(leaves_of(block, number, self.tree), self.steps, scores)


def leaves_of(block: Block, number: int, tree: RandomTrees) -> NDArray[np.int32]:
    """Leaf of every record of a block in the tree of a step, found once for sums and step."""
    kept = block.kept.get(_LEAVES)
    if kept is None or kept[0] != number:
        found = np.empty(block.table.n_records, dtype=np.int32)
        codes = np.ascontiguousarray(block.table.codes)
        chosen_leaves(codes, tree.feature[0], tree.mask[0], tree.depth, found)
        kept = block.kept[_LEAVES] = number, found
    leaves: NDArray[np.int32] = kept[1]
    return leaves


def sizes_of(block: Block) -> NDArray[np.int64]:
    """Largest code of every feature in a block and one more, found once; secret."""
    sizes = block.kept.get(_SIZES)
    if sizes is None:
        sizes = block.kept[_SIZES] = code_sizes(block.table.codes)
    found: NDArray[np.int64] = sizes
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

    def scores(self, block: Block) -> NDArray[np.float64]:
        """Scores of a block's records, shape (n, C); secret, and kept for the next step."""
        n_done, scores = block.kept.get(_SCORES, (0, None))
        if scores is None or n_done > len(self.moves):
            n_done, scores = 0, np.tile(self.base, (block.table.n_records, 1))
        for number in range(n_done, len(self.moves)):
            self.moves[number].move(block, number, scores)
        block.kept[_SCORES] = len(self.moves), scores
        return scores

    def residuals(self, block: Block) -> NDArray[np.int32]:
        """What the scores leave unexplained, on the lattice, shape (n, C); secret."""
        n_done, residuals = block.kept.get(_RESIDUALS, (-1, None))
        if n_done == len(self.moves):
            found: NDArray[np.int32] = residuals
            return found
        scores = self.scores(block)
        if residuals is None:
            residuals = np.empty(scores.shape, dtype=np.int32)
        table = block.table
        if table.targets is None:
            lattice_residuals(scores, table.labels, STEPS, residuals)
        else:
            target_residuals(scores, table.targets, table.unit, STEPS, residuals)
        block.kept[_RESIDUALS] = len(self.moves), residuals
        return residuals


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSums:
    """Residuals summed over the leaves of every candidate tree, shape (m, n_leaves, C)."""

    history: ScoreHistory
    trees: RandomTrees

    @property
    def parts(self) -> tuple[Move, ...]:
        """What it shares with countings before it."""
        return self.history.moves

    def count(self, block: Block) -> NDArray[np.int64]:
        """Sums of a block."""
        residuals, trees = self.history.residuals(block), self.trees
        sums = np.empty((trees.n_trees, trees.n_leaves, residuals.shape[1]), dtype=np.int64)
        codes, sizes = block.table.codes, sizes_of(block)
        candidate_sums(codes, residuals, trees.feature, trees.mask, trees.depth, sizes, sums)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums:
    """Residuals and, last, records summed over the leaves of one tree, shape (n_leaves, C + 1)."""

    history: ScoreHistory
    tree: RandomTrees

    @property
    def parts(self) -> tuple[Move, ...]:
        """What it shares with countings before it."""
        return self.history.moves

    def count(self, block: Block) -> NDArray[np.int64]:
        """Sums of a block."""
        residuals = self.history.residuals(block)
        sums = np.empty((self.tree.n_leaves, residuals.shape[1] + 1), dtype=np.int64)
        leaf_sums(leaves_of(block, len(self.history.moves), self.tree), residuals, sums)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class DesignedColumns:
    """What every code is in the columns of a linear model; see ``design``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (D + 1,)
    column, values : ndarray of int64, shape (total codes,)
    n_columns, constant : int
    """

    offsets: NDArray[np.int64]
    column: NDArray[np.int64]
    values: NDArray[np.int64]
    n_columns: int
    constant: int


@dataclass(frozen=True, slots=True, eq=False)
class GramSums:
    """Sum of x x' over records, the upper triangle with the diagonal, shape (p, p)."""

    columns: DesignedColumns

    def count(self, block: Block) -> NDArray[np.int64]:
        """Sums of a block."""
        sums = np.empty((self.columns.n_columns, self.columns.n_columns), dtype=np.int64)
        c = self.columns
        gram_sums(block.table.codes, c.offsets, c.column, c.values, c.constant, sums)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class GradientSums:
    """Sum of x r' over records, shape (p, C)."""

    history: ScoreHistory
    columns: DesignedColumns

    @property
    def parts(self) -> tuple[Move, ...]:
        """What it shares with countings before it."""
        return self.history.moves

    def count(self, block: Block) -> NDArray[np.int64]:
        """Sums of a block."""
        residuals = self.history.residuals(block)
        sums = np.empty((self.columns.n_columns, residuals.shape[1]), dtype=np.int64)
        c, codes = self.columns, block.table.codes
        gradient_sums(codes, c.offsets, c.column, c.values, c.constant, residuals, sums)
        return sums
